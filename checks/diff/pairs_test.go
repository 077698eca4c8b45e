package diff

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

func object(kind, namespace, name, value string) *render.Resource {
	return &render.Resource{Object: map[string]any{"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": namespace}, "value": value}}
}

func operations(list []*Pair) []string {
	var out []string
	for _, p := range list {
		out = append(out, string(p.Operation)+" "+p.Root.Path+" "+KeyOf(p.Resource()).Name)
	}
	return out
}

func TestPairs(t *testing.T) {
	before := []*render.Resource{object("A", "n", "same", "1"), object("A", "n", "edited", "1"),
		object("A", "n", "gone", "1")}
	after := []*render.Resource{object("A", "n", "same", "1"), object("A", "n", "edited", "2"),
		object("A", "other", "gone", "1")}
	newer := object("A", "n", "same", "1")
	newer.Object["apiVersion"] = "v2"
	if got, want := operations(Pairs(roots.Root{Path: "r"}, before, after, false)),
		[]string{"UPDATE r edited", "CREATE r gone", "DELETE r gone"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := operations(Pairs(roots.Root{Path: "r"}, before[:1], []*render.Resource{newer}, false)); !slices.Equal(got,
		[]string{"UPDATE r same"}) {
		t.Errorf("another version of the API is the same object: %q", got)
	}
	wrong := object("A", "n", "same", "1")
	wrong.Issues = []render.Issue{{Check: render.Unprintable}}
	if got := operations(Pairs(roots.Root{Path: "r"}, before[:1], []*render.Resource{wrong}, false)); !slices.Equal(got,
		[]string{"UPDATE r same"}) {
		t.Errorf("an issue that comes without the object changing: %q", got)
	}
	if got := operations(Pairs(roots.Root{Path: "r"}, nil, after[:1], true)); !slices.Equal(got,
		[]string{"CREATE r same"}) {
		t.Errorf("a full check: %q", got)
	}
}

// inFile returns resources with a file as their place.
func inFile(file string, list ...*render.Resource) (out []*render.Resource) {
	for _, r := range list {
		out = append(out, render.NewResource(r.Object, placed(file).Locate, r.Issues...))
	}
	return out
}

type placed string

func (p placed) Locate(string) origin.Place { return origin.Place{Path: string(p), StartLine: 1} }

// apart is a TookOver function for roots that were not taken over.
func apart(_, _ *Pair) bool { return false }

// An object that moves to another root is deleted and created. If the first root is a former root, its earlier state is
// known.
func TestMovedObjectsAreJoined(t *testing.T) {
	root := func(p string) roots.Root { return roots.Root{Path: p} }
	olds := inFile("old/a.yaml", object("A", "", "moved", "1"), object("A", "", "edited", "1"), object("A", "", "gone", "1"),
		object("A", "", "twice", "1"))
	news := []*render.Resource{object("A", "", "moved", "1"), object("A", "", "edited", "2"), object("A", "", "twice", "1")}
	for _, c := range []struct {
		name, file string
		to         roots.Root
		stays      bool
		want       []string
	}{
		{"to another file of a new root", "new/a.yaml", root("new"), false, []string{"DELETE old moved", "DELETE old edited", "DELETE old gone",
			"DELETE old twice", "CREATE new moved before", "CREATE new edited before", "CREATE new twice", "CREATE third twice"}},
		{"to another file of another root, the first remains", "new/a.yaml", root("new"), true, []string{"DELETE old moved", "DELETE old edited",
			"DELETE old gone", "DELETE old twice", "CREATE new moved", "CREATE new edited", "CREATE new twice",
			"CREATE third twice"}},
		{"the same file in another root, the first remains", "old/a.yaml", root("new"), true, []string{"DELETE old moved", "DELETE old edited",
			"DELETE old gone", "DELETE old twice", "CREATE new moved", "CREATE new edited", "CREATE new twice",
			"CREATE third twice"}},
		{"the same file in another root", "old/a.yaml", root("new"), false, []string{"DELETE old gone", "DELETE old twice",
			"UPDATE new edited before", "CREATE new twice", "CREATE third twice"}},
		{"deployed by an object", "old/b.yaml", roots.Root{Path: "old", Object: "x"}, false, []string{"DELETE old gone",
			"DELETE old twice", "UPDATE old edited before", "CREATE old twice", "CREATE third twice"}},
	} {
		list := Pairs(root("old"), olds, nil, false)
		list = append(list, Pairs(c.to, nil, inFile(c.file, news...), false)...)
		list = append(list, Pairs(root("third"), nil, inFile("x", object("A", "", "twice", "1")), false)...)
		var got []string
		for _, p := range Join(list, nil, func(roots.Root) bool { return c.stays }, apart) {
			word := operations([]*Pair{p})[0]
			if p.Earlier() != nil {
				word += " before"
			}
			got = append(got, word)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Objects with generated names are created individually, however many have the same prefix.
func TestPairsWithoutNames(t *testing.T) {
	job := func(prefix, value string) *render.Resource {
		r := object("A", "n", "", value)
		r.Object["metadata"] = map[string]any{"namespace": "n", "generateName": prefix}
		return r
	}
	for _, c := range []struct {
		name     string
		old, now []*render.Resource
		want     []string
	}{
		{"the same", []*render.Resource{job("a-", "1"), job("a-", "2")}, []*render.Resource{job("a-", "2"), job("a-", "1")},
			nil},
		{"one more", []*render.Resource{job("a-", "1")}, []*render.Resource{job("a-", "2"), job("a-", "1")},
			[]string{"CREATE"}},
		{"one edited", []*render.Resource{job("a-", "1"), job("a-", "2")}, []*render.Resource{job("a-", "1"),
			job("a-", "3")}, []string{"CREATE before"}},
		{"one less", []*render.Resource{job("a-", "1"), job("a-", "2")}, []*render.Resource{job("a-", "2")},
			[]string{"DELETE"}},
		{"another prefix", []*render.Resource{job("a-", "1")}, []*render.Resource{job("b-", "1")},
			[]string{"CREATE", "DELETE"}},
		{"a name replaces a prefix", []*render.Resource{job("a-", "1"), job("a-", "2")}, []*render.Resource{object("A", "n", "a", "1")},
			[]string{"CREATE before", "DELETE"}},
		{"a prefix replaces a name", []*render.Resource{object("A", "n", "a", "1")}, []*render.Resource{job("a-", "1")},
			[]string{"DELETE", "CREATE before"}},
		{"a prefix replaces a name, and another object", []*render.Resource{object("A", "n", "a", "1")}, []*render.Resource{job("a-", "1"),
			job("a-", "1")}, []string{"DELETE", "CREATE before", "CREATE"}},
		{"another name", []*render.Resource{job("a-", "1")}, []*render.Resource{object("A", "n", "b", "1")},
			[]string{"CREATE", "DELETE"}},
		{"two equal objects", nil, []*render.Resource{job("a-", "1"), job("a-", "1")}, []string{"CREATE", "CREATE"}},
	} {
		var got []string
		for _, p := range Pairs(roots.Root{}, c.old, c.now, false) {
			word := string(p.Operation)
			if p.Earlier() != nil {
				word += " before"
			}
			got = append(got, word)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStableField(t *testing.T) {
	o := map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "a"}, map[string]any{"name": "b", "args": []any{"x"}}}, "a/b": "c"}}
	for pointer, want := range map[string]string{
		"":                          "",
		"/spec/containers/1/image":  "/spec/containers/[name=b]/image",
		"/spec/containers/1/args/0": "/spec/containers/[name=b]/args/0",
		"/spec/containers/7/image":  "/spec/containers/7/image",
		"/spec/containers/-1":       "/spec/containers/-1",
		"/spec/a~1b/x":              "/spec/a~1b/x",
		"/none/0":                   "/none/0",
	} {
		if got := StableField(o, pointer); got != want {
			t.Errorf("%s: got %s, want %s", pointer, got, want)
		}
	}
}

// An issue that is added or removed is a difference, even if the object is the same or another root deploys it.
func TestPairsOfIssues(t *testing.T) {
	issue := render.Issue{Check: render.ControllerRejects, Message: "is wrong"}
	sound, wrong := object("A", "n", "a", "1"), render.NewResource(object("A", "n", "a", "1").Object, nil, issue)
	from, to := roots.Root{Path: "from"}, roots.Root{Path: "from", Object: "x"}
	for _, c := range []struct {
		name     string
		old, now *render.Resource
		want     bool
	}{{"none", sound, sound, false}, {"it comes", sound, wrong, true}, {"it goes", wrong, sound, true}, {"it stays",
		wrong, wrong, false}} {
		old, now := []*render.Resource{c.old}, []*render.Resource{c.now}
		if got := len(Pairs(from, old, now, false)) > 0; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		list := append(Pairs(from, old, nil, false), Pairs(to, nil, now, false)...)
		if got := len(Join(list, nil, func(roots.Root) bool { return false }, apart)) > 0; got != c.want {
			t.Errorf("%s and another deploys the object: %v", c.name, got)
		}
	}
}
