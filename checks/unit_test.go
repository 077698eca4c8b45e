package checks

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

func TestParseSettings(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", ""},
		{"comment", "# nothing\n", ""},
		{"all", "policies: [p/]\nexceptions: [e/]\napprovers: {users: [a], teams: [o/t], codeowners: false, count: 2}\nroots: {include: ['**'], exclude: ['x/**']}\n" +
			"context: [c.yaml]\nidentities: {users: {u: {username: n, groups: [g], roles: [], clusterRoles: []}}, teams: {o/t: {groups: [g]}}}\nblock: all\nlimits: {depth: 50}\n", ""},
		{"unknown field", "policies: []\nrots: {}\n", `.lintel.yaml:2: the field "rots" is not known`},
		{"unknown inner field", "approvers:\n  user: [a]\n", `.lintel.yaml:2: the field "user" is not known`},
		{"wrong type", "policies: 3\n", ".lintel.yaml:1: cannot unmarshal"},
		{"syntax", "a: b\n c: d\n", ".lintel.yaml:2: is not valid YAML"},
		{"block", "\nblock: some\n", `.lintel.yaml:2: block: "some" is not known: write new or all`},
		{"team", "approvers: {teams: [security]}\n", `.lintel.yaml:1: approvers: the team "security" needs the form org/team`},
		{"outside", "policies: [../x]\n", `.lintel.yaml:1: policies: "../x" leads out of the repository`},
		{"absolute", "context: [/etc]\n", `.lintel.yaml:1: context: "/etc" leads out of the repository`},
		{"two documents", "block: new\n---\nblock: all\n", ".lintel.yaml:3: holds more than one document"},
		{"list", "- a\n", ".lintel.yaml:1: cannot unmarshal"},
		{"count", "approvers: {count: -1}\n", "count cannot be negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Settings{Block: "new"}
			problems := parseSettings([]byte(c.data), s)
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			if got := strings.Join(all, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.want == "" && s.Block == "" {
				t.Error("block has no value")
			}
		})
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte("policies: [a]\nblock: new\n"))
	f.Add([]byte("approvers: {teams: [a/b]}\nlimits: {depth: x}"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Settings{Block: "new"}
		if len(parseSettings(data, s)) == 0 && s.Block != "new" && s.Block != "all" {
			t.Errorf("accepted with block %q", s.Block)
		}
	})
}

func TestUser(t *testing.T) {
	s := &Settings{Identities: IdentitySettings{
		Users: map[string]Identity{"olga": {Username: "olga@x", Groups: []string{"b", "a"}, ClusterRoles: []string{"view"}}},
		Teams: map[string]Identity{"o/ops": {Username: "ignored", Groups: []string{"a", "ops"}}},
	}}
	r := s.user(report.User{Login: "olga", Teams: []string{"o/ops", "o/none"}}).request(admission.Create)
	if r.UserInfo.Username != "olga@x" || !slices.Equal(r.UserInfo.Groups, []string{"a", "b", "ops"}) || !slices.Equal(r.ClusterRoles, []string{"view"}) {
		t.Errorf("got %+v", r)
	}
	if r := s.user(report.User{Login: "bob"}).request(admission.Create); r.UserInfo.Username != "bob" || len(r.UserInfo.Groups) > 0 {
		t.Errorf("got %+v", r)
	}
}

func object(kind, namespace, name, value string) *render.Resource {
	return &render.Resource{Object: map[string]any{"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": namespace}, "value": value}}
}

func operations(list []*pair) []string {
	var out []string
	for _, p := range list {
		out = append(out, string(p.operation)+" "+p.root.Path+" "+keyOf(p.resource()).name)
	}
	return out
}

func TestPairs(t *testing.T) {
	before := []*render.Resource{object("A", "n", "same", "1"), object("A", "n", "edited", "1"), object("A", "n", "gone", "1")}
	after := []*render.Resource{object("A", "n", "same", "1"), object("A", "n", "edited", "2"), object("A", "other", "gone", "1")}
	newer := object("A", "n", "same", "1")
	newer.Object["apiVersion"] = "v2"
	if got, want := operations(pairs(roots.Root{Path: "r"}, before, after, false)), []string{"UPDATE r edited", "CREATE r gone", "DELETE r gone"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := operations(pairs(roots.Root{Path: "r"}, before[:1], []*render.Resource{newer}, false)); !slices.Equal(got, []string{"UPDATE r same"}) {
		t.Errorf("another version of the API is the same object: %q", got)
	}
	if got := operations(pairs(roots.Root{Path: "r"}, nil, after[:1], true)); !slices.Equal(got, []string{"CREATE r same"}) {
		t.Errorf("a full check: %q", got)
	}
}

func TestJoin(t *testing.T) {
	root := func(p string) roots.Root { return roots.Root{Path: p} }
	from := pairs(root("old"), []*render.Resource{object("A", "", "moved", "1"), object("A", "", "edited", "1"), object("A", "", "gone", "1"), object("A", "", "twice", "1")}, nil, false)
	to := pairs(root("new"), nil, []*render.Resource{object("A", "", "moved", "1"), object("A", "", "edited", "2"), object("A", "", "twice", "1")}, false)
	again := pairs(root("third"), nil, []*render.Resource{object("A", "", "twice", "1")}, false)
	got := operations(join(append(append(from, to...), again...), nil))
	want := []string{"DELETE old gone", "DELETE old twice", "UPDATE new edited", "CREATE new twice", "CREATE third twice"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStableField(t *testing.T) {
	o := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a"}, map[string]any{"name": "b", "args": []any{"x"}}}, "a/b": "c"}}
	for pointer, want := range map[string]string{
		"":                          "",
		"/spec/containers/1/image":  "/spec/containers/[name=b]/image",
		"/spec/containers/1/args/0": "/spec/containers/[name=b]/args/0",
		"/spec/containers/7/image":  "/spec/containers/7/image",
		"/spec/containers/-1":       "/spec/containers/-1",
		"/spec/a~1b/x":              "/spec/a~1b/x",
		"/none/0":                   "/none/0",
	} {
		if got := stableField(o, pointer); got != want {
			t.Errorf("%s: got %s, want %s", pointer, got, want)
		}
	}
}
