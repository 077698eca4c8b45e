package eval

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Objects are read from files as fast as their style allows. What tools print (kustomize, helm, kubectl: block style, one
// scalar a line) is read by a small reader of its own, many times faster than a YAML parser. It knows what it does not
// know: a document with anything else goes to the YAML parser, so that both always answer the same.

// objects yields the objects of a file one after the other, in the order of the file, with where each stands. Objects
// whose kind ends in "List" are replaced by their items; documents without a kind are left out. What cannot be read is
// yielded as a problem without an object, and the rest of the file is still read. Objects are the caller's.
func objects(src rules.File) iter.Seq2[placed, *policy.Problem] {
	return func(yield func(placed, *policy.Problem) bool) {
		if len(src.Data) > rules.MaxBytes {
			p := rules.TooLarge(src.Path)
			yield(placed{}, &p)
			return
		}
		if !cuttable(src.Data) {
			(&part{text: string(src.Data)}).parse(src, yield)
			return
		}
		line := 0
		for text := string(src.Data); text != ""; {
			p := &part{line: line}
			p.text, text = cut(text)
			if o, ok := quick(p.text); ok {
				if o != nil && !p.expand(o, 0, yield) {
					return
				}
			} else if !p.parse(rules.File{Path: src.Path, Data: []byte(p.text)}, yield) {
				return
			}
			line += strings.Count(p.text, "\n")
		}
	}
}

// allObjects collects the objects and the problems of files.
func allObjects(sources ...rules.File) (list []admission.Object, problems []policy.Problem) {
	for _, s := range sources {
		for o, p := range objects(s) {
			if p != nil {
				problems = append(problems, *p)
			} else {
				list = append(list, o.Object)
			}
		}
	}
	return list, problems
}

// parse reads the part with the YAML parser.
func (p *part) parse(src rules.File, yield func(placed, *policy.Problem) bool) bool {
	docs, problems := src.Documents()
	p.docs = docs
	for i := range problems {
		if problems[i].Line > 0 {
			problems[i].Line += p.line
		}
		if !yield(placed{}, &problems[i]) {
			return false
		}
	}
	for _, d := range docs {
		if o, ok := d.Value().(map[string]any); ok && !p.yield(o, yield) {
			return false
		}
	}
	return true
}

// yield yields the next object of the part.
func (p *part) yield(o admission.Object, yield func(placed, *policy.Problem) bool) bool {
	p.objects++
	return yield(placed{o, p, p.objects - 1}, nil)
}

// cuttable reports whether a file can be cut at its document markers with no more knowledge of YAML: it is text
// without directives or document ends.
func cuttable(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 && !bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) &&
		!bytes.HasPrefix(data, []byte("%")) && !bytes.Contains(data, []byte("\n%")) &&
		!bytes.HasPrefix(data, []byte("...")) && !bytes.Contains(data, []byte("\n..."))
}

// cut splits off the first document. A line that starts with "---" begins the next, even inside a scalar
// (https://yaml.org/spec/1.2.2/#912-document-markers).
func cut(text string) (first, rest string) {
	for at := 0; ; {
		i := strings.Index(text[at:], "\n---")
		if i < 0 {
			return text, ""
		}
		at += i + 1
		if at+3 == len(text) || strings.IndexByte(" \t\r\n", text[at+3]) >= 0 {
			return text[:at], text[at:]
		}
	}
}

// expand yields an object, or the items when it is a list.
func (p *part) expand(o admission.Object, depth int, yield func(placed, *policy.Problem) bool) bool {
	kind, _ := o["kind"].(string)
	if kind == "" || depth > 3 {
		return true
	}
	items, ok := o["items"].([]any)
	if !ok || !strings.HasSuffix(kind, "List") {
		return p.yield(o, yield)
	}
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && !p.expand(m, depth+1, yield) {
			return false
		}
	}
	return true
}

// namespacesOf finds the Namespaces of files; documents that do not name the kind are not read. What is wrong with them is
// said by who reads all of the files.
func namespacesOf(sources []rules.File) (out []admission.Object) {
	const kind = "Namespace"
	for _, src := range sources {
		if !bytes.Contains(src.Data, []byte(kind)) || len(src.Data) > rules.MaxBytes {
			continue
		}
		if cuttable(src.Data) {
			var b strings.Builder
			for text := string(src.Data); text != ""; {
				var first string
				if first, text = cut(text); strings.Contains(first, kind) {
					b.WriteString(first)
				}
			}
			src.Data = []byte(b.String())
		}
		for o := range objects(src) {
			if o.Object["kind"] == kind && o.Object["apiVersion"] == "v1" {
				out = append(out, o.Object)
			}
		}
	}
	return out
}

// placed is an object with the part of its file that it stands in.
type placed struct {
	Object admission.Object
	part   *part
	index  int // of the object in the part
}

// part is a document of a file, or all of them where they cannot be told apart. What the parser did not read is read again
// when somebody asks where something is, and once for all of its objects: a list can hold thousands. It is not safe for
// concurrent use.
type part struct {
	text    string
	line    int // how many lines of the file are before it
	objects int // that were yielded

	docs []policy.Document
	rows []string
}

// lines are those of the part.
func (p *part) lines() []string {
	if p.rows == nil {
		p.rows = strings.Split(p.text, "\n")
	}
	return p.rows
}

// document returns the object with its lines, which count from the beginning of the part; false where there is none.
func (p *placed) document() (policy.Document, bool) {
	if p.part.docs == nil {
		p.part.docs, _ = rules.File{Data: []byte(p.part.text)}.Documents() // what cannot be read was told
	}
	if p.index >= len(p.part.docs) {
		return policy.Document{}, false
	}
	return p.part.docs[p.index], true
}
