package gitops

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// append writes fields of a map behind what the file has, and notes where each line of them comes from. A value that
// YAML cannot hold is an error.
func (v *Virtual) append(f *field, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range keys {
		n.Content = append(n.Content, scalarNode(key), f.fields[key].node())
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return err
	}
	var written yaml.Node // with the lines on which the nodes stand
	if err := yaml.Unmarshal(out.Bytes(), &written); err != nil {
		return err
	}
	lines := slices.Repeat([]line{{at: f.position(), moved: true}}, bytes.Count(out.Bytes(), []byte("\n")))
	f.places(written.Content[0], lines)
	v.Data = append(v.Data, out.Bytes()...)
	v.lines = append(v.lines, lines...)
	return nil
}

// node returns a value as YAML.
func (f *field) node() *yaml.Node {
	switch {
	case f != nil && f.fields != nil:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range slices.Sorted(slices.Values(f.keys)) {
			n.Content = append(n.Content, scalarNode(k), f.fields[k].node())
		}
		return n
	case f != nil && f.list:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range f.items {
			n.Content = append(n.Content, item.node())
		}
		return n
	}
	return scalarNode(f.plain())
}

// plainText is a text that no YAML takes for anything else; yaml.v3 itself quotes true, false and null.
var plainText = regexp.MustCompile(`\A[A-Za-z][A-Za-z0-9_/-]{3,63}\z`)

func scalarNode(v any) *yaml.Node {
	text, ok := v.(string)
	if !ok {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: cmp.Or(textOf(v), "null")}
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ToValidUTF8(text, "\ufffd"),
		Style: yaml.DoubleQuotedStyle}
	strange := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	switch {
	case plainText.MatchString(text):
		n.Style = 0
	case strings.Contains(strings.TrimRight(text, "\n"), "\n") && !strings.ContainsFunc(text, strange) &&
		!strings.HasPrefix(strings.TrimLeft(text, " \n"), "\t"): // what a block would not give back as it is
		n.Style = yaml.LiteralStyle
	}
	return n
}

// places notes of each line of a written value where it comes from.
func (f *field) places(n *yaml.Node, lines []line) {
	at := f.position()
	lines[n.Line-1].at = at
	switch {
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			value := f.fields[n.Content[i].Value]
			lines[n.Content[i].Line-1].at = value.position()
			value.places(n.Content[i+1], lines)
		}
	case n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			f.items[i].places(item, lines)
		}
	case n.Style&yaml.LiteralStyle != 0:
		// The text of a block starts below its mark, here and, if it is one there, in the source.
		for i := range lines[n.Line:min(len(lines), n.Line+strings.Count(n.Value, "\n")+1)] {
			from := Position{Path: at.Path, Line: at.Line}
			if at.EndLine > at.Line {
				from.Line = min(at.Line+1+i, at.EndLine)
			}
			lines[n.Line+i].at = from
		}
	}
}
