package kustomization

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// Position is where something stands in a file; both count from 1.
type Position struct{ Line, Column int }

// Edits are what of a file is written in another way.
type Edits struct {
	Without    []Position         // entries of lists that are left out: what stands at, or holds, one of them
	Values     map[Position]Value // of scalars
	Components []string           // come in front of the components that there are
}

// Value is a part of a scalar and what stands in its place.
type Value struct{ Old, New string }

// Edit returns the file without what is left out, and its text with all edits: what stays keeps its line. In the file
// that is returned the values are what they were. It returns false where it cannot be done: an entry is in no list of the
// file, or an alias stands for what is edited.
func (f *File) Edit(data []byte, e Edits) (*File, []byte, bool) {
	editor := doc.NewEditor(data)
	editor.KeepLines = true
	if editor.Len() != 1 {
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

// entryAt is the field and the index of the entry of a list that a position is in.
func entryAt(e *doc.Editor, at Position) (list string, index int, ok bool) {
	for _, s := range e.At(at.Line, at.Column) {
		if tokens := strings.Split(s.Pointer, "/"); len(tokens) > 2 {
			index, err := strconv.Atoi(tokens[2])
			return tokens[1], index, err == nil
		}
	}
	return "", -1, false
}

// without is a map whose lists lack some of their items.
func without(n *yaml.Node, gone map[string][]int) *yaml.Node {
	node := *n
	node.Content = slices.Clone(n.Content)
	for i := 0; i+1 < len(node.Content); i += 2 {
		var left []int
		for written, items := range gone { // in some letter case
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
