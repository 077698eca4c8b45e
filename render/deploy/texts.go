package deploy

import (
	"bytes"
	"path"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

type Texts struct {
	set    *Set
	byName sync.Map // by mentioned: *mentioning
	byRoot sync.Map // *textParts
}

// mentioned is the name of an object of a kind, and whether variables of Flux may become it; or a word.
type mentioned struct {
	kind, name  string
	substitutes bool
	word        string
}

// mentioning are files, and the folders of the kustomizations that read one of them, directly or not.
type mentioning struct{ files, folders map[string]bool }

// hash is how long what kustomize writes behind the names of generated objects is: a dash and ten letters.
const hash = 11

// MayName reports whether a root may deploy an object of a kind and name, as far as its files in the tree and the object that
// deploys it tell: it is false only where none of them says the name or how names are put together. Of what a kustomization
// takes from outside it knows nothing (see IsExternal). Nothing is rendered.
func (n *Texts) MayName(root roots.Root, kind, name string) bool {
	if i := len(name) - hash; i > 0 && name[i] == '-' && n.MayName(root, kind, name[:i]) {
		return true
	}
	parts := n.parts(root)
	return parts.names.May(name) || n.has(parts, name, mentioned{kind: kind, name: name, substitutes: parts.substitutes})
}

// MayMention reports the same of objects that hold a word as a value (see graph.Graph.Mentions).
func (n *Texts) MayMention(root roots.Root, word string) bool {
	parts := n.parts(root)
	return bytes.Contains(parts.kustomization, []byte(word)) || n.has(parts, word, mentioned{word: word})
}

// has reports whether the parts of a root say something.
func (n *Texts) has(parts *textParts, text string, what mentioned) bool {
	by, known := n.of(what)
	return parts.any || !known || bytes.Contains(parts.text, []byte(text)) ||
		slices.ContainsFunc(parts.files, func(p string) bool { return by.files[p] }) ||
		slices.ContainsFunc(parts.folders, func(dir string) bool { return by.folders[dir] })
}

// textParts are what a root is made of, as far as it may say something.
type textParts struct {
	any            bool     // and of more that is not known
	files, folders []string // what it is built from, folders with a kustomization
	substitutes    bool     // variables of Flux
	text           []byte   // of the object that deploys it
	kustomization  []byte   // that is built in place of the folder's
	names          graph.Names
}

// parts returns what a root is made of.
func (n *Texts) parts(root roots.Root) *textParts {
	if known, ok := n.byRoot.Load(root); ok {
		return known.(*textParts)
	}
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
	n.byRoot.Store(root, out)
	return out
}

// refs adds what a kustomization names.
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

// of returns who says something; false where that is not known.
func (n *Texts) of(what mentioned) (*mentioning, bool) {
	if known, ok := n.byName.Load(what); ok {
		return known.(*mentioning), true
	}
	files, known := n.set.Mentions(what.word), true
	if what.name != "" {
		files, known = n.set.Naming(what.kind, what.name, what.substitutes)
	}
	if !known {
		return nil, false
	}
	out, dirs := &mentioning{map[string]bool{}, map[string]bool{}}, map[string]bool{}
	for _, p := range files {
		out.files[p] = true
		if kustomization.IsFileName(p) {
			dirs[path.Dir(p)] = true
		}
		for _, dir := range n.set.Reading(p) {
			dirs[dir] = true
		}
	}
	for _, dir := range n.set.Unsettled() {
		dirs[dir] = true
	}
	for _, dir := range n.set.Ancestors(dirs) {
		out.folders[dir] = true
	}
	n.byName.Store(what, out)
	return out, true
}
