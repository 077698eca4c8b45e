package doc

import "go.yaml.in/yaml/v3"

// Offsets finds in a text the bytes of the nodes that were parsed from it.
type Offsets struct {
	Text  string
	Lines []int // where each line begins
}

// NewOffsets returns the offsets of a text.
func NewOffsets(text string) Offsets {
	o := Offsets{Text: text, Lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			o.Lines = append(o.Lines, i+1)
		}
	}
	return o
}

// Of returns where a node begins; the end of the text where that is not in it. Columns count characters.
func (o Offsets) Of(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(o.Lines) {
		return len(o.Text)
	}
	at := o.Lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(o.Text) {
			break
		}
		at++
		for at < len(o.Text) && o.Text[at]&0xC0 == 0x80 {
			at++
		}
	}
	return at
}

// QuotedLength returns how many bytes a quoted scalar has that a text begins with; 0 if it does not end.
func QuotedLength(s string) int {
	if s == "" {
		return 0
	}
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return 0
}
