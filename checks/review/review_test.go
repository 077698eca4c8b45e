package review_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// source is a file of rules.
func source(path, data string) policy.Source {
	return rules.File{Path: path, Data: []byte(data)}.Source()
}

func policies(t *testing.T, data string) *engine.Policies {
	t.Helper()
	out, problems := engine.CompilePolicies([]policy.Source{source("p.yaml", data)}, engine.Options{})
	if policy.HasErrors(problems) {
		t.Fatal(problems)
	}
	return out
}

// clusterPolicy is a policy with the given rules; each is a flow map.
func clusterPolicy(rules ...string) string {
	return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - " +
		strings.Join(rules, "\n  - ") + "\n"
}

const (
	pods = "match: {any: [{resources: {kinds: [Pod]}}]}"
	tag  = "{name: tag, " + pods +
		", validate: {failureAction: Enforce, message: m, pattern: {spec: {containers: [{image: '!*:latest'}]}}}}"
	strict = "{name: tag, " + pods + ", validate: {failureAction: Enforce, allowExistingViolations: false, message: m, " +
		"pattern: {spec: {containers: [{image: '!*:latest'}]}}}}"
	sidecar = "{name: add, " + pods +
		", mutate: {patchesJson6902: '[{\"op\": \"add\", \"path\": \"/spec/containers/0\", " +
		"\"value\": {\"name\": \"side\", \"image\": \"s:latest\"}}]'}}"
	removal = "{name: take, " + pods +
		", mutate: {patchesJson6902: '[{\"op\": \"remove\", \"path\": \"/spec/containers/0\"}]'}}"
)

const (
	deployments = "{name: tag, match: {any: [{resources: {kinds: [apps/v1/Deployment]}}]}, validate: {failureAction: " +
		"Enforce, message: m, pattern: {spec: {template: {spec: {containers: [{image: '!*:latest'}]}}}}}}"
	gone = "{name: gone, match: {any: [{resources: {kinds: [apps/v1beta2/Deployment]}}]}, validate: {failureAction: " +
		"Enforce, message: m, deny: {}}}"
)

const readOnly = "{name: ro, " + pods + ", validate: {failureAction: Enforce, message: m, " +
	"pattern: {spec: {containers: [{securityContext: {readOnlyRootFilesystem: true}}]}}}}"

// secured is a Pod whose container has the given securityContext; nil: none.
func secured(context map[string]any) *render.Resource {
	r := pod("a=x:1")
	if context != nil {
		r.Object["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["securityContext"] = context
	}
	return r
}

// deployment is a Deployment in one version of its API.
func deployment(version, image string) *render.Resource {
	containers := []any{map[string]any{"name": "c", "image": image}}
	return resource(map[string]any{"apiVersion": version, "kind": "Deployment", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}})
}

// pod is a Pod with containers "name=image".
func pod(containers ...string) *render.Resource {
	list := []any{}
	for _, c := range containers {
		name, image, _ := strings.Cut(c, "=")
		list = append(list, map[string]any{"name": name, "image": image})
	}
	return resource(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a",
		"namespace": "ns"},
		"spec": map[string]any{"containers": list}})
}

func resource(object map[string]any, issues ...render.Issue) *render.Resource {
	return render.NewResource(object, place{}.Locate, issues...)
}

// place puts everything on line 1 of a file; its role is the requested pointer.
type place struct{}

func (place) Locate(pointer string) origin.Place {
	return origin.Place{Path: "pod.yaml", StartLine: 1, EndLine: 1, How: origin.Identity,
		Chain: []origin.Link{{Path: "base.yaml", StartLine: 2, EndLine: 2, Role: "base"}}, Missing: pointer}
}

func update(old, now *render.Resource) *diff.Pair {
	return &diff.Pair{Root: roots.Root{Path: "apps"}, Operation: admission.Update, Old: old, New: now}
}

// states are the states of exceptions; those that are not listed are merged.
type states map[*engine.Exception]report.State

func (s states) State(e *engine.Exception) report.State {
	if state, ok := s[e]; ok {
		return state
	}
	return report.Merged
}

func (s states) By(e *engine.Exception) []string { return []string{"olga"} }

func view(s states) review.View {
	return review.View{Exceptions: s, Changed: func(path string) bool { return path == "pod.yaml" }}
}

// A violation that the base had at the same field is pre-existing, also if elements of a list moved.
func TestViolationsOfTheBaseAreNotNew(t *testing.T) {
	label := "{name: lab, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {failureAction: Enforce, message: m, " +
		"pattern: {metadata: {labels: {a: b}}}}}"
	for _, c := range []struct {
		name, policy string
		pair         *diff.Pair
		all          bool
		want         []string // field, then "new" and "blocks" where it is and does
	}{
		{"a creation", tag, &diff.Pair{Operation: admission.Create, New: pod("a=x:latest")}, false,
			[]string{"/spec/containers/0/image new blocks"}},
		{"unchanged violation", tag, update(pod("a=x:latest"), pod("a=x:latest", "b=y:1")), false,
			[]string{"/spec/containers/0/image"}},
		{"unchanged violation, and existing violations block", tag, update(pod("a=x:latest"), pod("a=x:latest", "b=y:1")), true,
			[]string{"/spec/containers/0/image blocks"}},
		{"fixed", tag, update(pod("a=x:latest"), pod("a=x:1")), false, nil},
		{"the list is reversed", tag, update(pod("a=x:latest", "b=y:1"), pod("b=y:1", "a=x:latest")), false,
			[]string{"/spec/containers/1/image"}},
		{"a violation of another element", tag, update(pod("a=x:latest", "b=y:1"), pod("a=x:latest", "b=y:latest")), false,
			[]string{"/spec/containers/0/image", "/spec/containers/1/image new blocks"}},
		{"a renamed element is another one", tag, update(pod("a=x:latest"), pod("b=x:latest")), false,
			[]string{"/spec/containers/0/image new blocks"}},
		{"another violating image", tag, update(pod("a=x:latest"), pod("a=y:latest")), false,
			[]string{"/spec/containers/0/image"}},
		{"a field that both lack", label, update(pod("a=x:1"), pod("a=x:2")), false, []string{"/metadata/labels"}},
		{"a rule that does not allow existing violations", strict, update(pod("a=x:latest"), pod("a=x:latest", "b=y:1")), false,
			[]string{"/spec/containers/0/image blocks"}},
		{"an element that a mutate rule puts first", sidecar + "\n  - " + tag,
			update(pod("a=x:latest"), pod("a=x:latest", "b=y:1")), false,
			[]string{"/spec/containers/0/image", "/spec/containers/1/image"}},
		{"an element that a mutate rule puts first, and a new violation", sidecar + "\n  - " + tag, update(pod("a=x:1"), pod("a=x:latest")), false,
			[]string{"/spec/containers/0/image", "/spec/containers/1/image new blocks"}},
		{"another version of the API, to which alone a rule applies", deployments, update(deployment("apps/v1beta2", "x:latest"),
			deployment("apps/v1", "x:latest")), false, []string{"/spec/template/spec/containers/0/image"}},
		{"another version of the API, and a new violation", deployments, update(deployment("apps/v1beta2", "x:1"),
			deployment("apps/v1", "x:latest")), false, []string{"/spec/template/spec/containers/0/image new blocks"}},
		{"an earlier version of the API", deployments, update(deployment("apps/v1", "x:latest"), deployment("apps/v1beta2", "x:latest")),
			false, nil},
		{"a rule rejects the new version of the API", gone, update(deployment("apps/v1", "x:1"),
			deployment("apps/v1beta2", "x:1")), false, []string{" new blocks"}},
		{"a rule rejects the unchanged version of the API", gone, update(deployment("apps/v1beta2", "x:1"),
			deployment("apps/v1beta2", "x:2")), false, []string{""}},
		{"a field that both lack, in a new parent", readOnly, update(secured(nil), secured(map[string]any{"privileged": false})), false,
			[]string{"/spec/containers/0/securityContext/readOnlyRootFilesystem"}},
		{"a removed field", readOnly, update(secured(map[string]any{"readOnlyRootFilesystem": true}),
			secured(map[string]any{"privileged": false})), false,
			[]string{"/spec/containers/0/securityContext/readOnlyRootFilesystem new blocks"}},
		{"a wrong value in a new parent", readOnly, update(secured(nil), secured(map[string]any{
			"readOnlyRootFilesystem": false})), false, []string{"/spec/containers/0/securityContext/readOnlyRootFilesystem " +
			"new blocks"}},
		{"a missing field of another element", readOnly, update(pod("b=x:1"), secured(map[string]any{"privileged": false})), false,
			[]string{"/spec/containers/0/securityContext/readOnlyRootFilesystem new blocks"}},
		{"an element that a mutate rule removes", removal + "\n  - " + tag,
			update(pod("a=x:1", "b=y:latest"), pod("a=x:2", "b=y:latest")), false, []string{"/spec/containers/0/image"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := policies(t, clusterPolicy(c.policy))
			v := &review.Reviewer{Effective: p.Bind(nil, nil)}
			with := view(nil)
			with.Block.Existing = c.all
			answer := v.Review(t.Context(), c.pair)
			var got []string
			for _, f := range with.Findings(&answer) {
				line := f.Field
				if f.New {
					line += " new"
				}
				if f.Blocks {
					line += " blocks"
				}
				got = append(got, line)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// An issue of rendering is new or pre-existing by the rules for findings of policies.
func TestIssuesOfTheBaseAreNotNew(t *testing.T) {
	issue := render.Issue{Check: render.ControllerRejects, Pointer: "/data", Message: "is wrong"}
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}
	p := policies(t, "")
	v := &review.Reviewer{Effective: p.Bind(nil, nil), Checks: builtin.Always()}
	for _, c := range []struct {
		old  []render.Issue
		want bool
	}{{nil, true}, {[]render.Issue{issue}, false}} {
		answer := v.Review(t.Context(), update(resource(object, c.old...), resource(object, issue)))
		list := view(nil).Findings(&answer)
		if len(list) != 1 || list[0].New != c.want || list[0].Rule != string(issue.Check) {
			t.Errorf("old %v: %+v", c.old, list)
		}
	}
}

// A field that a mutate rule wrote is placed at the rule, followed by its place in the sources; other fields are placed
// in the sources.
func TestMutatedFieldIsPlacedAtItsRule(t *testing.T) {
	p := policies(t, clusterPolicy(sidecar, tag))
	v := &review.Reviewer{Effective: p.Bind(nil, nil)}
	answer := v.Review(t.Context(), &diff.Pair{Operation: admission.Create, New: pod("a=x:latest")})
	got := map[string]string{}
	for _, f := range view(nil).Findings(&answer) {
		got[f.Field] = fmt.Sprintf("%s:%d %s %v %v", f.Origin.Path, f.Origin.StartLine, f.Origin.How, f.Origin.Changed,
			f.Origin.Chain)
	}
	want := map[string]string{
		"/spec/containers/0/image": "p.yaml:6 writer false [{pod.yaml 1 1 rendered} {base.yaml 2 2 base}]",
		"/spec/containers/1/image": "pod.yaml:1 identity true [{base.yaml 2 2 base}]",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	mutated := answer.Mutated()
	if len(mutated) != 1 || !slices.Equal(mutated[0].Fields, []string{"/spec/containers/[name=side]"}) ||
		!answer.Mutations.By()["p"] {
		t.Errorf("mutated %+v", mutated)
	}
}

// After a mutate rule removed an element, the fields of later elements still have their own places.
func TestRemovalByAMutateRuleKeepsPlacesOfLaterElements(t *testing.T) {
	p := policies(t, clusterPolicy(removal, tag))
	v := &review.Reviewer{Effective: p.Bind(nil, nil)}
	answer := v.Review(t.Context(), &diff.Pair{Operation: admission.Create, New: pod("a=x:1", "b=y:latest")})
	list := view(nil).Findings(&answer)
	if len(list) != 1 || list[0].Field != "/spec/containers/0/image" ||
		list[0].Origin.Missing != "/spec/containers/1/image" {
		t.Errorf("%+v", list)
	}
}

func exceptionFor(t *testing.T, name, pods string) *engine.Exception {
	t.Helper()
	list, problems := engine.CompileExceptions([]policy.Source{source(name+".yaml", `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: `+name+`, namespace: ns}
spec:
  exceptions: [{policyName: p, ruleNames: ['*']}]
  match: {any: [{resources: {kinds: [Pod], names: [`+pods+`]}}]}
`)}, engine.Options{})
	if len(list) != 1 {
		t.Fatal(problems)
	}
	return list[0]
}

// An exemption names one exception. A pending one is named only where no exception counts; an exception of the change
// is named before a merged one.
func TestExemptionNamesTheMostInformativeException(t *testing.T) {
	a, b, other := exceptionFor(t, "a", "a"), exceptionFor(t, "b", "a"), exceptionFor(t, "other", "z")
	for _, c := range []struct {
		name           string
		counting, idle []*engine.Exception
		states         states
		want           string // result, exemption, state
		blocks         bool
	}{
		{"none", nil, nil, nil, "fail", true},
		{"merged", []*engine.Exception{a}, nil, nil, "skip ns/a merged", false},
		{"approved rather than merged", []*engine.Exception{b, a}, nil, states{b: report.Approved}, "skip ns/b approved",
			false},
		{"for another resource", []*engine.Exception{other}, nil, nil, "fail", true},
		{"pending", nil, []*engine.Exception{a}, states{a: report.Pending}, "fail ns/a pending", true},
		{"refused", nil, []*engine.Exception{a}, states{a: report.Refused}, "fail ns/a refused", true},
		{"expired", nil, []*engine.Exception{a}, states{a: report.Expired}, "fail ns/a expired", true},
		{"pending for another resource", nil, []*engine.Exception{other}, states{other: report.Pending}, "fail", true},
		{"merged, and a pending one", []*engine.Exception{a}, []*engine.Exception{b}, states{b: report.Pending},
			"skip ns/a merged", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := policies(t, clusterPolicy(tag))
			v := &review.Reviewer{Effective: p.Bind(c.counting, nil)}
			if len(c.idle) > 0 {
				v.Inactive = p.Bind(append(slices.Clone(c.counting), c.idle...), nil)
			}
			answer := v.Review(t.Context(), &diff.Pair{Operation: admission.Create, New: pod("a=x:latest")})
			list := view(c.states).Findings(&answer)
			if len(list) != 1 {
				t.Fatalf("%+v", list)
			}
			got := string(list[0].Finding.Result)
			if x := list[0].Exemption; x != nil {
				got += " " + x.Exception + " " + string(x.State)
			}
			if got != c.want || list[0].Blocks != c.blocks {
				t.Errorf("got %q, blocks %v; want %q", got, list[0].Blocks, c.want)
			}
		})
	}
}

// cluster declares one Namespace, and counts look-ups of it.
type cluster struct {
	labels map[string]any
	asked  atomic.Int32
}

func (c *cluster) Get(_ context.Context, _, kind, _, name string) (admission.Object, bool) {
	c.asked.Add(1)
	return admission.Object{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name,
			"labels": c.labels}},
		kind == "Namespace" && c.labels != nil
}

func (c *cluster) List(context.Context, string, string, string) []admission.Object { return nil }

// A Namespace is looked up only if a rule cannot be decided without it.
func TestNamespaceIsLookedUpOnlyWhenNeeded(t *testing.T) {
	gold := "{name: gold, match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {tier: gold}}}}]}, " +
		"validate: {failureAction: Enforce, message: m, pattern: {spec: {containers: [{image: '!*:latest'}]}}}}"
	for _, c := range []struct {
		name, policy string
		labels       map[string]any
		asked        int32
		want         []engine.Outcome
	}{
		{"not needed", tag, map[string]any{"tier": "gold"}, 0, []engine.Outcome{engine.Fail}},
		{"gold", gold, map[string]any{"tier": "gold"}, 1, []engine.Outcome{engine.Fail}},
		{"not gold", gold, map[string]any{"tier": "tin"}, 1, nil},
		{"not declared", gold, nil, 1, []engine.Outcome{engine.Unknown}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, objects := policies(t, clusterPolicy(c.policy)), &cluster{labels: c.labels}
			v := &review.Reviewer{Cluster: objects, Effective: p.Bind(nil, objects)}
			answer := v.Review(t.Context(), &diff.Pair{Operation: admission.Create, New: pod("a=x:latest")})
			var got []engine.Outcome
			for _, r := range answer.Results {
				if !review.Quiet(r) {
					got = append(got, r.Outcome)
				}
			}
			if n := objects.asked.Load(); n != c.asked || !slices.Equal(got, c.want) {
				t.Errorf("asked %d times, %q; want %d, %q", n, got, c.asked, c.want)
			}
		})
	}
}

// The old object is evaluated with its Namespace, also if only the old object needs it.
func TestNamespaceOfTheOldObject(t *testing.T) {
	either := "{name: tag, match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {tier: gold}}}}, " +
		"{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {tier: gold}}}}]}, " +
		"validate: {failureAction: Enforce, message: m, pattern: {spec: {containers: [{image: '!*:latest'}]}}}}"
	p, objects := policies(t, clusterPolicy(either)), &cluster{labels: map[string]any{"tier": "gold"}}
	v := &review.Reviewer{Cluster: objects, Effective: p.Bind(nil, objects)}
	now := pod("a=x:latest")
	now.Object["metadata"].(map[string]any)["labels"] = map[string]any{"tier": "gold"}
	answer := v.Review(t.Context(), update(pod("a=x:latest"), now))
	list := view(nil).Findings(&answer)
	if len(list) != 1 || list[0].New {
		t.Errorf("%+v", list)
	}
}

// Reviewing changes none of its inputs and gives the same results each time.
func TestReviewHasNoSideEffects(t *testing.T) {
	p := policies(t, clusterPolicy(sidecar, tag,
		"{name: lab, "+pods+", mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}}"))
	merged, waits := exceptionFor(t, "merged", "z"), exceptionFor(t, "waits", "a")
	objects := &cluster{labels: map[string]any{}}
	v := &review.Reviewer{User: settings.Default().Requester(report.User{Login: "jane"}), Cluster: objects,
		Checks:    builtin.Always(),
		Effective: p.Bind([]*engine.Exception{merged}, objects), Inactive: p.Bind([]*engine.Exception{merged, waits}, objects),
		WithoutExceptions: p.Bind(nil, objects)}
	pairs := []*diff.Pair{
		{Operation: admission.Create, New: pod("a=x:latest")},
		update(pod("a=x:latest"), pod("b=y:latest", "a=x:latest")),
		{Operation: admission.Delete, Old: pod("a=x:latest")},
	}
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := text(pairs)
	one, err := v.All(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	two, err := v.All(t.Context(), pairs)
	if err != nil || !reflect.DeepEqual(one, two) {
		t.Errorf("another time it says\n%s\nand then\n%s, %v", text(one), text(two), err)
	}
	with := view(states{waits: report.Pending})
	was := text(one)
	var found []review.Finding
	for i := range one {
		found = append(found, with.Findings(&one[i])...)
	}
	if now := text(one); now != was {
		t.Errorf("the findings changed the answers:\n%s\nand then\n%s", was, now)
	}
	var again []review.Finding
	for i := range one { // the second review gives the same answers
		again = append(again, with.Findings(&one[i])...)
	}
	if len(found) == 0 || !reflect.DeepEqual(found, again) {
		t.Errorf("findings %+v, then %+v", found, again)
	}
	if after := text(pairs); after != before {
		t.Errorf("the pairs were %s and are %s", before, after)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := v.All(stopped, pairs); err == nil {
		t.Error("a check that was stopped has answers")
	}
}

func TestCount(t *testing.T) {
	of := func(o engine.Outcome, enforce bool) engine.Result {
		return engine.Result{Decision: engine.Decision{Outcome: o, Enforce: enforce}}
	}
	a := review.Answer{Mutations: &review.Mutations{}, Results: []engine.Result{of(engine.Pass, true), of(engine.Skip,
		true),
		of(engine.Error, true), of(engine.Unknown, false), of(engine.Fail, true), of(engine.Fail, true), of(engine.Fail,
			false)}}
	got := report.Stats{Passed: 10, Resources: 3}
	a.Count(&got)
	if want := (report.Stats{Resources: 3, Mutated: 1, Passed: 11, Skipped: 1, Errored: 1, Unknown: 1, Failed: 2,
		Warned: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
