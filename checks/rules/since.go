package rules

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/render/tree"
)

// Since returns the time of the commit in which an exception got its present terms, in the history of rev. Edits of
// comments, of formatting and of other documents in its file do not count, nor does narrowing it.
//
// For an exception that a kustomization changes, the terms in its own file count, and its duration counts from the file
// that sets it; with are the files from which it is rendered. It returns false if the time is unknown (see
// [tree.Objects.LastChange]). It also does if the repository lacks files of its history, in which case
// [tree.Objects.Err] returns an error.
func Since(objects *tree.Objects, rev string, e *engine.Exception, with []string) (time.Time, bool) {
	at, err := objects.Tree(rev)
	if err != nil {
		return time.Time{}, false
	}
	now, ok := present(exceptionsIn(at, e.Path), e)
	if !ok {
		return time.Time{}, false
	}
	var timed []string // the files that set the duration, if its own file does not
	if !saysHowLong(at, e.Path, e.TTL) {
		timed = report.Kept(with, func(p string) bool { return saysHowLong(at, p, e.TTL) })
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
		// The result is incomplete and does not count. All files that may be needed are read now, so that they are
		// fetched at once.
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

// saysHowLong reports whether a file sets the label for the time to live to at least ttl, judging by its text.
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

// present finds the document of an exception in its file. For an exception that a kustomization renamed, it is the
// document on the same line.
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
