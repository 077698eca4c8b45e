package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/checkstest"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// policyOf is a policy with one rule, on seven lines; what is the message.
func policyOf(name, what string) string {
	return `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: ` + name + `}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: ` + what + `, pattern: {spec: {x: y}}}
`
}

func exceptionOf(name, policy string) string {
	return `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: ` + name + `, namespace: ops}
spec:
  exceptions: [{policyName: ` + policy + `, ruleNames: [r]}]
  match: {any: [{resources: {kinds: [Pod]}}]}
`
}

// kustomize is a kustomization that gives each policy of a file an annotation.
func kustomize(path, resource, note string) string {
	return "-- " + path + " --\nresources: [" + resource + "]\ncommonAnnotations: {note: " + note + "}\n"
}

func file(path, data string) string { return "-- " + path + " --\n" + data }

// find finds the rules of a repository with the files of an archive.
func find(t *testing.T, archive string) (*rules.Sources, *diff.Trees) {
	t.Helper()
	r := treetest.New(t)
	head := r.Commit(archive)
	trees, own := checkstest.Trees(t, r, head, "", head)
	return findIn(t, trees.Head, own), trees
}

func findIn(t *testing.T, c diff.Commit, s *settings.Settings) *rules.Sources {
	t.Helper()
	out, err := rules.Find(t.Context(), c, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// paths lists the paths of sources, with the folders from which they are rendered.
func paths(list []rules.Source) []string {
	out := []string{}
	for _, s := range list {
		name := s.Path
		if s.Folder != "" {
			name += " < " + s.Folder
		}
		out = append(out, name)
	}
	return out
}

func TestFind(t *testing.T) {
	files := file("a/p.yaml", policyOf("a", "x")) + file("a/deep/q.yaml", policyOf("q", "x")) +
		file("b/e.yaml", exceptionOf("e", "a")) + file("b/pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n") +
		kustomize("k/kustomization.yaml", "p.yaml", "x") + file("k/p.yaml", policyOf("k", "x")) +
		file("k/e.yaml", exceptionOf("in-k", "k")) +
		kustomize("broken/kustomization.yaml", "gone.yaml", "x") + file("broken/p.yaml", policyOf("broken", "x"))
	for _, c := range []struct {
		name, settings       string
		policies, exceptions []string
		problem              string
	}{
		{"everywhere", "{}",
			[]string{"a/deep/q.yaml", "a/p.yaml", "b/e.yaml", "broken/p.yaml", "k/e.yaml", "k/p.yaml"},
			[]string{"b/e.yaml"}, ""},
		{"a file", "policies: [a/p.yaml]\nexceptions: [b]", []string{"a/p.yaml"}, []string{"b/e.yaml"}, ""},
		{"a folder", "policies: [a/]\nexceptions: [b/]", []string{"a/deep/q.yaml", "a/p.yaml"}, []string{"b/e.yaml"}, ""},
		{"a glob", "policies: ['a/*.yaml']\nexceptions: [b]", []string{"a/p.yaml"}, []string{"b/e.yaml"}, ""},
		{"a glob of folders", "policies: ['k*/**']\nexceptions: [b]", []string{"k/e.yaml", "k/p.yaml < k"},
			[]string{"b/e.yaml"}, ""},
		{"a kustomization", "policies: [k/, a]\nexceptions: [k]", []string{"a/deep/q.yaml", "a/p.yaml", "k/p.yaml < k"},
			[]string{}, ""},
		{"a kustomization named by two spellings", "policies: [k/, k]\nexceptions: [b]", []string{"k/p.yaml < k"},
			[]string{"b/e.yaml"}, ""},
		{"a kustomization that does not render", "policies: [broken, a/p.yaml]\nexceptions: [b]", []string{"a/p.yaml"},
			[]string{"b/e.yaml"}, "broken/kustomization.yaml:1: the policies of broken are not in effect, " +
				"since it does not render"},
		{"policies that do not exist", "policies: [gone]\nexceptions: [b]", []string{}, []string{"b/e.yaml"}, ""},
		{"exceptions alone", "exceptions: [k]",
			[]string{"a/deep/q.yaml", "a/p.yaml", "b/e.yaml", "broken/p.yaml", "k/e.yaml", "k/p.yaml"},
			[]string{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, trees := find(t, files+file(".lintel.yaml", c.settings+"\n"))
			if !slices.Equal(paths(got.Policies), c.policies) || !slices.Equal(paths(got.Exceptions), c.exceptions) {
				t.Errorf("policies %q, want %q\nexceptions %q, want %q", paths(got.Policies), c.policies, paths(got.Exceptions),
					c.exceptions)
			}
			if c.problem == "" && len(got.Problems) > 0 ||
				c.problem != "" && (len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0].String(), c.problem)) {
				t.Errorf("problems %v, want %q", got.Problems, c.problem)
			}
			alone, err := rules.FindExceptions(t.Context(), trees.Head, got.Settings)
			if err != nil || !slices.Equal(paths(alone.Exceptions), c.exceptions) {
				t.Errorf("alone: %q, %v", paths(alone.Exceptions), err)
			}
		})
	}
}

// A folder with a kustomization counts as rendered, and each line has its place in the source file.
func TestRenderedPoliciesKeepTheirPlaces(t *testing.T) {
	got, _ := find(t, file(".lintel.yaml", "policies: [k]\n")+file("k/p.yaml", "# why\n"+policyOf("p", "old"))+
		file("k/kustomization.yaml", `resources: [p.yaml]
patches: [{patch: '[{"op": "replace", "path": "/spec/rules/0/validate/message", "value": "new"}]', target: {kind: ClusterPolicy}}]
`))
	if len(got.Policies) != 1 || !strings.Contains(string(got.Policies[0].Data), "message: new") {
		t.Fatalf("%q %v", paths(got.Policies), got.Problems)
	}
	s := got.Policies[0]
	for i, text := range strings.Split(string(s.Data), "\n") {
		want := map[string]int{"apiVersion: kyverno.io/v1": 2, "kind: ClusterPolicy": 3, "spec:": 5}[text]
		if line := s.Line(i + 1); want != 0 && line != want {
			t.Errorf("%q is on line %d, want %d", text, line, want)
		}
	}
}

func TestMissingAndLost(t *testing.T) {
	r := treetest.New(t)
	with := r.Commit(file("policies/p.yaml", policyOf("p", "x")) + file("x.yaml", "a: b\n"))
	r.Git("rm", "-q", "policies/p.yaml")
	without := r.Snapshot()
	for _, c := range []struct {
		name, rules, base, head string
		named                   []string
		missing, lost           int // of the head
	}{
		{"it exists", with, with, with, []string{"policies/", "policies/p.yaml"}, 0, 0},
		{"misspelled", with, with, with, []string{"polices/"}, 1, 1},
		{"a glob", with, with, with, []string{"polic*/*"}, 0, 0},
		{"a glob that matches nothing", with, with, with, []string{"polices/*"}, 1, 1},
		{"removed", with, with, without, []string{"policies/"}, 1, 1},
		{"never there", without, without, without, []string{"policies/"}, 1, 1},
		{"the base got it after the head left", with, without, without, []string{"policies/"}, 1, 0},
		{"the base lost it after the head left", without, with, without, []string{"policies/"}, 1, 1},
		{"no merge base", with, "", without, []string{"policies/"}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			trees, _ := checkstest.Trees(t, r, c.rules, c.base, c.head)
			named := (&settings.Settings{Policies: entries(c.named)}).Globs()
			if got := rules.Missing(trees.Head, named); len(got) != c.missing {
				t.Errorf("missing: %v, want %d", got, c.missing)
			}
			if got := rules.Lost(trees, named); len(got) != c.lost {
				t.Errorf("lost: %v, want %d", got, c.lost)
			}
		})
	}
}

func TestRulesetCounts(t *testing.T) {
	two := strings.Replace(policyOf("b", "x"), "  - name: r", `  - name: first
    match: {any: [{resources: {kinds: [Service]}}]}
    validate: {message: m, pattern: {spec: {x: y}}}
  - name: r`, 1)
	got, _ := find(t, file("p.yaml", policyOf("a", "x")+"---\n"+two)+file("e.yaml", exceptionOf("e", "a")))
	set := rules.Compile(got, time.Time{}, nil)
	stats := report.Stats{Resources: 7}
	set.Count(&stats, map[string]bool{})
	// Rules for Pods are also generated for their controllers: r, autogen-r and autogen-cronjob-r.
	if want := (report.Stats{Policies: 2, Rules: 7, Exceptions: 1, Resources: 7}); stats != want {
		t.Errorf("%+v, want %+v", stats, want)
	}
	if len(set.Errors) != 0 {
		t.Errorf("%v", set.Errors)
	}
}

// A compiler reuses the result for policies with the same content and lines only.
func TestCompilerReusesOnlyEqualPolicies(t *testing.T) {
	source := func(data string, line func(int) int) *rules.Sources {
		s := rules.Source{Folder: "k"}
		s.Path, s.Data, s.Line = "p.yaml", []byte(data), line
		return &rules.Sources{Settings: settings.Default(), Policies: []rules.Source{s}}
	}
	shifted := func(by int) func(int) int { return func(line int) int { return line + by } }
	var known rules.Compiler
	lineOf := func(s *rules.Sources) string {
		set := rules.Compile(s, time.Time{}, &known)
		if len(set.Errors) > 0 {
			return set.Errors[0].String()
		}
		return fmt.Sprint(set.Policies.List()[0].Name, " ", set.Policies.List()[0].Line)
	}
	text := policyOf("p", "x")
	for i := range 2 { // the second time from the cache
		for _, c := range []struct {
			name string
			s    *rules.Sources
			want string
		}{
			{"a file", source(text, nil), "p 1"},
			{"other content", source(policyOf("q", "x"), nil), "q 1"},
			{"a comment before it", source("# why\n"+text, nil), "p 2"},
			{"rendered, shifted by a comment", source(text, shifted(4)), "p 5"},
			{"rendered, shifted further", source(text, shifted(5)), "p 6"},
			{"broken", source("kind: [", nil), "p.yaml:1: "},
		} {
			if got := lineOf(c.s); got != c.want && (c.name != "broken" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("round %d: %s: got %q, want %q", i, c.name, got, c.want)
			}
		}
	}
	kept := rules.Compile(source(text, shifted(5)), time.Time{}, &known).Policies
	again := rules.Compile(source(text, shifted(5)), time.Time{}, &known).Policies
	if kept == nil || kept.List()[0].Line != 6 || again.List()[0].Line != 6 {
		t.Error("what is kept has other lines")
	}
}

func entries(paths []string) (list settings.Policies) {
	for _, p := range paths {
		list = append(list, settings.PolicyEntry{Path: p})
	}
	return list
}
