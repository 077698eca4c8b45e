package starter

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
)

func nothing(string) ([]byte, error) { return nil, fs.ErrNotExist }

func planOf(t *testing.T, r Repository) *Plan {
	t.Helper()
	p, err := Choice{Kind: ClusterPolicy, Action: Audit, Sets: []string{BestPractices}, Folder: "policies"}.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever clusters, folders and files are called, the settings say that and nothing else.
func TestSettingsHoldAnyName(t *testing.T) {
	for _, name := range []string{"a", "a b", "*", "&a", "a: b", "a #b", "#", "'", `"`, `\`, "off", "1.30", "~", "-", "a\nroots: {exclude: ['**']}",
		"a\rmode: advisory", "a\u2028b", "a\u0085b", "[a]", "{a}", "a,b", "a\tb", "{{ .Schema }}", strings.Repeat("long name ", 30)} {
		l := &report.Layout{Roots: []report.LaidRoot{{Name: "a", Path: "apps", By: []string{"app.yaml"}},
			{Name: "b", Path: name + "/examples/b", Values: []string{name}}}}
		p := planOf(t, Repository{Layout: l, Read: nothing, Clusters: []Cluster{{Name: name, Roots: []string{name}}}})
		text := string(p.Write[0].Data)
		var got map[string]any
		if err := yaml.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%q: %v\n%s", name, err, text)
			continue
		}
		want := map[string]any{"policies": []any{"policies/"},
			"clusters": map[string]any{name: map[string]any{"roots": []any{name}}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s\n%s", name, diff, text)
		}
		if strings.Count(text, "\n#     - ") != 1 || strings.Count(text, "\n#     values: ") != 1 {
			t.Errorf("%q: what is only likely is not there as a comment:\n%s", name, text)
		}
	}
}

func TestClusters(t *testing.T) {
	root := func(name, destination string, by ...string) report.LaidRoot {
		return report.LaidRoot{Name: name, Path: name, Destination: destination, By: by}
	}
	for _, tt := range []struct {
		name  string
		roots []report.LaidRoot
		want  []Cluster
	}{
		{name: "nothing"},
		{"one folder", []report.LaidRoot{root("a", "", "clusters/one/a.yaml")}, nil},
		{"folders", []report.LaidRoot{root("a", "", "k8s/clusters/one/a.yaml"), root("b", "", "k8s/clusters/two/x/b.yaml")},
			[]Cluster{{"one", []string{"k8s/clusters/one/**"}}, {"two", []string{"k8s/clusters/two/**"}}}},
		{"a file is no cluster", []report.LaidRoot{root("a", "", "clusters/one/a.yaml"), root("b", "", "clusters/b.yaml")}, nil},
		{"folders in two places", []report.LaidRoot{root("a", "", "x/clusters/one/a.yaml"), root("b", "", "y/clusters/two/b.yaml")}, nil},
		{"destinations", []report.LaidRoot{root("a", "eu", "argo/eu/a.yaml"), root("b", "https://us.example.com", "argo/us/x/b.yaml"),
			root("c", "https://us.example.com", "argo/us/y/c.yaml")},
			[]Cluster{{"eu", []string{"argo/eu/**"}}, {"us.example.com", []string{"argo/us/**"}}}},
		{"destinations in one folder", []report.LaidRoot{root("a", "eu", "apps/a.yaml"), root("b", "", "apps/b.yaml")},
			[]Cluster{{"in-cluster", []string{"apps/b.yaml"}}, {"eu", []string{"apps/a.yaml"}}}},
		{"destinations of one name", []report.LaidRoot{root("a", "https://a.example.com:1", "a.yaml"),
			root("b", "https://a.example.com:2", "b.yaml")}, nil},
	} {
		if diff := cmp.Diff(tt.want, Clusters(&report.Layout{Roots: tt.roots})); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestUnclear(t *testing.T) {
	clusters := []Cluster{{Name: "one"}, {Name: "two"}}
	a := report.LaidRoot{Name: "a", By: []string{"x"}, Clusters: []string{"one"}, Destination: "eu"}
	b := report.LaidRoot{Name: "b", By: []string{"y"}, Clusters: []string{"two"}}
	loose := report.LaidRoot{Name: "loose"}
	for _, tt := range []struct {
		name  string
		after []report.LaidRoot
		want  string
	}{
		{"clear", []report.LaidRoot{a, b, loose}, ""},
		{"of none", []report.LaidRoot{a, b, {Name: "c", By: []string{"z"}}}, "c would belong to none of them"},
		{"unused", []report.LaidRoot{a}, "no root would belong to two"},
		{"gone", []report.LaidRoot{a, {Name: "c", Clusters: []string{"two"}}}, "b would no longer be a root"},
		{"two destinations", []report.LaidRoot{a, b, {Name: "c", By: []string{"z"}, Clusters: []string{"one"}, Destination: "us"}},
			"c is deployed to us, others of one to eu"},
	} {
		before := &report.Layout{Roots: []report.LaidRoot{{Name: "a"}, {Name: "b"}}}
		if got := Unclear(clusters, before, &report.Layout{Roots: tt.after}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	broken := &report.Layout{Problems: []report.Problem{{Message: "no"}}}
	if got := Unclear(clusters, broken, broken); got != "no" {
		t.Errorf("settings that are wrong: %q", got)
	}
	if got := Unclear(nil, broken, broken); got != "" {
		t.Errorf("no clusters: %q", got)
	}
}

func TestDeployer(t *testing.T) {
	before := &report.Layout{Roots: []report.LaidRoot{{Name: "top", Path: "."}, {Name: "policies/old", Path: "policies/old"}}}
	for want, after := range map[string]*report.Layout{
		"":        {Reached: []string{"policies/old", "policies/new"}, Roots: []report.LaidRoot{{Name: "policies/new", Path: "policies/new"}}},
		"top":     {Reached: []string{"top"}},
		"app":     {Reached: []string{"app"}, Roots: []report.LaidRoot{{Name: "app", Path: "policies", By: []string{"app.yaml"}}}},
		"similar": {Reached: []string{"similar"}, Roots: []report.LaidRoot{{Name: "similar", Path: "policies-old"}}},
		"unknown": {Reached: []string{"unknown"}},
	} {
		if got := Deployer("policies", before, after); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUndeployed(t *testing.T) {
	l := &report.Layout{Roots: []report.LaidRoot{{Path: "apps", By: []string{"x"}}, {Path: "docs/live", By: []string{"x"}},
		{Path: "docs/a"}, {Path: "examples"}, {Path: "charts/a/tests/b"}, {Path: "exampled"}}}
	if diff := cmp.Diff([]string{"charts/a/tests/**", "examples/**"}, undeployed(l)); diff != "" {
		t.Error(diff)
	}
	l.Roots = l.Roots[2:] // nothing says what is deployed
	if got := undeployed(l); got != nil {
		t.Error(got)
	}
}

func TestDefaults(t *testing.T) {
	deployed, loose := report.LaidRoot{By: []string{"x"}}, report.LaidRoot{}
	for want, l := range map[string]*report.Layout{
		"[baseline best-practices namespaces] true":  {Roots: []report.LaidRoot{deployed, loose}},
		"[baseline best-practices] true":             {Roots: []report.LaidRoot{loose}},
		"[baseline best-practices namespaces] false": {Policies: []report.LaidPolicy{{Kind: ValidatingPolicy}}},
	} {
		if got := fmt.Sprint(DefaultSets(l), KindOf(l) == ClusterPolicy); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if KindOf(nil) != ClusterPolicy || len(DefaultSets(nil)) != 3 {
		t.Error("a folder that was not looked at")
	}
}

// What cannot be read is in nobody's way, and nothing is planned over it.
func TestPlanNeedsToRead(t *testing.T) {
	broken := errors.New("broken")
	_, err := Choice{Kind: ClusterPolicy, Action: Audit, Folder: "policies"}.Plan(Repository{
		Read: func(string) ([]byte, error) { return nil, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
