package starter

import (
	"bytes"
	"cmp"
	_ "embed" // the form of the settings
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
)

//go:embed settings.yaml.tmpl
var settingsForm string

// Repository is what is known of the repository that a plan is for.
type Repository struct {
	// Layout is what it has; nil where it could not be looked at.
	Layout *report.Layout
	// Read returns a file as it lies there, or fs.ErrNotExist.
	Read func(path string) ([]byte, error)
}

// Plan is what is to be done in a repository.
type Plan struct {
	report.InitPlan
	Write  []File   // those that are to be written
	Covers []string // the files of the policies that are to count: written, or there already
}

// Plan plans what to write. What is there stays: of a policy whose name another one has, or of whose files one is there
// that says something else, nothing is written. Errors are those of Policies and Read.
func (c Choice) Plan(r Repository) (*Plan, error) {
	policies, err := c.Policies()
	if err != nil {
		return nil, err
	}
	p := &Plan{InitPlan: report.InitPlan{Found: r.found(), Policies: []report.PlannedRule{}, Notes: []string{}}}
	r.Layout = cmp.Or(r.Layout, &report.Layout{})
	text, err := c.settings(r)
	if err != nil {
		return nil, err
	}
	f := File{Path: settings.Path, Data: text}
	planned, err := r.planned(f)
	if err != nil {
		return nil, err
	}
	if p.Files = append(p.Files, planned); planned.Action == report.PlanWrite {
		p.Write = append(p.Write, f)
	}
	for _, policy := range policies {
		if err := p.add(r, c, policy); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Plan) add(r Repository, c Choice, policy Policy) error {
	rule := report.PlannedRule{Name: policy.Name, Title: title(policy.Files[0].Data), Kind: c.Kind, Set: policy.Set,
		Folder: path.Join(c.Folder, policy.Name), Action: report.PlanSame}
	var own []report.PlannedFile
	for _, f := range policy.Files {
		planned, err := r.planned(f)
		if err != nil {
			return err
		}
		own = append(own, planned)
		switch {
		case planned.Action == report.PlanLeave && rule.Action != report.PlanLeave:
			rule.Action, rule.Reason = report.PlanLeave, f.Path+" exists with other content"
		case planned.Action == report.PlanWrite && rule.Action == report.PlanSame:
			rule.Action = report.PlanWrite
		}
	}
	for _, there := range r.Layout.Policies {
		if there.Name == policy.Name && there.Path != policy.Files[0].Path {
			rule.Action, rule.Reason = report.PlanLeave, fmt.Sprintf("%s has a %s of this name", there.Path, there.Kind)
		}
	}
	if rule.Action != report.PlanLeave {
		p.Covers = append(p.Covers, policy.Files[0].Path)
	}
	for i, planned := range own {
		if rule.Action == report.PlanLeave && planned.Action == report.PlanWrite {
			continue // not planned any more
		}
		p.Files = append(p.Files, planned)
		if planned.Action == report.PlanWrite {
			p.Write = append(p.Write, policy.Files[i])
		}
	}
	p.Policies = append(p.Policies, rule)
	return nil
}

func (r Repository) planned(f File) (report.PlannedFile, error) {
	there, err := r.Read(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return report.PlannedFile{Path: f.Path, Action: report.PlanWrite}, nil
	case err != nil:
		return report.PlannedFile{}, fmt.Errorf("%s cannot be read: %w", f.Path, err)
	case bytes.Equal(there, f.Data):
		return report.PlannedFile{Path: f.Path, Action: report.PlanSame}, nil
	}
	return report.PlannedFile{Path: f.Path, Action: report.PlanLeave, Reason: "it exists with other content"}, nil
}

func (c Choice) settings(r Repository) ([]byte, error) {
	type chart struct{ Path, Values string }
	in := struct {
		Schema, Policies string
		Excluded         []string
		Charts           []chart
		Audit            bool
	}{Schema: settings.SchemaURL, Audit: c.Action == Audit, Excluded: undeployed(r.Layout)}
	others := func(p report.LaidPolicy) bool { return !strings.HasPrefix(p.Path, c.Folder+"/") }
	if !slices.ContainsFunc(r.Layout.Policies, others) {
		in.Policies = c.Folder + "/"
	}
	for _, root := range r.Layout.Roots {
		for _, v := range root.Values {
			in.Charts = append(in.Charts, chart{root.Path, v})
		}
	}
	form, err := template.New("settings").Funcs(template.FuncMap{"yaml": scalar}).Parse(settingsForm)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = form.Execute(&b, in)
	return b.Bytes(), err
}

// scalar is a text as a value in YAML, on one line.
func scalar(s string) (string, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsAny(s, ",[]{}") || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		n.Style = yaml.DoubleQuotedStyle // else it would end a value in brackets, or a line
	}
	data, err := yaml.Marshal(n)
	return strings.TrimSuffix(string(data), "\n"), err
}

// KindOf returns the kind of most policies of a repository, the default where there are as many of others.
func KindOf(l *report.Layout) string {
	best, counts := Kinds()[0], map[string]int{}
	for _, p := range cmp.Or(l, &report.Layout{}).Policies {
		counts[p.Kind]++
	}
	for _, k := range Kinds() {
		if counts[k] > counts[best] {
			best = k
		}
	}
	return best
}

// undeployed lists globs of folders that seem not to be deployed: by their names, in a repository where objects of Argo
// CD or Flux say what is.
func undeployed(l *report.Layout) []string {
	names := []string{"example", "examples", "sample", "samples", "test", "tests", "testdata", "e2e", "hack", "docs"}
	deployed := report.Kept(l.Roots, func(r report.LaidRoot) bool { return len(r.By) > 0 })
	if len(deployed) == 0 {
		return nil
	}
	found := map[string]bool{}
	for _, r := range l.Roots {
		parts := strings.Split(r.Path, "/")
		if i := slices.IndexFunc(parts, func(p string) bool { return slices.Contains(names, p) }); len(r.By) == 0 && i >= 0 {
			found[path.Join(parts[:i+1]...)] = true
		}
	}
	free := report.Kept(slices.Sorted(maps.Keys(found)), func(dir string) bool {
		return !slices.ContainsFunc(deployed, func(r report.LaidRoot) bool { return strings.HasPrefix(r.Path+"/", dir+"/") })
	})
	return report.Mapped(free, func(dir string) string { return dir + "/**" })
}

func (r Repository) found() []string {
	if r.Layout == nil {
		return []string{}
	}
	kinds, by := map[string]int{}, 0
	for _, root := range r.Layout.Roots {
		kinds[root.Kind]++
		if len(root.By) > 0 {
			by++
		}
	}
	words := map[string][2]string{"Kustomization": {"kustomization", "kustomizations"},
		"Folder": {"folder of manifests", "folders of manifests"}, "Chart": {"chart", "charts"},
		"Application": {"Application of Argo CD", "Applications of Argo CD"}, "ApplicationSet": {"deployment by an " +
			"ApplicationSet", "deployments by ApplicationSets"}, "FluxKustomization": {"Kustomization of Flux",
			"Kustomizations of Flux"}, "HelmRelease": {"HelmRelease of Flux", "HelmReleases of Flux"}}
	list := []string{"nothing that is deployed yet"}
	if n := len(r.Layout.Roots); n > 0 {
		parts := report.Mapped(slices.Sorted(maps.Keys(kinds)), func(k string) string {
			return report.Count(kinds[k], words[k][0], words[k][1])
		})
		list[0] = report.Count(n, "root", "roots") + ": " + strings.Join(parts, ", ")
	}
	if by > 0 {
		list = append(list, fmt.Sprintf("Argo CD or Flux deploys %d of them", by))
	}
	if len(r.Layout.Policies) > 0 {
		list = append(list, report.Count(len(r.Layout.Policies), "policy", "policies"))
	}
	return list
}

func title(data []byte) string {
	var doc struct {
		Metadata struct{ Annotations map[string]string }
	}
	_ = yaml.Unmarshal(data, &doc) // it is ours, and tested
	return doc.Metadata.Annotations["policies.kyverno.io/title"]
}

// Deployer returns the name of a root that would deploy what is written to a folder, given the layout before and after;
// empty for none. What stands in the folder alone, and is deployed by nobody, deploys nothing.
func Deployer(folder string, before, after *report.Layout) string {
	known := map[string]report.LaidRoot{}
	for _, l := range []*report.Layout{before, after} {
		for _, r := range l.Roots {
			known[r.Name] = r
		}
	}
	for _, name := range after.Reached {
		r, ok := known[name]
		if !ok || len(r.By) > 0 || r.Path != folder && !strings.HasPrefix(r.Path, folder+"/") {
			return name
		}
	}
	return ""
}
