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
	"unicode/utf8"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// What a chart prints, only rendering says. Before that, its text says what it cannot print: an object of a kind that is
// nowhere in it, or with a name of words that are nowhere in it.

// Sought is an object that somebody looks for, or all of a kind.
type Sought struct {
	Group, Kind string
	// Namespace is where it is; empty: its kind has none, or it is looked for in all.
	Namespace string
	Name      string // empty: all of the kind
}

// MayBring reports whether a target of [deploy.Set.Brought] may deploy what is sought, as far as the text of its chart, of
// its values and of the object that deploys it tell; where not all of that can be had, as far as the object tells. It
// wants nothing. A name is missed that a chart puts together of parts of words. Of kustomizations, the
// namespace that they put everything into counts, and what their own text names.
func (r *Renderer) MayBring(target Target, s Sought) bool {
	one := target.By
	if !target.IsExternal() {
		return r.kustomizationMayBring(target, s)
	}
	namespaces, names := namespacesOf(one), namesOf(one)
	inside := s.Namespace == "" || slices.Contains(namespaces, s.Namespace)
	words := strings.FieldsFunc(s.Name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	if s.Group != "" {
		words = append(words, s.Group)
	}
	if !inside {
		words = append(words, s.Namespace)
	}
	t := r.texts.of(target.Root, one)
	switch have, whole := t.have(r, one, s.Kind, words); {
	case whole:
		return have
	case !inside:
		return slices.Contains(namespaces, "") || t.says(s.Namespace)
	case s.Namespace != "" || s.Name == "":
		return true
	}
	// Whose it is that has no namespace, its name tells best.
	return slices.Contains(namespaces, s.Name) || t.says(s.Name) ||
		slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.Contains(s.Name, name) })
}

// kustomizationMayBring is MayBring for a kustomization that takes something from outside or from a chart.
func (r *Renderer) kustomizationMayBring(t Target, s Sought) bool {
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

// namespacesOf lists where a deployment puts what names no namespace; "" where that is not known.
func namespacesOf(one *Deployment) []string {
	list := []string{one.Namespace}
	for _, release := range releasesOf(one) {
		list = append(list, release.Namespace)
	}
	return slices.DeleteFunc(list, func(namespace string) bool {
		return namespace == "" && slices.ContainsFunc(list, func(other string) bool { return other != "" })
	})
}

// namesOf lists what a deployment, its release and its chart are called.
func namesOf(one *Deployment) []string {
	list := []string{one.Name}
	for _, release := range releasesOf(one) {
		c := release.Chart
		list = append(list, release.Name, c.Want.Name, path.Base(c.Want.URL), path.Base(c.Folder))
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "." })
}

// releasesOf lists the release that a deployment is, or may be.
func releasesOf(one *Deployment) []*gitops.Release {
	switch {
	case one.Release != nil:
		return []*gitops.Release{one.Release}
	case one.Elsewhere != nil && one.Elsewhere.Release != nil:
		return []*gitops.Release{one.Elsewhere.Release}
	}
	return nil
}

// texts are those of the deployments that somebody looked for something in. They are safe for concurrent use.
type texts struct {
	mu     sync.Mutex
	byRoot map[roots.Root]*text
}

// text is what is known of the text of one deployment.
type text struct {
	own []byte // see gitops.Deployment.Text

	mu    sync.Mutex
	lacks bool            // not all of it can be had
	found map[string]bool // by word; of a kind behind "kind "
}

func (t *texts) of(root roots.Root, one *Deployment) *text {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byRoot == nil {
		t.byRoot = map[roots.Root]*text{}
	}
	if t.byRoot[root] == nil {
		t.byRoot[root] = &text{own: one.Text(), found: map[string]bool{}}
	}
	return t.byRoot[root]
}

// says reports whether the object itself holds a word.
func (t *text) says(word string) bool { return bytes.Contains(t.own, []byte(word)) }

// have reports whether the text has a kind and some words in it. Whole is false where not all of it can be had.
func (t *text) have(r *Renderer, one *Deployment, kind string, words []string) (all, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var search searching
	for i, word := range append([]string{kind}, words...) {
		key, is := word, func(text []byte) bool { return bytes.Contains(text, []byte(word)) }
		if i == 0 {
			key, is = "kind "+kind, func(text []byte) bool { return holdsKind(text, kind) }
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

// holdsKind reports whether a kind stands in a text by itself, and not as a field of something else, as in
// .Release.Namespace.
func holdsKind(text []byte, kind string) bool {
	part := func(c rune) bool { return c == '.' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }
	for {
		i := bytes.Index(text, []byte(kind))
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRune(text[:i])
		text = text[i+len(kind):]
		after, _ := utf8.DecodeRune(text)
		if !part(before) && !(part(after) && after != '.') {
			return true
		}
	}
}

// searching reports whether is reports true of one of some texts.
type searching func(is func(text []byte) bool) bool

// textOf returns the texts that a deployment is made of, nil where not all of them can be had. It wants nothing.
func (r *Renderer) textOf(one *Deployment, own []byte) searching {
	sources := r.outside.sources.Aside()
	release := one.Release
	if e := one.Elsewhere; e != nil {
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
	reader := &chartReader{renderer: &r.WithSources(sources).builder, out: nowhere}
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

// maxSearched and maxSearchedBytes are how much of another repository is searched; more may have anything in it.
const (
	maxSearched      = 2000 // files
	maxSearchedBytes = 16 << 20
)

// textOfTree is textOf for a folder of another repository, which may take what it deploys from any other there.
func textOfTree(t *tree.Tree, own []byte) searching {
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
