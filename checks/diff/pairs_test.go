package diff

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/render"
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

func TestJoin(t *testing.T) {
	root := func(p string) roots.Root { return roots.Root{Path: p} }
	from := Pairs(root("old"), []*render.Resource{object("A", "", "moved", "1"), object("A", "", "edited", "1"),
		object("A", "", "gone", "1"), object("A", "", "twice", "1")}, nil, false)
	to := Pairs(root("new"), nil, []*render.Resource{object("A", "", "moved", "1"), object("A", "", "edited", "2"),
		object("A", "", "twice", "1")}, false)
	again := Pairs(root("third"), nil, []*render.Resource{object("A", "", "twice", "1")}, false)
	got := operations(Join(append(append(from, to...), again...), nil))
	want := []string{"DELETE old gone", "DELETE old twice", "UPDATE new edited", "CREATE new twice", "CREATE third twice"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
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

// An issue that appears or goes is a difference, though the object is the same; also where it moves.
func TestPairsOfIssues(t *testing.T) {
	issue := render.Issue{Check: render.ControllerRejects, Message: "is wrong"}
	sound, wrong := object("A", "n", "a", "1"), render.NewResource(object("A", "n", "a", "1").Object, nil, issue)
	from, to := roots.Root{Path: "from"}, roots.Root{Path: "to"}
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
		if got := len(Join(append(Pairs(from, old, nil, false), Pairs(to, nil, now, false)...), nil)) > 0; got != c.want {
			t.Errorf("%s and the object moves: %v", c.name, got)
		}
	}
}
