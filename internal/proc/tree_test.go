package proc

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// table builds rows of pid, ppid; a pid is its own start, group and session.
func table(pairs ...[2]int) []entry {
	var t []entry
	for _, p := range pairs {
		t = append(t, entry{identity: identity{p[0], uint64(p[0])}, ppid: p[1], pgid: p[0], sid: p[0]})
	}
	return t
}

func TestMembers(t *testing.T) {
	none := func(entry) bool { return false }
	carrier := func(pids ...int) func(entry) bool {
		return func(e entry) bool { return slices.Contains(pids, e.pid) }
	}
	// The tool is 10, its guardian 20, the child 30; 11 is another child of the tool.
	rows := table([2]int{1, 0}, [2]int{10, 1}, [2]int{11, 10}, [2]int{20, 10}, [2]int{30, 20}, [2]int{31, 30}, [2]int{32, 31}, [2]int{33, 20}, [2]int{40, 1}, [2]int{41, 40})
	for _, c := range []struct {
		name string
		tree tree
		want []int
	}{
		{"descendants", tree{self: 10, root: 20, since: 20, carries: none}, []int{30, 31, 32, 33}},
		{"and carriers with theirs", tree{self: 10, root: 20, since: 20, carries: carrier(40)}, []int{30, 31, 32, 33, 40, 41}},
		{"not what is older", tree{self: 10, root: 20, since: 20, carries: carrier(11, 40)}, []int{30, 31, 32, 33, 40, 41}},
		{"never the tool or its guardian", tree{self: 10, root: 20, carries: carrier(10, 20)}, []int{30, 31, 32, 33}},
		{"adopted", tree{self: 10, since: 20, carries: none, adopted: carrier(20)}, []int{20, 30, 31, 32, 33}},
		{"adopted, not older", tree{self: 10, since: 20, carries: none, adopted: carrier(11, 20)}, []int{20, 30, 31, 32, 33}},
		{"no way through the tool", tree{self: 10, carries: carrier(1)}, []int{1, 40, 41}},
		{"by group", tree{self: 10, root: 20, since: 20, carries: none, groups: map[int]bool{41: true}}, []int{30, 31, 32, 33, 41}},
	} {
		var got []int
		for _, e := range c.tree.members(rows) {
			got = append(got, e.pid)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if c.tree.groups != nil && !c.tree.groups[32] {
			t.Errorf("%s: groups %v did not grow", c.name, c.tree.groups)
		}
	}
}

// A table that is read while processes come and go may hold a circle.
func TestMembersOfACircle(t *testing.T) {
	tr := tree{self: 10, root: 20, carries: func(entry) bool { return false }}
	if n := len(tr.members(table([2]int{30, 20}, [2]int{31, 32}, [2]int{32, 31}, [2]int{33, 33}))); n != 1 {
		t.Errorf("%d members", n)
	}
	tr.root = 31
	if n := len(tr.members(table([2]int{31, 32}, [2]int{32, 31}))); n != 1 {
		t.Errorf("%d members", n)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"sh\x00-c\x00true\x00":          "sh -c true",
		"a\x1b[31mred\nb":               "a?[31mred?b",
		"\xff\xfe":                      "?",
		"x\u202ey\u0085z":               "x?y?z",
		"":                              "",
		strings.Repeat("é", 200):        strings.Repeat("é", 128),
		"a" + strings.Repeat("é", 200):  "a" + strings.Repeat("é", 127),
		strings.Repeat("x", 300) + "\n": strings.Repeat("x", 256),
	} {
		got := printable([]byte(in))
		if got != want || !utf8.ValidString(got) || len(got) > nameLimit {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
