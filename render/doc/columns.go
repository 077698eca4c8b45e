package doc

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Columns returns where a flow scalar that starts at a column of a line begins and where it ends (the column behind it);
// both are 0 where it does not end on that line. The columns of a quoted one are with its quotes.
func Columns(line []rune, column int, n *yaml.Node) (int, int) {
	start := column - 1
	if start < 0 || start >= len(line) {
		return 0, 0
	}
	switch {
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && (line[start] == '"' || line[start] == '\''):
		quote := line[start]
		for i := start + 1; i < len(line); i++ {
			switch {
			case line[i] == '\\' && quote == '"':
				i++
			case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
				i++
			case line[i] == quote:
				return column, i + 2
			}
		}
		return 0, 0
	default: // a tag or an anchor may stand before the value
		before, _, ok := strings.Cut(string(line[start:]), n.Value)
		if !ok {
			return 0, 0
		}
		at := column + utf8.RuneCountInString(before)
		return at, at + utf8.RuneCountInString(n.Value)
	}
}
