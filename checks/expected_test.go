package checks_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Sources that the base needed in earlier checks are requested at once in a later check of another change, in any
// process, until several base trees did not need them. Sources that only a change names are not requested early.
func TestExpectedWants(t *testing.T) {
	store := treetest.New(t)
	chart := strings.TrimSpace(store.Rev(store.Commit("-- Chart.yaml --\n"+chartFile+"-- templates/cm.yaml --\n"+
		printsAllowed) + "^{tree}"))
	r := treetest.New(t)
	r.Commit(allowed + "-- ops/release.yaml --\n" + fetchedRelease("1.0.0"))
	base := r.Snapshot()
	cache := t.TempDir()
	last := 0
	// run checks a new change of a base, and returns the sources that it requests in each round.
	run := func(base string, first bool, changed map[string]string) (rounds []string) {
		t.Helper()
		r.Git("checkout", "-q", "-f", base)
		last++
		edit(t, r, changed)
		edit(t, r, map[string]string{"apps/pod.yaml": podOf("shop", "blue", fmt.Sprintf(", hostname: h%d", last))})
		change := report.Change{GitDir: r.GitDir, Now: now, Cache: cache, Base: base, Rules: base, Head: r.Snapshot()}
		var lock remote.Lock
		for first := first; ; first = false {
			data, err := json.Marshal(lock)
			if err != nil {
				t.Fatal(err)
			}
			change.Sources = &report.Sources{GitDir: store.GitDir, Lock: data, First: first}
			var checker checks.Checker
			rep, err := checker.Run(t.Context(), change)
			if err != nil {
				t.Fatal(err)
			}
			if rep.Wanted == nil {
				return rounds
			}
			var request remote.Request
			if err := json.Unmarshal(rep.Wanted, &request); err != nil {
				t.Fatal(err)
			}
			round := ""
			for _, a := range request.Wants {
				round += fmt.Sprintf("%s %t,", a.Want.Ref, a.Base)
				lock = append(lock, remote.Entry{Want: a.Want, Tree: chart, Revision: a.Want.Ref})
			}
			if request.Prefetch {
				round += "expected"
			}
			rounds = append(rounds, round)
		}
	}
	whole := func(head string) {
		t.Helper()
		change := report.Change{GitDir: r.GitDir, Now: now, Cache: cache, Rules: head, Head: head, All: true,
			Sources: &report.Sources{GitDir: store.GitDir, Lock: []byte("[]")}}
		var checker checks.Checker
		if _, err := checker.Run(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(name string, got []string, want ...string) {
		t.Helper()
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: wants %q, not %q", name, got, want)
		}
	}
	expect("before any check", run(base, true, map[string]string{"ops/release.yaml": fetchedRelease("2.0.0")}),
		"1.0.0 true,2.0.0 false,")
	expect("another change", run(base, true, nil), "1.0.0 false,expected")
	expect("not the first round", run(base, false, nil), "1.0.0 true,")
	for i := range 9 {
		r.Git("checkout", "-q", "-f", base)
		edit(t, r, map[string]string{"ops/release.yaml": "", "README.md": fmt.Sprint(i)})
		without := r.Snapshot()
		whole(without) // a check without a base does not store what it needs
		expect(fmt.Sprint("nobody uses it, tree ", i), run(without, true, nil), "1.0.0 false,expected")
		if i < 8 {
			expect(fmt.Sprint("the same, tree ", i), run(without, true, nil), "1.0.0 false,expected")
		} else {
			expect("nobody uses it for long", run(without, true, nil))
		}
	}
}
