package job

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// jobOf is a job of a table: its place, its model and its limits, such as "5 m 4 1".
func jobOf(spec string, running bool) State {
	var st State
	var place int
	if _, err := fmt.Sscanf(spec, "%d %s %d %d", &place, &st.Model, &st.MaxJobs, &st.MaxPerModel); err != nil {
		panic(spec + ": " + err.Error())
	}
	at := time.Date(2026, 11, 29, 0, 0, place, 0, time.UTC)
	st.ID, st.QueuedAt, st.State = fmt.Sprintf("job%02d", place), &at, Queued
	if running {
		st.State, st.StartedAt = Running, &at
	}
	return st
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		running []string
		queued  []string // the first is the one that asks
		ahead   string
		free    bool
	}{
		{"alone", nil, []string{"5 m 1 0"}, "", true},
		{"below the limit", []string{"1 m 2 0"}, []string{"5 m 2 0"}, "", true},
		{"at the limit", []string{"1 m 2 0", "2 m 2 0"}, []string{"5 m 2 0"}, "", false},
		{"over the limit of one that asks for less", []string{"1 m 9 0", "2 m 9 0"}, []string{"5 m 1 0"}, "", false},
		{"below the limit of one that asks for more", []string{"1 m 1 0", "2 m 1 0"}, []string{"5 m 3 0"}, "", true},
		{"the foreground counts and has no limits", []string{"1 m 0 0"}, []string{"5 m 1 0"}, "", false},
		{"first in, first out: behind the one just before it", nil, []string{"5 m 4 0", "3 m 4 0", "4 m 4 0", "6 m 4 0"}, "job04", false},
		{"later ones do not matter", nil, []string{"5 m 1 0", "6 m 9 0", "7 x 9 9"}, "", true},
		{"the model's limit", []string{"1 m 9 1"}, []string{"5 m 9 1"}, "", false},
		{"the model's limit is not that of another", []string{"1 x 9 1"}, []string{"5 m 9 1"}, "", true},
		{"the model's limit of two", []string{"1 m 9 2"}, []string{"5 m 9 2"}, "", true},
		{"one that waits for its model lets others pass", []string{"1 m 9 1"}, []string{"5 x 9 1", "4 m 9 1"}, "", true},
		{"and those of its own model not", []string{"1 m 9 1"}, []string{"5 m 9 2", "4 m 9 2"}, "job04", false},
		{"whose limit is reached is passed by one whose limit is not", []string{"1 m 9 1"}, []string{"5 m 9 2", "4 m 9 1"}, "", true},
		{"one that waits for a place lets nobody pass", []string{"1 m 1 0"}, []string{"5 x 9 0", "4 m 1 0"}, "job04", false},
		{"the limit holds for who passes", []string{"1 m 2 1", "2 x 2 1"}, []string{"5 y 2 1", "4 m 2 1"}, "", false},
		{"waiting for its model and behind another", []string{"1 m 9 1"}, []string{"5 m 9 1", "4 x 9 1"}, "", false},
	} {
		var live []View
		for _, r := range c.running {
			live = append(live, View{State: jobOf(r, true)})
		}
		for _, q := range c.queued {
			live = append(live, View{State: jobOf(q, false)})
		}
		waiting := jobOf("0 m 1 0", false)
		waiting.State = Waiting
		live = append(live, View{State: waiting})
		own := jobOf(c.queued[0], false)
		for range 5 {
			rand.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
			if ahead, free := place(own, live); ahead != c.ahead || free != c.free {
				t.Errorf("%s: ahead %q, free %v", c.name, ahead, free)
			}
		}
	}
}

// A model counts as it was asked for, also after opencode has resolved it.
func TestPlaceCountsTheModelThatWasAskedFor(t *testing.T) {
	resolved := jobOf("1 m-2026 9 1", true)
	resolved.Requested = "m"
	if _, free := place(jobOf("5 m 9 1", false), []View{{State: resolved}}); free {
		t.Error("the limit of a model does not hold for what it resolves to")
	}
	if _, free := place(jobOf("5 m-2026 9 1", false), []View{{State: resolved}}); !free {
		t.Error("it holds for another name")
	}
}

func TestEarlier(t *testing.T) {
	a, b := jobOf("1 m 1 0", false), jobOf("2 m 1 0", false)
	if !earlier(a, b) || earlier(b, a) || earlier(a, a) {
		t.Error("the order of the queue is not that of the places")
	}
	a.ID, b.ID = b.ID, a.ID
	if !earlier(a, b) {
		t.Error("the id matters before the place")
	}
	b.QueuedAt = a.QueuedAt
	if earlier(a, b) || !earlier(b, a) {
		t.Error("of one moment the id does not decide")
	}
}

// Jobs come, run and end at random; the limits hold at each moment, nobody is passed but for its model, and all get their turn.
func TestQueueSimulation(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		maxJobs, perModel := 1+r.IntN(4), r.IntN(3)
		uniform := seed%2 == 0 // else every job has limits of its own
		var live []View
		next, done, passed := 1, 0, map[string]int{}
		const jobs = 60
		for steps := 0; done < jobs; steps++ {
			if steps > 20000 {
				t.Fatalf("seed %d: %d of %d jobs never ended: %+v", seed, jobs-done, jobs, live)
			}
			switch k := r.IntN(4); {
			case k == 0 && next <= jobs: // one comes; a few of them in the foreground
				st := jobOf(fmt.Sprintf("%d m%d %d %d", next, r.IntN(3), maxJobs, perModel), false)
				if !uniform {
					st.MaxJobs, st.MaxPerModel = 1+r.IntN(4), r.IntN(3)
				}
				if r.IntN(8) == 0 {
					st.State, st.MaxJobs, st.MaxPerModel = Running, 0, 0
				}
				live = append(live, View{State: st})
				next++
			case k == 1 && len(live) > 0: // one ends, or a queued one dies
				i := r.IntN(len(live))
				if live[i].State.State == Running || r.IntN(30) == 0 {
					live = slices.Delete(live, i, i+1)
					done++
				}
			case len(live) > 0: // one asks
				i := r.IntN(len(live))
				own := live[i].State
				if own.State != Queued {
					continue
				}
				ahead, free := place(own, live)
				if free != (ahead == "") && ahead != "" {
					t.Fatalf("free and behind %s", ahead)
				}
				if !free {
					continue
				}
				running, model := 0, 0
				for _, v := range live {
					if v.State.State != Running {
						continue
					}
					if running++; v.Model == own.Model {
						model++
					}
				}
				if running >= own.MaxJobs || own.MaxPerModel > 0 && model >= own.MaxPerModel {
					t.Fatalf("seed %d: %+v runs beside %d, %d of its model", seed, own, running, model)
				}
				for _, v := range live {
					if v.State.State == Queued && v.ID < own.ID {
						passed[v.ID]++
						if v.Model == own.Model && v.MaxPerModel == own.MaxPerModel {
							t.Fatalf("seed %d: %s passed %s of its model", seed, own.ID, v.ID)
						}
						if v.MaxPerModel == 0 {
							t.Fatalf("seed %d: %s passed %s, which waits for no model", seed, own.ID, v.ID)
						}
					}
				}
				live[i].State.State = Running
			}
		}
	}
}
