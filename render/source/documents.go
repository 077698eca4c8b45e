package source

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Documents reads the documents of a YAML or JSON file one by one: what is wrong with one of them does not hide the
// others, nor their problems. Empty documents are left out. The nodes are the documents' content, with lines and
// columns of the file. What the documents cost once their aliases are written out is for the caller to bound.
func Documents(path string, data []byte) (documents []*yaml.Node, problems []Error) {
	refuse := func(line int, format string, args ...any) {
		problems = append(problems, Error{Path: path, Line: line, Message: fmt.Sprintf(format, args...)})
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if i := bytes.IndexByte(data, 0); i >= 0 {
		refuse(lineOf(data, i), "the file holds a NUL byte, so it is not text: save it as UTF-8")
		return nil, problems
	}
	if !utf8.Valid(data) {
		refuse(lineOf(data, invalidAt(data)), "the file is not valid UTF-8: save it as UTF-8")
		return nil, problems
	}
	for _, c := range chunks(data) {
		var root yaml.Node
		if err := decode(yaml.NewDecoder(bytes.NewReader(c.text)), &root); err != nil {
			e := syntaxError(path, err)
			last := 1 + bytes.Count(bytes.TrimRight(c.text, "\n"), []byte("\n")) // the parser may mean the end of the file
			refuse(min(max(e.Line, 1), last)+c.line, "%s", strings.TrimPrefix(e.Message, "is "))
			continue
		}
		if len(root.Content) > 0 {
			shift(root.Content[0], c.line)
			documents = append(documents, root.Content[0])
		}
	}
	return documents, problems
}

type chunk struct {
	text []byte
	line int // lines of the file before it
}

// chunks cuts a stream at its document markers, so that a broken document does not hide the problems of the
// next one. A line that starts with "---" is a marker even inside a block or quoted scalar
// (https://yaml.org/spec/1.2.2/#912-document-markers).
func chunks(data []byte) []chunk {
	var out []chunk
	start, startLine, line := 0, 0, 0
	content := false   // whether the chunk has more than comments and directives
	directive := false // whether it begins with a directive, which is for the document behind its marker
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
				// What came before was a document of its own, if an empty one: a chunk has only one.
				start, startLine = at, line
			}
			directive = false
			t := bytes.TrimSpace(l[3:])
			content = len(t) > 0 && t[0] != '#'
		case isMarker(l, "..."):
			if content {
				out = append(out, chunk{data[start:at], startLine})
			}
			start, startLine, content, directive = end, line+1, false, false
		case !content:
			t := bytes.TrimSpace(l)
			directive = directive || l[0] == '%'
			content = len(t) > 0 && t[0] != '#' && l[0] != '%'
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

// shift adds the lines before the chunk to every position, so that they count from the start of the file.
func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}
