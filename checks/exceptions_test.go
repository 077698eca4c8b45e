package checks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const hostNetwork = "  hostNetwork: true\n  containers: [{name: c, image: 'x:1'}]\n"

// What an exception covers besides the change is found by evaluation, also in roots that the change does not affect.
func TestExceptionListsWhatElseItCovers(t *testing.T) {
	r := treetest.New(t)
	r.Write("other/a.yaml", pod("old", hostNetwork)+"---\n"+pod("older", hostNetwork)+"---\n"+pod("good",
		"  containers: [{name: c, image: 'x:1'}]\n"))
	base := r.Commit(pods)
	r.Write("apps/new.yaml", pod("new", hostNetwork))
	for _, c := range []struct {
		name, spec string
		fails      []string
		complying  int
	}{
		{"narrow", "{exceptions: [{policyName: pods, ruleNames: [net]}], match: {any: [{resources: {kinds: [Pod], names: " +
			"[new]}}]}}", nil, 0},
		{"every pod", "{exceptions: [{policyName: pods, ruleNames: [net]}], match: {any: [{resources: {kinds: [Pod]}}]}}",
			[]string{"old", "older"}, 1},
		{"names by a wildcard", "{exceptions: [{policyName: pods, ruleNames: [net]}], match: {any: [{resources: {kinds: [Pod], " +
			"names: [new, old*]}}]}}", []string{"old", "older"}, 0},
		{"another rule", "{exceptions: [{policyName: pods, ruleNames: [tag]}], match: {any: [{resources: {kinds: [Pod], " +
			"names: [old, good]}}]}}", nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.Write("exceptions/e.yaml", exception("e", c.spec))
			for _, approved := range [][]string{nil, {"exceptions/e.yaml"}} {
				rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot(), Approve: approved})
				if len(rep.Exceptions) != 1 || rep.Exceptions[0].Beyond == nil {
					t.Fatalf("%+v", rep.Exceptions)
				}
				b := rep.Exceptions[0].Beyond
				var names []string
				for _, x := range b.Failing {
					names = append(names, x.Name)
				}
				if !slices.Equal(names, c.fails) || b.Fails != len(c.fails) || b.Complying != c.complying || b.Roots != b.OfRoots ||
					b.Resources < 4 {
					t.Errorf("%+v, want %q and %d that comply", b, c.fails, c.complying)
				}
			}
		})
	}
}

// What a merged exception covers is placed at the field that would fail. A resource that complies without the exception
// is not covered.
func TestCoveredFindingsHaveTheLineOfTheField(t *testing.T) {
	r := treetest.New(t)
	r.Write("exceptions/e.yaml", exception("e",
		"{exceptions: [{policyName: pods, ruleNames: [net]}, {policyName: lintel, ruleNames: [api-server]}], "+
			"match: {any: [{resources: {kinds: [Pod, Service]}}]}}"))
	r.Write("exceptions/m.yaml", exception("m", "{exceptions: [{policyName: owners, ruleNames: [set, has]}], match: {any: [{resources: {kinds: [ConfigMap]}}]}}"))
	r.Write("policies/owners.yaml", `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owners}
spec:
  rules:
  - name: set
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {owner: x}}}}
  - name: has
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {failureAction: Enforce, message: owner is required, pattern: {metadata: {labels: {owner: "?*"}}}}
`)
	base := r.Commit(pods)
	r.Write("apps/map.yaml", keyed("map", "x"))
	r.Write("apps/new.yaml", pod("new", hostNetwork)+"---\n"+pod("good", "  containers: [{name: c, image: 'x:1'}]\n"))
	r.Write("apps/service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  type: none\n  ports:\n  - {port: 80, protocol: none}\n")
	var got []string
	for _, f := range check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()}).Findings {
		got = append(got, fmt.Sprintf("%s %s:%d %s %s", f.Resource.Name, f.Origin.Path, f.Origin.StartLine, f.Field, f.Exemption.Exception))
	}
	if diff := cmp.Diff([]string{"map apps/map.yaml:1  ops/m", "new apps/new.yaml:5 /spec/hostNetwork ops/e",
		"s apps/service.yaml:5 /spec/type ops/e", "s apps/service.yaml:7 /spec/ports/0/protocol ops/e"}, got); diff != "" {
		t.Error(diff)
	}
}

// The search for what else an exception covers is bounded, and the report says so when it stops.
func TestSearchForCoveredResourcesIsBounded(t *testing.T) {
	r := treetest.New(t)
	r.Commit(pods)
	for i := range 70 {
		r.Write(fmt.Sprintf("apps/%02d/pod.yaml", i), pod(fmt.Sprint("p", i), hostNetwork))
	}
	base := r.Snapshot()
	r.Write("exceptions/e.yaml", exception("e",
		"{exceptions: [{policyName: pods, ruleNames: ['*']}], match: {any: [{resources: {kinds: [Pod]}}]}}"))
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	b := rep.Exceptions[0].Beyond
	if b.OfRoots < 70 || b.Roots >= b.OfRoots || b.Roots < 50 || b.Fails < 40 || len(b.Failing) != 10 {
		t.Errorf("%+v", b)
	}
}

// A refused exception of the change does not count: what it covers blocks.
func TestRefusedExceptionDoesNotCount(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(pods)
	r.Write("apps/new.yaml", pod("new", hostNetwork))
	r.Write("exceptions/e.yaml", exception("e",
		"{exceptions: [{policyName: pods, ruleNames: [net]}], match: {any: [{resources: {kinds: [Pod], names: [new]}}]}}"))
	change := report.Change{Base: base, Rules: base, Head: r.Snapshot()}
	rep := check(t, r, change)
	if rep.Conclusion != report.ActionRequired {
		t.Fatalf("%s %q", rep.Conclusion, lines(rep))
	}
	review := report.Review{Path: "exceptions/e.yaml", Blob: rep.Exceptions[0].Blob, Terms: rep.Exceptions[0].Terms, Needed: 1,
		Who: []string{"@org/security", "@a", "@b"}}
	change.Reviews = []report.Review{review}
	rep = check(t, r, change)
	if want := "1 exception waits for @org/security or @a or 1 more"; rep.Title != want {
		t.Errorf("%q, want %q", rep.Title, want)
	}
	change.Reviews[0].Refused = []report.Vote{{User: "bob"}}
	rep = check(t, r, change)
	if rep.Conclusion != report.Failure || rep.Exceptions[0].State != report.Refused ||
		rep.Findings[0].Exemption.By != "bob" {
		t.Errorf("%s %+v %+v", rep.Conclusion, rep.Exceptions, rep.Findings)
	}
}

// What an expired exception would cover, and another one that waits for approval, waits.
func TestPendingExceptionOutweighsAnExpiredOne(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(pods)
	r.Write("apps/new.yaml", pod("new", hostNetwork))
	r.Write("e/a.yaml", strings.Replace(narrow("a", "new"), "namespace: ops", "namespace: ops, labels: {cleanup.kyverno.io/ttl: '2020-01-01'}", 1))
	r.Write("e/b.yaml", narrow("b", "new"))
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	if rep.Conclusion != report.ActionRequired || rep.Findings[0].Exemption.Exception != "ops/b" {
		t.Errorf("%s: %+v", rep.Title, rep.Findings[0].Exemption)
	}
}

// An exception of policies.kyverno.io that disables a whole policy waits for approval like any other.
func TestWholeCELExceptionWaits(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(draftPolicies)
	r.Write("apps/new.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n")
	r.Write("exceptions/e.yaml", celException("e", "{policyRefs: [{name: owner, kind: ValidatingPolicy}], "+
		"matchConditions: [{name: only, expression: object.metadata.name == 'new'}]}"))
	if rep := check(t, r, report.Change{Base: base, Rules: base,
		Head: r.Snapshot()}); rep.Conclusion != report.ActionRequired {
		t.Errorf("%s %q", rep.Conclusion, lines(rep))
	}
}

func TestBroadExceptionsAreDescribed(t *testing.T) {
	narrow := "kinds: [Pod], names: [a], namespaces: [b], operations: [CREATE]"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"narrow", exception("e", "{exceptions: [{policyName: pods, ruleNames: [net]}], match: {any: [{resources: {"+
			narrow+"}}]}}"), []string{"it has no expiry date: it counts until it is removed"}},
		{"with an expiry date", strings.Replace(exception("e", "{exceptions: [{policyName: pods, ruleNames: [net]}], match: {all: "+
			"[{resources: {kinds: [Pod], names: [a]}}, {resources: {namespaces: [b], operations: [CREATE]}}]}}"),
			"namespace: ops}", "namespace: ops, labels: {cleanup.kyverno.io/ttl: 2030-01-01}}", 1), nil},
		{"broad in every way", exception("e", "{background: false, exceptions: [{policyName: pods, ruleNames: ['*']}, {policyName: "+
			"standard, ruleNames: [base*]}], match: {any: [{resources: {kinds: ['*'], names: ['web-*']}}]}}"),
			[]string{"all rules of pods, including those added later", "any operation by any user",
				"every control of the Pod Security Standard in standard", "every kind", "every name like web-*", "every namespace",
				"every rule of standard like base*", "it has no expiry date"}},
		{"cluster-scoped kind", exception("e", "{exceptions: [{policyName: pods, ruleNames: [net]}], match: {any: "+
			"[{resources: {kinds: [v1/Namespace], names: [a], operations: [CREATE]}}]}}"), []string{"it has no expiry date"}},
		{"one control", exception("e", "{exceptions: [{policyName: standard, ruleNames: [baseline]}], match: {any: "+
			"[{resources: {"+narrow+"}}]}, podSecurity: [{controlName: Privileged Containers, images: ['*']}]}"),
			[]string{"every image for the control Privileged Containers", "it has no expiry date"}},
		{"a whole CEL policy", celException("e", "{policyRefs: [{name: privileged, kind: ValidatingPolicy}, {name: "+
			"volumes, kind: ValidatingPolicy}, {name: owner, kind: ValidatingPolicy}]}"),
			[]string{"all of privileged, although an exception to that policy can name single images", "all of " +
				"volumes, although an exception to that policy " +
				"can name single values", "every resource that the policy matches", "it has no expiry date"}},
		{"a CEL policy for some images", celException("e", "{policyRefs: [{name: privileged, kind: ValidatingPolicy}], images: ['r/*'], "+
			"expiresAt: 2030-01-01T00:00:00Z, matchConditions: [{name: only, expression: object.kind == 'Pod'}]}"),
			[]string{"every image like r/*", "every name", "every namespace"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(draftPolicies)
			r.Write("exceptions/e.yaml", c.text)
			rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
			if len(rep.Exceptions) != 1 || len(rep.Errors) > 0 {
				t.Fatalf("%+v, %s", rep.Exceptions, problems(rep.Errors))
			}
			got := rep.Exceptions[0].Broad
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

// An exception is reported as unused only where a check of the whole repository can tell.
func TestUnusedExceptionsAreReported(t *testing.T) {
	refs := "{policyName: pods, ruleNames: [net]}"
	one := func(match string) string {
		return exception("e", "{exceptions: ["+refs+"], match: {any: [{resources: {kinds: [Pod], names: [gone]"+match+"}}]}}")
	}
	for _, c := range []struct {
		name, text string
		files      map[string]string
		unused     bool
	}{
		{name: "unused", text: one(""), unused: true},
		{name: "needed", text: strings.Replace(one(""), "gone", "old", 1)},
		{name: "covers what complies", text: strings.Replace(one(""), "gone", "good", 1), unused: true},
		{name: "for another operation", text: one(", operations: [DELETE]")},
		{name: "for some users", text: strings.Replace(one(""), "[{resources:",
			"[{subjects: [{kind: User, name: jane}], resources:", 1)},
		{name: "on a condition about the request", text: exception("e",
			"{exceptions: ["+refs+"], match: {any: [{resources: {kinds: [Pod], names: [gone]}}]}, conditions: {any: [{key: "+
				"'{{ request.userInfo.username }}', operator: Equals, value: x}]}}")},
		{name: "for a policy that the repository does not have", text: strings.Replace(one(""), "policyName: pods", "policyName: elsewhere", 1)},
		{name: "also for a rule that does not exist", text: strings.Replace(one(""), "[net]", "[net, nat]", 1)},
		{name: "a root does not render", text: one(""),
			files: map[string]string{"apps/k/kustomization.yaml": "resources: [missing.yaml]\n"}},
		{name: "a chart is not rendered", text: one(""),
			files: map[string]string{"chart/Chart.yaml": "name: x\nversion: 1.0.0\n"}},
		{name: "a result is unknown", text: one(""), files: map[string]string{
			"apps/svc.yaml": pod("unknown", "  containers: [{name: c, image: 'x:1'}]\n"), "policies/p2.yaml": `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: other}
spec:
  rules:
  - name: net
    match: {any: [{resources: {kinds: [Pod]}}]}
    context: [{name: x, apiCall: {urlPath: /apis/example.com/v1/things}}]
    validate:
      message: No.
      deny: {conditions: {all: [{key: "{{ x }}", operator: Equals, value: y}]}}
`}, unused: true}, // an unknown result of another policy
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Write("apps/a.yaml", pod("old", hostNetwork)+"---\n"+pod("good", "  containers: [{name: c, image: 'x:1'}]\n"))
			r.Write("exceptions/e.yaml", c.text)
			for name, data := range c.files {
				r.Write(name, data)
			}
			head := r.Commit(pods)
			rep := check(t, r, report.Change{Rules: head, Head: head, All: true})
			if got := slices.ContainsFunc(rep.Cleanup, func(u report.Cleanup) bool { return u.Unused }); got != c.unused {
				t.Errorf("claimed %v, want %v: %+v, errors %s", got, c.unused, rep.Cleanup, problems(rep.Errors))
			}
			if pr := check(t, r, report.Change{Rules: head, Base: head, Head: head}); len(pr.Cleanup) > 0 {
				t.Errorf("a check of a change claims %+v", pr.Cleanup)
			}
		})
	}
}

// Exceptions that expire within two weeks are reported.
func TestExceptionsThatExpireSoonAreReported(t *testing.T) {
	for days, want := range map[int]string{-1: "expired", 0: "expired", 1: "soon", 14: "soon", 15: ""} {
		r := treetest.New(t)
		r.Write("apps/a.yaml", pod("old", hostNetwork))
		r.Write("exceptions/e.yaml", celException("e", fmt.Sprintf("{policyRefs: [{name: x, kind: ValidatingPolicy}], "+
			"expiresAt: %s}", now.Add(time.Duration(days)*24*time.Hour).Format(time.RFC3339))))
		head := r.Commit(pods)
		rep := check(t, r, report.Change{Rules: head, Head: head, All: true})
		got := ""
		for _, u := range rep.Cleanup {
			got += map[bool]string{true: "expired"}[u.Expired] + map[bool]string{true: "soon"}[u.Soon]
		}
		if got != want {
			t.Errorf("in %d days: %q, want %q", days, got, want)
		}
	}
}

// A check of the whole repository lists the merged exceptions in effect, used or not, with what they cover and when
// they expire.
func TestMergedExceptionsAreListed(t *testing.T) {
	spec := func(names string) string {
		return "{exceptions: [{policyName: pods, ruleNames: [net, autogen-net]}], match: {any: [{resources: {kinds: [Pod], names: [" +
			names + "]}}]}}"
	}
	r := treetest.New(t)
	r.Write("apps/a.yaml", pod("one", hostNetwork)+"---\n"+pod("two", hostNetwork)+"---\n"+pod("three", hostNetwork))
	end := time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC)
	until := func(text, date string) string {
		return strings.Replace(text, "namespace: ops", "namespace: ops, labels: {cleanup.kyverno.io/ttl: '"+date+"'}", 1)
	}
	r.Write("exceptions/a.yaml", exception("both", spec("one, two"))+"---\n"+exception("idle", spec("nobody")))
	r.Write("exceptions/b.yaml", until(exception("ends", spec("three")), "2035-01-01")+"---\n"+
		until(exception("ended", spec("one")), "2020-01-01"))
	head := r.Commit(pods)
	rep := check(t, r, report.Change{Rules: head, Head: head, All: true})
	want := []report.Active{{Name: "ops/both", Path: "exceptions/a.yaml", Line: 1, Covers: 2},
		{Name: "ops/idle", Path: "exceptions/a.yaml", Line: 6}, {Name: "ops/ends", Path: "exceptions/b.yaml", Line: 1, Expires: end, Covers: 1}}
	if diff := cmp.Diff(want, rep.Active); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pr := check(t, r, report.Change{Rules: head, Base: head, Head: head}); len(pr.Active) > 0 {
		t.Errorf("a check of a change has %+v", pr.Active)
	}
}

// A finding says which value the policy's pattern expects in its field.
func TestFindingSaysTheExpectedValue(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(`
-- policies/p.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: all
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Enforce
      message: No.
      pattern:
        metadata: {labels: {team: "?*", tier: "gold | silver"}}
        spec:
          =(hostNetwork): false
          containers: [{image: "!*:latest", resources: {limits: {memory: "<=1Gi"}}}]
          restartPolicy: "{{ request.object.spec.x || 'Always' }}"
`)
	r.Write("apps/a.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {metadata: "+
		"{labels: {tier: x}}, spec: {hostNetwork: true, restartPolicy: Never, containers: [{name: c, image: 'x:latest', "+
		"resources: {limits: {memory: 2Gi}}}]}}}\n")
	rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
	want := map[string]string{
		"/spec/template/metadata/labels/team": "any value that is not empty",
		"/spec/template/metadata/labels/tier": "gold, or silver",
		"/spec/template/spec/hostNetwork":     "false", "/spec/template/spec/containers/0/image": "anything but *:latest",
		"/spec/template/spec/containers/0/resources/limits/memory": "at most 1Gi",
		"/spec/template/spec/restartPolicy":                        "Always",
	}
	seen := 0
	for _, f := range rep.Findings {
		if words, ok := want[f.Field]; !ok || words != f.Expected {
			t.Errorf("%s: %q, want %q", f.Field, f.Expected, words)
		}
		seen++
	}
	if seen < 3 {
		t.Errorf("%d findings: %q", seen, lines(rep))
	}
}
