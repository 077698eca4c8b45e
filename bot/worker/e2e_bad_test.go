package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bad is a repository and a change of it, and what the check run must say.
type bad struct {
	name       string
	folder     string            // what the repository starts with; default the sample
	base       map[string]string // pushed to main before the change
	change     map[string]string
	conclusion string
	says       []string // all of them somewhere in the check run, any letter case
	at         string   // "path:line" of an annotation; "" for none in particular
}

const badBase = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - %s
`

const badPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: broken
spec:
  rules:
    - name: one
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        failureAction: Enforce
        message: never
        patern:
          spec: {}
`

var badInputs = []bad{
	{name: "broken YAML", conclusion: "failure", says: []string{"shop/base/service.yaml"},
		at: "apps/shop/base/service.yaml:",
		change: map[string]string{"apps/shop/base/service.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: " +
			"[shop\nspec: {}\n"}},
	{name: "broken YAML in a plain folder", conclusion: "failure", says: []string{"platform/namespaces.yaml"},
		at:     "platform/namespaces.yaml:",
		change: map[string]string{"platform/namespaces.yaml": "apiVersion: v1\nkind: Namespace\n\tmetadata: {}\n"}},
	{name: "missing file", conclusion: "failure", says: []string{"missing.yaml"}, at: "apps/new/kustomization.yaml:4",
		change: map[string]string{"apps/new/kustomization.yaml": fmt.Sprintf(badBase, "missing.yaml")}},
	{name: "remote base", conclusion: "neutral", says: []string{"it is not in the list of allowed sources", "octo-org/other"},
		at: "apps/new/kustomization.yaml:4",
		change: map[string]string{"apps/new/kustomization.yaml": fmt.Sprintf(badBase,
			"https://github.com/octo-org/other//base?ref=v1")}},
	{name: "base outside of the repository", conclusion: "failure", at: "apps/new/kustomization.yaml:4",
		change: map[string]string{"apps/new/kustomization.yaml": fmt.Sprintf(badBase, "../../../../etc")}},
	{name: "malformed policy in the base", conclusion: "neutral", says: []string{"policies/broken.yaml", "the change " +
		"does not mend it"},
		base:   map[string]string{"policies/broken.yaml": badPolicy},
		change: map[string]string{"apps/shop/base/config/shop.properties": "currency=USD\n"}},
	{name: "malformed policy in the change", conclusion: "failure", says: []string{"policies/broken.yaml", "patern"},
		at:     "policies/broken.yaml:",
		change: map[string]string{"policies/broken.yaml": badPolicy}},
	{name: "malformed settings", conclusion: "neutral", says: []string{".lintel.yaml"},
		base:   map[string]string{".lintel.yaml": "policys: [policies/]\n"},
		change: map[string]string{"apps/shop/base/config/shop.properties": "currency=USD\n"}},
	{name: "no policies", folder: sampleRepo + "/platform", conclusion: "neutral", says: []string{"no policies"},
		change: map[string]string{"new.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: new\n"}},
	{name: "no manifests", conclusion: "success", says: []string{"no deployed manifest"},
		change: map[string]string{"README.md": "# fleet\n"}},
}

// badInput: each answer is a completed check run with words that a person understands, none of them a pass by silence.
func badInput(t *testing.T, binary string) {
	hub := newHub(t)
	rules := filepath.Join(t.TempDir(), "sources.yaml")
	if err := os.WriteFile(rules, []byte("allow: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serve(t, binary, hostingOf(hub), t.TempDir(), "LINTEL_SOURCES="+rules)
	hub.SetHook(p.url + "/webhook")
	for i, tc := range badInputs {
		t.Run(tc.name, func(t *testing.T) {
			folder := tc.folder
			if folder == "" {
				folder = sampleRepo
			}
			s := newScene(t, hub, fmt.Sprintf("octo-org/bad-%d", i), folder)
			if tc.base != nil {
				s.push("main", tc.base)
			}
			head := s.push("change", tc.change)
			s.open("change")
			run := s.completed(head)
			text := strings.ToLower(show(run))
			if run.Conclusion != tc.conclusion {
				t.Errorf("the conclusion is %s, want %s", run.Conclusion, tc.conclusion)
			}
			if run.Title == "" || run.Summary == "" {
				t.Error("the check run has no title or no summary")
			}
			for _, want := range tc.says {
				if !strings.Contains(text, strings.ToLower(want)) {
					t.Errorf("it does not say %q", want)
				}
			}
			found := tc.at == ""
			for _, a := range run.Annotations {
				found = found || strings.HasPrefix(fmt.Sprintf("%s:%d", a.Path, a.StartLine), tc.at)
			}
			if !found {
				t.Errorf("no annotation is at %s", tc.at)
			}
			if strings.Contains(text, "/tmp/") {
				t.Error("it names a path of the server")
			}
			if t.Failed() {
				t.Logf("the check run:\n%s", show(run))
			}
		})
	}
	clean(t, hub)
}
