package tree_test

import (
	"fmt"
	"testing"

	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

func TestLinks(t *testing.T) {
	r := treetest.New(t)
	r.Write("chart/Chart.yaml", "name: a")
	r.Write("shared/values.yaml", "a: 1")
	r.Write("shared/deep/x.yaml", "a: 1")
	r.Symlink("../shared/values.yaml", "chart/values.yaml")
	r.Symlink("../../shared", "chart/files/all")
	r.Symlink("../../chart", "shared/deep/back")
	r.Symlink("nowhere", "chart/gone")
	r.Symlink("../../..", "chart/out")
	before := r.Tree(r.Snapshot())
	list, err := tree.Links(before, "chart")
	got := ""
	for _, l := range list {
		got += fmt.Sprintf("%s -> %s\n", l.Path, l.Real)
	}
	want := `chart/files/all -> shared
shared/deep/back -> chart
chart/gone -> 
chart/out -> 
chart/values.yaml -> shared/values.yaml
`
	if got != want || err != nil {
		t.Errorf("got\n%s, %v, want\n%s", got, err, want)
	}
	for _, p := range []string{"chart/Chart.yaml", "gone"} {
		if list, err := tree.Links(before, p); list != nil || err != nil {
			t.Errorf("%s has the links %v, %v", p, list, err)
		}
	}
	if tree.State(before, "gone") != "" {
		t.Error("what is not there has a state")
	}
	states := map[string]string{tree.State(before, "chart"): "before"}
	for _, change := range []struct{ file, data string }{
		{"shared/values.yaml", "a: 2"}, {"shared/deep/x.yaml", "a: 2"}, {"chart/nowhere", "a"}, {"chart/Chart.yaml", "name: b"},
	} {
		r.Write(change.file, change.data)
		after := r.Tree(r.Snapshot())
		state := tree.State(after, "chart")
		if was := states[state]; was != "" {
			t.Errorf("after a change of %s the chart is what it was: %s", change.file, was)
		}
		states[state] = change.file
	}
}
