package checks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const (
	applicationSet = `-- deploy/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: apps, namespace: argocd}
spec:
  generators:
  - GENERATOR
  template:
    metadata: {name: 'x-{{name}}'}
    spec:
      destination: {namespace: shop}
      source: {repoURL: https://github.com/o/r, path: 'apps/{{name}}'}
      project: default
`
	app = "-- apps/a/kustomization.yaml --\nresources: [a.yaml]\n" +
		"-- apps/a/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	itemsOfNoList = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nitems: [{apiVersion: v1, kind: Pod, " +
		"metadata: {name: b}}]\n"
)

// An ApplicationSet that cannot be expanded never passes. One that depends on cluster data is not checked; an invalid
// one fails the change that introduces it, and no later change.
func TestApplicationSetThatCannotBeExpanded(t *testing.T) {
	for _, c := range []struct {
		name, base, head string
		want             report.Conclusion
		not, findings    int
	}{
		{"a list generator expands", "", "list: {elements: [{name: a}]}", report.Success, 0, 0},
		{"a new cluster generator is not checked", "", "clusters: {}", report.Neutral, 1, 0},
		{"an unchanged cluster generator passes", "clusters: {}", "clusters: {}", report.Success, 0, 0},
		{"a changed cluster generator is not checked", "clusters: {}", "clusters: {selector: {matchLabels: {a: b}}}", report.Neutral, 1,
			0},
		{"a new invalid generator fails", "", "list: {elements: [7]}", report.Failure, 0, 1},
		{"an unchanged invalid generator passes", "list: {elements: [7]}", "list: {elements: [7]}", report.Success, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			files := func(generator string) string {
				if generator == "" {
					return app
				}
				return app + strings.ReplaceAll(applicationSet, "GENERATOR", generator)
			}
			base := r.Commit(pods + files(c.base))
			head := r.Commit(files(c.head) + "-- deploy/other.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: o}\n")
			rep := check(t, r, report.Change{Base: base, Rules: base, Head: head,
				Repository: []string{"https://github.com/o/r"}})
			if rep.Conclusion != c.want || len(rep.NotChecked) != c.not || len(rep.Findings) != c.findings {
				t.Fatalf("%s (%s): %q\nnot checked: %+v\nwarnings: %+v errors: %+v", rep.Conclusion, rep.Title, lines(rep),
					rep.NotChecked, rep.Warnings, rep.Errors)
			}
			for _, n := range rep.NotChecked {
				if n.Root != "ApplicationSet/argocd/apps" || n.Path != "deploy/set.yaml" || n.Line != 6 {
					t.Errorf("%+v", n)
				}
			}
			for _, f := range rep.Findings {
				if f.Policy != "lintel" || f.Rule != "deployment" || f.Resource.Name != "apps" ||
					f.Origin.Path != "deploy/set.yaml" || f.Origin.StartLine < 6 {
					t.Errorf("%+v %+v", f, f.Origin)
				}
			}
		})
	}
}

// Findings of the built-in checks are new or pre-existing, have a line, and can be excepted like those of policies.
func TestBuiltinFindings(t *testing.T) {
	r := treetest.New(t)
	empty := r.Commit(pods)
	r.Write("apps/a.yaml", itemsOfNoList)
	broken := r.Commit("-- apps/b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
	rep := check(t, r, report.Change{Base: empty, Rules: empty, Head: broken})
	if got, want := lines(rep), []string{"fail CREATE apps/a.yaml embedded-items /items"}; !slices.Equal(got, want) ||
		rep.Conclusion != report.Failure {
		t.Errorf("%s %q, want %q", rep.Conclusion, got, want)
	}
	r.Write("apps/a.yaml", itemsOfNoList+"data: {}\n")
	edited := r.Snapshot()
	rep = check(t, r, report.Change{Base: broken, Rules: broken, Head: edited})
	if len(rep.Findings) != 1 || rep.Findings[0].New || rep.Conclusion != report.Success {
		t.Errorf("as before: %s %q", rep.Conclusion, lines(rep))
	}
	// Policies do not see items of an object that is no list, so a changed item is not one that the base had.
	r.Write("apps/a.yaml", strings.ReplaceAll(itemsOfNoList, "{name: b}", "{name: c}"))
	rep = check(t, r, report.Change{Base: broken, Rules: broken, Head: r.Snapshot()})
	if len(rep.Findings) != 1 || !rep.Findings[0].New || rep.Conclusion != report.Failure {
		t.Errorf("other items: %s %q", rep.Conclusion, lines(rep))
	}
	r.Write("apps/a.yaml", itemsOfNoList+"data: {}\n")
	r.Write("exceptions/e.yaml", exception("e", "{exceptions: [{policyName: lintel, ruleNames: [embedded-items]}], "+
		"match: {any: [{resources: {kinds: [ConfigMap], names: [a]}}]}}"))
	change := report.Change{Base: empty, Rules: empty, Head: r.Snapshot()}
	if rep = check(t, r, change); rep.Conclusion != report.ActionRequired {
		t.Errorf("waiting: %s %q", rep.Conclusion, lines(rep))
	}
	if b := rep.Exceptions[0].Beyond; b.Fails+b.Complying != 0 {
		t.Errorf("a narrow exception opens nothing beyond: %+v", b)
	}
	change.Approve = []string{"exceptions/e.yaml"}
	if rep = check(t, r, change); rep.Conclusion != report.Success {
		t.Errorf("approved: %s %q", rep.Conclusion, lines(rep))
	}
	change = report.Change{Base: empty, Rules: empty, Head: broken, Drafts: true}
	if rep = check(t, r, change); len(rep.Drafts) != 1 ||
		!strings.Contains(rep.Drafts[0].YAML, "ruleNames:\n        - embedded-items") {
		t.Errorf("drafts: %+v", rep.Drafts)
	}
}

// A check that depends on cluster data makes the change neutral that introduces the resource, and no later change.
func TestUnknownResultIsReportedOnlyByTheChangeThatIntroducesIt(t *testing.T) {
	r := treetest.New(t)
	flux := `-- clusters/a.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: a, namespace: flux-system}
spec:
  path: ./apps/a
  prune: true
  interval: 1m
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substituteFrom: [{kind: Secret, name: values}]}
-- apps/a/kustomization.yaml --
resources: [a.yaml]
-- apps/a/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: shop}
data: {host: "${HOST}", port: "1"}
`
	empty := r.Commit(pods)
	unknown := r.Commit(flux)
	rep := check(t, r, report.Change{Base: empty, Rules: empty, Head: unknown})
	if rep.Conclusion != report.Neutral || len(rep.Findings) != 1 || rep.Findings[0].Rule != "controller-unknown" {
		t.Errorf("new: %s %q", rep.Conclusion, lines(rep))
	}
	edited := r.Commit(strings.ReplaceAll(flux, `port: "1"`, `port: "2"`))
	if rep = check(t, r, report.Change{Base: unknown, Rules: unknown, Head: edited}); rep.Conclusion != report.Success {
		t.Errorf("as before: %s (%s) %q", rep.Conclusion, rep.Title, lines(rep))
	}
	more := r.Commit(strings.ReplaceAll(flux, `port: "1"`, `port: "${PORT}"`))
	if rep = check(t, r, report.Change{Base: unknown, Rules: unknown, Head: more}); rep.Conclusion != report.Neutral {
		t.Errorf("another one: %s %q", rep.Conclusion, lines(rep))
	}
}

// The report also says what else an exception for a built-in check covers.
func TestBuiltinExceptionListsWhatElseItCovers(t *testing.T) {
	r := treetest.New(t)
	r.Write("apps/old.yaml", strings.ReplaceAll(itemsOfNoList, "{name: a}", "{name: old}"))
	base := r.Commit(pods)
	r.Write("apps/a.yaml", itemsOfNoList)
	r.Write("exceptions/e.yaml", exception("e", "{exceptions: [{policyName: lintel, ruleNames: ['*']}], "+
		"match: {any: [{resources: {kinds: [ConfigMap]}}]}}"))
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	if len(rep.Exceptions) != 1 || rep.Exceptions[0].Beyond.Fails != 1 ||
		rep.Exceptions[0].Beyond.Failing[0].Name != "old" {
		t.Errorf("%+v %+v", rep.Exceptions, rep.Exceptions[0].Beyond)
	}
}

// The preview of an exception for a built-in check lists the findings that it lets through.
func TestPreviewOfBuiltinException(t *testing.T) {
	r := treetest.New(t)
	r.Write("apps/old.yaml", strings.ReplaceAll(itemsOfNoList, "{name: a}", "{name: old}"))
	base := r.Commit(pods)
	r.Write("exceptions/e.yaml", exception("e", "{exceptions: [{policyName: lintel, ruleNames: ['*']}], "+
		"match: {any: [{resources: {kinds: [ConfigMap]}}]}}"))
	p := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()}).Preview
	if x := p.Exceptions[0]; x.Lets != 1 || x.Roots != 1 || x.Needless != 0 {
		t.Errorf("got %+v: %s", x, x.Words())
	}
	if len(p.Findings) != 1 || p.Findings[0].Effect != report.EffectPasses || p.Findings[0].Rule != "embedded-items" ||
		p.Findings[0].Exception != "ops/e" || len(p.Policies) != 0 {
		t.Errorf("got %+v %+v", p.Findings, p.Policies)
	}
}
