package manifest

import (
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Placed is an object with the part of its file that it stands in.
type Placed struct {
	Object admission.Object
	Text   string // a document, or several with that of the object
	Line   int    // how many lines of the file are before it

	index int // of the object in the part
}

// Parts is Objects, with where each stands. Most parts nobody looks into.
func Parts(src File) func(yield func(Placed, *policy.Problem) bool) {
	return func(yield func(Placed, *policy.Problem) bool) {
		var at Placed
		begin := func(text string, line int) { at = Placed{Text: text, Line: line} }
		each(src, begin, func(o admission.Object, p *policy.Problem) bool {
			one := at
			if p == nil {
				one.Object = o
				at.index++
			}
			return yield(one, p)
		})
	}
}

// Document returns the object with its lines, which count from the beginning of the part; false where there is none.
func (p *Placed) Document() (policy.Document, bool) {
	docs, _ := File{Data: []byte(p.Text)}.Documents() // what cannot be read was told
	if p.index >= len(docs) {
		return policy.Document{}, false
	}
	return docs[p.index], true
}
