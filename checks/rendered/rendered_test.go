package rendered

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// written is a file in which the listed fields, by pointer, are on the given lines, and all others on line 1.
type written struct {
	path  string
	lines map[string]int
}

func (w written) Locate(pointer string) origin.Place {
	if w.path == "" {
		return origin.Place{}
	}
	line := max(w.lines[pointer], 1)
	return origin.Place{Path: w.path, StartLine: line, EndLine: line, How: origin.Identity}
}

// in returns a resource that a file contains.
func in(t testing.TB, path, text string) *render.Resource {
	t.Helper()
	return at(t, written{path: path}.Locate, text)
}

func at(t testing.TB, locator render.Locator, text string) *render.Resource {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return render.NewResource(object, locator)
}

func configMap(name, value string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {key: %s}}", name, value)
}

func generated(kind, hash, value string) string {
	return strings.Replace(configMap("settings-"+hash, value), "ConfigMap", kind, 1)
}

// told lists the differences of pairs in short: a line for each, followed by the differing lines.
func told(t testing.TB, c Change) (lines []string, out *report.Report) {
	t.Helper()
	c.Changed = func(string) bool { return true }
	out = &report.Report{}
	if err := AddToReport(context.Background(), c, out); err != nil {
		t.Fatal(err)
	}
	lines = []string{}
	for _, d := range out.Differences {
		head := strings.Join(d.Roots, "+") + " " + d.Operation + " " + d.Resource.String()
		if d.Replaces != nil {
			head += " for " + d.Replaces.Name
		}
		if d.From != "" {
			head += " from " + d.From
		}
		if len(d.Clusters) > 0 {
			head += " of " + strings.Join(d.Clusters, "+")
		}
		lines = append(lines, head)
		for _, h := range d.Hunks {
			for _, l := range h.Lines {
				if l.Sign == " " {
					continue
				}
				place := ""
				if o := l.Origin; o != nil {
					place = fmt.Sprintf(" %s:%d", o.Path, o.StartLine)
					if (l.Sign == "-") != (o.Side == report.Base) {
						place += " of the wrong side"
					}
				}
				lines = append(lines, l.Sign+strings.TrimSpace(l.Text)+place)
			}
		}
	}
	return lines, out
}

func root(path string) roots.Root { return roots.Root{Path: path} }

// of returns the pairs of a root whose resources change.
func of(r roots.Root, before, after []*render.Resource) []*diff.Pair {
	return diff.Pairs(r, before, after, false)
}

func TestDifferencesAreListed(t *testing.T) {
	type list = []*render.Resource
	one := func(text string) list { return list{in(t, "a.yaml", text)} }
	argo := roots.Root{Path: "apps", Kind: roots.Application, Object: "argocd/apps"}
	for name, tc := range map[string]struct {
		pairs []*diff.Pair
		want  []string
	}{
		"no difference": {of(root("r"), one(configMap("a", "x")), one(configMap("a", "x"))), []string{}},
		"another order of keys is no difference": {of(root("r"), one("{kind: A, metadata: {name: a}, x: {b: 1, c: 2}}"),
			one("{x: {c: 2, b: 1}, metadata: {name: a}, kind: A}")), []string{}},
		"created": {of(root("r"), nil, one("{kind: A, metadata: {name: a}}")), []string{"r CREATE A a", "+kind: A a.yaml:1",
			"+metadata: a.yaml:1", "+name: a a.yaml:1"}},
		"deleted": {of(root("r"), one("{kind: A, metadata: {name: a}}"), nil), []string{"r DELETE A a", "-kind: A a.yaml:1",
			"-metadata: a.yaml:1", "-name: a a.yaml:1"}},
		"updated": {of(root("r"), list{at(t, written{"old.yaml", map[string]int{"/data/key": 4}}.Locate, configMap("a", "x"))},
			list{at(t, written{"new.yaml", map[string]int{"/data/key": 9}}.Locate, configMap("a", "w"))}),
			[]string{"r UPDATE ConfigMap a", "-key: x old.yaml:4", "+key: w new.yaml:9"}},
		"another version of the API": {of(root("r"), one("{apiVersion: g/v1, kind: A, metadata: {name: a}}"),
			one("{apiVersion: g/v2, kind: A, metadata: {name: a}}")),
			[]string{"r UPDATE A a", "-apiVersion: g/v1 a.yaml:1", "+apiVersion: g/v2 a.yaml:1"}},
		"an unknown place": {of(root("r"), list{in(t, "", configMap("a", "x"))}, one(configMap("a", "w"))),
			[]string{"r UPDATE ConfigMap a", "-key: x", "+key: w a.yaml:1"}},
		"generated": {of(root("r"), one(generated("ConfigMap", "2456789bcd", "x")), one(generated("ConfigMap", "fghkmt2456", "w"))),
			[]string{"r CREATE ConfigMap settings-fghkmt2456 for settings-2456789bcd", "-key: x a.yaml:1", "+key: w a.yaml:1",
				"-name: settings-2456789bcd a.yaml:1", "+name: settings-fghkmt2456 a.yaml:1"}},
		"a generated Secret keeps its values": {of(root("r"), one(generated("Secret", "2456789bcd", "one")),
			one(generated("Secret", "fghkmt2456", "two"))),
			[]string{"r CREATE Secret settings-fghkmt2456 for settings-2456789bcd", "-key: (hidden) a.yaml:1",
				"+key: (changed) a.yaml:1", "-name: settings-2456789bcd a.yaml:1", "+name: settings-fghkmt2456 a.yaml:1"}},
		"a generated ConfigMap replaces no Secret": {of(root("r"), one(generated("Secret", "2456789bcd", "x")),
			one(generated("ConfigMap", "fghkmt2456", "x"))), []string{
			"r CREATE ConfigMap settings-fghkmt2456", "+apiVersion: v1 a.yaml:1", "+data: a.yaml:1", "+key: x a.yaml:1",
			"+kind: ConfigMap a.yaml:1", "+metadata: a.yaml:1", "+name: settings-fghkmt2456 a.yaml:1",
			"r DELETE Secret settings-2456789bcd", "-apiVersion: v1 a.yaml:1", "-data: a.yaml:1", "-key: (hidden) a.yaml:1",
			"-kind: Secret a.yaml:1", "-metadata: a.yaml:1", "-name: settings-2456789bcd a.yaml:1"}},
		"a ConfigMap of another group": {of(root("r"), one("{apiVersion: g/v1, kind: ConfigMap, metadata: {name: a-2456789bcd}}"),
			one("{apiVersion: g/v1, kind: ConfigMap, metadata: {name: a-fghkmt2456}}")), []string{
			"r DELETE ConfigMap a-2456789bcd", "-apiVersion: g/v1 a.yaml:1", "-kind: ConfigMap a.yaml:1", "-metadata: a.yaml:1",
			"-name: a-2456789bcd a.yaml:1", "r CREATE ConfigMap a-fghkmt2456", "+apiVersion: g/v1 a.yaml:1",
			"+kind: ConfigMap a.yaml:1", "+metadata: a.yaml:1", "+name: a-fghkmt2456 a.yaml:1"}},
		"a generated object that moves replaces none": {slices.Concat([]*diff.Pair{{Root: root("new"), Operation: admission.Create,
			New:    one(generated("ConfigMap", "2456789bcd", "x"))[0],
			Before: one(generated("ConfigMap", "2456789bcd", "x"))[0], From: root("old")}},
			of(root("new"), one(generated("ConfigMap", "fghkmt2456", "w")), nil)),
			[]string{"new CREATE ConfigMap settings-2456789bcd from old", "new DELETE ConfigMap settings-fghkmt2456",
				"-apiVersion: v1 a.yaml:1", "-data: a.yaml:1", "-key: w a.yaml:1", "-kind: ConfigMap a.yaml:1",
				"-metadata: a.yaml:1", "-name: settings-fghkmt2456 a.yaml:1"}},
		"a name that looks generated, of another kind": {of(root("r"), one("{kind: A, metadata: {name: a-2456789bcd}}"),
			one("{kind: A, metadata: {name: a-fghkmt2456}}")), []string{
			"r DELETE A a-2456789bcd", "-kind: A a.yaml:1", "-metadata: a.yaml:1", "-name: a-2456789bcd a.yaml:1",
			"r CREATE A a-fghkmt2456", "+kind: A a.yaml:1", "+metadata: a.yaml:1", "+name: a-fghkmt2456 a.yaml:1"}},
		"sorted by root, kind, namespace and name": {slices.Concat(
			of(root("z"), one(configMap("a", "x")), one(configMap("a", "w"))),
			of(root("b"), nil, list{in(t, "", "{kind: B, metadata: {name: a, namespace: team}}"),
				in(t, "", "{kind: B, metadata: {name: z}}"), in(t, "", "{kind: A, metadata: {name: z}}"),
				in(t, "", "{kind: B, metadata: {name: b}}")})),
			[]string{"b CREATE A z", "+kind: A", "+metadata:", "+name: z", "b CREATE B b", "+kind: B", "+metadata:", "+name: b",
				"b CREATE B z", "+kind: B", "+metadata:", "+name: z", "b CREATE B team/a", "+kind: B", "+metadata:", "+name: a",
				"+namespace: team", "z UPDATE ConfigMap a", "-key: x a.yaml:1", "+key: w a.yaml:1"}},
		"the same difference in several roots": {slices.Concat(of(root("b"), one(configMap("a", "x")), one(configMap("a", "w"))),
			of(root("a"), one(configMap("a", "x")), one(configMap("a", "w")))),
			[]string{"a+b UPDATE ConfigMap a", "-key: x a.yaml:1", "+key: w a.yaml:1"}},
		"another difference in another root": {slices.Concat(of(root("b"), one(configMap("a", "x")), one(configMap("a", "w"))),
			of(root("a"), one(configMap("a", "x")), one(configMap("a", "z")))),
			[]string{"a UPDATE ConfigMap a", "-key: x a.yaml:1", "+key: z a.yaml:1",
				"b UPDATE ConfigMap a", "-key: x a.yaml:1", "+key: w a.yaml:1"}},
		"the same difference in several roots, each from its own file": {slices.Concat(
			of(root("a"), one(configMap("a", "x")), list{in(t, "p.yaml", configMap("a", "w"))}),
			of(root("b"), one(configMap("a", "x")), list{in(t, "q.yaml", configMap("a", "w"))}),
			of(root("c"), one(configMap("a", "x")), list{in(t, "p.yaml", configMap("a", "w"))})),
			[]string{"a+c UPDATE ConfigMap a", "-key: x a.yaml:1", "+key: w p.yaml:1",
				"b UPDATE ConfigMap a", "-key: x a.yaml:1", "+key: w q.yaml:1"}},
		"a deployed folder is named by the object that deploys it": {slices.Concat(
			of(root("apps"), one(configMap("a", "x")), one(configMap("a", "w"))),
			of(argo, one(configMap("a", "x")), one(configMap("a", "w")))),
			[]string{argo.Name() + " UPDATE ConfigMap a", "-key: x a.yaml:1", "+key: w a.yaml:1"}},
		"moved": {[]*diff.Pair{{Root: root("new"), Operation: admission.Create, New: one(configMap("a", "x"))[0],
			Before: one(configMap("a", "x"))[0], From: root("old")},
			{Root: root("old"), Operation: admission.Delete, Old: one(configMap("a", "x"))[0]}},
			[]string{"new CREATE ConfigMap a from old"}},
		"moved from several roots": {[]*diff.Pair{
			{Root: root("a"), Operation: admission.Create, New: one(configMap("a", "x"))[0],
				Before: one(configMap("a", "x"))[0], From: root("c")},
			{Root: root("b"), Operation: admission.Create, New: one(configMap("a", "x"))[0],
				Before: one(configMap("a", "x"))[0], From: root("d")}},
			[]string{"a CREATE ConfigMap a from c", "b CREATE ConfigMap a from d"}},
		"moved and edited": {[]*diff.Pair{{Root: root("new"), Operation: admission.Create, New: one(configMap("a", "w"))[0],
			Before: one(configMap("a", "x"))[0], From: root("old")}},
			[]string{"new CREATE ConfigMap a from old", "-key: x a.yaml:1", "+key: w a.yaml:1"}},
		"an object that another root deletes is not moved": {[]*diff.Pair{{Root: root("new"), Operation: admission.Create,
			New: one(configMap("a", "x"))[0], Before: one(configMap("a", "x"))[0], From: root("old")},
			{Root: root("other"), Operation: admission.Delete, Old: one("{kind: ConfigMap, metadata: {name: a}}")[0]}},
			[]string{"new CREATE ConfigMap a from old", "other DELETE ConfigMap a", "-kind: ConfigMap a.yaml:1",
				"-metadata: a.yaml:1", "-name: a a.yaml:1"}},
		"a generated name": {of(root("r"), one("{kind: Job, metadata: {generateName: job-}, spec: {a: 1}}"),
			one("{kind: Job, metadata: {generateName: job-}, spec: {a: 2}}")),
			[]string{"r CREATE Job job- for job-", "-a: 1 a.yaml:1", "+a: 2 a.yaml:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := told(t, Change{Pairs: tc.pairs})
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			slices.Reverse(tc.pairs)
			if again, _ := told(t, Change{Pairs: tc.pairs}); !slices.Equal(got, again) {
				t.Errorf("in another order of the pairs it is something else:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

// Several generated objects of one name that are removed and added are not matched, since it is unknown which replaces
// which.
func TestSeveralGeneratedObjectsAreNotMatched(t *testing.T) {
	before := []*render.Resource{in(t, "", generated("ConfigMap", "2222222222", "a")),
		in(t, "", generated("ConfigMap", "4444444444", "b"))}
	after := []*render.Resource{in(t, "", generated("ConfigMap", "5555555555", "c"))}
	got, _ := told(t, Change{Pairs: of(root("r"), before, after)})
	got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "r ") })
	if want := []string{"r DELETE ConfigMap settings-2222222222", "r DELETE ConfigMap settings-4444444444",
		"r CREATE ConfigMap settings-5555555555"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClustersAndImages(t *testing.T) {
	web := func(image string) []*render.Resource {
		return []*render.Resource{in(t, "a.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: "+
			"[{name: web, image: \""+image+"\"}]}}")}
	}
	pairs := slices.Concat(of(root("a"), web("web:1"), web("web:2")), of(root("b"), web("web:1"), web("web:2")),
		of(root("c"), web("web:1"), web("web:2")))
	other := in(t, "a.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {a: b}}, spec: {containers: "+
		"[{name: web, image: \"web:2\"}]}}")
	pairs = append(pairs, of(root("d"), web("web:1"), []*render.Resource{other})...)
	got, out := told(t, Change{Pairs: pairs, Clusters: func(r roots.Root) []string {
		return map[string][]string{"a": {"two", "one"}, "b": {"one"}, "c": {""}}[r.Path]
	}})
	if want := []string{"a+b+c UPDATE Pod web of one+two", "-- image: web:1 a.yaml:1", "+- image: web:2 a.yaml:1",
		"d UPDATE Pod web", "+labels: a.yaml:1", "+a: b a.yaml:1", "-- image: web:1 a.yaml:1", "+- image: web:2 a.yaml:1",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(out.Images) != 1 || out.Images[0].From != "web:1" || out.Images[0].To != "web:2" {
		t.Errorf("images: %+v", out.Images)
	}
	_, moved := told(t, Change{Pairs: slices.Concat(of(root("a"), web("web:1"), nil), of(root("b"), nil, web("web:1")))})
	if len(moved.Differences) != 2 || len(moved.Images) != 0 {
		t.Errorf("moved: %+v", moved)
	}
}

// A resource of which only the label of a version differs is counted, once for all roots.
func TestVersionLabelsAreOnlyCounted(t *testing.T) {
	labeled := func(version string) []*render.Resource {
		return []*render.Resource{in(t, "a.yaml", "{kind: A, metadata: {name: a, labels: {helm.sh/chart: a-"+version+"}}}")}
	}
	pairs := slices.Concat(of(root("a"), labeled("1"), labeled("2")), of(root("b"), labeled("1"), labeled("2")))
	if got, out := told(t, Change{Pairs: pairs}); len(got) > 0 || out.Relabeled != 1 {
		t.Errorf("%q, %d relabeled", got, out.Relabeled)
	}
}

func TestListingStopsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	err := AddToReport(ctx, Change{Pairs: of(root("r"), nil, []*render.Resource{in(t, "", configMap("a", "x"))})}, &report.Report{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
}

// The resources that change are counted for each root, with their images and clusters. Unchanged resources, and changes
// of a version label only, do not count. A folder that an object deploys counts as that object's root.
func TestChangesAreCountedByRoot(t *testing.T) {
	pod := func(image string) *render.Resource {
		return in(t, "pod.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: "+image+"}]}}")
	}
	labelled := func(version string) *render.Resource {
		return in(t, "a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: v, labels: {helm.sh/chart: "+version+"}}}")
	}
	map1, map2, other := in(t, "a.yaml", configMap("a", "1")), in(t, "a.yaml", configMap("a", "2")), in(t, "b.yaml", configMap("b", "1"))
	application := roots.Root{Path: "web", Kind: roots.Application, Object: "argocd/web"}
	list, err := ByRoot(t.Context(), Change{
		Pairs: slices.Concat(
			of(root("eu"), []*render.Resource{pod("web:1"), map1}, []*render.Resource{pod("web:2"), map2}),
			of(root("us"), []*render.Resource{pod("web:1"), map1}, []*render.Resource{pod("web:3"), map1, other}),
			of(root("same"), []*render.Resource{labelled("v-1")}, []*render.Resource{labelled("v-2")}),
			of(root("web"), []*render.Resource{other}, nil), of(application, []*render.Resource{other}, nil)),
		Clusters: func(r roots.Root) []string { return []string{"of " + r.Path} },
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range list {
		images := []string{}
		for _, i := range c.Images {
			images = append(images, i.From+" "+i.To)
		}
		got = append(got, fmt.Sprint(c.Root, c.Clusters, c.Added, c.Changed, c.Removed, images))
	}
	want := []string{"eu[of eu] 0 2 0 [web:1 web:2]", "us[of us] 1 1 0 [web:1 web:3]", "Application/argocd/web[of web] 0 0 1 []"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ByRoot(ended, Change{Pairs: of(root("eu"), nil, []*render.Resource{other})}); !errors.Is(err, context.Canceled) {
		t.Errorf("it does not end: %v", err)
	}
}
