package roots

import (
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// PolicyTestName is the name of a policy test: the one that "kyverno test" looks for
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/).
const PolicyTestName = "kyverno-test.yaml"

// policyTests notes of each file or folder the policy tests beside or above that use it as a resource.
const policyTests = "policy test"

// policyTestNotes reads policy tests. The resources that lie beside or below a test are there for it; of those
// elsewhere it does not decide what they are.
func policyTestNotes(limits source.Limits) graph.Notes {
	return graph.Notes{Of: policyTests, Read: func(p string, data []byte, note func(string)) {
		if path.Base(p) != PolicyTestName {
			return
		}
		documents, err := source.Parse(p, data, limits)
		if err != nil {
			return
		}
		dir := path.Dir(p)
		for _, document := range documents {
			for _, field := range []string{"resources", "targetResources"} {
				for _, item := range source.Items(document, field) {
					named, ok := tree.Clean(path.Join(dir, item.Value))
					if ok && named != dir && (dir == "." || strings.HasPrefix(named, dir+"/")) {
						note(named)
					}
				}
			}
		}
	}}
}

// PolicyTest returns the policy test that a file is a resource of, empty where it is of none: it is there to be judged
// by policies, not to be deployed.
func (s *Set) PolicyTest(p string) string {
	for at := p; at != "."; at = path.Dir(at) {
		if tests := s.Noted(policyTests, at); len(tests) > 0 {
			return slices.Min(tests)
		}
	}
	return ""
}
