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

// PolicyTestName is the name of a policy test: the one that "kyverno test" looks for
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/).
const PolicyTestName = "kyverno-test.yaml"

// PolicyTests are the policy tests of a tree, and those of clusters: what they have is there to be judged, not to be deployed.
type PolicyTests struct{ index *Index }

// policyTests notes of each file or folder the policy tests beside or above that use it as a resource, and of what they
// name in any way.
const policyTests = "policy test"

// named is the key of what policy tests name, in front of its path.
const named = "\x00named "

// fixtureFields returns the fields in which a test names what is there for it: those of a policy test, of a test of
// Chainsaw (https://kyverno.github.io/chainsaw/latest/configuration/), wherever they stand, and the folders of a suite of
// KUTTL (https://kuttl.dev/docs/testing/reference.html). None for a file that is no test by its name.
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

// policyTestNotes reads policy tests, and those of clusters. The resources that lie beside or below a test are there
// for it; of those elsewhere it does not decide what they are.
func policyTestNotes(limits doc.Limits) graph.Notes {
	return graph.Notes{Of: policyTests, Read: func(p string, data []byte, note func(string)) {
		if fixtureFields(p) != nil {
			note(anyTest)
		}
		eachNamed(p, data, limits, func(at string, resource bool) {
			if resource {
				note(at)
			} else {
				note(named + at)
			}
		})
	}}
}

// eachNamed visits what a test names beside or below it: its resources, and all that has the name of a manifest.
func eachNamed(p string, data []byte, limits doc.Limits, visit func(at string, resource bool)) {
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
		below := func(n *yaml.Node, resource bool) {
			at, ok := tree.Clean(path.Join(dir, n.Value))
			if ok && at != dir && (dir == "." || strings.HasPrefix(at, dir+"/")) {
				visit(at, resource)
			}
		}
		eachField(document, !chainsaw, func(name string, value *yaml.Node) {
			if slices.Contains(fields, name) {
				eachScalar(value, func(item *yaml.Node) { below(item, true) })
			}
		})
		eachScalar(document, func(n *yaml.Node) {
			if graph.IsManifestName(n.Value) {
				below(n, false)
			}
		})
	}
}

// eachField visits the fields of a document, those inside others only where top is not set.
func eachField(n *yaml.Node, top bool, visit func(name string, value *yaml.Node)) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			visit(n.Content[i-1].Value, c)
		}
		if !top || n.Kind == yaml.DocumentNode {
			eachField(c, top, visit)
		}
	}
}

func eachScalar(n *yaml.Node, visit func(*yaml.Node)) {
	if n.Kind == yaml.ScalarNode {
		visit(n)
	}
	for _, c := range n.Content {
		eachScalar(c, visit)
	}
}

// anyTest is the key of all tests.
const anyTest = "\x00any"

// Of returns the policy test whose fixture a file is, empty where it is of none: it is there to be judged by policies, not
// to be deployed. A test has fixtures in its own folder and below, if nothing else lies there that may be deployed, now or
// in the earlier tree: a new test takes nothing of that. One at the top of the repository has none.
func (t PolicyTests) Of(p string) string { return t.owner(policyTests, p) }

// owner returns the first of the tests that are noted of a file, or of a folder around it, and that may have it.
func (t PolicyTests) owner(of, p string) string {
	for at := p; at != "."; at = path.Dir(at) {
		for _, test := range t.index.Noted(of, at) {
			if t.owns(path.Dir(test)) && !t.index.filter.isDeployed(path.Dir(p)) {
				return test
			}
		}
	}
	return ""
}

// owns reports whether what lies in a folder with a test, and below, is there for tests alone.
func (t PolicyTests) owns(dir string) bool {
	known, ok := t.index.testFolders.Load(dir)
	if !ok {
		before := t.index.options.Before
		known = dir != "." && !t.holdsOther(dir) && (before == nil || !before.PolicyTests().holdsOther(dir))
		t.index.testFolders.Store(dir, known)
	}
	return known.(bool)
}

// holdsOther reports whether a folder, or one below it, has what a cluster may take and no test names.
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

// isNamed reports whether a test names a file, or a folder around it.
func (t PolicyTests) isNamed(p string) bool {
	for at := p; at != "."; at = path.Dir(at) {
		if len(t.index.Noted(policyTests, at)) > 0 {
			return true
		}
	}
	return len(t.index.Noted(policyTests, named+p)) > 0
}

// isOther reports whether a file holds what a cluster may take and no test names it.
func (t PolicyTests) isOther(p string) bool {
	return !t.isNamed(p) && slices.ContainsFunc(t.index.identities(p), deployable)
}

// Claimed lists, of what a test names, the files that were deployed from their folder in an earlier tree, when no test
// named them. By the next change their folder is one of a test.
func (t PolicyTests) Claimed(before *Index, test string) (files []string) {
	if dir := path.Dir(test); fixtureFields(test) == nil || dir == "." || t.holdsOther(dir) {
		return nil
	}
	data, _, err := t.index.Tree().ReadFile(test)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	add := func(p string) {
		if !seen[p] && t.index.IsFile(p) && before.Unreferenced(p) && before.PolicyTests().isOther(p) {
			files = append(files, p)
		}
		seen[p] = true
	}
	eachNamed(test, data, t.index.options.Limits, func(at string, resource bool) {
		var below []string
		if _, e, err := t.index.Tree().Lookup(at); err == nil && e.Kind == tree.Dir && resource && !seen[at] {
			seen[at] = true
			filesBelow(t.index.Tree(), at, &below)
		}
		for _, p := range append(below, at) {
			add(p)
		}
	})
	return files
}

// deployable reports whether a cluster may take an object as a workload: not a policy, nor what configures its tests.
func deployable(o identity) bool {
	return o.gvk.Kind != "" && o.gvk.Version != "" && o.gvk.Group != "kyverno.io" &&
		!strings.HasSuffix(o.gvk.Group, ".kyverno.io") && o.gvk.Group != "admissionregistration.k8s.io"
}

// policyTestExceptions notes of each file or folder the policy tests beside or above that are about its exceptions.
const policyTestExceptions = "policy test exceptions"

// exceptionNotes reads which exceptions policy tests have.
func exceptionNotes(limits doc.Limits) graph.Notes {
	return graph.Notes{Of: policyTestExceptions, Read: func(p string, data []byte, note func(string)) {
		if path.Base(p) != PolicyTestName {
			return
		}
		documents, err := doc.Parse(p, data, limits)
		if err != nil {
			return
		}
		dir := path.Dir(p)
		for _, document := range documents {
			for _, item := range doc.Items(document, "exceptions") {
				named, ok := tree.Clean(path.Join(dir, item.Value))
				if ok && named != dir && (dir == "." || strings.HasPrefix(named, dir+"/")) {
					note(named)
				}
			}
		}
	}}
}

// OfAny returns the policy test that has a file, beside or below it, as a resource or as an exception that it
// is about; empty where none does.
func (t PolicyTests) OfAny(p string) string {
	return cmp.Or(t.owner(policyTestExceptions, p), t.Of(p))
}
