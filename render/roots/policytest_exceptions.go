package roots

import (
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
)

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

// PolicyTestHas returns the policy test that has a file, beside or below it, as a resource or as an exception that it
// is about; empty where none does.
func (x *Index) PolicyTestHas(p string) string {
	for at := p; at != "."; at = path.Dir(at) {
		if tests := x.Noted(policyTestExceptions, at); len(tests) > 0 {
			return slices.Min(tests)
		}
	}
	return x.PolicyTest(p)
}
