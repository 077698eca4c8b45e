package render

import (
	"bytes"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

var (
	// A manifest has two of these. A key that is written with escapes can be any.
	manifestLine = regexp.MustCompile(`(?m)(?:^[ \t?-]*|[{,]\s*)` +
		`(?:["']?(?:apiVersion|kind)["']?|"[^"\n]*\\[ux][^"\n]*")\s*:`)
	comment = regexp.MustCompile(`(?m)(?:^|[ \t])#.*$`)
)

// refused returns what is wrong with a file that cannot be read, nil where it was not meant to be deployed: it looks
// like no manifest, or it is a template (Helm, Jinja), which no cluster takes as it is.
func (b *builder) refused(name string, data []byte) *doc.Error {
	if text, _ := doc.Narrow(data); len(manifestLine.FindAll(text, 2)) < 2 {
		return nil
	}
	_, problems := doc.Documents(name, data, b.limits.Source)
	for _, p := range problems {
		if !templated(data, p) {
			return &p
		}
	}
	return nil
}

// templated reports whether a document cannot be read since it is a template: what Lintel alone refuses, and what only
// its comments say, does not count.
func templated(data []byte, problem doc.Error) bool {
	if !problem.Syntax {
		return false
	}
	text, _ := doc.DocumentAt(data, problem.Line)
	text = comment.ReplaceAll(text, nil)
	return bytes.Contains(text, []byte("{{")) || bytes.Contains(text, []byte("{%"))
}

// Template returns the line of the document for which a file is passed over as a template though another one in it
// could be deployed, 0 where it is not.
func (b *builder) Template(name string) int {
	data, _, err := b.read(name)
	if err != nil || b.refused(name, data) != nil {
		return 0
	}
	documents, problems := doc.Documents(name, data, b.limits.Source)
	for _, d := range documents {
		if object, ok := plainObject(d); ok && len(problems) > 0 && deployable(object) {
			return max(1, problems[0].Line)
		}
	}
	return 0
}

func plainObject(n *yaml.Node) (map[string]any, bool) {
	object, ok := doc.Value(n, true).(map[string]any)
	return object, ok
}
