package policy

import "testing"

// FuzzAllowed: whatever is allowed, a real shell runs as one call of ours with the words that were read.
func FuzzAllowed(f *testing.F) {
	s := newShelter(f)
	for _, command := range legitimate() {
		f.Add(s.fill(command))
	}
	for _, b := range bypasses() {
		f.Add(s.fill(b.command))
	}
	f.Fuzz(func(t *testing.T, command string) {
		argv, err := Words(command)
		d := Decide(s.call(command), Policy{}, s.jobs)
		if d.Verdict == None || d.Verdict == Allow && err != nil {
			t.Fatalf("%q: %v, words %q, %v", command, d.Verdict, argv, err)
		}
		if err != nil {
			return
		}
		// Also what is plain words and then refused for its flags has to mean these words.
		for _, shell := range shells() {
			s.same(t, shell, command, argv, true)
		}
	})
}
