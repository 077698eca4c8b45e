package roots

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Charts of the repository that ask the cluster for objects (lookup) print something else when what the repository
// declares changes. Which objects they ask for only rendering says, so all files that may declare one of the kinds that
// the templates name count. Of charts from elsewhere that is not known here: what they ask for reaches them when they are
// rendered for another reason.

// asks notes the templates that ask for something.
const asks = "asks"

func askNotes() graph.Notes {
	return graph.Notes{Of: asks, Marks: []string{"lookup"}, Read: func(p string, data []byte, note func(string)) {
		if kinds, any := asked(data); (any || kinds != nil) && slices.Contains(strings.Split(path.Dir(p), "/"), "templates") {
			note("")
		}
	}}
}

// deployersOfAsking lists the files with objects that may deploy a chart of the repository with a template that asks for
// something. Templates that are not called .yaml are looked into where their chart's releases are known.
func (s *Set) deployersOfAsking() []string {
	var dirs []string
	for _, p := range s.Noted(asks, "") {
		for _, dir := range upwards(path.Dir(p)) {
			if s.hasChart(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	return s.deployersOf(dirs...)
}

// asking matches what a template asks for; the kind is the second argument.
var asking = regexp.MustCompile(`^lookup\b(?:\s+"[^"]*"\s+"([A-Za-z]+)")?`)

// asked lists the kinds that a file asks for; any says that it does not name one. The word is looked for first: an
// expression takes long, of large files.
func asked(data []byte) (kinds []string, any bool) {
	word := []byte("lookup")
	for from := 0; ; {
		i := bytes.Index(data[from:], word)
		if i < 0 {
			return kinds, any
		}
		at := from + i
		from = at + len(word)
		if at > 0 && isWord(data[at-1]) {
			continue
		}
		if m := asking.FindSubmatch(data[at:]); m != nil && m[1] != nil {
			kinds = append(kinds, string(m[1]))
		} else if m != nil {
			any = true
		}
	}
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// askedFor writes down what the files come to that may declare what a chart asks the cluster for.
func (d *deployments) askedFor(to io.Writer, dir string) {
	kinds, any := d.chartAsks(dir, map[string]bool{})
	if any {
		fmt.Fprintf(to, "asks %s\n", d.set.Tree().ID())
		return
	}
	for _, kind := range kinds {
		kustomizations, files := d.set.Declaring(kind)
		for _, root := range kustomizations {
			for _, p := range d.set.parts(root.Path) {
				fmt.Fprintf(to, "asks %q %s\n", p, tree.State(d.set.Tree(), p))
			}
		}
		for _, p := range files {
			fmt.Fprintf(to, "asks %q %s\n", p, tree.State(d.set.Tree(), p))
		}
	}
}

// parts lists the files and folders that a kustomization is made of, as far as it and those that it takes over name them.
func (s *Set) parts(dir string) (list []string) {
	dirs, _ := s.below(dir)
	for _, dir := range append(dirs, dir) {
		f, err := s.Kustomization(dir)
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

// chartAsks lists the kinds that the files in a folder ask for; any says that one of them does not name the kind.
func (d *deployments) chartAsks(dir string, seen map[string]bool) (kinds []string, any bool) {
	t := d.set.Tree()
	real, e, err := t.Lookup(dir)
	if err != nil || seen[real] {
		return nil, false
	}
	seen[real] = true
	if e.Kind != tree.Dir {
		data, _, err := t.ReadFile(real)
		if err != nil {
			return nil, false
		}
		return asked(data)
	}
	list, err := t.ReadDir(real)
	if err != nil {
		return nil, false
	}
	for _, e := range list {
		more, unclear := d.chartAsks(path.Join(real, e.Name), seen)
		kinds, any = append(kinds, more...), any || unclear
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), any
}
