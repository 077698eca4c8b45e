package pattern

import (
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// recorder collects the reasons why a match does not pass. Without a recorder, a match only decides.
type recorder struct {
	pointer []byte   // RFC 6901 pointer to the value that is being matched
	printed []byte   // the same as Kyverno prints it, from and to a slash
	fields  []string // the leaves that fail

	// muted counts the enclosing parts of the pattern whose failures are not failures of the resource: conditions, and
	// the elements that an existence anchor tries.
	muted int

	// text is the reason of the last part that did not pass, and where the path that Kyverno gives with it.
	text, where string

	first failure
	found bool // first is set

	// sheet collects the requirements of the parts that fail; nil if they are not needed.
	sheet *explain.Sheet

	// anchors are those that were met, and whether the resource had the field anywhere. Kyverno keys
	// them by their text alone and so do we: see printedPath.
	anchors map[string]bool
}

// failure is the failure that Kyverno reports.
type failure struct {
	text     string
	path     string
	negation bool
}

func newRecorder() *recorder {
	return &recorder{printed: []byte{'/'}, anchors: map[string]bool{}}
}

// collecting reports whether failures are recorded and the match continues after them.
func (r *recorder) collecting() bool { return r != nil && r.muted == 0 }

// mark is a position to return to after a step into a value.
type mark struct{ pointer, printed int }

func (r *recorder) enter(name string) mark {
	if r == nil {
		return mark{}
	}
	m := mark{len(r.pointer), len(r.printed)}
	r.pointer = append(append(r.pointer, '/'), jsonpointer.Escape(name)...)
	r.printed = append(append(r.printed, name...), '/')
	return m
}

func (r *recorder) enterIndex(i int) mark {
	if r == nil {
		return mark{}
	}
	return r.enter(strconv.Itoa(i))
}

func (r *recorder) leave(m mark) {
	if r == nil {
		return
	}
	r.pointer, r.printed = r.pointer[:m.pointer], r.printed[:m.printed]
}

func (r *recorder) mute() {
	if r != nil {
		r.muted++
	}
}

func (r *recorder) unmute() {
	if r != nil {
		r.muted--
	}
}

// fail records that the value here fails with the given reason and the path Kyverno prints.
func (r *recorder) fail(path string, text ...string) verdict {
	if r == nil {
		return fail
	}
	r.text, r.where = strings.Join(text, ""), path
	if r.muted > 0 {
		return fail
	}
	r.fields = append(r.fields, string(r.pointer))
	r.report(false)
	return fail
}

// wants records what a part of the pattern requires of the current value, which fails it.
func (r *recorder) wants(what func() explain.Requirement) {
	if r.collecting() && r.sheet != nil {
		r.sheet.Add(string(r.pointer), what())
	}
}

// silence stops recording requirements until the returned function is called.
func (r *recorder) silence() (end func()) {
	sheet := r.sheet
	r.sheet = nil
	return func() { r.sheet = sheet }
}

// report makes the last reason the failure, unless there is one already.
func (r *recorder) report(negation bool) {
	if !r.found {
		r.first, r.found = failure{text: r.text, path: r.where, negation: negation}, true
	}
}

// here returns the path of the current value as Kyverno prints it.
func (r *recorder) here() string {
	if r == nil {
		return ""
	}
	return string(r.printed)
}

// matched records the anchors of a map that Kyverno looks up in the resource.
func (r *recorder) matched(anchors []entry, resource map[string]any) {
	if r == nil || r.found {
		return
	}
	for i := range anchors {
		e := &anchors[i]
		if e.anchor == anchorEquality || e.anchor == anchorNegation {
			continue // an absent equality is fine, and a negation wants the field to be absent
		}
		if e.present(resource) {
			r.anchors[e.raw] = true
		} else if !r.anchors[e.raw] {
			r.anchors[e.raw] = false
		}
	}
}

// printedPath is the path of the first failure. Kyverno gives none where a conditional or existence
// anchor it met has its field nowhere in the resource, except for negation anchors.
func (r *recorder) printedPath() string {
	if !r.first.negation {
		for _, present := range r.anchors {
			if !present {
				return ""
			}
		}
	}
	return r.first.path
}

// present reports whether a map has the field of an entry, or one that matches its wildcards.
func (e *entry) present(m map[string]any) bool {
	_, ok := m[e.name]
	if !ok && e.wild {
		for k, value := range m {
			ok = ok || e.stands(k, value)
		}
	}
	return ok
}
