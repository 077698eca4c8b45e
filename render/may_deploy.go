package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/tree"
)

// The output of a chart is known only after rendering. But a chart cannot print a kind, or words of a name, that its
// text does not contain. So most charts need not be rendered to find an object.

// ObjectQuery selects one object, or all objects of a kind.
type ObjectQuery struct {
	Group, Kind string
	// Namespace is the namespace of the object; empty: any, or its kind has none.
	Namespace string
	Name      string // empty: all of the kind
}

// MayDeploy reports whether a target that renders something external may deploy an object. It searches the text of the
// chart, of the values and of the object that deploys it. If some of these are missing, it searches only the object. It
// fetches nothing. It misses a name that a chart composes of parts of words. For a kustomization it searches the
// namespace and the names in its own text.
func (r *Renderer) MayDeploy(target Target, s ObjectQuery) bool {
	one := target.By
	if !target.IsExternal() {
		return r.kustomizationMayDeploy(target, s)
	}
	namespaces := namespacesOf(one)
	inside := s.Namespace == "" || slices.Contains(namespaces, s.Namespace)
	words := strings.FieldsFunc(s.Name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	if s.Group != "" {
		words = append(words, s.Group)
	}
	if !inside {
		words = append(words, s.Namespace)
	}
	t := r.texts.Get(target.Root, func() *text { return &text{own: one.Text(), found: map[string]bool{}} })
	switch have, whole := t.have(r, one, s.Kind, words); {
	case whole:
		return have
	case !inside:
		return slices.Contains(namespaces, "") || t.contains(s.Namespace)
	case s.Namespace != "" || s.Name == "":
		return true
	}
	// Objects without a namespace are most likely part of the deployment whose name they contain.
	return slices.Contains(namespaces, s.Name) || t.contains(s.Name) ||
		slices.ContainsFunc(namesOf(one), func(name string) bool { return name != "" && strings.Contains(s.Name, name) })
}

// kustomizationMayDeploy is MayDeploy for a kustomization with a remote source or a chart.
func (r *Renderer) kustomizationMayDeploy(t Target, s ObjectQuery) bool {
	if s.Namespace == "" && s.Name == "" {
		return true
	}
	included, _ := r.index.Included(t.Path)
	for i, dir := range append([]string{t.Path}, included...) {
		f, err := r.index.Kustomization(dir)
		if f == nil || err != nil {
			continue
		}
		if i == 0 && s.Namespace != "" && doc.Text(f.Node, "namespace") == s.Namespace {
			return true
		}
		data, _, err := r.tree.ReadFile(f.Path)
		if err != nil || s.Namespace != "" && bytes.Contains(data, []byte(s.Namespace)) ||
			s.Name != "" && bytes.Contains(data, []byte(s.Name)) {
			return true
		}
	}
	return t.By != nil && s.Namespace != "" && bytes.Contains(t.By.Text(), []byte(s.Namespace))
}

// namespacesOf lists the namespaces in which a deployment puts objects that name none; "" where that is not known.
func namespacesOf(one *Deployment) []string {
	list := []string{one.Namespace}
	if release := one.anyRelease(); release != nil {
		list = append(list, release.Namespace)
	}
	list = slices.DeleteFunc(list, func(namespace string) bool { return namespace == "" })
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// namesOf lists the names of a deployment, its release and its chart.
func namesOf(one *Deployment) []string {
	list := []string{one.Name}
	if release := one.anyRelease(); release != nil {
		c := release.Chart
		list = append(list, release.Name, c.Want.Name, path.Base(c.Want.URL), path.Base(c.Folder))
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "." })
}

// text caches the search results for one deployment.
type text struct {
	own []byte // see gitops.Deployment.Text

	mu    sync.Mutex
	lacks bool            // a part of the text is not available
	found map[string]bool // by word; a kind has the prefix "kind "
}

// contains reports whether the object that deploys contains a word.
func (t *text) contains(word string) bool { return bytes.Contains(t.own, []byte(word)) }

// have reports whether the text contains a kind and some words. whole is false where part of the text is not available.
func (t *text) have(r *Renderer, one *Deployment, kind string, words []string) (all, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var search textSearch
	for i, word := range append([]string{kind}, words...) {
		key, is := word, func(text []byte) bool { return bytes.Contains(text, []byte(word)) }
		if i == 0 {
			// A kind is a word, and not the field of something else as in .Release.Namespace.
			key, is = "kind "+kind, func(text []byte) bool { return helm.HasWord(text, kind, false) }
		}
		known, ok := t.found[key]
		if !ok && search == nil && !t.lacks {
			search = r.textOf(one, t.own)
			t.lacks = search == nil
		}
		if t.lacks {
			return false, false
		}
		if !ok {
			known = search(is)
			t.found[key] = known
		}
		if !known {
			return false, true
		}
	}
	return true, true
}

// textSearch reports whether is returns true for any of its texts.
type textSearch func(is func(text []byte) bool) bool

// textOf returns a search in the texts of a deployment, nil where some are not available. It does not request them.
func (r *Renderer) textOf(one *Deployment, own []byte) textSearch {
	sources := r.mounts.sources.Aside()
	release := one.Release
	if e := one.External; e != nil {
		src, err := sources.Get(e.Want)
		if err != nil {
			return nil
		}
		if !e.Detect || gitops.Detect(src.Tree, e.Folder) != gitops.ArgoHelm {
			return textOfTree(src.Tree, own)
		}
		release = e.Release
	}
	from := chartFolder{tree: r.tree, dir: release.Chart.Folder, here: true}
	if !release.Chart.Here() {
		src, err := sources.Get(release.Chart.Want)
		if err != nil {
			return nil
		}
		from = fetchedChart(release.Chart, src)
	}
	nowhere := &Rendering{Reads: map[string]string{}, links: map[string]string{}, wants: wants{}}
	reader := &chartReader{builder: &r.WithSources(sources).builder, out: nowhere}
	chart, err := reader.chart(from, nil)
	if err != nil {
		return nil
	}
	user, err := release.Values(r.tree, sources)
	if err != nil {
		return nil
	}
	defaults, err := release.ChartValues(r.tree, sources)
	if err != nil {
		return nil
	}
	list := [][]byte{own}
	for _, values := range []*gitops.Values{user, defaults} {
		if values != nil {
			data, err := json.Marshal(values.Map)
			if err != nil {
				return nil
			}
			list = append(list, data)
		}
	}
	return func(is func([]byte) bool) bool { return slices.ContainsFunc(list, is) || chart.Contains(is) }
}

// maxSearched and maxSearchedBytes limit how much of another repository is searched. A larger one may contain anything.
const (
	maxSearched      = 2000 // files
	maxSearchedBytes = 16 << 20
)

// textOfTree is textOf for a folder of another repository. It searches the whole repository, because the folder may
// include others.
func textOfTree(t *tree.Tree, own []byte) textSearch {
	texts, bytes := [][]byte{own}, 0
	err := t.Walk(func(p string, e tree.Entry) error {
		if e.Kind == tree.Dir || path.Ext(p) == ".md" {
			return nil
		}
		data, _, err := t.ReadFile(p)
		if texts, bytes = append(texts, data), bytes+len(data); len(texts) > maxSearched || bytes > maxSearchedBytes {
			return errTooMuch
		}
		return err
	})
	if err != nil {
		return nil
	}
	return func(is func([]byte) bool) bool { return slices.ContainsFunc(texts, is) }
}

var errTooMuch = errors.New("too much to search")
