package deploy

import (
	"bytes"
	"path"
	"slices"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Texts finds the roots that may deploy an object by the text of their files, without rendering. It is safe for concurrent
// use.
type Texts struct {
	set    *Set
	byName env.Memo[mentioned, *mentioning]
	byRoot env.Memo[roots.Root, *textParts]
}

// mentioned is a query: the name of an object of a kind, perhaps after substitution of Flux variables, or a word.
type mentioned struct {
	kind, name  string
	substitutes bool
	word        string
}

// mentioning is the result of a query: files, and the folders of kustomizations that read one of them, directly or not.
type mentioning struct{ files, folders map[string]bool }

// hash is the length of the suffix that kustomize adds to names of generated objects: a dash and ten letters.
const hash = 11

// MayName reports whether a root may deploy an object of a kind and name. It searches the root's files in the tree and
// the object that deploys it, and renders nothing. It is false only if none of these contains the name or composes
// names. Remote sources of a kustomization are not searched (see IsExternal).
func (n *Texts) MayName(root roots.Root, kind, name string) bool {
	if i := len(name) - hash; i > 0 && name[i] == '-' && n.MayName(root, kind, name[:i]) {
		return true
	}
	parts := n.parts(root)
	return parts.names.May(name) || n.has(parts, name, mentioned{kind: kind, name: name, substitutes: parts.substitutes})
}

// MayMention reports whether a root may deploy an object that contains a word as a value (see graph.Graph.Mentions).
func (n *Texts) MayMention(root roots.Root, word string) bool {
	parts := n.parts(root)
	return bytes.Contains(parts.kustomization, []byte(word)) || n.has(parts, word, mentioned{word: word})
}

// has reports whether a query matches a part of a root.
func (n *Texts) has(parts *textParts, text string, what mentioned) bool {
	by := n.of(what)
	return parts.any || by == nil || bytes.Contains(parts.text, []byte(text)) ||
		slices.ContainsFunc(parts.files, func(p string) bool { return by.files[p] }) ||
		slices.ContainsFunc(parts.folders, func(dir string) bool { return by.folders[dir] })
}

// textParts are the searched parts of a root.
type textParts struct {
	any            bool     // the root has parts that are not known
	files, folders []string // what the root is built from; folders have a kustomization
	substitutes    bool     // Flux substitutes variables
	text           []byte   // of the object that deploys it
	kustomization  []byte   // the one that is built in place of the folder's
	names          graph.Names
}

// parts returns the searched parts of a root.
func (n *Texts) parts(root roots.Root) *textParts {
	return n.byRoot.Get(root, func() *textParts { return n.readParts(root) })
}

func (n *Texts) readParts(root roots.Root) *textParts {
	out := &textParts{any: root.Kind == roots.Chart, files: n.set.Files(root), folders: []string{root.Path}}
	if one := n.set.Target(root).By; one != nil {
		out.any = one.Release != nil || one.External != nil || len(one.Problems) > 0
		out.substitutes, out.text = one.Substitute.Active(), one.Text()
		if one.Virtual != nil {
			out.kustomization, out.names = one.Virtual.Data, graph.NamesIn(one.Virtual.Data)
			f, err := kustomization.Parse(one.Virtual.Path, one.Virtual.Data, n.set.Options().Limits)
			if out.any = out.any || err != nil; err == nil {
				n.refs(out, f)
			}
		}
	}
	return out
}

// refs adds the files and folders that a kustomization names.
func (n *Texts) refs(out *textParts, f *kustomization.File) {
	for _, ref := range f.Refs {
		if kustomization.Remote(ref.Value) {
			continue
		}
		p, ok := tree.Clean(path.Join(f.Dir, ref.Value))
		real, _, err := n.set.Tree().Lookup(p)
		out.any = out.any || !ok || err != nil
		out.files, out.folders = append(out.files, real), append(out.folders, real)
	}
}

// of returns the result of a query; nil where it is not known.
func (n *Texts) of(what mentioned) *mentioning {
	return n.byName.Get(what, func() *mentioning { return n.search(what) })
}

func (n *Texts) search(what mentioned) *mentioning {
	files, known := n.set.Mentions(what.word), true
	if what.name != "" {
		files, known = n.set.Naming(what.kind, what.name, what.substitutes)
	}
	if !known {
		return nil
	}
	out, dirs := &mentioning{map[string]bool{}, map[string]bool{}}, n.set.Unsettled()
	for _, p := range files {
		out.files[p] = true
		if kustomization.IsFileName(p) {
			dirs = append(dirs, path.Dir(p))
		}
		dirs = append(dirs, n.set.NamedBy(p)...)
	}
	for _, dir := range n.set.Ancestors(dirs...) {
		out.folders[dir] = true
	}
	return out
}
