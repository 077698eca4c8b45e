package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
)

// sources returns rules at paths; some files also contain exceptions.
func sources(s *settings.Settings, files map[string]string) *rules.Sources {
	out := &rules.Sources{Settings: s}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		one := rules.Source{}
		one.Path, one.Data = path, []byte(files[path])
		out.Policies = append(out.Policies, one)
	}
	out.Exceptions = out.Policies
	return out
}

const (
	admission = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: adm}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "true"}]
`
	binding = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: bind}
spec: {policyName: adm, validationActions: [Deny]}
`
	mutating = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: mut}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}}]}
`
)

func TestCompareListsWhatDiffers(t *testing.T) {
	base := map[string]string{"a.yaml": policyOf("a", "x"), "b.yaml": policyOf("b", "x"), "adm.yaml": admission,
		"bind.yaml": binding, "mut.yaml": mutating, "e.yaml": exceptionOf("e", "a")}
	everything := slices.Sorted(maps.Keys(base))
	for _, c := range []struct {
		name      string
		remove    []string
		write     map[string]string
		settings  settings.Settings
		edits     string // "name edit", sorted
		any       bool
		concerned []string // of the rules after it
	}{
		{name: "no change", concerned: []string{"mut.yaml"}},
		{name: "a comment", write: map[string]string{"a.yaml": "# why\n" + policyOf("a", "x")},
			concerned: []string{"mut.yaml"}},
		{name: "a moved file", remove: []string{"a.yaml"}, write: map[string]string{"z.yaml": policyOf("a", "x")},
			concerned: []string{"mut.yaml"}},
		{name: "two files merged into one", remove: []string{"a.yaml"},
			write:     map[string]string{"b.yaml": policyOf("b", "x") + "---\n" + policyOf("a", "x")},
			concerned: []string{"mut.yaml"}},
		{name: "a policy edited", write: map[string]string{"a.yaml": policyOf("a", "y")}, edits: "a changed", any: true,
			concerned: []string{"a.yaml", "mut.yaml"}},
		{name: "a policy added", write: map[string]string{"z.yaml": policyOf("z", "x")}, edits: "z added", any: true,
			concerned: []string{"mut.yaml", "z.yaml"}},
		{name: "a policy removed", remove: []string{"b.yaml"}, edits: "b removed", any: true,
			concerned: []string{"mut.yaml"}},
		{name: "a policy renamed", write: map[string]string{"a.yaml": policyOf("z", "x")}, edits: "a removed, z added",
			any:       true,
			concerned: []string{"a.yaml", "mut.yaml"}},
		{name: "the same policy twice", write: map[string]string{"z.yaml": policyOf("a", "x")}, edits: "a added", any: true,
			concerned: []string{"a.yaml", "mut.yaml", "z.yaml"}},
		{name: "a binding", write: map[string]string{"bind.yaml": strings.Replace(binding, "Deny", "Audit", 1)}, any: true,
			concerned: []string{"adm.yaml", "bind.yaml", "mut.yaml"}},
		{name: "a binding removed", remove: []string{"bind.yaml"}, any: true, concerned: []string{"adm.yaml", "mut.yaml"}},
		{name: "a policy of the API server", write: map[string]string{"adm.yaml": strings.Replace(admission, "true",
			"false", 1)},
			edits: "adm changed", any: true, concerned: []string{"adm.yaml", "bind.yaml", "mut.yaml"}},
		{name: "a mutation", write: map[string]string{"mut.yaml": strings.Replace(mutating, "a: b", "a: c", 1)},
			edits: "mut changed",
			any:   true, concerned: everything},
		{name: "a mutation removed", remove: []string{"mut.yaml"}, edits: "mut removed", any: true,
			concerned: []string{"a.yaml", "adm.yaml", "b.yaml", "bind.yaml", "e.yaml"}},
		{name: "an exception", write: map[string]string{"e.yaml": exceptionOf("e", "b")},
			edits: "kyverno.io PolicyException ops/e changed", any: true, concerned: []string{"a.yaml", "b.yaml", "mut.yaml"}},
		{name: "an exception's expiry", write: map[string]string{"e.yaml": strings.Replace(exceptionOf("e", "a"),
			"namespace: ops",
			"namespace: ops, labels: {cleanup.kyverno.io/ttl: 1h}", 1)},
			edits: "kyverno.io PolicyException ops/e changed", any: true, concerned: []string{"a.yaml", "mut.yaml"}},
		{name: "roots", settings: settings.Settings{Roots: settings.Roots{Exclude: []string{"x"}}}, any: true,
			concerned: everything},
		{name: "charts", settings: settings.Settings{Charts: []settings.Chart{{Path: "charts/a"}}}, any: true, concerned: everything},
		{name: "load restrictor", settings: settings.Settings{Kustomize: settings.Kustomize{
			LoadRestrictor: settings.LoadRestrictionsNone}}, any: true, concerned: everything},
		{name: "limits", settings: settings.Settings{Limits: settings.Limits{Files: 3}}, any: true, concerned: everything},
		{name: "context", settings: settings.Settings{Context: []string{"c"}}, any: true, concerned: everything},
		{name: "approvers", settings: settings.Settings{Approvers: settings.Approvers{Count: 2}},
			concerned: []string{"mut.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(base)
			maps.DeleteFunc(files, func(path, _ string) bool { return slices.Contains(c.remove, path) })
			maps.Copy(files, c.write)
			after := sources(&c.settings, files)
			e := rules.Compare(sources(&settings.Settings{}, base), after)
			var edits []string
			for _, list := range []map[string]report.Edit{e.Policies, e.Exceptions} {
				for name, edit := range list {
					edits = append(edits, name+" "+string(edit))
				}
			}
			slices.Sort(edits)
			if got := strings.Join(edits, ", "); got != c.edits {
				t.Errorf("edits %q, want %q", got, c.edits)
			}
			if got := e.Any(); got != c.any {
				t.Errorf("any: %v", got)
			}
			var concerned []string
			for _, s := range e.Concerned(after.Policies) {
				concerned = append(concerned, s.Path)
			}
			if !slices.Equal(concerned, c.concerned) {
				t.Errorf("concerned %q, want %q", concerned, c.concerned)
			}
		})
	}
}

// Files has the files with rules that differ, Touched the files whose text differs.
func TestCompareFiles(t *testing.T) {
	s := &settings.Settings{}
	e := rules.Compare(sources(s, map[string]string{"a.yaml": policyOf("a", "x"), "b.yaml": policyOf("b", "x"),
		"c.yaml": policyOf("c", "x")}),
		sources(s, map[string]string{"a.yaml": "# why\n" + policyOf("a", "x"), "b.yaml": policyOf("b", "y"),
			"c.yaml": policyOf("c", "x")}))
	if got := slices.Sorted(maps.Keys(e.Touched)); !slices.Equal(got, []string{"a.yaml", "b.yaml"}) {
		t.Errorf("touched %q", got)
	}
	if got := slices.Sorted(maps.Keys(e.Files)); !slices.Equal(got, []string{"b.yaml"}) {
		t.Errorf("files %q", got)
	}
	if got := e.Places["b"]; got.Path != "b.yaml" || got.Line != 1 {
		t.Errorf("places %+v", e.Places)
	}
}
