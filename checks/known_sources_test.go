package checks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// A check asks for sources that are known without fetching, and is done at once. Its report is kept, and counts while
// the answers are the same. A source that is not known is requested.
func TestKnownSources(t *testing.T) {
	store := treetest.New(t)
	store.Write("Chart.yaml", chartFile)
	store.Write("templates/cm.yaml", printsAllowed)
	allows := strings.TrimSpace(store.Rev(store.Snapshot() + "^{tree}"))
	store.Write("templates/cm.yaml", strings.ReplaceAll(printsAllowed, "{{", "# {{"))
	other := strings.TrimSpace(store.Rev(store.Snapshot() + "^{tree}"))
	r := treetest.New(t)
	base := r.Commit(allowed + "-- ops/release.yaml --\n" + fetchedRelease("1.0.0"))
	edit(t, r, map[string]string{"apps/pod.yaml": podOf("shop", "blue", "")})
	change := report.Change{GitDir: r.GitDir, Cache: t.TempDir(), Base: base, Rules: base, Head: r.Snapshot(), Now: now}

	tree := ""
	var asked []remote.Asked
	ask := func(wants json.RawMessage) json.RawMessage {
		var request remote.Request
		if err := json.Unmarshal(wants, &request); err != nil {
			t.Fatal(err)
		}
		lock := remote.Lock{}
		for _, a := range request.Wants {
			asked = append(asked, a)
			if tree != "" {
				lock = append(lock, remote.Entry{Want: a.Want, Tree: tree, Revision: a.Want.Ref})
			}
		}
		data, err := json.Marshal(lock)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var first *report.Report
	for _, c := range []struct {
		name   string
		tree   string
		ask    bool
		wanted bool
		kept   bool // nothing is rendered or evaluated again
	}{
		{"it is known", allows, true, false, false},
		{"again", allows, true, false, true},
		{"it is another one now", other, true, false, false},
		{"it is the first one again", allows, true, false, true},
		{"it is not known any more", "", true, true, false},
		{"nobody answers", "", false, true, false},
	} {
		tree, asked = c.tree, nil
		change.Sources = &report.Sources{GitDir: store.GitDir, Lock: []byte("[]")}
		if c.ask {
			change.Sources.Ask = ask
		}
		var checker checks.Checker
		rep, err := checker.Run(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		if is := rep.Wanted != nil; is != c.wanted {
			t.Errorf("%s: wanted %s", c.name, rep.Wanted)
		}
		if is := rep.Work != nil && *rep.Work == (report.Work{}); is != c.kept && !c.wanted {
			t.Errorf("%s: nothing is done again: %t", c.name, is)
		}
		if c.ask && (len(asked) == 0 || !asked[len(asked)-1].Base && !c.kept) {
			t.Errorf("%s: asked for %+v", c.name, asked)
		}
		if c.name == "it is known" {
			first = rep
		}
		if c.tree == allows && rep.Conclusion != first.Conclusion || c.tree == other && rep.Conclusion == first.Conclusion {
			t.Errorf("%s: %s", c.name, rep.Conclusion)
		}
	}
}
