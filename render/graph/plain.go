package graph

import (
	"bytes"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// escape is what a letter, digit or slash can be written as in a double-quoted scalar, and the end of a line that goes
// on in the next (https://yaml.org/spec/1.2.2/#57-escaped-characters).
var escape = regexp.MustCompile(`\\(x[0-9A-Fa-f]|u[0-9A-Fa-f]|U[0-9A-Fa-f]|/|\r?\n)`)

// base64Tag is the end of the tag of a scalar in base64 (https://yaml.org/type/binary.html).
var base64Tag = regexp.MustCompile(`[!:]binary\b`)

// plain returns the text of a file in which each of its scalars can be found: where some of them may be written with
// escapes or in base64, or the file is not UTF-8, with all of them behind it, each on a line of its own.
func plain(p string, data []byte, limits source.Limits) []byte {
	wide := bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
	if !wide && !escape.Match(data) && !base64Tag.Match(data) {
		return data
	}
	documents, err := source.Parse(p, data, limits)
	if err != nil {
		return data // nothing else can be read from it, either
	}
	text := bytes.Clone(data)
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			text = append(append(text, '\n'), source.Key(n)...)
		}
		for _, c := range n.Content { // what an alias leads to stands elsewhere
			walk(c)
		}
	}
	for _, document := range documents {
		walk(document)
	}
	return append(text, '\n')
}
