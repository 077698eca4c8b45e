package checks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// allowed are two policies: one allows Pods what a ConfigMap lists, the other requires a label of their namespace.
const allowed = `
-- policies/p.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: allowed}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    context: [{name: allowed, configMap: {name: allowed, namespace: ops}}]
    validate:
      failureAction: Enforce
      message: Not allowed.
      deny: {conditions: {all: [{key: "{{ request.object.metadata.labels.team }}", operator: NotEquals,
        value: "{{ allowed.data.team }}"}]}}
-- policies/n.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: restricted}
spec:
  rules:
  - name: net
    match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {level: restricted}}}}]}
    validate:
      failureAction: Enforce
      message: No host network.
      pattern: {spec: {=(hostNetwork): false}}
`

func configMap(team string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: allowed, namespace: ops}\ndata: {team: " + team + "}\n"
}

func namespaceOf(name, level string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + ", labels: {level: " + level + "}}\n"
}

func podOf(namespace, team, spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: " + namespace + ", labels: {team: " + team +
		"}}\nspec: {containers: [{name: c, image: 'x:1'}]" + spec + "}\n"
}

// A change cannot loosen its own check through objects that policies look up, and objects of another cluster or root do
// not answer.
func TestLookups(t *testing.T) {
	const host = ", hostNetwork: true"
	kustomization := func(lines string) string { return "kind: Kustomization\n" + lines }
	for _, c := range []struct {
		name       string
		base, head map[string]string
		conclusion report.Conclusion
		says       string // part of a finding's message
		waits      string // the file that waits for approval
	}{
		{"unchanged ConfigMap allows the Pod", map[string]string{"ops/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "red", "")}, report.Success, "", ""},
		{"unchanged ConfigMap does not allow the Pod", map[string]string{"ops/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", "")}, report.Failure, "Not allowed", ""},
		{"loosened by the change", map[string]string{"ops/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "ops/cm.yaml": configMap("blue")},
			report.ActionRequired, "relies on ConfigMap ops/allowed", "ops/cm.yaml"},
		{"tightened by the change", map[string]string{"ops/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "red", ""), "ops/cm.yaml": configMap("blue")},
			report.Failure, "Not allowed", ""},
		{"loosened, and no Pod needs it", map[string]string{"ops/cm.yaml": configMap("red")},
			map[string]string{"ops/cm.yaml": configMap("blue")}, report.Success, "", ""},
		{"comment added", map[string]string{"ops/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "red", ""), "ops/cm.yaml": "# x\n" + configMap("red")},
			report.Success, "", ""},
		{"removed by the change", map[string]string{"ops/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "ops/cm.yaml": ""}, report.Failure,
			`configmaps "allowed" not found`, ""},
		{"a decoy in a new folder", map[string]string{"ops/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "a/cm.yaml": configMap("blue")},
			report.Failure, "Not allowed", ""},
		{"a decoy in its own root", map[string]string{"ops/cm.yaml": configMap("red"), "apps/x.yaml": namespaceOf("x", "y")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "apps/cm.yaml": configMap("blue")},
			report.ActionRequired, "relies on ConfigMap ops/allowed", "apps/cm.yaml"},
		{"a decoy in a root of the base", map[string]string{"ops/cm.yaml": configMap("red"),
			"a/x.yaml": namespaceOf("x", "y")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "a/cm.yaml": configMap("blue")},
			report.ActionRequired, "relies on ConfigMap ops/allowed", "a/cm.yaml"},
		{"a new object that the base does not declare", nil,
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "apps/cm.yaml": configMap("blue")},
			report.Neutral, "relies on ConfigMap ops/allowed", ""},
		{"a patch loosens it", map[string]string{"ops/cm.yaml": configMap("red"),
			"ops/kustomization.yaml": kustomization("resources: [cm.yaml]\n")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "ops/kustomization.yaml": kustomization(
				"resources: [cm.yaml]\npatches:\n- patch: '- {op: replace, path: /data/team, value: blue}'\n" +
					"  target: {kind: ConfigMap}\n")}, report.ActionRequired, "relies on ConfigMap ops/allowed",
			"ops/kustomization.yaml"},
		{"the settings' context answers before other roots", map[string]string{
			".lintel.yaml": "context: [cluster]\nroots: {exclude: [cluster]}\n", "cluster/cm.yaml": configMap("red"),
			"ops/cm.yaml": configMap("blue")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", "")}, report.Failure, "Not allowed", ""},
		{"the settings' context is read from the base", map[string]string{
			".lintel.yaml": "context: [cluster]\nroots: {exclude: [cluster]}\n", "cluster/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "cluster/cm.yaml": configMap("blue")},
			report.Failure, "Not allowed", ""},
		{"several roots differ", map[string]string{"dev/cm.yaml": configMap("red"), "prod/cm.yaml": configMap("blue")},
			map[string]string{"apps/pod.yaml": podOf("shop", "red", "")}, report.Neutral,
			"several roots declare ConfigMap ops/allowed, and they differ: dev, prod", ""},
		{"several roots say the same", map[string]string{"dev/cm.yaml": configMap("red"), "prod/cm.yaml": configMap("red")},
			map[string]string{"apps/pod.yaml": podOf("shop", "blue", "")}, report.Failure, "Not allowed", ""},
		{"dev's namespace is not prod's", map[string]string{"dev/ns.yaml": namespaceOf("shop", "open"),
			"prod/ns.yaml": namespaceOf("shop", "restricted"), "cm.yaml": configMap("red")},
			map[string]string{"prod/pod.yaml": podOf("shop", "red", host)}, report.Failure, "No host network", ""},
		{"prod's namespace is not dev's", map[string]string{"dev/ns.yaml": namespaceOf("shop", "open"),
			"prod/ns.yaml": namespaceOf("shop", "restricted"), "cm.yaml": configMap("red")},
			map[string]string{"dev/pod.yaml": podOf("shop", "red", host)}, report.Success, "", ""},
		{"a namespace that the change opens", map[string]string{"prod/ns.yaml": namespaceOf("shop", "restricted"),
			"cm.yaml": configMap("red")}, map[string]string{"prod/pod.yaml": podOf("shop", "red", host),
			"prod/ns.yaml": namespaceOf("shop", "open")}, report.ActionRequired, "relies on Namespace shop", "prod/ns.yaml"},
		{"an object without a namespace does not answer", map[string]string{"ops/cm.yaml": strings.Replace(configMap("blue"),
			", namespace: ops", "", 1)}, map[string]string{"apps/pod.yaml": podOf("shop", "blue", "")}, report.Neutral, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(allowed)
			edit(t, r, c.base)
			base := r.Snapshot()
			edit(t, r, c.head)
			change := report.Change{Base: base, Rules: base, Head: r.Snapshot()}
			rep := check(t, r, change)
			said := c.says == "" || slices.ContainsFunc(rep.Findings, func(f report.Finding) bool {
				return strings.Contains(sayings(rep, f), c.says)
			})
			if rep.Conclusion != c.conclusion || !said {
				t.Fatalf("%s (%s), want %s and %q: %+v, causes %+v, errors %s", rep.Conclusion, rep.Title, c.conclusion, c.says, rep.Findings, rep.Causes,
					problems(rep.Errors))
			}
			if c.waits == "" {
				if len(rep.Exceptions) > 0 {
					t.Errorf("%+v", rep.Exceptions)
				}
				return
			}
			if len(rep.Exceptions) != 1 || rep.Exceptions[0].Path != c.waits || rep.Exceptions[0].State != report.Pending {
				t.Fatalf("%+v", rep.Exceptions)
			}
			e := rep.Exceptions[0]
			review := report.Review{Path: e.Path, Blob: e.Blob, Terms: e.Terms, Needed: 1, Who: []string{"@a"},
				Approved: []report.Vote{{User: "a"}}}
			change.Reviews = []report.Review{review}
			if rep := check(t, r, change); rep.Conclusion == report.ActionRequired || rep.Conclusion == report.Failure ||
				rep.Exceptions[0].State != report.Approved {
				t.Errorf("approved: %s %+v", rep.Conclusion, rep.Exceptions)
			}
			change.Reviews[0].Refused = []report.Vote{{User: "a"}}
			if rep := check(t, r, change); rep.Conclusion != report.Failure {
				t.Errorf("refused: %s %+v", rep.Conclusion, rep.Exceptions)
			}
		})
	}
}

// Objects that the base branch changed later are used for look-ups, if the change leaves them alone.
func TestLookupsUseTheTipOfTheBaseBranch(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(allowed + "-- ops/cm.yaml --\n" + configMap("red"))
	tip := r.Commit("-- ops/cm.yaml --\n" + configMap("blue"))
	r.Git("checkout", "-q", base)
	r.Write("apps/pod.yaml", podOf("shop", "red", ""))
	if rep := check(t, r, report.Change{Base: base, Rules: tip, Head: r.Snapshot()}); rep.Conclusion != report.Failure {
		t.Errorf("%s %q", rep.Conclusion, lines(rep))
	}
}

// Whoever owns a file that changes what a looked-up object says approves it, for each such file and each object. What else a
// change edits decides nothing: else it could choose the owner.
func TestLookedUpObjectsWaitForEachFileThatChangesThem(t *testing.T) {
	kustomization := func(lines string) string { return "kind: Kustomization\n" + lines }
	patch := "patches:\n- patch: '- {op: replace, path: /data/team, value: blue}'\n  target: {name: allowed}\n"
	away := "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAME}\n$patch: delete\n"
	other := func(text string) string { return strings.Replace(configMap(text), "name: allowed", "name: other", 1) }
	const host = ", hostNetwork: true"
	for _, c := range []struct {
		name       string
		base, head map[string]string
		waits      []string
		then       map[string]string // after an approval, which must not count for it
	}{
		{name: "another file of the root", base: map[string]string{"ops/cm.yaml": configMap("red"), "ops/aaa.yaml": other("x"),
			"ops/kustomization.yaml": kustomization("resources: [cm.yaml, aaa.yaml]\n")},
			head: map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "ops/aaa.yaml": other("y"),
				"ops/kustomization.yaml": kustomization("resources: [cm.yaml, aaa.yaml]\n" + patch)},
			waits: []string{"ops/kustomization.yaml ConfigMap ops/allowed"}},
		{name: "its own file, too", base: map[string]string{"ops/cm.yaml": configMap("red"),
			"up/kustomization.yaml": kustomization("resources: [../ops]\n"), "ops/kustomization.yaml": kustomization("resources: [cm.yaml]\n")},
			head: map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "ops/cm.yaml": "# x\n" + configMap("red"),
				"up/kustomization.yaml": kustomization("resources: [../ops]\n" + patch)},
			waits: []string{"ops/cm.yaml ConfigMap ops/allowed", "up/kustomization.yaml ConfigMap ops/allowed"}},
		{name: "a patch takes a label away, and its own file changes", base: map[string]string{"ops/ns.yaml": namespaceOf("shop", "restricted"),
			"ops/kustomization.yaml": kustomization("resources: [ns.yaml]\n"), "ops/cm.yaml": configMap("red")},
			head: map[string]string{"apps/pod.yaml": podOf("shop", "red", host), "ops/ns.yaml": "# x\n" + namespaceOf("shop", "restricted, other: y"),
				"ops/kustomization.yaml": kustomization("resources: [ns.yaml]\npatches:\n- patch: '- {op: remove, path: /metadata/labels/level}'\n" +
					"  target: {kind: Namespace}\n")},
			waits: []string{"ops/kustomization.yaml Namespace shop", "ops/ns.yaml Namespace shop"}},
		{name: "two roots declare it", base: map[string]string{"dev/cm.yaml": configMap("red"), "prod/cm.yaml": configMap("red")},
			head: map[string]string{"apps/pod.yaml": podOf("shop", "blue", ""), "dev/cm.yaml": configMap("blue"),
				"prod/cm.yaml": configMap("blue")},
			waits: []string{"dev/cm.yaml ConfigMap ops/allowed", "prod/cm.yaml ConfigMap ops/allowed"}},
		{name: "two objects", base: map[string]string{"ops/cm.yaml": configMap("red"), "ops/ns.yaml": namespaceOf("shop", "restricted")},
			head: map[string]string{"apps/pod.yaml": podOf("shop", "blue", host), "ops/cm.yaml": configMap("blue"),
				"ops/ns.yaml": namespaceOf("shop", "open")},
			waits: []string{"ops/cm.yaml ConfigMap ops/allowed", "ops/ns.yaml Namespace shop"}},
		{name: "in one cluster, and later in another", base: map[string]string{".lintel.yaml": "checks: {api-server: \"off\"}\n" +
			"clusters: {dev: {roots: ['dev/**']}, prod: {roots: ['prod/**']}}\n", "dev/cm.yaml": configMap("red"), "prod/cm.yaml": configMap("red")},
			head: map[string]string{"lib/cm.yaml": configMap("blue"), "lib/kustomization.yaml": kustomization("resources: [cm.yaml]\n"),
				"dev/app/pod.yaml": podOf("shop", "blue", ""), "dev/app/kustomization.yaml": kustomization("resources: [../../lib, pod.yaml]\n")},
			waits: []string{"lib/cm.yaml ConfigMap ops/allowed"},
			then: map[string]string{"dev/app/pod.yaml": "", "dev/app/kustomization.yaml": "",
				"prod/app/pod.yaml": podOf("shop", "blue", ""), "prod/app/kustomization.yaml": kustomization("resources: [../../lib, pod.yaml]\n")}},
		{name: "a patch removes it, and later another one", base: map[string]string{"ns/a.yaml": namespaceOf("a", "restricted"),
			"ns/b.yaml": namespaceOf("b", "restricted"), "ns/kustomization.yaml": kustomization("resources: [a.yaml, b.yaml]\n"),
			"ops/cm.yaml": configMap("red")},
			head: map[string]string{"ns/kustomization.yaml": kustomization("resources: [a.yaml, b.yaml]\npatches: [{path: p.yaml}]\n"),
				"ns/p.yaml": strings.Replace(away, "NAME", "a", 1), "apps/pod.yaml": podOf("a", "red", host)},
			waits: []string{"ns/kustomization.yaml Namespace a", "ns/p.yaml Namespace a"},
			then:  map[string]string{"ns/p.yaml": strings.Replace(away, "NAME", "b", 1), "apps/pod.yaml": podOf("b", "red", host)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(allowed)
			edit(t, r, c.base)
			base := r.Snapshot()
			edit(t, r, c.head)
			change := report.Change{Base: base, Rules: base, Head: r.Snapshot()}
			rep := check(t, r, change)
			var waits []string
			known := map[string]bool{}
			for _, e := range rep.Exceptions {
				waits = append(waits, e.Path+" "+e.Name)
				known[e.Terms[0]] = true
				change.Reviews = append(change.Reviews, report.Review{Path: e.Path, Blob: e.Blob, Terms: e.Terms, Needed: 1,
					Approved: []report.Vote{{User: "bob"}}})
			}
			if !slices.Equal(waits, c.waits) || rep.Conclusion != report.ActionRequired {
				t.Fatalf("%s: %q waits, want %q", rep.Conclusion, waits, c.waits)
			}
			for _, e := range check(t, r, change).Exceptions {
				if e.State != report.Approved {
					t.Errorf("approved, and it is %+v", e)
				}
			}
			edit(t, r, c.then)
			change.Head, change.Reviews = r.Snapshot(), nil
			list := check(t, r, change).Exceptions
			for _, e := range list {
				if known[e.Terms[0]] != (c.then == nil) {
					t.Errorf("%s has terms that were known: %v", e.Name, known[e.Terms[0]])
				}
			}
			if len(list) != len(c.waits) {
				t.Errorf("later, %+v waits", list)
			}
		})
	}
}
