package doc

import (
	"bytes"
	"regexp"
	"slices"
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
	line -= Extra(Breaks(c.text), line)
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
	at, start, startLine, line := 0, 0, 0, 0
	content := false   // whether the chunk contains more than comments and directives
	directive := false // whether it begins with a directive, which applies to the document after the marker
	for l := range bytes.Lines(data) {
		end := at + len(l)
		switch {
		case isMarker(l, "---"):
			if content {
				out = append(out, chunkOf(data[start:at], startLine))
			}
			if content || !directive {
				// The text before is a document of its own, even if it is empty: a chunk has only one document.
				start, startLine = at, line
			}
			directive = false
			content = !blank(l[3:])
		case isMarker(l, "...") && blank(l[3:]): // otherwise the parser reports the error
			if content {
				out = append(out, chunkOf(data[start:at], startLine))
			}
			start, startLine, content, directive = end, line+1, false, false
		case !content:
			directive = directive || l[0] == '%'
			content = !blank(l)
		}
		at, line = end, line+1
	}
	if content {
		out = append(out, chunkOf(data[start:], startLine))
	}
	return out
}

// chunkOf returns a chunk without a byte order mark after its document marker: who reads each document by itself drops it.
func chunkOf(text []byte, line int) chunk {
	if isMarker(text, "---") {
		if marker, rest, ok := bytes.Cut(text, []byte("\n"+byteOrderMark)); ok && blank(marker[3:]) && !bytes.Contains(marker, []byte("\n")) {
			text = slices.Concat(marker, []byte("\n"), rest)
		}
	}
	return chunk{text, line}
}

func isMarker(line []byte, marker string) bool {
	return bytes.HasPrefix(line, []byte(marker)) && (len(line) == 3 || strings.IndexByte(" \t\r\n", line[3]) >= 0)
}

// otherBreaks are the line breaks of YAML 1.1 that do not end a line of a file
// (https://yaml.org/spec/1.1/#id871136). A carriage return is one without a line feed after it.
const otherBreaks = "\r\u0085\u2028\u2029"

// blank reports whether a line of a file consists of spaces, comments and directives only.
func blank(line []byte) bool {
	for part := range strings.FieldsFuncSeq(string(line), func(r rune) bool { return strings.ContainsRune(otherBreaks, r) }) {
		if text := strings.TrimSpace(part); text != "" && text[0] != '#' && part[0] != '%' {
			return false
		}
	}
	return true
}

// Breaks returns the lines of a text, as a parser of YAML counts them from 1, that do not begin a line of a file, in order.
func Breaks(text []byte) (lines []int) {
	if !slices.ContainsFunc(strings.Split(otherBreaks, ""), func(b string) bool { return bytes.Contains(text, []byte(b)) }) {
		return nil // nearly always, and this is much faster
	}
	line := 1
	for i, r := range string(text) {
		switch {
		case r == '\n':
			line++
		case strings.ContainsRune(otherBreaks, r) && !bytes.HasPrefix(text[i:], []byte("\r\n")):
			line++
			lines = append(lines, line)
		}
	}
	return lines
}

// Extra counts the lines of Breaks up to a line.
func Extra(breaks []int, line int) int {
	n, _ := slices.BinarySearch(breaks, line+1)
	return n
}

// shift makes every position count the lines of the file, of which some are before the chunk.
func shift(n *yaml.Node, lines int, breaks []int) {
	n.Line += lines - Extra(breaks, n.Line)
	for _, c := range n.Content {
		shift(c, lines, breaks)
	}
}
