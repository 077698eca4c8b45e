package checks_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

func inspect(t *testing.T, r *treetest.Repo, c report.Change) *report.Inspection {
	t.Helper()
	c.GitDir, c.Now = r.GitDir, now
	var checker checks.Checker
	out, err := checker.Inspect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// known lists exceptions in short, to compare those of Inspect with those of Run.
func known(list []report.Exception) []string {
	out := []string{}
	for _, e := range list {
		out = append(out, fmt.Sprint(e.Name, " ", e.Path, ":", e.Line, " ", e.Blob, " ", e.Terms, e.State, e.By, e.Expires))
	}
	return out
}

// Inspecting renders nothing: it says whom to ask even if no kustomization can be built.
func TestInspectRendersNothing(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(`
-- .lintel.yaml --
policies: [policies]
approvers: {users: [olga], teams: [org/security], count: 2}
identities: {teams: {org/ops: {groups: [ops]}}}
-- policies/kustomization.yaml --
resources: [gone.yaml]
-- app/kustomization.yaml --
resources: [gone.yaml]
`)
	r.Write("e.yaml", exception("e",
		"{exceptions: [{policyName: pods, ruleNames: [net]}], match: {any: [{resources: {kinds: [Pod]}}]}}"))
	r.Write("app/kustomization.yaml", "resources: [gone-too.yaml]\n")
	head := r.Snapshot()
	got := inspect(t, r, report.Change{Base: base, Rules: base, Head: head})
	if len(got.Exceptions) != 1 || len(got.Exceptions[0].Terms) != 1 {
		t.Fatalf("%+v", got.Exceptions)
	}
	want := &report.Inspection{Teams: []string{"org/ops"},
		Approvers: report.Approvers{Users: []string{"olga"}, Teams: []string{"org/security"}, Count: 2},
		Exceptions: []report.Exception{{Name: "ops/e", Path: "e.yaml", Line: 1, Blob: r.Rev("HEAD:e.yaml"),
			State: report.Pending, Terms: got.Exceptions[0].Terms}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if same := inspect(t, r, report.Change{Rules: head, Head: head, All: true}); len(same.Exceptions) > 0 {
		t.Errorf("what is merged was proposed: %+v", same.Exceptions)
	}
}

// Inspect and Run agree about the exceptions of a change, wherever these are and however they moved.
func TestInspectAgreesWithRun(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	files := func(r *treetest.Repo) {
		for range 1 + random.IntN(4) {
			name := pick("a", "b", "c")
			spec := "{exceptions: [{policyName: pods, ruleNames: [" + pick("net", "tag", "'*'") +
				"]}], match: {any: [{resources: {kinds: [Pod]}}]}}"
			text := exception(name, spec)
			switch random.IntN(5) {
			case 0:
				text = strings.Replace(text, "namespace: ops", "namespace: ops, labels: {cleanup.kyverno.io/ttl: "+
					pick("1h", "90000h", "'2020-01-01'", "'2030-01-01'")+"}", 1)
			case 1:
				text += "---\n" + exception(name+"-2", spec)
			case 2:
				text = "# why\n" + text
			case 3:
				text = strings.Replace(text, "policyName", pick("policyName", "policName"), 1) // broken
			}
			r.Write(pick("exceptions", "policies", "apps", "k")+"/"+name+".yaml", text)
		}
		r.Write(".lintel.yaml", pick("{}", "exceptions: [exceptions]", "policies: [policies, k]",
			"policies: [k]\nexceptions: [k, exceptions/a.yaml]",
			"roots: {exclude: [apps]}")+"\n")
		r.Write("k/kustomization.yaml", pick("resources: []", "resources: [gone.yaml]")+"\n")
	}
	proposed := 0
	for i := range 10 {
		r := treetest.New(t)
		r.Commit(pods)
		files(r)
		base := r.Snapshot()
		files(r)
		head := r.Snapshot()
		rules := base
		if i%2 == 1 {
			r.Git("checkout", "-q", base)
			files(r)
			rules = r.Snapshot()
		}
		change := report.Change{Base: base, Rules: rules, Head: head, Approve: []string{pick("exceptions", "apps") +
			"/a.yaml"}}
		if i%5 == 4 {
			change.Base = ""
		}
		inspection := inspect(t, r, change)
		rep := check(t, r, change)
		if diff := cmp.Diff(known(rep.Exceptions), known(inspection.Exceptions)); diff != "" {
			t.Errorf("%d: (-run +inspect):\n%s", i, diff)
		}
		if diff := cmp.Diff(*rep.Approvers, inspection.Approvers); diff != "" {
			t.Errorf("%d: (-run +inspect):\n%s", i, diff)
		}
		proposed += len(rep.Exceptions)
	}
	if proposed < 10 {
		t.Errorf("%d exceptions were proposed in all", proposed)
	}
}

// The version of a branch's rules changes when the compiled rules change, and only then.
func TestVersionOfTheRules(t *testing.T) {
	r := treetest.New(t)
	policy := func(action, more string) string {
		return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  validationFailureAction: " +
			action + "\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n" + more +
			"    validate: {message: m, pattern: {metadata: {name: '?*'}}}\n"
	}
	r.Write(".lintel.yaml", "policies: [policies/prod]\nexceptions: [exceptions]\n")
	r.Write("policies/base/p.yaml", policy("Audit", ""))
	r.Write("policies/base/kustomization.yaml", "resources: [p.yaml]\n")
	r.Write("policies/prod/kustomization.yaml",
		"resources: [../base]\npatches:\n- {path: action.yaml, target: {kind: ClusterPolicy}}\n")
	r.Write("policies/prod/action.yaml", "- {op: replace, path: /spec/validationFailureAction, value: Audit}\n")
	version := func() *report.Inspection {
		head := r.Snapshot()
		return inspect(t, r, report.Change{All: true, Rules: head, Head: head})
	}
	last := version()
	for _, step := range []struct {
		path, text string
		differs    bool
		looksUp    bool
	}{
		{"app/web.yaml", "kind: Pod\n", false, false},
		{"policies/base/p.yaml", "# a comment\n" + policy("Audit", ""), false, false},
		{"policies/prod/action.yaml", "- {op: replace, path: /spec/validationFailureAction, value: Enforce}\n", true, false},
		{"policies/unused.yaml", policy("Enforce", ""), false, false},
		{"exceptions/e.yaml", exception("e",
			"{exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}}"), true, false},
		{"policies/base/p.yaml", policy("Audit",
			"    context: [{name: c, configMap: {name: allowed, namespace: ops}}]\n"), true, true},
		{"policies/prod/kustomization.yaml", "resources: [../gone]\n", true, false},
		{".lintel.yaml", "policies: [policies/base]\nexceptions: [exceptions]\n", true, true},
		{".lintel.yml", "", true, true},
	} {
		r.Write(step.path, step.text)
		now := version()
		if differs := now.Rules != last.Rules; differs != step.differs || now.LooksUp != step.looksUp {
			t.Errorf("after %s: differs %v, looks up %v; want %v, %v", step.path, differs, now.LooksUp, step.differs, step.looksUp)
		}
		last = now
	}
}
