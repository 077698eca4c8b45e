package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/checkstest"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// says lists sources with a word for their content: their note and message.
func says(list []rules.Source) []string {
	out := []string{}
	for i, name := range paths(list) {
		word := ""
		for line := range strings.Lines(string(list[i].Data)) {
			for _, key := range []string{"note: ", "message: "} {
				if _, value, ok := strings.Cut(strings.TrimSpace(line), key); ok {
					value, _, _ = strings.Cut(value, ",")
					word += " " + strings.TrimSpace(value)
				}
			}
		}
		out = append(out, name+word)
	}
	return out
}

const (
	named  = "-- .lintel.yaml --\npolicies: [k, other]\n"
	shared = "-- shared/kustomization.yaml --\nresources: [p.yaml]\n"
	remove = "remove " // marks a file that the head removes
)

// After the merge, rules that the change touches are the head's, all others those of the base branch.
func TestMergedRulesAreTheHeadsWhereTheChangeTouchesThem(t *testing.T) {
	p := func(path, what string) string {
		return file(path, policyOf(strings.NewReplacer("/", "-", ".yaml", "").Replace(path), what))
	}
	e := file("e.yaml", exceptionOf("e", "p"))
	for _, c := range []struct {
		name, base, head, moved string // moved: later edits of the base branch
		own, merged             []string
		any                     bool
	}{
		{"no rule edited", p("p.yaml", "one") + e, file("x.txt", "x"), "", []string{}, []string{"e.yaml", "p.yaml one"}, false},
		{"a policy edited", p("p.yaml", "one"), p("p.yaml", "two"), "", []string{"p.yaml two"}, []string{"p.yaml two"}, true},
		{"a policy added", p("p.yaml", "one"), p("q.yaml", "two"), "", []string{"q.yaml two"}, []string{"p.yaml one",
			"q.yaml two"}, true},
		{"the base branch moved on", p("p.yaml", "one") + p("q.yaml", "one"), p("q.yaml", "two"), p("p.yaml", "three"),
			[]string{"q.yaml two"}, []string{"p.yaml three", "q.yaml two"}, true},
		{"both made the same edit", p("p.yaml", "one"), p("p.yaml", "two"), p("p.yaml", "two"), []string{},
			[]string{"p.yaml two"}, false},
		{"the base branch got a policy", p("p.yaml", "one"), file("x.txt", "x"), p("q.yaml", "three"), []string{},
			[]string{"p.yaml one", "q.yaml three"}, false},

		{"a folder whose file is edited", named + p("k/p.yaml", "one") + file("k/kustomization.yaml",
			"resources: [p.yaml]\n") +
			p("other/o.yaml", "one"), p("k/p.yaml", "two"), "", []string{"k/p.yaml < k two"},
			[]string{"k/p.yaml < k two", "other/o.yaml one"}, true},
		{"a folder left alone", named + p("k/p.yaml", "one") + file("k/kustomization.yaml", "resources: [p.yaml]\n") +
			p("other/o.yaml", "one"), p("other/o.yaml", "two"), p("k/p.yaml", "three"),
			[]string{"other/o.yaml two"}, []string{"k/p.yaml < k three", "other/o.yaml two"}, true},
		{"a base that the folder includes", named + p("shared/p.yaml", "one") + shared + p("other/o.yaml", "one") +
			file("k/kustomization.yaml", "resources: [../shared]\n"), p("shared/p.yaml", "two"), "",
			[]string{"shared/p.yaml < k two"}, []string{"other/o.yaml one", "shared/p.yaml < k two"}, true},
		{"a component that the head includes", named + p("k/p.yaml", "one") + file("k/kustomization.yaml",
			"resources: [p.yaml]\n") +
			p("other/o.yaml", "one") + file("comp/kustomization.yaml",
			"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"),
			file("comp/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x-\n") +
				file("k/kustomization.yaml", "resources: [p.yaml]\ncomponents: [../comp]\n"), "",
			[]string{"k/p.yaml < k one"}, []string{"k/p.yaml < k one", "other/o.yaml one"}, true},

		{"two folders with one base, of which one is touched", "-- .lintel.yaml --\npolicies: [dev, prod]\n" + shared +
			p("shared/p.yaml", "one") + kustomize("dev/kustomization.yaml", "../shared", "x") +
			kustomize("prod/kustomization.yaml", "../shared", "x"), kustomize("prod/kustomization.yaml", "../shared", "yy"),
			kustomize("dev/kustomization.yaml", "../shared", "z"),
			[]string{"shared/p.yaml < prod yy one"}, []string{"shared/p.yaml < dev z one", "shared/p.yaml < prod yy one"}, true},
		{"a folder that gets a kustomization", named + p("k/p.yaml", "one") + p("other/o.yaml", "one"),
			kustomize("k/kustomization.yaml", "p.yaml", "x"), "",
			[]string{"k/p.yaml < k x one"}, []string{"k/p.yaml < k x one", "other/o.yaml one"}, true},
		{"a folder that loses its kustomization", named + p("k/p.yaml", "one") + p("other/o.yaml", "one") +
			kustomize("k/kustomization.yaml", "p.yaml", "x"), remove + "k/kustomization.yaml", "",
			[]string{"k/p.yaml one"}, []string{"k/p.yaml one", "other/o.yaml one"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(c.base)
			if gone, ok := strings.CutPrefix(c.head, remove); ok {
				r.Git("rm", "-q", gone)
			}
			head := r.Commit(c.head)
			tip := base
			if c.moved != "" {
				r.Git("checkout", "-q", base)
				tip = r.Commit(c.moved)
			}
			trees, own := checkstest.Trees(t, r, tip, base, head)
			before, after := findIn(t, trees.Rules, own), findIn(t, trees.Head, own)
			proposal := rules.Proposal{Tip: before, Base: findIn(t, trees.Base, own), Head: after}
			if got := proposal.Any(); got != c.any {
				t.Errorf("any: %v, want %v", got, c.any)
			}
			if got := says(proposal.Own()); !slices.Equal(got, c.own) {
				t.Errorf("own: %q, want %q", got, c.own)
			}
			if got := says(proposal.Merge().Policies); !slices.Equal(got, c.merged) {
				t.Errorf("merged: %q, want %q", got, c.merged)
			}
		})
	}
}
