// Package yamltest reads the YAML that tests of the engine write: the engine itself takes nodes and reads no text.
package yamltest

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// Documents returns the documents of a text up to one that is not YAML.
func Documents[T string | []byte](text T) []*yaml.Node {
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if err != nil {
			return documents
		}
		if len(document.Content) > 0 {
			documents = append(documents, document.Content[0])
		}
	}
}

// OnOneLine returns the documents of a text with all that is in them on line 1, as a caller may place what it rendered.
func OnOneLine(text string) []*yaml.Node {
	documents := Documents(text)
	for _, d := range documents {
		flatten(d)
	}
	return documents
}

func flatten(n *yaml.Node) {
	n.Line, n.Column = 1, 1
	for _, c := range n.Content {
		flatten(c)
	}
}
