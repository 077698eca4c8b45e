package rules

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/render/tree"
)

// Since returns the time of the commit in which an exception got its present terms, in the history of a commit: a
// comment, its formatting and what else is in its file do not count, and neither does a narrower version of it. Of one
// that a kustomization changes, what its own file says counts, and its duration from where that is written; with are
// the files that it is rendered from. It returns false where that is not known (see [tree.Objects.LastChange]), and where
// the repository lacks files of its history, which [tree.Objects.Err] says then.
func Since(objects *tree.Objects, rev string, e *engine.Exception, with []string) (time.Time, bool) {
	at, err := objects.Tree(rev)
	if err != nil {
		return time.Time{}, false
	}
	now, ok := present(exceptionsIn(at, e.Path), e)
	if !ok {
		return time.Time{}, false
	}
	var timed []string // the files that say how long, where its own does not
	if !saysHowLong(at, e.Path, e.TTL) {
		for _, p := range with {
			if saysHowLong(at, p, e.TTL) {
				timed = append(timed, p)
			}
		}
	}
	known := map[string]bool{} // by object id
	last, ok := objects.LastChange(rev, func(t *tree.Tree) bool {
		entry, err := t.Entry(e.Path)
		if err != nil {
			return false
		}
		same, ok := known[entry.ID]
		if !ok {
			same = slices.ContainsFunc(exceptionsIn(t, e.Path), now.Continues)
			known[entry.ID] = same
		}
		return same && (len(timed) == 0 ||
			slices.ContainsFunc(timed, func(p string) bool { return saysHowLong(t, p, e.TTL) }))
	})
	if objects.Absent() {
		// Nothing that was found out counts. All that this may ask for is asked for now, so that it is fetched at once.
		objects.LastChange(rev, func(t *tree.Tree) bool {
			for _, p := range append(timed, e.Path) {
				_, _, _ = t.ReadFile(p)
			}
			_, err := t.Entry(e.Path)
			return err == nil
		})
		return time.Time{}, false
	}
	return last, ok
}

// saysHowLong reports whether a file sets the label for how long something lives to a duration or a longer one, as far
// as its text shows.
func saysHowLong(t *tree.Tree, path string, ttl time.Duration) bool {
	data, _, err := t.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte("cleanup.kyverno.io/ttl")) &&
		!bytes.Contains(data, []byte("cleanup.kyverno.io~1ttl")) {
		return false
	}
	words := bytes.FieldsFunc(data, func(r rune) bool { return strings.ContainsRune(" \t\r\n,:'\"{}[]", r) })
	return slices.ContainsFunc(words, func(word []byte) bool {
		d, ok := engine.TimeToLive(string(word))
		return ok && d >= ttl
	})
}

// exceptionsIn lists the exceptions of a file.
func exceptionsIn(t *tree.Tree, path string) []engine.RuleDocument {
	data, _, err := t.ReadFile(path)
	if err != nil {
		return nil
	}
	return Documents([]Source{{File: File{Path: path, Data: data}}}, true)
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
