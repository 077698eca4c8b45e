package rules

import (
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/manifest"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/render/tree"
)

// Since returns the time of the commit in which an exception got its present terms, in the history of a commit: a
// comment, its formatting and what else is in its file do not count, and neither does a narrower version of it. Of one
// that a kustomization changes, what its own file says counts. It returns false where that is not known (see
// [tree.Objects.LastChange]).
func Since(objects *tree.Objects, rev string, e *engine.Exception) (time.Time, bool) {
	at, err := objects.Tree(rev)
	if err != nil {
		return time.Time{}, false
	}
	now, ok := present(exceptionsIn(at, e.Path), e)
	if !ok {
		return time.Time{}, false
	}
	known := map[string]bool{} // by object id
	return objects.LastChange(rev, func(t *tree.Tree) bool {
		entry, err := t.Entry(e.Path)
		if err != nil {
			return false
		}
		same, ok := known[entry.ID]
		if !ok {
			same = slices.ContainsFunc(exceptionsIn(t, e.Path), now.Continues)
			known[entry.ID] = same
		}
		return same
	})
}

// exceptionsIn lists the exceptions of a file.
func exceptionsIn(t *tree.Tree, path string) []engine.RuleDocument {
	data, _, err := t.ReadFile(path)
	if err != nil {
		return nil
	}
	return Documents([]Source{{File: manifest.File{Path: path, Data: data}}}, true)
}

// present finds the document that an exception is, among those of its file. What a kustomization renamed stands where
// it did.
func present(list []engine.RuleDocument, e *engine.Exception) (engine.RuleDocument, bool) {
	for _, is := range []func(d engine.RuleDocument) bool{
		func(d engine.RuleDocument) bool { return d.ID() == e.ID() && d.Line == e.Line },
		func(d engine.RuleDocument) bool { return d.ID() == e.ID() },
		func(d engine.RuleDocument) bool { return d.Line == e.Line },
	} {
		if i := slices.IndexFunc(list, is); i >= 0 {
			return list[i], true
		}
	}
	return engine.RuleDocument{}, false
}
