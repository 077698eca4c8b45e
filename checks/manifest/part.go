package manifest

import (
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Placed is an object with the part of its file that it stands in.
type Placed struct {
	Object admission.Object
	Part   *Part
	index  int // of the object in the part
}

// Part is a document of a file, or all of them where they cannot be told apart. What the parser did not read is read again
// when somebody asks where something is, and once for all of its objects: a list can hold thousands. It is not safe for
// concurrent use.
type Part struct {
	Text string
	Line int // how many lines of the file are before it

	docs  []policy.Document
	lines []string
}

// Parts is Objects, with where each stands. Most parts nobody looks into.
func Parts(src File) func(yield func(Placed, *policy.Problem) bool) {
	return func(yield func(Placed, *policy.Problem) bool) {
		var at Placed
		begin := func(text string, line int) *Part {
			at = Placed{Part: &Part{Text: text, Line: line}}
			return at.Part
		}
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

// Lines are those of the part.
func (p *Part) Lines() []string {
	if p.lines == nil {
		p.lines = strings.Split(p.Text, "\n")
	}
	return p.lines
}

// Document returns the object with its lines, which count from the beginning of the part; false where there is none.
func (p *Placed) Document() (policy.Document, bool) {
	if p.Part.docs == nil {
		p.Part.docs, _ = File{Data: []byte(p.Part.Text)}.Documents() // what cannot be read was told
	}
	if p.index >= len(p.Part.docs) {
		return policy.Document{}, false
	}
	return p.Part.docs[p.index], true
}
