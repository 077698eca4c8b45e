package checks

import (
	"bytes"
	"errors"
	"path"
	"strings"

	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// ruleMarks are the words a file must hold to be a policy or an exception; most files have none and are not
// parsed.
var ruleMarks = [][]byte{[]byte("kyverno.io/"), []byte("ValidatingAdmissionPolicy")}

// ruleFiles finds the files that may hold policies or exceptions. Where the settings name files or folders,
// only those count; else every manifest of the repository that is not a patch, a template or hidden.
func ruleFiles(t *tree.Tree, g *graph.Graph, named []string, marks *markCache) ([]policy.Source, error) {
	var sources []policy.Source
	err := t.Walk(func(p string, e tree.Entry) error {
		if e.Kind != tree.File || !graph.IsManifestName(p) || kustomization.IsFileName(p) || g.Patch(p) {
			return nil
		}
		if len(named) > 0 && !underAny(p, named) || len(named) == 0 && !g.Manifest(p) {
			return nil
		}
		marked, err := marks.has(t, p, e.ID)
		if err != nil || !marked {
			return err
		}
		data, _, err := t.ReadFile(p)
		if err != nil {
			return err
		}
		sources = append(sources, policy.Source{Path: p, Data: data})
		return nil
	})
	return sources, err
}

// underAny says whether a path is one of the named files or lies in one of the named folders.
func underAny(p string, named []string) bool {
	for _, n := range named {
		n = path.Clean(strings.TrimSuffix(n, "/"))
		if n == "." || p == n || strings.HasPrefix(p, n+"/") {
			return true
		}
		if re, err := graph.Glob(n); err == nil && re.MatchString(p) {
			return true
		}
	}
	return false
}

// markCache remembers by object id which files hold a mark, so that a warm process reads a repository's files
// once.
type markCache struct{ known map[string]bool }

const markLimit = 1 << 20 // entries

func (c *markCache) has(t *tree.Tree, p, id string) (bool, error) {
	if known, ok := c.known[id]; ok {
		return known, nil
	}
	data, _, err := t.ReadFile(p)
	var large *tree.TooLargeError
	if errors.As(err, &large) {
		return false, nil // no policy is as large as that; where the file is deployed, rendering it says so
	}
	if err != nil {
		return false, err
	}
	marked := false
	for _, mark := range ruleMarks {
		marked = marked || bytes.Contains(data, mark)
	}
	if c.known == nil || len(c.known) >= markLimit {
		c.known = map[string]bool{}
	}
	c.known[id] = marked
	return marked, nil
}

// problemsOf splits the engine's problems into what fails the check and what is said beside it.
func problemsOf(list []policy.Problem) (problems, warnings []Problem) {
	for _, p := range list {
		q := Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message}
		if p.Warning {
			warnings = append(warnings, q)
		} else {
			problems = append(problems, q)
		}
	}
	return problems, warnings
}
