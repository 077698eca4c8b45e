// Package fix rewrites the deprecated fields of policies and exceptions to their present place, in the text of
// the file: comments, order, quotes and formatting stay as they are.
package fix

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/lintel-bot/lintel/checks/manifest"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
)

// maxRounds is how often a file is looked at again: a fix can bring forward another one.
const maxRounds = 4

// Result is a file after its fixes. Data is what was read where there are no edits.
type Result struct {
	Path  string
	Data  []byte
	Edits []report.FixEdit
	// Left are the deprecated places that could not be rewritten, and what else is wrong with the file, each
	// with what to do by hand.
	Left []policy.Problem
}

// File fixes a file of policies. Each rewriting is verified: the file that results must hold exactly what the old
// one held, but for the fields that moved. One that does not, for example because an anchor would carry it
// elsewhere, is undone and listed in Left. What is moved, and where, follows the migration that Kyverno 1.13
// began (https://kyverno.io/docs/policy-types/cluster-policy/validate/#failure-action) and its own fix command.
func File(src manifest.File) Result {
	docs, problems := src.Documents()
	r := Result{Path: src.Path, Data: src.Data, Left: problems}
	if !positioned(src.Data) {
		if len(plan(newText(src.Data), written(src.Data, docs))) > 0 {
			r.Left = append(r.Left, policy.Problem{Path: src.Path, Line: 1,
				Message: "the file has line breaks other than LF and CRLF, so nothing in it is rewritten: convert them"})
		}
		return r
	}
	skipped := map[string]bool{}
	for range maxRounds {
		changes := slices.DeleteFunc(plan(newText(r.Data), written(r.Data, docs)),
			func(c *change) bool { return skipped[c.key()] })
		if len(changes) == 0 {
			break
		}
		kept, data := r.apply(changes, docs)
		for _, c := range changes {
			switch {
			case slices.Contains(kept, c):
				r.Edits = append(r.Edits, c.edit(src.Path))
			default:
				skipped[c.key()] = true
				e := c.edit(src.Path)
				why := cmp.Or(c.unsafe, "an anchor, an alias or its formatting makes that unsafe")
				r.Left = append(r.Left, policy.Problem{Path: src.Path, Line: e.Line, Column: e.Column, Warning: true,
					Message: e.Message + ": not rewritten, " + why + "; do it by hand"})
			}
		}
		if len(kept) == 0 {
			break
		}
		r.Data = data
		docs, _ = manifest.File{Path: src.Path, Data: data}.Documents()
	}
	slices.SortStableFunc(r.Left, func(a, b policy.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	slices.SortStableFunc(r.Edits, func(a, b report.FixEdit) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r
}

// apply makes the changes that are safe: all of them together, or else each one that is.
func (r *Result) apply(changes []*change, docs []policy.Document) ([]*change, []byte) {
	possible := slices.DeleteFunc(slices.Clone(changes), func(c *change) bool { return c.unsafe != "" })
	if data, ok := r.try(possible, docs); ok {
		return possible, data
	}
	var kept []*change
	var data []byte
	for _, c := range possible {
		if next, ok := r.try(append(slices.Clone(kept), c), docs); ok {
			kept, data = append(kept, c), next
		}
	}
	return kept, data
}

// try edits the text and verifies that the documents became what the changes mean and nothing else.
func (r *Result) try(changes []*change, docs []policy.Document) ([]byte, bool) {
	data, ok := splice(r.Data, changes)
	if !ok {
		return nil, false
	}
	now, problems := manifest.File{Path: r.Path, Data: data}.Documents()
	if policy.HasErrors(problems) && len(r.Left) == 0 || len(now) != len(docs) {
		return nil, false
	}
	for i, d := range docs {
		want := d.Value()
		for _, c := range changes {
			if c.document != i {
				continue
			}
			for _, f := range c.meaning {
				f(want)
			}
		}
		if !reflect.DeepEqual(want, now[i].Value()) {
			return nil, false
		}
	}
	return data, true
}

// change is one thing to rewrite: what to do to the text, and what that means for the document.
type change struct {
	document  int
	pointer   string
	line, col int
	message   string
	unsafe    string // why the text cannot be edited, empty where it can
	spans     []span
	meaning   []func(document any)
}

func (c *change) key() string { return fmt.Sprint(c.document, " ", c.pointer, " ", c.message) }

func (c *change) edit(path string) report.FixEdit {
	return report.FixEdit{Path: path, Line: c.line, Column: c.col, Field: c.pointer, Message: c.message}
}

// span replaces the bytes from start to end.
type span struct {
	start, end int
	text       string
}

// splice makes all edits at once. It fails where two different ones overlap.
func splice(data []byte, changes []*change) ([]byte, bool) {
	var spans []span
	for _, c := range changes {
		for _, s := range c.spans {
			// What an alias stands for is edited once for all its uses.
			if !slices.Contains(spans, s) {
				spans = append(spans, s)
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var out bytes.Buffer
	at := 0
	for _, s := range spans {
		if s.start < at || s.end > len(data) {
			return nil, false
		}
		out.Write(data[at:s.start])
		out.WriteString(s.text)
		at = s.end
	}
	out.Write(data[at:])
	return out.Bytes(), true
}
