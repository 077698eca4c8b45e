package checks

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// ruleMarks are the words a file must hold to be a policy or an exception; most files have none and are not
// parsed.
func ruleMarks() []string { return []string{"kyverno.io/", "AdmissionPolicy"} }

// ruleFiles finds the files that may hold policies or exceptions. Where the settings name files or folders,
// only those count; else every manifest of the repository that is not a patch, a template or hidden.
func ruleFiles(t *tree.Tree, g *roots.Set, named []string) ([]policy.Source, error) {
	var sources []policy.Source
	for _, p := range g.Marked() {
		if g.Patch(p) || len(named) > 0 && !underAny(p, named) || len(named) == 0 && !g.Manifest(p) {
			continue
		}
		data, _, err := t.ReadFile(p)
		if err != nil {
			return nil, err
		}
		sources = append(sources, policy.Source{Path: p, Data: data})
	}
	return sources, nil
}

// missingPolicies reports policies that the settings name and the tree does not have: a misspelled folder would turn
// them all off. A missing folder of exceptions or context loosens nothing, and git keeps no empty ones.
func missingPolicies(t *tree.Tree, named []string) []report.Problem {
	var problems []report.Problem
	for _, n := range named {
		if strings.ContainsAny(n, "*?") {
			continue
		}
		if _, _, err := t.Lookup(n); errors.Is(err, tree.ErrNotExist) {
			problems = append(problems, report.Problem{Path: SettingsPath, Message: fmt.Sprintf("policies: %q does not exist in the repository", n)})
		}
	}
	return problems
}

// underAny says whether a path is one of the named files or lies in one of the named folders.
func underAny(p string, named []string) bool {
	for _, n := range named {
		n = path.Clean(strings.TrimSuffix(n, "/"))
		if n == "." || p == n || strings.HasPrefix(p, n+"/") {
			return true
		}
		if re, err := roots.Glob(n); err == nil && re.MatchString(p) {
			return true
		}
	}
	return false
}

// problemsOf splits the engine's problems into what fails the check and what is said beside it.
func problemsOf(list []policy.Problem) (problems, warnings []report.Problem) {
	for _, p := range list {
		q := report.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message}
		if p.Warning {
			warnings = append(warnings, q)
		} else {
			problems = append(problems, q)
		}
	}
	return problems, warnings
}
