package kustomization

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// Position is a place in a file; lines and columns count from 1.
type Position struct{ Line, Column int }

// Edits are changes of a kustomization file.
type Edits struct {
	Without    []Position         // list entries to leave out, by a position in each
	Values     map[Position]Value // changes of scalars
	Components []string           // inserted before the existing components
}

// Value replaces a part of a scalar.
type Value struct{ Old, New string }

// Edit returns the file without the entries to leave out, and its text with all edits; every remaining line keeps its
// number. The returned file still has the values from before the edits. It returns false if an edit is not possible: an
// entry is in no list of the file, or an edited value is an alias.
func (f *File) Edit(data []byte, e Edits) (*File, []byte, bool) {
	editor := doc.NewEditor(data)
	editor.KeepLines = true
	if editor.Len() == 0 { // kustomize reads the first document only
		return nil, nil, false
	}
	gone := map[string][]int{} // by list
	for _, at := range e.Without {
		list, index, ok := entryAt(editor, at)
		if !ok {
			return nil, nil, false
		}
		if !slices.Contains(gone[list], index) {
			gone[list] = append(gone[list], index)
		}
	}
	out := &File{Path: f.Path, Dir: f.Dir, Component: f.Component, Node: without(f.Node, gone)}
	out.collect()
	edit := editor.Edit(editor.Document(0))
	for at, v := range e.Values {
		for _, s := range editor.At(at.Line, at.Column) {
			list, index, _ := entryAt(editor, at)
			if s.Node.Kind == yaml.ScalarNode && s.Node.Line == at.Line && s.Node.Column == at.Column &&
				!slices.Contains(gone[list], index) {
				edit.Set(s.Pointer, strings.Replace(s.Node.Value, v.Old, v.New, 1))
			}
		}
	}
	if len(e.Components) > 0 {
		all := slices.Clone(e.Components)
		for _, own := range doc.Items(out.Node, "components") {
			all = append(all, own.Value)
		}
		keys := doc.Keys(editor.Document(0).Node)
		if i := slices.IndexFunc(keys, func(k string) bool { return strings.EqualFold(k, "components") }); i >= 0 {
			delete(gone, keys[i])
			edit.Set("/"+keys[i], all)
		} else {
			edit.Insert("/components", all)
		}
	}
	for _, list := range slices.Sorted(maps.Keys(gone)) {
		edit.RemoveItems("/"+list, gone[list]...)
	}
	text, err := editor.Apply(edit)
	return out, text, err == nil
}

// entryAt returns the field and the index of the list entry at a position.
func entryAt(e *doc.Editor, at Position) (list string, index int, ok bool) {
	for _, s := range e.At(at.Line, at.Column) {
		if tokens := strings.Split(s.Pointer, "/"); len(tokens) > 2 {
			index, err := strconv.Atoi(tokens[2])
			return tokens[1], index, err == nil
		}
	}
	return "", -1, false
}

// without returns a map whose lists lack some of their items.
func without(n *yaml.Node, gone map[string][]int) *yaml.Node {
	node := *n
	node.Content = slices.Clone(n.Content)
	for i := 0; i+1 < len(node.Content); i += 2 {
		var left []int
		for written, items := range gone { // written may have any letter case
			if strings.EqualFold(written, node.Content[i].Value) {
				left = items
			}
		}
		if len(left) == 0 {
			continue
		}
		short := *node.Content[i+1]
		short.Content = nil
		for j, item := range node.Content[i+1].Content {
			if !slices.Contains(left, j) {
				short.Content = append(short.Content, item)
			}
		}
		node.Content[i+1] = &short
	}
	return &node
}
