package settings

import (
	"slices"
	"strings"
	"testing"
)

func clustered(t *testing.T) *Settings {
	t.Helper()
	s := Default()
	problems := parseSettings([]byte(`
policies: [common]
exceptions: [exceptions]
clusters:
  b: {roots: [clusters/b/**, shared], policies: [common, b], context: [], kubernetes: v1.33.1, apiVersions: [x/v1]}
  a: {roots: [clusters/a/**, shared, '**/a-*.yaml'], exceptions: [a/exceptions]}
`), s)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func TestClusterInPlaceOfTheTopLevel(t *testing.T) {
	s := clustered(t)
	for cluster, want := range map[string][3]string{
		"":  {"common", "exceptions", ""},
		"a": {"common", "a/exceptions", ""},
		"b": {"common b", "exceptions", ""},
	} {
		own := s.In(cluster)
		got := [3]string{strings.Join(own.Policies.Paths(), " "), strings.Join(own.Exceptions, " "), strings.Join(own.Context, " ")}
		if got != want {
			t.Errorf("%q has %q, want %q", cluster, got, want)
		}
	}
	if s.In("a").OfOtherClusters("a/exceptions/e.yaml") || !s.In("").OfOtherClusters("b/p.yaml") || s.OfOtherClusters("b/p.yaml") {
		t.Error("which rules are other clusters' own is not told")
	}
	if len(s.Policies) != 1 {
		t.Error("the settings changed with those of a cluster")
	}
}

func TestBelongs(t *testing.T) {
	belongs := clustered(t).Belongs()
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"clusters/a/web"}, "a"},
		{[]string{"clusters/a"}, "a"},
		{[]string{"shared"}, "a b"},
		{[]string{"shared/below"}, ""},
		{[]string{"apps/web"}, ""},
		{[]string{"apps/web", "clusters/b/web.yaml"}, "b"},
		{[]string{"apps/web", "clusters/b/web.yaml", "argo/a-web.yaml"}, "a b"},
		{nil, ""},
	} {
		if got := strings.Join(belongs(c.paths...), " "); got != c.want {
			t.Errorf("%q belongs to %q, want %q", c.paths, got, c.want)
		}
	}
	if got := Default().Belongs()("x"); !slices.Equal(got, []string{""}) {
		t.Errorf("without clusters: %q", got)
	}
}
