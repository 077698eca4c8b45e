package exceptions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/checkstest"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

var now = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

const podsPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pods}
spec:
  rules:
  - name: net
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {failureAction: Enforce, message: m, pattern: {spec: {=(hostNetwork): false}}}
  - name: level
    match: {any: [{resources: {kinds: [Job]}}]}
    validate: {failureAction: Enforce, podSecurity: {level: baseline, version: latest}}
`

func policies(t *testing.T, data string) *engine.Policies {
	t.Helper()
	out, problems := engine.CompilePolicies([]policy.Source{rules.File{Path: "p.yaml", Data: []byte(data)}.Source()},
		engine.Options{})
	if policy.HasErrors(problems) {
		t.Fatal(problems)
	}
	return out
}

// exception compiles an exception in a file; meta is added to its metadata.
func exception(t *testing.T, path, meta, spec string) *engine.Exception {
	t.Helper()
	data := "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: ops" + meta + "}\nspec: " +
		spec + "\n"
	list, problems := engine.CompileExceptions([]policy.Source{rules.File{Path: path, Data: []byte(data)}.Source()},
		engine.Options{Now: now})
	if len(list) != 1 {
		t.Fatal(problems)
	}
	return list[0]
}

func spec(rules, resources string) string {
	return "{exceptions: [{policyName: pods, ruleNames: [" + rules + "]}], match: {any: [{resources: {" + resources +
		"}}]}}"
}

func decide(merged, proposed []*engine.Exception) *exceptions.Decision {
	return exceptions.Decide(exceptions.Input{Merged: merged, Proposed: proposed, Now: now,
		Blob:  func(string) string { return "b" },
		Since: func(*engine.Exception) (time.Time, bool) { return now.Add(-time.Hour), true }})
}

func TestBreadthListsWhatCouldBeNarrowed(t *testing.T) {
	const (
		narrow = "kinds: [Pod], namespaces: [a], names: [web], operations: [CREATE]"
		end    = ", labels: {cleanup.kyverno.io/ttl: 1h}"
	)
	p := policies(t, podsPolicy)
	for _, c := range []struct {
		name, meta, spec string
		want             []string
	}{
		{"narrow", end, spec("net", narrow), nil},
		{"no expiry date", "", spec("net", narrow), []string{"it has no expiry date: it counts until it is removed"}},
		{"all rules", end, spec("'*'", narrow), []string{"all rules of pods, including those added later",
			"every control of the Pod Security Standard in pods, although spec.podSecurity can name one"}},
		{"rules by a wildcard", end, spec("'n*'", narrow), []string{"every rule of pods like n*"}},
		{"a standard", end, spec("level", narrow), []string{
			"every control of the Pod Security Standard in pods, although spec.podSecurity can name one"}},
		{"names by a wildcard", end, spec("net", strings.Replace(narrow, "web", "'web-*'", 1)), []string{"every name like web-*"}},
		{"no names", end, spec("net", "kinds: [Pod], namespaces: [a], operations: [CREATE]"), []string{"every name"}},
		{"no names, but labels", end, spec("net",
			"kinds: [Pod], namespaces: [a], operations: [CREATE], selector: {matchLabels: {a: b}}"), nil},
		{"no namespaces", end, spec("net", "kinds: [Pod], names: [web], operations: [CREATE]"), []string{"every namespace"}},
		{"cluster-scoped kind", end, spec("net", "kinds: [Namespace], names: [web], operations: [CREATE]"), nil},
		{"every operation", end, spec("net", "kinds: [Pod], namespaces: [a], names: [web]"), []string{
			"any operation by any user: the exception limits neither operations nor users"}},
		{"filters under all apply together", end,
			"{exceptions: [{policyName: pods, ruleNames: [net]}], match: {all: [{resources: {kinds: [Pod]}}, " +
				"{resources: {namespaces: [a], names: [web], operations: [CREATE]}}]}}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := exceptions.Breadth(exception(t, "e.yaml", c.meta, c.spec), p); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestHomeOfDrafts(t *testing.T) {
	at := func(path, namespace string) *engine.Exception {
		return &engine.Exception{Path: path, Namespace: namespace, Name: path}
	}
	for _, c := range []struct {
		name              string
		merged, proposed  []*engine.Exception
		named             []string
		folder, namespace string
	}{
		{"none", nil, nil, nil, "exceptions", ""},
		{"where the settings say", nil, nil, []string{"policy/exceptions/"}, "policy/exceptions", ""},
		{"the settings name a file first", nil, nil, []string{"e.yaml", "more"}, "more", ""},
		{"beside merged exceptions", []*engine.Exception{at("x/a.yaml", "ops")}, nil, nil, "x", "ops"},
		{"of several namespaces", []*engine.Exception{at("x/a.yaml", "ops"), at("x/b.yaml", "dev")}, nil, nil, "x", ""},
		{"beside merged exceptions, in a folder of the settings", []*engine.Exception{at("x/a.yaml", "ops")}, nil, []string{"y", "x"}, "x",
			"ops"},
		{"proposed exceptions do not count", nil, []*engine.Exception{at("x/a.yaml", "ops")}, nil, "exceptions", ""},
	} {
		home := exceptions.HomeOf(decide(c.merged, c.proposed), c.named)
		if home.Folder != c.folder || home.Namespace != c.namespace {
			t.Errorf("%s: got %+v", c.name, home)
		}
	}
}

func object(kind, name string, spec map[string]any) admission.Object {
	return admission.Object{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "a"},
		"spec": spec}
}

// host returns a Pod that violates podsPolicy; tame returns one that does not.
func host(name string) *render.Resource {
	return render.NewResource(object("Pod", name, map[string]any{"hostNetwork": true, "containers": []any{}}), line{}.Locate)
}

func tame(name string) *render.Resource {
	return render.NewResource(object("Pod", name, map[string]any{"containers": []any{}}), line{}.Locate)
}

type line struct{}

func (line) Locate(string) origin.Place {
	return origin.Place{Path: "pod.yaml", StartLine: 1, EndLine: 1}
}

func created(list ...*render.Resource) (out []*diff.Pair) {
	for _, r := range list {
		out = append(out, &diff.Pair{Operation: admission.Create, New: r})
	}
	return out
}

// An exception is reported as unused only if everything that it may cover was evaluated.
func TestCleanupListsUnusedAndExpiringExceptions(t *testing.T) {
	p := policies(t, podsPolicy)
	web := "kinds: [Pod], names: [web]"
	for _, c := range []struct {
		name, meta, spec string
		pods             []*render.Resource
		part, proposed   bool
		want             string
	}{
		{"needed", "", spec("net", web), []*render.Resource{host("web")}, false, false, ""},
		{"covers nothing", "", spec("net", web), []*render.Resource{host("other")}, false, false, "unused 0"},
		{"covers a resource that complies", "", spec("net", web), []*render.Resource{tame("web")}, false, false, "unused 1"},
		{"not everything was rendered", "", spec("net", web), []*render.Resource{tame("web")}, true, false, ""},
		{"for a policy that does not exist", "", strings.Replace(spec("net", web), "pods", "others", 1), nil, false, false, ""},
		{"for a rule that does not exist", "", spec("gone", web), nil, false, false, ""},
		{"about deletions", "", spec("net", web+", operations: [DELETE]"), nil, false, false, ""},
		{"proposed", "", spec("net", web), nil, false, true, ""},
		{"expires soon", ", labels: {cleanup.kyverno.io/ttl: '2026-01-10'}", spec("net", web), []*render.Resource{host("web")},
			false, false, "soon 1"},
		{"expires later", ", labels: {cleanup.kyverno.io/ttl: '2026-02-10'}", spec("net", web),
			[]*render.Resource{host("web")}, false, false, ""},
		{"expired", ", labels: {cleanup.kyverno.io/ttl: 30m}", spec("net", web), []*render.Resource{host("web")}, false,
			false, "expired 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := []*engine.Exception{exception(t, "e.yaml", c.meta, c.spec)}
			d := decide(list, nil)
			if c.proposed {
				d = decide(nil, list)
			}
			v := &review.Reviewer{Effective: p.Bind(d.Effective, nil), WithoutExceptions: p.Bind(nil, nil)}
			usage := exceptions.NewUsage()
			for _, pair := range created(c.pods...) {
				answer := v.Review(t.Context(), pair)
				usage.Note(&answer)
			}
			got := ""
			for _, x := range usage.Cleanup(d, p, !c.part, now) {
				got += fmt.Sprint(map[bool]string{true: "unused "}[x.Unused], map[bool]string{true: "soon "}[x.Soon],
					map[bool]string{true: "expired "}[x.Expired], x.Covers)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// context returns the context of a repository that declares the given resources only.
func context(t *testing.T, p *engine.Policies, d *exceptions.Decision,
	declares ...*render.Resource) exceptions.Context {
	t.Helper()
	r := treetest.New(t)
	head := r.Commit("-- app/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	trees, _ := checkstest.Trees(t, r, head, "", head)
	objects := declared.New(trees.Head.Roots, nil)
	if len(declares) > 0 {
		objects.Rendered(roots.Root{Path: "app", Kind: roots.Folder}, declares)
	}
	return exceptions.Context{Policies: p, Decision: d, Declared: objects, Now: now,
		Reviewer: &review.Reviewer{Cluster: objects, Effective: p.Bind(d.Effective, objects), Checks: builtin.Always()}}
}

// All resources that an exception covers beyond the change are counted, and some of them are named.
func TestBeyondCountsAllAndNamesSome(t *testing.T) {
	p := policies(t, podsPolicy)
	all := []*render.Resource{tame("good"), host("mine")}
	for i := range 15 {
		all = append(all, host(fmt.Sprint("other-", i)))
	}
	e := exception(t, "e.yaml", "", spec("net", "kinds: [Pod]"))
	in := context(t, p, decide(nil, []*engine.Exception{e}), all...)
	mine := report.Finding{Resource: review.Named(host("mine").Object), Exemption: &report.Exemption{Exception: "ops/e",
		Path: "e.yaml"}}
	got, err := exceptions.Beyond(t.Context(), in, []report.Finding{mine})
	if err != nil {
		t.Fatal(err)
	}
	b := got[e]
	if b.Fails != 15 || len(b.Failing) != 10 || b.Complying != 1 || b.Resources != len(all) || b.Roots != 1 ||
		b.OfRoots != 1 {
		t.Errorf("%+v", b)
	}
	if none, err := exceptions.Beyond(t.Context(), context(t, p, decide([]*engine.Exception{e}, nil)),
		nil); none != nil || err != nil {
		t.Errorf("nothing is proposed: %v %v", none, err)
	}
}

// Each blocking result of policies and built-in checks gets a draft at a path that does not exist.
func TestEachBlockingResultGetsADraft(t *testing.T) {
	p := policies(t, podsPolicy)
	in := context(t, p, decide(nil, nil))
	issue := render.NewResource(object("ConfigMap", "odd", nil), line{}.Locate, render.Issue{Check: render.EmbeddedItems,
		Pointer: "/items", Message: "m"})
	answers, err := in.Reviewer.All(t.Context(), created(host("web"), tame("good"), issue))
	if err != nil {
		t.Fatal(err)
	}
	view := review.View{Exceptions: in.Decision, Changed: func(string) bool { return true }}
	var found []review.Finding
	for i := range answers {
		found = append(found, view.Findings(&answers[i])...)
	}
	first := ""
	home := exceptions.Home{Folder: "x", Taken: func(path string) bool { return first != "" && path == first }}
	for _, again := range []bool{false, true} { // the second time, the path exists
		drafts, err := exceptions.Drafts(t.Context(), in, home, found)
		if err != nil || len(drafts) != 2 {
			t.Fatalf("%+v %v", drafts, err)
		}
		if d := drafts[0]; d.Covers[0].Policy != builtin.Policy || d.Resource.Name != "odd" ||
			!slices.Equal(d.Covers[0].Rules, []string{"embedded-items"}) ||
			!strings.Contains(d.YAML, "policyName: lintel") || (d.Path == first) {
			t.Errorf("%v: %+v", again, d)
		}
		if d := drafts[1]; d.Covers[0].Policy != "pods" || d.Resource.Name != "web" ||
			!slices.Equal(d.Covers[0].Rules, []string{"net"}) || d.YAML == "" {
			t.Errorf("%+v", d)
		}
		first = drafts[0].Path
	}
	if waits, err := exceptions.Drafts(t.Context(), in, home, waiting(found)); len(waits) > 0 || err != nil {
		t.Errorf("what waits for approval needs no draft: %+v %v", waits, err)
	}
}

func waiting(found []review.Finding) []review.Finding {
	out := slices.Clone(found)
	for i := range out {
		out[i].Exemption = &report.Exemption{State: report.Pending}
	}
	return out
}
