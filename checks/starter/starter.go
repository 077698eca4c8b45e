// Package starter has the policies that a repository may start with, and says what to write into a repository for them:
// which files, and which settings. It reads and writes nothing itself.
package starter

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/report"
)

// The kinds of policies. Each policy is there in both, and both say the same of the same objects.
const (
	ClusterPolicy    = "ClusterPolicy"
	ValidatingPolicy = "ValidatingPolicy"
)

// What becomes of what violates a policy.
const (
	Audit   = "audit"
	Enforce = "enforce"
)

// Kinds lists the kinds of policies, the default first.
func Kinds() []string { return []string{ClusterPolicy, ValidatingPolicy} }

// Actions lists what may become of a violation, the default first.
func Actions() []string { return []string{Audit, Enforce} }

// The sets. What Restricted asks for contains what Baseline does.
const (
	Baseline      = "baseline"
	Restricted    = "restricted"
	BestPractices = "best-practices"
	Namespaces    = "namespaces"
)

// Sets lists the sets of policies.
func Sets() []string { return []string{Baseline, Restricted, BestPractices, Namespaces} }

// DefaultSets are those that a repository can hold to, and be judged by. What asks for namespaces is left out where
// mostly nothing says where manifests without one are deployed: it could not be decided for these.
func DefaultSets(l *report.Layout) []string {
	if known, unknown := placed(l); unknown > known {
		return []string{Baseline, BestPractices}
	}
	return []string{Baseline, BestPractices, Namespaces}
}

// placed counts the roots of which something says who deploys them, and the others.
func placed(l *report.Layout) (known, unknown int) {
	for _, r := range cmp.Or(l, &report.Layout{}).Roots {
		if len(r.By) > 0 {
			known++
		} else {
			unknown++
		}
	}
	return known, unknown
}

// files has a folder for each set, and in it one for each policy: KIND.yaml, KIND.test.yaml, and the resources that the
// tests of both kinds judge.
//
//go:embed files
var files embed.FS

// Choice is what somebody wants to start with.
type Choice struct {
	Kind   string   // of Kinds
	Action string   // of Actions
	Sets   []string // of Sets; Restricted takes the place of Baseline
	Folder string   // that the policies are written to, from the top of the repository
}

// File is one to be written.
type File struct {
	Path string // from the top of the repository
	Data []byte
}

// Policy is one of the starting policies, with its test.
type Policy struct {
	Name, Set string
	Files     []File // the policy first
}

// chosen are the sets without those that another one contains, in the order of Sets.
func (c Choice) chosen() []string {
	return slices.DeleteFunc(Sets(), func(s string) bool {
		return !slices.Contains(c.Sets, s) || s == Baseline && slices.Contains(c.Sets, Restricted)
	})
}

// Policies returns the policies of a choice, by their sets and names. An error means that there is no such choice.
func (c Choice) Policies() ([]Policy, error) {
	if !slices.Contains(Kinds(), c.Kind) || !slices.Contains(Actions(), c.Action) {
		return nil, fmt.Errorf("there are no starting policies of the kind %q with the action %q", c.Kind, c.Action)
	}
	for _, s := range c.Sets {
		if !slices.Contains(Sets(), s) {
			return nil, fmt.Errorf("there is no set %q: use one of %s", s, strings.Join(Sets(), ", "))
		}
	}
	var list []Policy
	for _, set := range c.chosen() {
		folders, err := fs.ReadDir(files, path.Join("files", set))
		if err != nil {
			return nil, err
		}
		for _, f := range folders {
			p, err := c.policy(set, f.Name())
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

func (c Choice) policy(set, name string) (Policy, error) {
	p := Policy{Name: name, Set: set}
	for _, f := range []struct{ from, to string }{
		{c.Kind + ".yaml", name + ".yaml"}, {c.Kind + ".test.yaml", eval.TestName}, {"resources.yaml", "resources.yaml"},
	} {
		data, err := files.ReadFile(path.Join("files", set, name, f.from))
		if err != nil {
			return Policy{}, err
		}
		if f.from == c.Kind+".yaml" {
			data = []byte(c.enforced(string(data)))
		}
		p.Files = append(p.Files, File{Path: path.Join(c.Folder, name, f.to), Data: data})
	}
	return p, nil
}

// Has reports whether a file is one of those that the tests of the policies use.
func Has(data []byte) bool {
	names, _ := fs.Glob(files, "files/*/*/resources.yaml")
	return slices.ContainsFunc(names, func(name string) bool {
		own, err := files.ReadFile(name)
		return err == nil && bytes.Equal(own, data)
	})
}

// enforced returns a policy with the action of the choice. The files have it as an audit.
func (c Choice) enforced(text string) string {
	if c.Action == Audit {
		return text
	}
	return strings.NewReplacer("\n        failureAction: Audit\n", "\n        failureAction: Enforce\n",
		"\n  validationActions: [Audit]\n", "\n  validationActions: [Deny]\n").Replace(text)
}
