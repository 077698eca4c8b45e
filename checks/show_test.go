package checks_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const repository = `
-- base/kustomization.yaml --
resources: [config.yaml]
-- base/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  key: value
-- overlay/kustomization.yaml --
namespace: shop
resources: [../base]
-- broken/kustomization.yaml --
resources: [none.yaml]
`

// Show answers with the roots, the objects of one root, or their places. An error of the query is an answer, too.
func TestShowAnswersQueries(t *testing.T) {
	r := treetest.New(t)
	head := r.Commit(repository)
	for _, c := range []struct {
		show           report.Show
		root, output   string
		text, said, no string // parts of what is answered
	}{
		{report.ShowRoots, "", "json", `"name": "overlay"`, "", ""},
		{report.ShowRoots, "", "text", "none.yaml", "", ""},
		{report.ShowNames, "", "text", "overlay", "", ""},
		{report.ShowObjects, "overlay", "yaml", "namespace: shop\n", "", ""},
		{report.ShowPlaces, "overlay", "text", "overlay/kustomization.yaml:1 ", "", ""},
		{report.ShowPlaces, "overlay", "json", `"path": "base/config.yaml"`, "", ""},
		{report.ShowObjects, "broken", "yaml", "", "none.yaml", ""},
		{report.ShowObjects, "nothing", "yaml", "", "", "nothing"},
	} {
		q := report.Query{Change: report.Change{GitDir: r.GitDir, Head: head}, Show: c.show, Output: c.output, Root: report.RootName{Name: c.root, Paths: []string{c.root}}}
		got, err := (&checks.Checker{}).Show(t.Context(), q)
		if err != nil {
			t.Errorf("%s %s: %v", c.show, c.root, err)
			continue
		}
		said := strings.Join(got.Said, "\n")
		if !strings.Contains(string(got.Text), c.text) || !strings.Contains(said, c.said) || !strings.Contains(got.Unable, c.no) ||
			(said == "") != (c.said == "") || (got.Unable == "") != (c.no == "") {
			t.Errorf("%s %s as %s: %q, unable %q\n%s", c.show, c.root, c.output, said, got.Unable, got.Text)
		}
	}
	if _, err := (&checks.Checker{}).Show(t.Context(), report.Query{Change: report.Change{GitDir: r.GitDir, Head: strings.Repeat("0", 40)}, Show: report.ShowRoots}); err == nil {
		t.Error("a tree that is not there has an answer")
	}
}

// What kustomize cannot print does not keep the layout from being known.
func TestLayoutOfWhatCannotBePrinted(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit("-- app/kustomization.yaml --\nresources: [c.yaml]\n-- app/c.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n")
	head := r.Commit("-- app/c.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: d}, metadata: {name: e}}\n")
	var checker checks.Checker
	out, err := checker.Show(t.Context(), report.Query{Change: report.Change{GitDir: r.GitDir, Head: head}, Before: base, Show: report.ShowLayout})
	if err != nil || !strings.Contains(string(out.Text), `"reached":["app"]`) {
		t.Error(out, err)
	}
}
