package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// Applications with equal changes share a row, and columns that would be empty are left out.
func TestClusterChanges(t *testing.T) {
	moved := func(to string) []report.ImageChange { return []report.ImageChange{{From: "web:1", To: to}} }
	digest := "web@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for name, c := range map[string]struct {
		list []report.RootChange
		want []string
	}{
		"clusters": {[]report.RootChange{
			{Root: "a", Clusters: []string{"eu"}, Changed: 2, Images: moved("web:2")},
			{Root: "b", Clusters: []string{"us"}, Changed: 2, Images: moved("web:2")},
			{Root: "c", Added: 1, Images: moved(digest)},
			{Root: "d", Clusters: []string{"us"}, Changed: 2, Images: moved("web:3")},
		}, []string{"Cluster|Application|Added|Changed|Removed|Images", "eu, us|a, b||2||web 1 → 2",
			"|c|1|||web 1 → sha256:0123456789ab…", "us|d||2||web 1 → 3"}},
		"no known cluster": {[]report.RootChange{{Root: "a", Removed: 3}},
			[]string{"Application|Added|Changed|Removed|Images", "a|||3|"}},
	} {
		columns, rows := ClusterChanges(c.list)
		got := []string{strings.Join(columns, "|")}
		for _, row := range rows {
			got = append(got, strings.Join(row, "|"))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
