package deploy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Listed is a root with the name that all commands use.
type Listed struct {
	roots.Root
	Name string     // unique among the roots of the tree
	As   roots.Kind // kind of the deploying object, which may deploy a kustomization as it is
}

// bringer returns the name of what contains the object of a deployment: its file, or the root that renders it, preceded
// by what deploys that root.
func (w *worklist) bringer(one *Deployment) (name string) {
	for range maxFollowed {
		from, id, brought := strings.Cut(one.From, by)
		above := w.of(roots.Root{Object: id})
		switch {
		case !brought || above == nil: // an object that deploys itself may have taken the place of above
			return path.Join(cmp.Or(from, one.Where.Path), name)
		case above.Object.Kind == roots.ChartEntryKind:
			return path.Join(nameOf(above), name)
		}
		one, name = above, path.Join(nameOf(above), name)
	}
	return name
}

// nameOf returns the name of a deployment, which may not be unique.
func nameOf(one *Deployment) string {
	return roots.Root{Path: one.Path, Kind: roots.KindOf(one.Object.Kind), Object: one.id}.Name()
}

// List lists all roots with unique names, sorted by name. Where two roots have the same name, the cluster or the path
// is put in front. A root that an object deploys as it is is listed by its path and again by the object. It reads the
// whole tree.
func (s *Set) List() []Listed {
	s.found().followExternal()
	return s.list()
}

// list is List without remote charts.
func (s *Set) list() []Listed {
	var list []Listed
	objects := map[int]*Deployment{} // by index
	w, all := s.found(), s.all()
	for _, root := range all {
		if one := w.of(root); one != nil {
			objects[len(list)] = one
		}
		list = append(list, Listed{Root: root, Name: root.Path, As: root.Kind})
	}
	for _, one := range w.sorted() {
		if root := one.root(); root.Object == "" && slices.Contains(all, root) && w.isLive(one) {
			objects[len(list)] = one
			list = append(list, Listed{Root: root, As: roots.KindOf(one.Object.Kind)})
		}
	}
	spell := []func(one *Deployment) string{
		nameOf,
		func(one *Deployment) string {
			if one.Cluster == "" || strings.ContainsAny(one.Cluster, "/:") {
				return nameOf(one)
			}
			return one.Cluster + "/" + nameOf(one)
		},
		func(one *Deployment) string { return path.Join(one.Path, nameOf(one)) },
		func(one *Deployment) string { return path.Join(w.bringer(one), nameOf(one)) },
		(*Deployment).ID,
	}
	open := make([]int, len(list))
	for i := range list {
		open[i] = i
	}
	for _, of := range spell {
		count := map[string]int{}
		for _, i := range open {
			if one := objects[i]; one != nil {
				list[i].Name = of(one)
			}
			count[list[i].Name]++
		}
		open = slices.DeleteFunc(open, func(i int) bool { return count[list[i].Name] == 1 })
	}
	slices.SortFunc(list, func(a, b Listed) int { return cmp.Or(strings.Compare(a.Name, b.Name), roots.Compare(a.Root, b.Root)) })
	return list
}

// UnknownNameError means that no root has a name.
type UnknownNameError struct {
	Name  string
	Below []string // the roots below the folder of this name
}

func (e *UnknownNameError) Error() string {
	message := e.Name + " has neither a kustomization nor manifests"
	if first, _, _ := strings.Cut(e.Name, "/"); roots.IsKindName(first) {
		message = "no object that deploys something has the name " + e.Name
	}
	if n := len(e.Below); n > 0 {
		const most = 8
		message += "; roots below it:\n  " + strings.Join(e.Below[:min(n, most)], "\n  ")
		if n > most {
			message += fmt.Sprintf("\n  and %d more", n-most)
		}
	}
	return message
}

// AmbiguousNameError means that several roots have a name.
type AmbiguousNameError struct {
	Name string
	Of   []string // their unique names
}

func (e *AmbiguousNameError) Error() string {
	return fmt.Sprintf("%s may be one of several roots: name one of\n  %s", e.Name, strings.Join(e.Of, "\n  "))
}

// Find returns the root of a name. The name is one that List returns, or KIND/NAMESPACE/NAME or KIND/NAME if only one
// root has that. KIND may be that of Kubernetes. The error is *UnknownNameError or *AmbiguousNameError.
func (s *Set) Find(name string) (roots.Root, error) {
	if dir, ok := tree.Clean(name); ok {
		name = dir
	}
	if root, ok := s.named(name); ok {
		return root, nil
	}
	root, err := s.find(s.list(), name)
	if unknown := (*UnknownNameError)(nil); errors.As(err, &unknown) {
		return s.find(s.List(), name)
	}
	return root, err
}

// named finds the root of a name that only one deployment has.
func (s *Set) named(name string) (roots.Root, bool) {
	kind, _, ok := strings.Cut(name, "/")
	if !ok || !roots.IsKindName(kind) {
		return roots.Root{}, false
	}
	w := s.found()
	var list []roots.Root
	for _, one := range w.sorted() {
		if root := one.root(); nameOf(one) == name && s.Selects(root.Path) && !slices.Contains(list, root) {
			list = append(list, root)
		}
	}
	if len(list) != 1 {
		return roots.Root{}, false
	}
	return list[0], true
}

func (s *Set) find(list []Listed, name string) (roots.Root, error) {
	if i := slices.IndexFunc(list, func(l Listed) bool { return l.Name == name }); i >= 0 {
		return list[i].Root, nil
	}
	var found []Listed
	for _, l := range list {
		if l.As == l.Kind && l.Object == "" {
			continue
		}
		if slices.ContainsFunc(s.spellings(l), func(spelling string) bool { return spelling == name }) {
			found = append(found, l)
		}
	}
	switch len(found) {
	case 1:
		return found[0].Root, nil
	case 0:
		e := &UnknownNameError{Name: name}
		for _, l := range list {
			if strings.HasPrefix(l.Path, name+"/") || name == "." {
				e.Below = append(e.Below, l.Name)
			}
		}
		return roots.Root{}, e
	}
	e := &AmbiguousNameError{Name: name}
	for _, l := range found {
		e.Of = append(e.Of, l.Name)
	}
	return roots.Root{}, e
}

// spellings lists the other names of a root that an object deploys.
func (s *Set) spellings(l Listed) (list []string) {
	w := s.found()
	for _, one := range w.sorted() {
		if one.root() != l.Root || roots.KindOf(one.Object.Kind) != l.As {
			continue
		}
		if one.Object.Kind == roots.ChartEntryKind {
			list = append(list, one.Path)
			continue
		}
		kinds := []string{roots.KindOf(one.Object.Kind).String(), one.Object.Kind}
		if one.Object.Kind == "ApplicationSet" {
			kinds = append(kinds, "Application")
		}
		for _, kind := range kinds {
			for _, n := range []string{one.Name, one.Object.Name} {
				list = append(list, kind+"/"+one.Object.Namespace+"/"+n, kind+"/"+n)
			}
		}
	}
	return list
}

// Texts finds the roots that may deploy an object by the text of their files, without rendering. It is safe for concurrent
// use.
type Texts struct {
	set    *Set
	byName env.Memo[mentioned, *mentioning]
	byRoot env.Memo[roots.Root, *textParts]
}

// mentioned is a query for objects of a kind: for a name, perhaps after substitution of Flux variables, or for a word.
type mentioned struct {
	kind, name  string
	substitutes bool
	word        string
}

// mentioning is the result of a query: files, and the folders of kustomizations that read one of them, directly or not.
type mentioning struct{ files, folders map[string]bool }

// hash is the length of the suffix that kustomize adds to names of generated objects: a dash and ten letters.
const hash = 11

// MayName reports whether a root may deploy an object of a kind and name (see graph.Graph.Naming). It searches the root's
// files in the tree and the object that deploys it, and renders nothing. It is false only if none of these contains the
// name or composes names. Remote sources of a kustomization are not searched (see IsExternal).
func (n *Texts) MayName(root roots.Root, kind, name string) bool {
	if i := len(name) - hash; i > 0 && name[i] == '-' && n.MayName(root, kind, name[:i]) {
		return true
	}
	parts := n.parts(root)
	what := mentioned{kind: kind, name: name, substitutes: parts.substitutes}
	return parts.names.May(name) || n.has(parts, strings.TrimPrefix(name, "*"), what)
}

// MayMention reports whether a root may deploy an object of a kind that contains a word as a value (see graph.Graph.Stating).
func (n *Texts) MayMention(root roots.Root, kind, word string) bool {
	parts := n.parts(root)
	return bytes.Contains(parts.kustomization, []byte(word)) || n.has(parts, word, mentioned{kind: kind, word: word})
}

// has reports whether a query matches a part of a root.
func (n *Texts) has(parts *textParts, text string, what mentioned) bool {
	by := n.byName.Get(what, func() *mentioning { return n.search(what) })
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
	return n.byRoot.Get(root, func() *textParts {
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
	})
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

// search returns the result of a query; nil where it is not known.
func (n *Texts) search(what mentioned) *mentioning {
	files, known := n.set.Stating(what.kind, what.word), true
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
