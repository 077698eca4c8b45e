package graph

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// job is one file to read: for its content and, if folder is set, for what its kustomization names.
type job struct {
	path, id string
	folder   string // of a kustomization
	link     bool   // the file is a symlink
}

// scanChunk is how many files are in memory at a time.
const scanChunk = 2000

// scan reads the kustomizations of the given folders, and the given files. The error is about the repository.
func (g *Graph) scan(dirs, files []string) (*facts, error) {
	out := &facts{}
	var jobs []job
	for _, dir := range dirs {
		p, e, err := locate(g.tree, dir)
		var twice *doc.Error
		switch {
		case errors.As(err, &twice):
			out.add(folders, broken, dir)
		case err != nil:
			return nil, err
		case p != "":
			jobs = append(jobs, job{path: p, id: e.ID, folder: dir, link: e.Kind == tree.Symlink})
		}
	}
	for _, p := range files {
		e, err := g.tree.Entry(p)
		switch {
		case errors.Is(err, tree.ErrNotExist) || err == nil && (e.Kind == tree.Dir || e.Kind == tree.Submodule):
		case err != nil:
			return nil, err
		case e.Kind == tree.Symlink:
			out.add(mentions, links, p)
			if IsManifestName(p) || kustomization.IsFileName(p) {
				out.add(mentions, link, p)
			}
		default:
			jobs = append(jobs, job{path: p, id: e.ID})
		}
	}
	for chunk := range slices.Chunk(jobs, scanChunk) {
		if err := g.read(chunk, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read reads files on all processors.
func (g *Graph) read(jobs []job, out *facts) error {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.id
	}
	contents := g.tree.Blobs(ids)
	workers := min(runtime.GOMAXPROCS(0), len(jobs))
	parts := make([]facts, workers)
	var all errgroup.Group
	for w := range workers {
		all.Go(func() error {
			for i := w; i < len(jobs); i += workers {
				if err := g.one(jobs[i], contents[i], &parts[w]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := all.Wait()
	for i := range parts {
		out.merge(&parts[i])
	}
	return err
}

func (g *Graph) one(j job, c tree.Content, out *facts) error {
	if j.link {
		out.add(folders, linked, j.folder)
		c.Data, _, c.Err = g.tree.ReadFile(j.path)
	}
	var large *tree.TooLargeError
	if c.Err != nil && !errors.As(c.Err, &large) && !errors.Is(c.Err, tree.ErrNotExist) {
		return c.Err
	}
	switch {
	case j.folder == "" && c.Err == nil:
		g.manifest(j, c.Data, out)
	case j.folder != "" && c.Err != nil:
		out.add(folders, broken, j.folder)
	case j.folder != "":
		f, err := kustomization.Parse(j.path, c.Data, g.options.Limits)
		if err != nil {
			out.add(folders, broken, j.folder)
			return nil
		}
		return g.link(f, out)
	}
	return nil
}

// link records what a kustomization names. A missing path is recorded as written, so that a change that adds it reaches
// the kustomization.
func (g *Graph) link(f *kustomization.File, out *facts) error {
	traits := map[string]bool{component: f.Component, odd: changesKinds(f), bringing: len(f.Helm) > 0, plugin: len(f.Helm) > 0}
	for _, in := range f.Inline {
		traits[plugin] = traits[plugin] || in.Role == kustomization.Plugin
	}
	for _, named := range paths(f.Dir, g.configurations(f), false) {
		out.add(folders, reading+named, f.Dir)
	}
	for _, chart := range localCharts(f) {
		out.add(folders, inflating+chart, f.Dir)
	}
	for _, ref := range f.Refs {
		if kustomization.Remote(ref.Value) {
			traits[bringing] = true
			continue
		}
		named, ok := tree.Clean(path.Join(f.Dir, ref.Value))
		if !ok || strings.HasPrefix(ref.Value, "/") {
			continue
		}
		targets := []string{named}
		real, _, err := g.tree.Lookup(named)
		switch {
		case errors.Is(err, tree.ErrNotExist):
			traits[linked] = traits[linked] || g.throughLink(named)
		case err != nil:
			return err
		case real != named:
			traits[linked] = true
			targets = append(targets, real)
		}
		for _, target := range targets {
			out.add(readers, target, f.Dir)
			switch ref.Role {
			case kustomization.Resource, kustomization.Component:
				out.add(parents, target, f.Dir)
			case kustomization.Patch:
				out.add(patches, target, f.Dir)
			case kustomization.Plugin:
				out.add(plugins, target, f.Dir)
			}
		}
		traits[plugin] = traits[plugin] || ref.Role == kustomization.Plugin
		traits[configured] = traits[configured] || ref.Role == kustomization.Plugin
		traits[generating] = traits[generating] || ref.Role == kustomization.Data && IsManifestName(named) &&
			path.Dir(named) != f.Dir && (f.Dir == "." || strings.HasPrefix(named, f.Dir+"/"))
	}
	for trait, has := range traits {
		if has {
			out.add(folders, trait, f.Dir)
		}
	}
	return nil
}

// localCharts lists the folders where the charts of a kustomization are if they are not pulled
// (HelmChartInflationGenerator).
func localCharts(f *kustomization.File) (list []string) {
	_, globals := doc.Field(f.Node, "helmGlobals")
	for _, chart := range f.Helm {
		home := "charts"
		for _, in := range []*yaml.Node{globals, chart} {
			if in != nil {
				home = cmp.Or(doc.Text(in, "chartHome"), home)
			}
		}
		either := func(field, old string) string { return cmp.Or(doc.Text(chart, field), doc.Text(chart, old)) }
		name, version := either("name", "chartName"), either("version", "chartVersion")
		if version != "" && either("repo", "chartRepoUrl") != "" {
			home = path.Join(home, name+"-"+version)
		}
		if named, ok := tree.Clean(path.Join(f.Dir, home, name)); ok && name != "" {
			list = append(list, named)
		}
	}
	return list
}

// configurations returns the configurations of plugins and charts in a kustomization.
func (g *Graph) configurations(f *kustomization.File) []*yaml.Node {
	list := slices.Clone(f.Helm)
	if _, globals := doc.Field(f.Node, "helmGlobals"); globals != nil {
		list = append(list, globals)
	}
	for _, in := range f.Inline {
		if in.Role == kustomization.Plugin {
			documents, _ := doc.Parse(f.Path, []byte(in.Node.Value), g.options.Limits)
			list = append(list, documents...)
		}
	}
	return list
}

// paths lists the paths outside of a folder that configurations of its plugins and charts name. With inside, it lists
// what every text in them is as a path, although most are none.
func paths(dir string, configurations []*yaml.Node, inside bool) (list []string) {
	for _, configuration := range configurations {
		for n := range doc.Nodes(configuration) {
			value := n.Value
			if _, after, ok := strings.Cut(value, "="); ok { // KEY=PATH
				value = after
			}
			if (inside && value != "" || strings.HasPrefix(strings.TrimPrefix(value, "./"), "../")) && !strings.Contains(value, "\n") {
				if named, ok := tree.Clean(path.Join(dir, value)); ok {
					list = append(list, named)
				}
			}
		}
	}
	return list
}

// changesKinds reports whether a kustomization allows a patch to change the kind of an object.
func changesKinds(f *kustomization.File) bool {
	return slices.ContainsFunc(doc.Items(f.Node, "patches"), func(item *yaml.Node) bool {
		_, options := doc.Field(item, "options")
		_, allowed := doc.Field(options, "allowKindChange")
		return allowed != nil
	})
}

// throughLink reports whether a path that does not exist contains a symlink.
func (g *Graph) throughLink(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if e, err := g.tree.Entry(p); err == nil && e.Kind == tree.Symlink {
			return true
		}
	}
	return false
}

// Generators are the fields of a kustomization that generate objects, by their kind. Do not change them.
var Generators = map[string]string{"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}

var wordsTable = env.Table{Name: "words"}

// manifest records what words finds in a file. That of files which differ from another index is cached, because each
// check reads them again until there is a nearer index.
func (g *Graph) manifest(j job, data []byte, out *facts) {
	if g.scope == "" {
		g.words(j.path, data, out)
		return
	}
	key := g.scope + " " + j.id + " " + j.path
	found, known := env.Get[[relations][]string](g.Memory(), wordsTable, key, nil)
	if !known {
		var own facts
		g.words(j.path, data, &own)
		for r, m := range own {
			found[r] = slices.Sorted(maps.Keys(m))
		}
		env.Put(g.Memory(), wordsTable, key, nil, found)
	}
	for r, keys := range found {
		for _, key := range keys {
			out.add(relation(r), key, j.path)
		}
	}
}

// words records the words in a file for Mentions.
func (g *Graph) words(p string, data []byte, out *facts) {
	text := Plain(p, data, g.options.Limits)
	holds := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	add := out.limited(mentions, link, p) // beyond the limit, the file counts as containing every word
	values(text, func(word string) {
		add(word)
		for _, suffix := range []string{"List", "Generator"} { // items of a list, and objects of a generator, have the kind itself
			if kind, ok := strings.CutSuffix(word, suffix); ok && kind != "" {
				add(kind)
			}
		}
	})
	called(p, data, out.limited(naming, anything, p))
	built := kustomization.IsFileName(p)
	for kind, field := range Generators {
		if built && holds(field) {
			add(kind)
		}
	}
	if !built && slices.ContainsFunc(g.options.Marks, holds) {
		out.add(mentions, marked, p)
	}
	for _, n := range g.options.Notes {
		if built && !n.Built || len(n.Marks) > 0 && !slices.ContainsFunc(n.Marks, holds) {
			continue
		}
		n.Read(p, data, func(key string) { out.add(noted, noteKey(n.Of, key), p) })
	}
}

// maxWords limits the recorded words of one file. A manifest has far fewer.
const maxWords = 10_000

const maxWord = 63 // length of a kind in bytes: in lower case it is a DNS label (RFC 1123)

// values calls visit for each word of letters and digits that starts with a capital letter or follows "kind:", and that
// may be a whole YAML or JSON scalar, judging by what follows. It finds every such scalar without escapes.
func values(data []byte, visit func(word string)) {
	alnum := func(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	for i := 0; i < len(data); i++ {
		if !alnum(data[i]) {
			continue
		}
		start := i
		for i < len(data) && alnum(data[i]) {
			i++
		}
		if c := data[start]; i-start > maxWord || (c < 'A' || c > 'Z') && !afterKind(data[:start]) {
			continue
		}
		end := i
		for end < len(data) && (data[end] == ' ' || data[end] == '\t') {
			end++
		}
		if end == len(data) || strings.IndexByte("\r\n\"'\\,]}#", data[end]) >= 0 {
			visit(string(data[start:i]))
		}
	}
}

// afterKind reports whether data ends with the field name "kind" and what may be between it and its value.
func afterKind(data []byte) bool {
	data, ok := bytes.CutSuffix(bytes.TrimRight(data, " \t\"'\\"), []byte(":"))
	return ok && bytes.HasSuffix(bytes.TrimRight(data, " \t\"'\\"), []byte("kind"))
}

// locate returns the kustomization file of a folder, an empty path where it has none, and a *doc.Error where
// it has several.
func locate(t *tree.Tree, dir string) (p string, at tree.Entry, err error) {
	count := 0
	for _, name := range kustomization.FileNames() {
		candidate := path.Join(dir, name)
		e, err := t.Entry(candidate)
		switch {
		case errors.Is(err, tree.ErrNotExist):
		case err != nil:
			return "", at, err
		case e.Kind == tree.File || e.Kind == tree.Symlink:
			if count++; candidate > p { // of several, name the last one
				p, at = candidate, e
			}
		}
	}
	if count > 1 {
		return p, at, &doc.Error{Path: p, Message: "is in a folder with another kustomization file: kustomize " +
			"accepts one per folder"}
	}
	return p, at, nil
}

// escapes reports whether a text may contain a letter, digit or slash as an escape in a double-quoted scalar, or a line
// that continues on the next (https://yaml.org/spec/1.2.2/#57-escaped-characters).
func escapes(data []byte) bool {
	for i := bytes.IndexByte(data, '\\'); i >= 0; {
		data = data[i+1:]
		if len(data) > 0 && bytes.IndexByte([]byte("xuU/\r\n"), data[0]) >= 0 {
			return true
		}
		i = bytes.IndexByte(data, '\\')
	}
	return false
}

// encodes reports whether the text is not in UTF-8, or a scalar may be in base64, because of its tag
// (https://yaml.org/type/binary.html).
func encodes(data []byte) bool {
	_, wide := doc.Narrow(data[:min(len(data), 2)])
	return wide || bytes.Contains(data, []byte("!binary")) || bytes.Contains(data, []byte(":binary"))
}

// IsPlain reports whether the bytes of a file have the text of each of its scalars.
func IsPlain(data []byte) bool {
	return !escapes(data) && !encodes(data)
}

// Plain returns a text in which each scalar of a file can be searched. If scalars may have escapes or base64, or the
// file is not UTF-8, the decoded scalars follow the text, each on its own line.
func Plain(p string, data []byte, limits doc.Limits) []byte {
	if IsPlain(data) {
		return data
	}
	documents, err := doc.Parse(p, data, limits)
	if err != nil {
		return data // the parser cannot read more, either
	}
	text := bytes.Clone(data)
	for _, document := range documents {
		for n := range doc.Nodes(document) {
			if n.Kind == yaml.ScalarNode {
				text = append(append(text, '\n'), doc.Key(n)...)
			}
		}
	}
	return append(text, '\n')
}
