package kustomization

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
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

// Edit returns the file without what is left out, and its text with all edits: what stays keeps its line where it is
// written in the block style, as nearly everything is. In the file that is returned the values are what they were. It
// returns false where it cannot be done: an entry is in no list of the file, or an alias stands for what is edited.
func (f *File) Edit(data []byte, e Edits) (*File, []byte, bool) {
	out := &File{Path: f.Path, Dir: f.Dir, Component: f.Component}
	node := *f.Node
	node.Content = slices.Clone(f.Node.Content)
	out.Node = &node
	ed := &editing{Edits: e, node: &node, text: splitLines(data)}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !ed.field(i) {
			return nil, nil, false
		}
	}
	if ed.found < len(e.Without) {
		return nil, nil, false
	}
	out.collect()
	ed.swap()
	written, err := ed.written()
	return out, written, err == nil && (!aliases(f.Node) || ed.says(written))
}

// says reports whether a text says what the edited file does. Where aliases are it may not: what they stand for may be
// gone, moved behind them, or have another text now.
func (e *editing) says(text []byte) bool {
	var got, want map[string]any
	if yaml.Unmarshal(text, &got) != nil || e.swapped(e.node).Decode(&want) != nil {
		return false
	}
	if len(e.Components) > 0 {
		var all []any
		for _, name := range e.Components {
			all = append(all, name)
		}
		own, _ := want["components"].([]any)
		want["components"] = append(all, own...)
	}
	return reflect.DeepEqual(got, want)
}

// editing is one run of Edit.
type editing struct {
	Edits
	node  *yaml.Node   // of the whole file
	text  [][]byte     // its lines
	anew  []*yaml.Node // fields that are written again, behind everything
	swaps []swap
	found int // of Without
}

// swap is the new text of some columns of a line.
type swap struct {
	line, start, end int
	text             []byte
}

// field edits the field at an index of the file's content.
func (e *editing) field(i int) bool {
	key, value := e.node.Content[i], e.node.Content[i+1]
	end := len(e.text) + 1 // the first line behind the field
	if i+2 < len(e.node.Content) {
		end = e.node.Content[i+2].Line
	}
	var gone [][2]int
	again, swaps := false, len(e.swaps)
	if value.Kind == yaml.SequenceNode {
		pruned, lines, block := e.prune(value, end)
		if gone = lines; len(gone) > 0 {
			again = !block || e.node.Style&yaml.FlowStyle != 0 || len(pruned.Content) == 0
			e.node.Content[i+1], value = pruned, pruned
		}
	}
	again = !e.inPlace(value) || again
	if end < key.Line && (again || len(gone) > 0) {
		return false // a field is written twice
	}
	if !again {
		for _, g := range gone {
			blank(e.text, g[0], g[1])
		}
	}
	if key.Value == "components" && len(e.Components) > 0 {
		again = true
	}
	if again {
		blank(e.text, key.Line, end)
		e.anew = append(e.anew, key, value)
		e.swaps = slices.DeleteFunc(e.swaps[:swaps], func(s swap) bool { return s.line >= key.Line && s.line < end })
	}
	return true
}

// prune returns a list without what is left out, where that stands (first line, and the first one behind), and whether
// each of it has its lines for itself. end is the first line behind the list.
func (e *editing) prune(list *yaml.Node, end int) (pruned *yaml.Node, gone [][2]int, block bool) {
	short := *list
	short.Content = nil
	block = list.Style&yaml.FlowStyle == 0
	for j, item := range list.Content {
		holds := holding(item, e.Without)
		if holds == 0 {
			short.Content = append(short.Content, item)
			continue
		}
		e.found += holds
		behind := end
		if j+1 < len(list.Content) {
			behind = dashLine(e.text, list.Content[j+1])
		}
		first := dashLine(e.text, item)
		block = block && first > 0 && behind > first
		gone = append(gone, [2]int{first, behind})
	}
	return &short, gone, block
}

// inPlace notes the new texts of the scalars of a node, and returns false where one does not stand on one line.
func (e *editing) inPlace(n *yaml.Node) bool {
	if v, ok := e.Values[Position{n.Line, n.Column}]; ok && n.Kind == yaml.ScalarNode {
		if n.Line < 1 || n.Line > len(e.text) {
			return false
		}
		line := []rune(string(e.text[n.Line-1]))
		start, end := doc.Columns(line, n.Column, n)
		quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
		if start == 0 || quoted && start != n.Column || quoted && line[start-1] != '"' && line[start-1] != '\'' ||
			!quoted && string(line[start-1:end-1]) != n.Value {
			return false
		}
		e.swaps = append(e.swaps, swap{n.Line, start, end, quote(v.in(n.Value))})
		return true
	}
	for _, c := range n.Content {
		if !e.inPlace(c) {
			return false
		}
	}
	return true
}

func (v Value) in(text string) string { return strings.Replace(text, v.Old, v.New, 1) }

// quote returns a text as a scalar of one line, whatever stands around it.
func quote(text string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always can be
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// swap writes the new texts into their lines, from right to left.
func (e *editing) swap() {
	slices.SortFunc(e.swaps, func(a, b swap) int { return b.start - a.start })
	for _, s := range e.swaps {
		line := []rune(string(e.text[s.line-1]))
		e.text[s.line-1] = slices.Concat([]byte(string(line[:s.start-1])), s.text, []byte(string(line[s.end-1:])))
	}
}

// written is the text with the fields that are written anew.
func (e *editing) written() ([]byte, error) {
	var more []*yaml.Node
	for _, name := range e.Components {
		more = append(more, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name})
	}
	flow := e.node.Style&yaml.FlowStyle != 0
	content := e.anew
	if flow {
		content = slices.Clone(e.node.Content)
	}
	whole := &yaml.Node{Kind: yaml.MappingNode}
	for i, n := range content {
		n = e.swapped(n)
		if i%2 == 1 && content[i-1].Value == "components" && len(more) > 0 {
			n.Style, n.Content, more = 0, slices.Concat(more, n.Content), nil
		}
		whole.Content = append(whole.Content, n)
	}
	if len(more) > 0 {
		whole.Content = append(whole.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "components"},
			&yaml.Node{Kind: yaml.SequenceNode, Content: more})
	}
	if flow {
		return yaml.Marshal(whole)
	}
	text := bytes.Join(e.text, nil)
	if len(whole.Content) == 0 {
		return text, nil
	}
	tail, err := yaml.Marshal(whole)
	return slices.Concat(text, []byte("\n"), tail), err
}

// swapped copies a node with the new values of its scalars.
func (e *editing) swapped(n *yaml.Node) *yaml.Node {
	c := *n
	if v, ok := e.Values[Position{n.Line, n.Column}]; ok && n.Kind == yaml.ScalarNode {
		c.Value = v.in(n.Value)
	}
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = e.swapped(child)
	}
	return &c
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
