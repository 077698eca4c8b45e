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

type mentions struct {
	set    *Set
	byName sync.Map // by mentioned: *mentioners
	byRoot sync.Map // *mentionParts
}

// mentioned is a name, and whether variables of Flux may become it; or a word.
type mentioned struct {
	name        string
	substitutes bool
	word        string
}

// mentioners are files, and the folders of the kustomizations that read one of them, directly or not.
type mentioners struct{ files, folders map[string]bool }

// hash is how long what kustomize writes behind the names of generated objects is: a dash and ten letters.
const hash = 11

// MayName reports whether a root may deploy an object of a name, as far as its files in the tree and the object that
// deploys it tell: it is false only where none of them says the name or how names are put together. Of what a kustomization
// takes from outside it knows nothing (see IsExternal). Nothing is rendered.
func (s *Set) MayName(root roots.Root, name string) bool {
	if i := len(name) - hash; i > 0 && name[i] == '-' && s.MayName(root, name[:i]) {
		return true
	}
	parts := s.mentions.parts(root)
	return parts.names.May(name) || s.mentions.has(parts, name, mentioned{name: name, substitutes: parts.substitutes})
}

// MayMention reports the same of objects that hold a word as a value (see graph.Graph.Mentions).
func (s *Set) MayMention(root roots.Root, word string) bool {
	parts := s.mentions.parts(root)
	return bytes.Contains(parts.kustomization, []byte(word)) || s.mentions.has(parts, word, mentioned{word: word})
}

// has reports whether the parts of a root say something.
func (n *mentions) has(parts *mentionParts, text string, what mentioned) bool {
	by, known := n.of(what)
	return parts.any || !known || bytes.Contains(parts.text, []byte(text)) ||
		slices.ContainsFunc(parts.files, func(p string) bool { return by.files[p] }) ||
		slices.ContainsFunc(parts.folders, func(dir string) bool { return by.folders[dir] })
}

// mentionParts are what a root is made of, as far as it may say something.
type mentionParts struct {
	any            bool     // and of more that is not known
	files, folders []string // what it is built from, folders with a kustomization
	substitutes    bool     // variables of Flux
	text           []byte   // of the object that deploys it
	kustomization  []byte   // that is built in place of the folder's
	names          graph.Names
}

// parts returns what a root is made of.
func (n *mentions) parts(root roots.Root) *mentionParts {
	if known, ok := n.byRoot.Load(root); ok {
		return known.(*mentionParts)
	}
	out := &mentionParts{any: root.Kind == roots.Chart, files: n.set.Files(root), folders: []string{root.Path}}
	if one := n.set.Target(root).By; one != nil {
		out.any = one.Release != nil || one.Elsewhere != nil || len(one.Problems) > 0
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
func (n *mentions) refs(out *mentionParts, f *kustomization.File) {
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
func (n *mentions) of(what mentioned) (*mentioners, bool) {
	if known, ok := n.byName.Load(what); ok {
		return known.(*mentioners), true
	}
	files, known := n.set.Mentions(what.word), true
	if what.name != "" {
		files, known = n.set.Naming(what.name, what.substitutes)
	}
	if !known {
		return nil, false
	}
	out, dirs := &mentioners{map[string]bool{}, map[string]bool{}}, map[string]bool{}
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
	for _, dir := range n.set.Above(dirs) {
		out.folders[dir] = true
	}
	n.byName.Store(what, out)
	return out, true
}
