package rules

import (
	"cmp"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// maxRounds is how often a file is fixed again, since one fix can make another one possible.
const maxRounds = 4

// Fixed is a file after its fixes. Without edits, Data is the original content.
type Fixed struct {
	Path  string
	Data  []byte
	Edits []report.FixEdit
	// Left are the deprecated places that could not be rewritten and other errors of the file, each with what to do by
	// hand.
	Left []policy.Problem
}

// Fix moves the deprecated fields of policies and exceptions to their present place in the text of their file.
// Comments, order, quotes and formatting stay as they are.
//
// Each fix is verified: except for the moved fields, the new file must have the same content as the old one. A fix that
// fails this, for example because an anchor copies the field elsewhere, is undone and listed in Left. The fixes follow
// the migration that Kyverno 1.13 began (https://kyverno.io/docs/policy-types/cluster-policy/validate/#failure-action)
// and Kyverno's own fix command.
func Fix(src File) Fixed {
	docs, problems := src.Documents()
	r := Fixed{Path: src.Path, Data: src.Data, Left: problems}
	editor := doc.NewEditor(src.Data)
	if !editor.Editable() {
		if len(plan(editor, docs)) > 0 {
			r.Left = append(r.Left, policy.Problem{Path: src.Path, Line: 1,
				Message: "the file has line breaks other than LF and CRLF, so nothing in it is rewritten: convert them"})
		}
		return r
	}
	skipped := map[string]bool{}
	for range maxRounds {
		changes := slices.DeleteFunc(plan(editor, docs),
			func(c *change) bool { return skipped[c.key()] })
		if len(changes) == 0 {
			break
		}
		kept, data := apply(editor, changes)
		for _, c := range changes {
			switch {
			case slices.Contains(kept, c):
				r.Edits = append(r.Edits, c.edit(src.Path))
			default:
				skipped[c.key()] = true
				e := c.edit(src.Path)
				why := cmp.Or(c.Unsafe, doc.ErrUncertain.Error())
				r.Left = append(r.Left, policy.Problem{Path: src.Path, Line: e.Line, Column: e.Column, Warning: true,
					Message: e.Message + ": not rewritten, " + why + "; do it by hand"})
			}
		}
		if len(kept) == 0 {
			break
		}
		r.Data = data
		editor = doc.NewEditor(data)
		docs, _ = File{Path: src.Path, Data: data}.Documents()
	}
	slices.SortStableFunc(r.Left, func(a, b policy.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	slices.SortStableFunc(r.Edits, func(a, b report.FixEdit) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r
}

// apply makes all changes together if the result is verified; otherwise each change that is verified by itself.
func apply(editor *doc.Editor, changes []*change) (kept []*change, data []byte) {
	try := func(changes []*change) ([]byte, error) {
		var edits []*doc.Edit
		for _, c := range changes {
			edits = append(edits, c.Edit)
		}
		return editor.Apply(edits...)
	}
	possible := slices.DeleteFunc(slices.Clone(changes), func(c *change) bool { return c.Unsafe != "" })
	if data, err := try(possible); err == nil {
		return possible, data
	}
	for _, c := range possible {
		if next, err := try(append(slices.Clone(kept), c)); err == nil {
			kept, data = append(kept, c), next
		}
	}
	return kept, data
}
