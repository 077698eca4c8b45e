package origin

import "go.yaml.in/yaml/v3"

// File knows the places of the resources of one manifest that is deployed as it is: every node has its line. It is
// not safe for concurrent use.
type File struct {
	path string
	texts
}

// NewFile returns the origins of a manifest.
func NewFile(path string, data []byte) *File {
	return &File{path: path, texts: newTexts(func(string) ([]byte, error) { return data, nil })}
}

// Locate returns the place of the field at a pointer into a resource of the file. The place of a field that does not
// exist is that of its nearest existing parent.
func (f *File) Locate(resource *yaml.Node, pointer string) Place {
	resource = content(resource)
	steps, missing := resolve(resource, pointer)
	var p Place
	if len(steps) == 0 {
		p = f.at(f.path, resource, Identity, "manifest")
		p.EndLine, p.StartColumn, p.EndColumn = p.StartLine, 0, 0
	} else {
		p = f.at(f.path, anchor(steps[len(steps)-1]), Identity, "manifest")
	}
	if missing != "" {
		p.Missing, p.How = missing, Enclosing
	}
	return p
}
