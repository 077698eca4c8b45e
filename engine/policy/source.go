package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits on a document. They are far above any real policy (an object of the Kubernetes API server is at most
// 1.5 MiB in etcd) and low enough that none can cost more than milliseconds.
const (
	// MaxDepth is how deep mappings and lists may nest.
	MaxDepth = 100
	// MaxNodes is how many values a document may have once its aliases are written out.
	MaxNodes = 200_000
)

// Source is a file that may hold policies or exceptions. Path is what problems name; nothing is read from it.
type Source struct {
	Path      string
	Documents []*yaml.Node // their lines are those of the file at Path
	Problems  []Problem    // what kept other documents of the file from being read: they are reported with the rest
	Digest    string       // of the file's content, to tell two versions of it apart; may be empty
}

// Problem is one thing that is wrong with a file, where it is, and what to do about it. Lines and columns
// count from 1; zero means that the file as a whole is meant. A problem that is no Warning keeps the policy
// or exception it is in from being used.
type Problem struct {
	Path    string
	Line    int
	Column  int
	Warning bool
	Message string
}

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
	for _, p := range problems {
		if !p.Warning {
			return true
		}
	}
	return false
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
}

// Group is the API group of the document, empty for the core group.
func (d Document) Group() string {
	if group, _, ok := strings.Cut(d.APIVersion, "/"); ok {
		return group
	}
	return ""
}

// Version is the API version without its group.
func (d Document) Version() string {
	if _, version, ok := strings.Cut(d.APIVersion, "/"); ok {
		return version
	}
	return d.APIVersion
}

// Documents returns the objects of a file; those whose kind ends in "List" are replaced by their items. A document
// that is not a mapping, or one without a kind, is left out without a word, since files of a repository hold all sorts
// of YAML. What could not be read, or would cost too much to write out, is a problem.
func Documents(src Source) ([]Document, []Problem) {
	var docs []Document
	problems := slices.Clone(src.Problems)
	for _, node := range src.Documents {
		if p := inspect(src.Path, node); p != nil {
			problems = append(problems, *p)
			continue
		}
		docs = appendObjects(docs, src.Path, node, 0)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return docs, problems
}

// appendObjects adds the object that a node is, or, when it is a list, the objects in it.
func appendObjects(docs []Document, path string, node *yaml.Node, depth int) []Document {
	node = follow(node)
	if node.Kind != yaml.MappingNode || depth > 3 {
		return docs
	}
	d := Document{Path: path, Node: node, Line: node.Line}
	d.APIVersion = text(field(node, "apiVersion"))
	d.Kind = text(field(node, "kind"))
	if d.Kind == "" {
		return docs
	}
	if items := field(node, "items"); strings.HasSuffix(d.Kind, "List") && items != nil && follow(items).Kind == yaml.SequenceNode {
		for _, item := range follow(items).Content {
			docs = appendObjects(docs, path, item, depth+1)
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
	s, _ := scalar(follow(n)).(string)
	return s
}

// inspect refuses what cannot be written out as JSON of a sensible size: aliases that refer to themselves or
// multiply, deep nesting, values JSON has no form for, keys that occur twice.
func inspect(path string, root *yaml.Node) *Problem {
	count := 0
	active := map[*yaml.Node]bool{}
	at := func(n *yaml.Node, format string, args ...any) *Problem {
		return &Problem{Path: path, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)}
	}
	var walk func(n *yaml.Node, depth int) *Problem
	walk = func(n *yaml.Node, depth int) *Problem {
		if count++; count > MaxNodes {
			return at(n, "the document has more than %d values once its aliases are written out: use fewer aliases", MaxNodes)
		}
		if depth > MaxDepth {
			return at(n, "the document nests more than %d levels deep: flatten it", MaxDepth)
		}
		switch n.Kind {
		case yaml.AliasNode:
			if active[n.Alias] {
				return at(n, "the alias *%s refers to a value that contains it: write the value out", n.Value)
			}
			active[n.Alias] = true
			defer delete(active, n.Alias)
			return walk(n.Alias, depth+1)
		case yaml.MappingNode:
			seen := make(map[string]*yaml.Node, len(n.Content)/2)
			for i := 0; i+1 < len(n.Content); i += 2 {
				k := n.Content[i]
				if follow(k).Kind != yaml.ScalarNode {
					return at(k, "a key must be a string: JSON has no other keys (a variable in {{ }} that starts a value needs quotes)")
				}
				name := keyText(k)
				if first, twice := seen[name]; twice && !isMerge(k) && !sameScalar(first, n.Content[i+1]) {
					return at(k, "the key %q is written twice: keep one", name)
				}
				seen[name] = n.Content[i+1]
				if p := walk(n.Content[i+1], depth+1); p != nil {
					return p
				}
			}
		case yaml.SequenceNode:
			for _, c := range n.Content {
				if p := walk(c, depth+1); p != nil {
					return p
				}
			}
		case yaml.ScalarNode:
			if f, ok := scalar(n).(float64); ok && (f != f || f-f != 0) {
				return at(n, "%s is not a number that JSON can hold", n.Value)
			}
		}
		return nil
	}
	return walk(root, 0)
}

// sameScalar reports whether two values of one key are the same text, so that it does not matter which counts.
func sameScalar(a, b *yaml.Node) bool {
	a, b = follow(a), follow(b)
	return a.Kind == yaml.ScalarNode && b.Kind == yaml.ScalarNode && a.Tag == b.Tag && a.Value == b.Value
}
