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

// Whatever folders and files are called, the settings say that and nothing else.
func TestSettingsHoldAnyName(t *testing.T) {
	for _, name := range []string{"a", "a b", "*", "&a", "a: b", "a #b", "#", "'", `"`, `\`, "off", "1.30", "~", "-", "a\nroots: {exclude: ['**']}",
		"a\rmode: advisory", "a\u2028b", "a\u0085b", "[a]", "{a}", "a,b", "a\tb", "{{ .Schema }}", strings.Repeat("long name ", 30)} {
		l := &report.Layout{Roots: []report.LaidRoot{{Name: "a", Path: "apps", By: []string{"app.yaml"}},
			{Name: "b", Path: name + "/examples/b", Values: []string{name}}}}
		p := planOf(t, Repository{Layout: l, Read: nothing})
		text := string(p.Write[0].Data)
		var got map[string]any
		if err := yaml.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%q: %v\n%s", name, err, text)
			continue
		}
		want := map[string]any{"policies": []any{"policies/"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s\n%s", name, diff, text)
		}
		if strings.Count(text, "\n#     - ") != 1 || strings.Count(text, "\n#     values: ") != 1 {
			t.Errorf("%q: what is only likely is not there as a comment:\n%s", name, text)
		}
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
