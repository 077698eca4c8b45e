package roots

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// PolicyTestName is the name of a policy test: the one that "kyverno test" looks for
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/).
const PolicyTestName = "kyverno-test.yaml"

// policyTests notes of each file or folder the policy tests beside or above that use it as a resource, and of what they
// name in any way.
const policyTests = "policy test"

// named is the key of what policy tests name, in front of its path.
const named = "\x00named "

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
			below := func(n *yaml.Node, key string) {
				at, ok := tree.Clean(path.Join(dir, n.Value))
				if ok && at != dir && (dir == "." || strings.HasPrefix(at, dir+"/")) {
					note(key + at)
				}
			}
			for _, field := range []string{"resources", "targetResources"} {
				for _, item := range source.Items(document, field) {
					below(item, "")
				}
			}
			eachScalar(document, func(n *yaml.Node) {
				if graph.IsManifestName(n.Value) {
					below(n, named)
				}
			})
		}
	}}
}

func eachScalar(n *yaml.Node, visit func(*yaml.Node)) {
	if n.Kind == yaml.ScalarNode {
		visit(n)
	}
	for _, c := range n.Content {
		eachScalar(c, visit)
	}
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

// Fixture reports whether a resource of a policy test is certainly there for tests only: a test names the file itself,
// and all that a cluster could take from its folder.
func (s *Set) Fixture(p string) bool {
	if len(s.Noted(policyTests, p)) == 0 {
		return false
	}
	entries, err := s.Tree().ReadDir(path.Dir(p))
	return err == nil && !slices.ContainsFunc(entries, func(e tree.Entry) bool {
		other := path.Join(path.Dir(p), e.Name)
		return graph.IsManifestName(other) && !kustomization.IsFileName(other) && s.PolicyTest(other) == "" &&
			len(s.Noted(policyTests, named+other)) == 0 && slices.ContainsFunc(s.identities(other), deployable)
	})
}

// deployable reports whether a cluster may take an object as a workload: not a policy, nor what configures its tests.
func deployable(o identity) bool {
	return o.gvk.Kind != "" && o.gvk.Version != "" && o.gvk.Group != "kyverno.io" &&
		!strings.HasSuffix(o.gvk.Group, ".kyverno.io") && o.gvk.Group != "admissionregistration.k8s.io"
}
