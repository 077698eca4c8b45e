package graph

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// escapes reports whether a text may contain a letter, digit or slash as an escape in a double-quoted scalar, or a line
// that continues on the next (https://yaml.org/spec/1.2.2/#57-escaped-characters).
func escapes(data []byte) bool {
	for i := bytes.IndexByte(data, '\\'); i >= 0; {
		data = data[i+1:]
		if len(data) > 0 && bytes.IndexByte([]byte("xuU/\r\n"), data[0]) >= 0 {
			return true
		}
		i = bytes.IndexByte(data, '\\')
	}
	return false
}

// encodes reports whether a scalar may be in base64, because of its tag (https://yaml.org/type/binary.html).
func encodes(data []byte) bool {
	return bytes.Contains(data, []byte("!binary")) || bytes.Contains(data, []byte(":binary"))
}

// IsPlain reports whether the bytes of a file have the text of each of its scalars.
func IsPlain(data []byte) bool {
	wide := bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
	return !wide && !escapes(data) && !encodes(data)
}

// Plain returns a text in which each scalar of a file can be searched. If scalars may have escapes or base64, or the
// file is not UTF-8, the decoded scalars follow the text, each on its own line.
func Plain(p string, data []byte, limits doc.Limits) []byte {
	if IsPlain(data) {
		return data
	}
	documents, err := doc.Parse(p, data, limits)
	if err != nil {
		return data // the parser cannot read more, either
	}
	text := bytes.Clone(data)
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			text = append(append(text, '\n'), doc.Key(n)...)
		}
		for _, c := range n.Content { // the target of an alias is visited where it is written
			walk(c)
		}
	}
	for _, document := range documents {
		walk(document)
	}
	return append(text, '\n')
}
