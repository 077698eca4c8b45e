package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/admission"
)

// Source is a file that may hold policies or exceptions. Path is what problems name; nothing is read from it. Its
// documents are plain: without aliases and merge keys, keys are text that occurs once, whatever is a boolean has the
// tag !!bool, and what they hold is bounded.
type Source struct {
	Path      string
	Documents []*yaml.Node // plain, with the lines of the file at Path
	Problems  []Problem    // what kept other documents of the file from being read: they are reported with the rest
	Digest    string       // of the file's content, to tell two versions of it apart; may be empty
	// Inherited: its policies are those of somebody above who wrote the others. They judge objects as they are without
	// what the others mutate.
	Inherited bool
}

// Problem is one thing that is wrong with a file, where it is, and what to do about it. Lines and columns
// count from 1; zero means that the file as a whole is meant. A problem that is no Warning keeps the policy
// or exception it is in from being used.
type Problem struct {
	Path       string
	Line       int
	Column     int
	Warning    bool
	Deprecated bool // a warning of what still works: the message is the same wherever that is written
	Message    string
	Common     string // of warnings that are alike: what they say, without names
}

// As is the problem as one of several that say the same but for names.
func (p Problem) As(common string) Problem {
	p.Common = common
	return p
}

// NotEvaluated is what the warnings of what is left to the cluster have in common.
const NotEvaluated = "policies and rules of these kinds are not evaluated before merge"

// String is the problem as compilers write one: path:line:column: message.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	b.WriteString(": ")
	if p.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// HasErrors reports whether one of the problems is more than a warning.
func HasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return !p.Warning })
}

// Document is one object of a file. Node is its mapping; lines in it are those of the file.
type Document struct {
	Path       string
	Node       *yaml.Node
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	Line       int
	Inherited  bool // see Source
}

// Group is the API group of the document, empty for the core group.
func (d Document) Group() string {
	group, _ := admission.SplitVersion(d.APIVersion)
	return group
}

// Version is the API version without its group.
func (d Document) Version() string {
	_, version := admission.SplitVersion(d.APIVersion)
	return version
}

// Documents returns the objects of a file; those whose kind ends in "List" are replaced by their items. A document
// that is not a mapping, or one without a kind, is left out without a word, since files of a repository hold all sorts
// of YAML. The problems are those of the source.
func Documents(src Source) ([]Document, []Problem) {
	var docs []Document
	problems := slices.Clone(src.Problems)
	for _, node := range src.Documents {
		docs = appendObjects(docs, src, node, 0)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return docs, problems
}

// appendObjects adds the object that a node is, or, when it is a list, the objects in it.
func appendObjects(docs []Document, of Source, node *yaml.Node, depth int) []Document {
	if node.Kind != yaml.MappingNode || depth > 3 {
		return docs
	}
	d := Document{Path: of.Path, Node: node, Line: node.Line, Inherited: of.Inherited}
	d.APIVersion = text(field(node, "apiVersion"))
	d.Kind = text(field(node, "kind"))
	if d.Kind == "" {
		return docs
	}
	if items := field(node, "items"); strings.HasSuffix(d.Kind, "List") && items != nil &&
		items.Kind == yaml.SequenceNode {
		for _, item := range items.Content {
			docs = appendObjects(docs, of, item, depth+1)
		}
		return docs
	}
	if meta := field(node, "metadata"); meta != nil {
		d.Name, d.Namespace = text(field(meta, "name")), text(field(meta, "namespace"))
	}
	return append(docs, d)
}

// text is the value of a string scalar, empty for anything else.
func text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	s, _ := scalar(n).(string)
	return s
}
