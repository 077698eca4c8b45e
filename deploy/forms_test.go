package deploy_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// formField is an element of an issue form, as
// https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests/syntax-for-githubs-form-schema
// describes it. GitHub offers no form that breaks a rule.
type formField struct {
	Type       string
	ID         string
	Attributes struct {
		Label, Description, Placeholder, Value, Render string
		Options                                        []string
	}
	Validations struct{ Required bool }
}

// problems are the rules that a field breaks, of those that hold for it alone.
func (f *formField) problems() (out []string) {
	add := func(broken bool, rule string) {
		if broken {
			out = append(out, rule)
		}
	}
	a := &f.Attributes
	switch f.Type {
	case "markdown":
		add(a.Value == "" || a.Label != "" || f.ID != "" || f.Validations.Required, "markdown has a value and nothing else")
		return out
	case "textarea", "input":
		add(len(a.Options) > 0, "only a dropdown has options")
	case "dropdown":
		seen := map[string]bool{}
		for _, o := range a.Options {
			add(o == "" || seen[o] || strings.EqualFold(o, "none"), "options are unique, and not None")
			seen[o] = true
		}
		add(len(seen) < 2, "there is something to choose")
	default:
		add(true, "no such type")
	}
	add(a.Label == "", "it has a label")
	add(a.Render != "" && f.Type != "textarea", "only a textarea is rendered")
	add(!regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(f.ID), "its id has letters, digits, - and _")
	return out
}

func TestIssueForms(t *testing.T) {
	names, err := filepath.Glob("../.github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(names) != 5 {
		t.Fatalf("%v: %q", err, names)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "config.yml" {
			continue
		}
		var form struct {
			Name, Description string
			Labels            []string
			Body              []formField
		}
		if err := yaml.UnmarshalStrict(data, &form); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if form.Name == "" || form.Description == "" {
			t.Errorf("%s lacks a name or a description", name)
		}
		seen, warns := map[string]bool{}, false
		for i := range form.Body {
			f := &form.Body[i]
			for _, rule := range f.problems() {
				t.Errorf("%s, field %d: %s", name, i+1, rule)
			}
			if f.Type == "markdown" {
				warns = warns || strings.Contains(f.Attributes.Value, "secrets")
				continue
			}
			for _, key := range []string{"id " + f.ID, "label " + f.Attributes.Label} {
				if seen[key] {
					t.Errorf("%s has the %s twice", name, key)
				}
				seen[key] = true
			}
		}
		if !warns || !seen["id version"] {
			t.Errorf("%s does not warn of secrets, or does not ask for the version", name)
		}
	}
	var config struct {
		BlankIssuesEnabled *bool `json:"blank_issues_enabled"`
		ContactLinks       []struct {
			Name, URL, About string
		} `json:"contact_links"`
	}
	data, err := os.ReadFile("../.github/ISSUE_TEMPLATE/config.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		t.Fatal(err)
	}
	for _, l := range config.ContactLinks {
		if u, err := url.Parse(l.URL); err != nil || u.Scheme != "https" || l.Name == "" || l.About == "" {
			t.Errorf("a link needs a name, an https address and what it is about: %+v", l)
		}
	}
	if config.BlankIssuesEnabled == nil || len(config.ContactLinks) == 0 {
		t.Errorf("config.yml lacks something: %+v", config)
	}
}

// The container has the version of Go that go.mod asks for, and runs a target of the Makefile.
func TestDevContainer(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var container struct{ Image, PostCreateCommand string }
	if err := json.Unmarshal([]byte(read(".devcontainer/devcontainer.json")), &container); err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read("go.mod"))
	if version == nil || !strings.Contains(container.Image, "-"+version[1]+"-") {
		t.Errorf("%s has another version of Go than %q", container.Image, version)
	}
	target, ok := strings.CutPrefix(container.PostCreateCommand, "make ")
	if !ok || !strings.Contains(read("Makefile"), "\n"+target+":") {
		t.Errorf("%q is no target of the Makefile", container.PostCreateCommand)
	}
}
