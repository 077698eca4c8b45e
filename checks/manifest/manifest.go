// Package manifest reads Kubernetes objects from files, as fast as their style allows.
//
// What tools print (kustomize, helm, kubectl: block style, one scalar a line) is read by a small reader of its
// own, many times faster than a YAML parser. It knows what it does not know: a document with anything else goes to
// the YAML parser of package policy, so that both always answer the same.
package manifest

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// MaxBytes is the largest file that is read, the most that the settings of a repository can allow (limits.fileBytes).
const MaxBytes = 256 << 20

// Objects yields the objects of a file one after the other, each with the line its document starts at, in the
// order of the file. Objects whose kind ends in "List" are replaced by their items; documents without a kind are
// left out. What cannot be read is yielded as a problem without an object, and the rest of the file is still
// read. Objects are the caller's.
func Objects(src File) func(yield func(admission.Object, *policy.Problem) bool) {
	return func(yield func(admission.Object, *policy.Problem) bool) {
		each(src, func(_ string, line int) *Part { return &Part{Line: line} }, yield)
	}
}

// each yields the objects of a file and says, before those of a part of its text, which part comes, and how many lines
// are before it. What the parser reads of the part is kept in what begin returns.
func each(src File, begin func(text string, line int) *Part, yield func(admission.Object, *policy.Problem) bool) {
	if len(src.Data) > MaxBytes {
		p := tooLarge(src.Path)
		yield(nil, &p)
		return
	}
	if !cuttable(src.Data) {
		full(src, begin(string(src.Data), 0), yield)
		return
	}
	text := string(src.Data)
	for line := 0; text != ""; {
		var part string
		part, text = cut(text)
		of := begin(part, line)
		if o, ok := quick(part); ok {
			if o != nil && !expand(o, 0, yield) {
				return
			}
		} else if !full(File{Path: src.Path, Data: []byte(part)}, of, yield) {
			return
		}
		line += strings.Count(part, "\n")
	}
}

// All collects the objects and the problems of files.
func All(sources ...File) (objects []admission.Object, problems []policy.Problem) {
	for _, s := range sources {
		for o, p := range Objects(s) {
			if p != nil {
				problems = append(problems, *p)
			} else {
				objects = append(objects, o)
			}
		}
	}
	return objects, problems
}

// full reads a part of a file with the YAML parser.
func full(src File, part *Part, yield func(admission.Object, *policy.Problem) bool) bool {
	docs, problems := src.Documents()
	part.docs = docs
	for i := range problems {
		if problems[i].Line > 0 {
			problems[i].Line += part.Line
		}
		if !yield(nil, &problems[i]) {
			return false
		}
	}
	for _, d := range docs {
		if o, ok := d.Value().(map[string]any); ok && !yield(o, nil) {
			return false
		}
	}
	return true
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
func expand(o admission.Object, depth int, yield func(admission.Object, *policy.Problem) bool) bool {
	kind, _ := o["kind"].(string)
	if kind == "" || depth > 3 {
		return true
	}
	items, ok := o["items"].([]any)
	if !ok || !strings.HasSuffix(kind, "List") {
		return yield(o, nil)
	}
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && !expand(m, depth+1, yield) {
			return false
		}
	}
	return true
}

// OfKind yields the objects of one kind; documents that do not name it are not read. It reports no problems:
// [Objects] does.
func OfKind(src File, kind string) func(yield func(admission.Object) bool) {
	return func(yield func(admission.Object) bool) {
		if !bytes.Contains(src.Data, []byte(kind)) || len(src.Data) > MaxBytes {
			return
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
		for o, p := range Objects(src) {
			if p == nil && o["kind"] == kind && !yield(o) {
				return
			}
		}
	}
}
