package doc

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

type chunk struct {
	text []byte
	line int // lines of the file before it
}

var lineInError = regexp.MustCompile(`\bline (\d+)\b`)

// syntaxError turns a parser's error into an Error: the line number becomes a field, and the prefix is removed.
func (c chunk) syntaxError(path string, err error) *Error {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := lineInError.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = strings.TrimPrefix(text, m[0]+": ")
	}
	last := 1 + bytes.Count(bytes.TrimRight(c.text, "\n"), []byte("\n")) // the parser may report the line after the last one
	return &Error{Path: path, Line: min(max(line, 1), last) + c.line, Message: "is not valid YAML: " + text,
		Syntax: true}
}

// DocumentAt returns the text of the document that a line of a file is in, and how many lines are before it.
func DocumentAt(data []byte, line int) (text []byte, before int) {
	for i, c := range chunks(data) {
		if i == 0 || c.line < line {
			text, before = c.text, c.line
		}
	}
	return text, before
}

// chunks cuts a stream at its document markers, so that a broken document does not hide the problems of the
// next one. A line that starts with "---" is a marker even inside a block or quoted scalar
// (https://yaml.org/spec/1.2.2/#912-document-markers).
func chunks(data []byte) []chunk {
	var out []chunk
	start, startLine, line := 0, 0, 0
	content := false   // whether the chunk contains more than comments and directives
	directive := false // whether it begins with a directive, which applies to the document after the marker
	for at := 0; at < len(data); line++ {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			end = len(data)
		} else {
			end += at + 1
		}
		l := data[at:end]
		switch {
		case isMarker(l, "---"):
			if content {
				out = append(out, chunk{data[start:at], startLine})
			}
			if content || !directive {
				// The text before is a document of its own, even if it is empty: a chunk has only one document.
				start, startLine = at, line
			}
			directive = false
			content = !blank(l[3:])
		case isMarker(l, "...") && blank(l[3:]): // otherwise the parser reports the error
			if content {
				out = append(out, chunk{data[start:at], startLine})
			}
			start, startLine, content, directive = end, line+1, false, false
		case !content:
			directive = directive || l[0] == '%'
			content = !blank(l) && l[0] != '%'
		}
		at = end
	}
	if content {
		out = append(out, chunk{data[start:], startLine})
	}
	return out
}

func isMarker(line []byte, marker string) bool {
	return bytes.HasPrefix(line, []byte(marker)) && (len(line) == 3 || strings.IndexByte(" \t\r\n", line[3]) >= 0)
}

// blank reports whether a text consists of spaces and a comment only.
func blank(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || text[0] == '#'
}

// shift adds the lines before the chunk to every position, so that they count from the start of the file.
func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}
