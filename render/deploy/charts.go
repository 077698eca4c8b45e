package deploy

import (
	"bytes"
	"cmp"
	"fmt"
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

// A chart of the repository that looks up objects in the cluster (lookup) prints something else when the repository
// declares other objects. Only rendering shows which objects it looks up, so every file counts that may declare a kind
// named in a look-up. The look-ups of remote charts are only known once they are rendered.

// chartText is what is read from the files of a chart before it is rendered.
type chartText struct {
	Asks    []string `json:"asks,omitempty"`    // kinds that templates look up
	Any     bool     `json:"any,omitempty"`     // templates look up a kind that they do not name
	Deploys bool     `json:"deploys,omitempty"` // names an API group of objects that deploy: a template may compose the kind
}

var chartTextTable = env.Table{Name: "charttext"}

// chartText reads a file of the repository, or all files in a folder.
func (w *worklist) chartText(dir string) chartText {
	key := fmt.Sprint(w.index.Tree().BlobLimit(), " ", tree.State(w.index.Tree(), dir)) // a larger file cannot be read
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

// asking matches a look-up in an action of a template; the kind is the second argument. It begins with a word, for which the
// package searches first: that is fast in large files.
var asking = regexp.MustCompile(`lookup\b(?:\s+"[^"]*"\s+"([A-Za-z]+)")?`)

// read adds the look-ups in the actions of a file. Descriptions of fields, which contain the word, too, are no actions.
func (c *chartText) read(data []byte) {
	c.Deploys = c.Deploys || roots.NamesDeployers(data)
	for found := true; found; {
		_, data, found = bytes.Cut(data, []byte("{{"))
		end := actionEnd(data)
		action := data[:end]
		data = data[end:]
		for _, m := range asking.FindAllSubmatchIndex(action, -1) {
			switch {
			case m[0] > 0 && isWord(action[m[0]-1]):
			case m[2] >= 0:
				c.Asks = append(c.Asks, string(action[m[2]:m[3]]))
			default:
				c.Any = true
			}
		}
	}
}

// maxAction limits what is searched for the end of an action, in bytes. A longer one may end anywhere.
const maxAction = 64 << 10

// actionEnd returns the length of an action: braces in a text do not end it.
func actionEnd(data []byte) int {
	for end := 0; end < min(len(data), maxAction); {
		i := bytes.Index(data[end:], []byte("}}"))
		if i < 0 {
			break
		}
		end += i + 2
		if bytes.Count(data[:end], []byte(`"`))%2 == 0 && bytes.Count(data[:end], []byte("`"))%2 == 0 {
			return end
		}
	}
	return len(data)
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// declaring writes the states of the files that may declare what a chart looks up.
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

// parts lists the files and folders that a kustomization, and those that it includes, name.
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

// enter adds the charts in entries of the settings as Argo CD would deploy them, and returns the new deployments. A
// pattern selects only charts that have the values files.
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

// lacks reports whether a chart lacks any of some values files.
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
		"metadata": map[string]any{"name": cmp.Or(e.Name, gitops.ReleaseName(dir))},
		"spec": map[string]any{"destination": map[string]any{"namespace": e.Namespace},
			"source": map[string]any{"path": dir, "helm": map[string]any{"valueFiles": values}}}}
	at := gitops.Position{Path: e.File, Line: e.Line}
	found, _ := w.deployments([]gitops.Object{gitops.FromRoot("", app, func(int) gitops.Position { return at })}, nil, nil)
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

// label distinguishes the entries of one chart: by their values, and by the name of the release where those are the
// same.
func label(e roots.ChartEntry, dir string, all []roots.ChartEntry) string {
	values := strings.Join(e.Values, "+")
	same := 0
	for _, other := range all {
		if other.Path == e.Path && strings.Join(other.Values, "+") == values {
			same++
		}
	}
	name := cmp.Or(e.Name, gitops.ReleaseName(dir))
	switch {
	case values == "":
		return name
	case same > 1:
		return values + "@" + name
	}
	return values
}
