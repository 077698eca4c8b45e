package roots

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// PolicyTestName is the file name of the policy tests that "kyverno test" runs
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/).
const PolicyTestName = "kyverno-test.yaml"

// PolicyTests finds the tests of policies and of clusters in a tree. Files that they use are test input, and are not
// deployed.
type PolicyTests struct{ index *Index }

// policyTests are notes: for each file or folder, the tests beside or above that use it as a resource, and with a prefix
// those that use it otherwise.
const policyTests = "policy test"

// Prefixes of keys.
const (
	named    = "\x00named "    // the path is in any field
	excepted = "\x00excepted " // a policy test uses it as an exception
)

// fixtureFields returns the fields in which a test file names its input: of a policy test, of a Chainsaw test
// (https://kyverno.github.io/chainsaw/latest/configuration/) at any depth, and the folders of a KUTTL suite
// (https://kuttl.dev/docs/testing/reference.html). It returns nil for other file names.
func fixtureFields(p string) []string {
	switch path.Base(p) {
	case PolicyTestName:
		return []string{"resources", "targetResources"}
	case "chainsaw-test.yaml", "chainsaw-test.yml":
		return []string{"file"}
	case "kuttl-test.yaml", "kuttl-test.yml":
		return []string{"testDirs"}
	}
	return nil
}

// policyTestNotes reads test files. Only files beside or below a test are noted as its resources.
func policyTestNotes(limits doc.Limits) graph.Notes {
	return graph.Notes{Of: policyTests, Read: func(p string, data []byte, note func(string)) {
		if fixtureFields(p) != nil {
			note(anyTest)
		}
		eachNamed(p, data, limits, func(at, prefix string) { note(prefix + at) })
	}}
}

// eachNamed visits the paths beside or below a test that it contains, with the prefixes of their keys: its resources, the
// exceptions of a policy test, and other values with the name of a manifest.
func eachNamed(p string, data []byte, limits doc.Limits, visit func(at, prefix string)) {
	fields := fixtureFields(p)
	if fields == nil {
		return
	}
	documents, err := doc.Parse(p, data, limits)
	if err != nil {
		return
	}
	dir, chainsaw := path.Dir(p), slices.Contains(fields, "file")
	for _, document := range documents {
		below := func(n *yaml.Node, prefix string) {
			if at, ok := tree.Clean(path.Join(dir, n.Value)); ok && isBelow(at, dir) && n.Kind == yaml.ScalarNode {
				visit(at, prefix)
			}
		}
		for n := range doc.Nodes(document) {
			for key, value := range doc.Pairs(n) {
				if slices.Contains(fields, key.Value) && (chainsaw || n == document) {
					for item := range doc.Nodes(value) {
						below(item, "")
					}
				}
			}
			if graph.IsManifestName(n.Value) {
				below(n, named)
			}
		}
		for _, item := range doc.Items(document, "exceptions") {
			if path.Base(p) == PolicyTestName {
				below(item, excepted)
			}
		}
	}
}

// anyTest is the key of all tests.
const anyTest = "\x00any"

// Of returns the test that uses a file as input, so that it is not deployed; empty where none does. A test may claim
// files in its folder and below if nothing else there may be deployed, now and in the earlier tree. So a new test
// cannot hide deployed files. A test at the top of the repository claims none.
func (t PolicyTests) Of(p string) string { return t.owner("", p) }

// owner returns the first test that is noted with a prefix for a file, or for a folder that contains it, and that may
// claim the file.
func (t PolicyTests) owner(prefix, p string) string {
	for at := p; at != "."; at = path.Dir(at) {
		for _, test := range t.index.Noted(policyTests, prefix+at) {
			if t.owns(path.Dir(test)) && !t.index.filter.isDeployed(path.Dir(p)) {
				return test
			}
		}
	}
	return ""
}

// owns reports whether a folder with a test, and the folders below, contain nothing but test files.
func (t PolicyTests) owns(dir string) bool {
	return t.index.testFolders.Get(dir, func() bool {
		before := t.index.options.Before
		return dir != "." && !t.holdsOther(dir) && (before == nil || !before.PolicyTests().holdsOther(dir))
	})
}

// holdsOther reports whether a folder, or one below it, contains something for a cluster that no test names.
func (t PolicyTests) holdsOther(dir string) bool {
	entries, err := t.index.Tree().ReadDir(dir)
	return err != nil && !errors.Is(err, tree.ErrNotExist) || slices.ContainsFunc(entries, func(e tree.Entry) bool {
		p := path.Join(dir, e.Name)
		switch {
		case hidden(e.Name) || t.isNamed(p):
			return false
		case e.Kind == tree.Dir:
			return t.holdsOther(p)
		}
		return kustomization.IsFileName(p) || e.Name == "Chart.yaml" || graph.IsManifestName(p) && t.isOther(p)
	})
}

// isNamed reports whether a test names a file, or a folder that contains it.
func (t PolicyTests) isNamed(p string) bool {
	for at := p; at != "."; at = path.Dir(at) {
		if len(t.index.Noted(policyTests, at)) > 0 {
			return true
		}
	}
	return len(t.index.Noted(policyTests, named+p)) > 0
}

// isOther reports whether a file contains something for a cluster and no test names it.
func (t PolicyTests) isOther(p string) bool {
	return !t.isNamed(p) && slices.ContainsFunc(t.index.identities(p), deployable)
}

// Claimed lists the files that a new test names and that were deployed from their folder in an earlier tree. After the
// next change they count as test input.
func (t PolicyTests) Claimed(before *Index, test string) []string {
	if dir := path.Dir(test); fixtureFields(test) == nil || dir == "." || t.holdsOther(dir) {
		return nil
	}
	return slices.DeleteFunc(t.Names(test), func(p string) bool {
		return !t.index.IsFile(p) || !before.Unreferenced(p) || !before.PolicyTests().isOther(p)
	})
}

// Names lists the paths that a test contains, and the files in folders that it uses. It returns nil for other files.
func (t PolicyTests) Names(test string) (files []string) {
	if fixtureFields(test) == nil {
		return nil
	}
	data, _, err := t.index.Tree().ReadFile(test)
	if err != nil {
		return nil
	}
	folders := map[string]bool{}
	eachNamed(test, data, t.index.options.Limits, func(at, prefix string) {
		if prefix == excepted {
			return
		}
		if _, e, err := t.index.Tree().Lookup(at); err == nil && e.Kind == tree.Dir && prefix == "" && !folders[at] {
			folders[at] = true
			filesBelow(t.index.Tree(), at, &files)
		}
		files = append(files, at)
	})
	slices.Sort(files)
	return slices.Compact(files)
}

// deployable reports whether an object may be deployed to a cluster: it is no policy and no configuration of policy
// tests.
func deployable(o identity) bool {
	return o.GVK.Kind != "" && o.GVK.Version != "" && o.GVK.Group != "kyverno.io" &&
		!strings.HasSuffix(o.GVK.Group, ".kyverno.io") && o.GVK.Group != "admissionregistration.k8s.io"
}

// Hides reports whether a file is in a hidden folder for tests that has one (https://github.com/kyverno/policies).
func (t PolicyTests) Hides(p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if name := path.Base(dir); name == ".chainsaw-test" || name == ".kyverno-test" {
			return slices.ContainsFunc(t.index.Noted(policyTests, anyTest), func(test string) bool { return isBelow(test, dir) })
		}
	}
	return false
}

// OfAny returns the policy test that uses a file as a resource or as an exception, empty where none does.
func (t PolicyTests) OfAny(p string) string { return cmp.Or(t.owner(excepted, p), t.Of(p)) }
