package kustomization

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Position is where something stands in a file; both count from 1.
type Position struct{ Line, Column int }

// Without returns the file without those entries of its lists that stand at, or hold, one of the positions, and its
// text without them: what stays keeps its line where it is written in the block style, as nearly everything is. It
// returns false where it cannot be done: an entry is in no list of the file, or the file uses aliases.
func (f *File) Without(data []byte, at []Position) (*File, []byte, bool) {
	if aliases(f.Node) {
		return nil, nil, false
	}
	out := &File{Path: f.Path, Dir: f.Dir, Component: f.Component}
	node := *f.Node
	node.Content = slices.Clone(f.Node.Content)
	out.Node = &node
	text := splitLines(data)
	found := 0
	var anew []*yaml.Node // fields that are written again, behind everything
	for i := 0; i+1 < len(node.Content); i += 2 {
		list := node.Content[i+1]
		if list.Kind != yaml.SequenceNode {
			continue
		}
		end := len(text) + 1 // the first line behind the field
		if i+2 < len(node.Content) {
			end = node.Content[i+2].Line
		}
		if end < node.Content[i].Line {
			return nil, nil, false // a field is written twice
		}
		pruned := *list
		pruned.Content = nil
		var gone [][2]int // first line, and the first one behind
		block := list.Style&yaml.FlowStyle == 0 && node.Style&yaml.FlowStyle == 0
		for j, item := range list.Content {
			holds := holding(item, at)
			if holds == 0 {
				pruned.Content = append(pruned.Content, item)
				continue
			}
			found += holds
			behind := end
			if j+1 < len(list.Content) {
				behind = dashLine(text, list.Content[j+1])
			}
			first := dashLine(text, item)
			block = block && first > 0 && behind > first
			gone = append(gone, [2]int{first, behind})
		}
		if len(gone) == 0 {
			continue
		}
		node.Content[i+1] = &pruned
		if !block || len(pruned.Content) == 0 {
			gone = [][2]int{{node.Content[i].Line, end}}
			anew = append(anew, node.Content[i], &pruned)
		}
		for _, g := range gone {
			blank(text, g[0], g[1])
		}
	}
	if found < len(at) {
		return nil, nil, false
	}
	written, err := rewritten(&node, text, anew)
	out.collect()
	return out, written, err == nil
}

// rewritten is the text of a file of which some fields are written anew.
func rewritten(node *yaml.Node, text [][]byte, anew []*yaml.Node) ([]byte, error) {
	if node.Style&yaml.FlowStyle != 0 {
		return yaml.Marshal(node)
	}
	written := bytes.Join(text, nil)
	if len(anew) == 0 {
		return written, nil
	}
	more, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: anew})
	return slices.Concat(written, []byte("\n"), more), err
}

// holding counts the positions that a node or one below it stands at.
func holding(n *yaml.Node, at []Position) int {
	count := 0
	if slices.Contains(at, Position{n.Line, n.Column}) && (n.Kind == yaml.ScalarNode || len(n.Content) == 0) {
		count++
	}
	for i, c := range n.Content {
		if i == 0 && n.Kind == yaml.MappingNode && slices.Contains(at, Position{n.Line, n.Column}) {
			count++ // a map stands where its first key does
			continue
		}
		count += holding(c, at)
	}
	return count
}

func aliases(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, aliases)
}

// splitLines returns the lines of a text with their ends.
func splitLines(data []byte) [][]byte { return bytes.SplitAfter(slices.Clone(data), []byte("\n")) }

var dash = regexp.MustCompile(`^\s*-\s+$`)

// dashLine returns the line of an element's dash, 0 where it does not stand in front of the element.
func dashLine(text [][]byte, item *yaml.Node) int {
	if item.Line < 1 || item.Line > len(text) {
		return 0
	}
	line := []rune(string(text[item.Line-1]))
	if item.Column-1 > len(line) || !dash.MatchString(string(line[:item.Column-1])) {
		return 0
	}
	return item.Line
}

// blank empties lines of a text.
func blank(text [][]byte, first, behind int) {
	for i := first; i < behind && i <= len(text); i++ {
		text[i-1] = []byte(strings.Repeat("\n", bytes.Count(text[i-1], []byte("\n"))))
	}
}
