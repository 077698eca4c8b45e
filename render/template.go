package render

import (
	"bytes"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

var (
	// A manifest has at least two such lines, after a byte order mark or a tag, too. A key with escapes may be any key.
	manifestLine = regexp.MustCompile(`(?m)(?:(?:^|[\r\x{85}\x{2028}\x{2029}])\x{FEFF}?[ \t?-]*(?:[!&]\S*[ \t]+)*|[{,]\s*)` +
		`(?:["']?(?:apiVersion|kind)["']?|"[^"\n]*\\[ux][^"\n]*")\s*:`)
	comment = regexp.MustCompile(`(?m)(?:^|[ \t])#.*$`)
)

// refused returns the problem of a file that cannot be read. It returns nil where the file is not meant to be deployed:
// it does not look like a manifest, or it is a template (Helm, Jinja), which no cluster accepts.
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

// templated reports whether a document cannot be read because it is a template. Only YAML errors count, and not braces
// in comments.
func templated(data []byte, problem doc.Error) bool {
	if !problem.Syntax {
		return false
	}
	text, _ := doc.DocumentAt(data, problem.Line)
	text = comment.ReplaceAll(text, nil)
	return bytes.Contains(text, []byte("{{")) || bytes.Contains(text, []byte("{%"))
}

// Template returns the line of the template document for which a file is skipped although it has a deployable document,
// else 0.
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
