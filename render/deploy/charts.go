package deploy

import (
	"bytes"
	"cmp"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Charts of the repository that ask the cluster for objects (lookup) print something else when what the repository
// declares changes. Which objects they ask for only rendering says, so all files that may declare one of the kinds that
// the templates name count. Of remote charts that is not known here: what they ask for reaches them when they are
// rendered for another reason.

// chartText is what the files of a chart say, as far as it matters before it is rendered.
type chartText struct {
	Asks    []string `json:"asks,omitempty"`    // kinds that templates look up
	Any     bool     `json:"any,omitempty"`     // and others, of which the kind is not named
	Deploys bool     `json:"deploys,omitempty"` // a group of objects that deploy is named: a template may put the name together
}

var chartTextTable = env.Table{Name: "charttext"}

// chartText returns what the files in a folder of the repository say, or a file.
func (w *worklist) chartText(dir string) chartText {
	key := tree.State(w.index.Tree(), dir)
	memory := w.cache.Memory()
	if known, ok := env.Get[chartText](memory, chartTextTable, key, nil); ok {
		return known
	}
	var out chartText
	w.readChart(dir, &out, map[string]bool{})
	slices.Sort(out.Asks)
	out.Asks = slices.Compact(out.Asks)
	env.Put(memory, chartTextTable, key, nil, out)
	return out
}

func (w *worklist) readChart(dir string, out *chartText, seen map[string]bool) {
	t := w.index.Tree()
	real, e, err := t.Lookup(dir)
	if err != nil || seen[real] {
		return
	}
	seen[real] = true
	if e.Kind != tree.Dir {
		if data, _, err := t.ReadFile(real); err == nil {
			out.read(data)
		}
		return
	}
	list, err := t.ReadDir(real)
	if err != nil {
		return
	}
	for _, e := range list {
		w.readChart(path.Join(real, e.Name), out, seen)
	}
}

// asking matches what a template asks for; the kind is the second argument.
var asking = regexp.MustCompile(`^lookup\b(?:\s+"[^"]*"\s+"([A-Za-z]+)")?`)

// read adds what a file says. The word is looked for first: an expression takes long, of large files.
func (c *chartText) read(data []byte) {
	c.Deploys = c.Deploys || roots.NamesDeployers(data)
	word := []byte("lookup")
	for {
		i := bytes.Index(data, word)
		if i < 0 {
			return
		}
		inside := i > 0 && isWord(data[i-1])
		m := asking.FindSubmatch(data[i:])
		switch data = data[i+len(word):]; {
		case inside || m == nil:
		case m[1] != nil:
			c.Asks = append(c.Asks, string(m[1]))
		default:
			c.Any = true
		}
	}
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// declaring writes down what the files come to that may declare what a chart asks the cluster for.
func (w *worklist) declaring(to io.Writer, text chartText) {
	if text.Any {
		w.state(to, ".")
		return
	}
	for _, kind := range text.Asks {
		kustomizations, files := w.index.Declaring(kind)
		for _, root := range kustomizations {
			files = append(files, w.parts(root.Path)...)
		}
		for _, p := range files {
			w.state(to, p)
		}
	}
}

// parts lists the files and folders that a kustomization is made of, as far as it and those that it includes name them.
func (w *worklist) parts(dir string) (list []string) {
	dirs, _ := w.index.Included(dir)
	for _, dir := range append(dirs, dir) {
		f, err := w.index.Kustomization(dir)
		if f == nil || err != nil {
			continue
		}
		list = append(list, f.Path)
		for _, ref := range f.Refs {
			if p, ok := tree.Clean(path.Join(dir, ref.Value)); ok && !kustomization.Remote(ref.Value) {
				list = append(list, p)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// enter adds the charts of some entries of the settings as Argo CD would deploy them, and returns what is new. Of a pattern,
// charts count that have the files of values.
func (w *worklist) enter(entries []roots.ChartEntry) (added []*Deployment) {
	for _, e := range entries {
		pattern := strings.ContainsAny(e.Path, "*?")
		roots.Walk(w.index.Tree(), e.Path, func(dir string, _ tree.Entry) bool {
			if w.index.HasChart(dir) && !(pattern && w.lacks(dir, e.Values)) {
				added = append(added, w.enterOne(e, dir, entries)...)
			}
			return false
		})
	}
	return added
}

// lacks reports whether a chart has not all of some files of values.
func (w *worklist) lacks(dir string, values []string) bool {
	return slices.ContainsFunc(values, func(name string) bool {
		p := path.Join(dir, name)
		if inside, top := strings.CutPrefix(name, "/"); top {
			p = inside
		}
		return !strings.ContainsAny(name, "*?[:") && !w.index.IsFile(p)
	})
}

func (w *worklist) enterOne(e roots.ChartEntry, dir string, all []roots.ChartEntry) (added []*Deployment) {
	values := make([]any, len(e.Values))
	for i, v := range e.Values {
		values[i] = v
	}
	app := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": releaseName(e, dir)},
		"spec": map[string]any{"destination": map[string]any{"namespace": e.Namespace},
			"source": map[string]any{"path": dir, "helm": map[string]any{"valueFiles": values}}}}
	at := gitops.Position{Path: e.File, Line: e.Line}
	found, _ := w.deployments([]gitops.Object{gitops.FromRoot("", app, func(int) gitops.Position { return at })})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range found {
		one.Object, one.Name = gitops.Reference{Kind: roots.ChartEntryKind}, label(e, dir, all)
		if next := w.deployment(one, nil); w.put(next) {
			added = append(added, next)
		}
	}
	return added
}

// label tells the entries of one chart apart: by their values, or else by the name of the release.
func label(e roots.ChartEntry, dir string, all []roots.ChartEntry) string {
	values := strings.Join(e.Values, "+")
	same := 0
	for _, other := range all {
		if other.Path == e.Path && strings.Join(other.Values, "+") == values {
			same++
		}
	}
	name := releaseName(e, dir)
	switch {
	case values == "":
		return name
	case same > 1:
		return values + "@" + name
	}
	return values
}

// releaseName is the name of the release of an entry for the chart in a folder.
func releaseName(e roots.ChartEntry, dir string) string {
	if dir == "." {
		return cmp.Or(e.Name, "release")
	}
	return cmp.Or(e.Name, path.Base(dir))
}
