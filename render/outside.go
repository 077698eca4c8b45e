package render

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// What kustomizations take from outside of the repository stands beside it in the file system that kustomize sees: each
// entry that brings something in has a mount of its own. Within this package the path of a file in there is absolute,
// while those of the repository are relative to it. Nobody else sees such a path: what is said about it is said about
// the entry of the repository that brings it in.

// outsideRoot is where the mounts are, each with a name that nobody can guess: what one entry may bring in, no other
// file may name, also where kustomizations read files that are not below their folders.
const outsideRoot = "/outside"

// besideName is the folder that single files from outside seem to stand in, below the folder of the kustomization that
// takes them: kustomize reads no file from anywhere else.
const besideName = ".lintel-outside"

// outside is what renderings take from outside. It is safe for concurrent use.
type outside struct {
	sources *remote.Sources

	mu     sync.Mutex
	mounts []*mount
	known  map[mountKey]*mount

	plain bool // whoever renders knows the paths of mounts: problems are told with them
}

type mountKey struct {
	at   entry
	want remote.Want
	text string // of a chart, what it is asked for with
}

// mount is what one entry brings in: a tree or a single file.
type mount struct {
	at     entry  // of the kustomization that takes it
	end    int    // the column behind the entry, 0 where it is whole lines
	field  string // of the kustomization
	prefix string // the path of its top
	above  *mount // what that kustomization is in; nil: the repository

	raw    string // the entry
	source *remote.Source
	file   string // the name that the only file has here; empty: it is a tree

	shown    entry             // of a chart: where it is named, which may be in a file that the kustomization names
	inflated *inflated         // what the chart came to; nil: it is no chart
	texts    map[string][]byte // the files of that

	parsed sync.Map // by folder: parsedFile
}

type parsedFile struct {
	file *kustomization.File
	err  error
}

// isOutside reports whether a path is one of a file from outside.
func isOutside(name string) bool { return strings.HasPrefix(name, "/") }

// mount returns the mount of a key, which make makes where it is new.
func (o *outside) mount(key mountKey, fill func(*mount)) *mount {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.known[key]; m != nil {
		return m
	}
	m := &mount{at: key.at, prefix: outsideRoot + "/" + strconv.Itoa(len(o.mounts)) + "-" + rand.Text()}
	m.above, _, _ = o.numbered(key.at.file)
	fill(m)
	if o.known == nil {
		o.known = map[mountKey]*mount{}
	}
	o.known[key] = m
	o.mounts = append(o.mounts, m)
	return m
}

// of returns the mount that an absolute path leads into, and the path in it.
func (o *outside) of(name string) (*mount, string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.numbered(name)
}

func (o *outside) numbered(name string) (*mount, string, bool) {
	in, ok := strings.CutPrefix(path.Clean(name), outsideRoot+"/")
	if !ok {
		return nil, "", false
	}
	top, in, _ := strings.Cut(in, "/")
	number, _, _ := strings.Cut(top, "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(o.mounts) || o.mounts[n].prefix != outsideRoot+"/"+top {
		return nil, "", false
	}
	if in == "" {
		in = "."
	}
	return o.mounts[n], in, true
}

// beside returns the path of the file that seems to stand at a path below a kustomization's folder.
func (o *outside) beside(name string) (string, bool) {
	dir, rest, ok := strings.Cut(name, "/"+besideName+"/")
	if !ok {
		if rest, ok = strings.CutPrefix(name, besideName+"/"); !ok {
			return "", false
		}
		dir = "."
	}
	m, in, ok := o.of(outsideRoot + "/" + rest)
	if !ok || m.file == "" || in != m.file || path.Dir(m.at.file) != dir {
		return "", false
	}
	return path.Join(m.prefix, in), true
}

// entryPath returns what a kustomization must name to get what is at a path in a mount.
func (m *mount) entryPath(name string) string {
	if m.file != "" {
		return path.Join(besideName, path.Base(m.prefix), m.file)
	}
	return relative(path.Dir(place(m.at.file)), name)
}

// relative returns the path from one folder to another; both are absolute.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + strings.TrimPrefix(to, "/")
}

// place returns where a file or folder is in the file system that kustomize sees.
func place(name string) string {
	if isOutside(name) {
		return name
	}
	return path.Join(mountPoint, name)
}

func (m *mount) lookup(in string) (string, tree.Entry, error) {
	if m.inflated != nil {
		if _, ok := m.texts[in]; ok {
			return path.Join(m.prefix, in), tree.Entry{Name: path.Base(in), Kind: tree.File}, nil
		}
		if in == "." || in == "output" {
			return path.Join(m.prefix, in), tree.Entry{Name: path.Base(in), Kind: tree.Dir}, nil
		}
		return "", tree.Entry{}, fmt.Errorf("%s: %w", in, tree.ErrNotExist)
	}
	if m.file != "" {
		switch in {
		case ".":
			return m.prefix, tree.Entry{Name: ".", Kind: tree.Dir}, nil
		case m.file:
			_, e, err := m.source.Tree.Lookup(remote.FileName)
			return path.Join(m.prefix, in), e, err
		}
		return "", tree.Entry{}, fmt.Errorf("%s: %w", in, tree.ErrNotExist)
	}
	real, e, err := m.source.Tree.Lookup(in)
	return path.Join(m.prefix, real), e, err
}

func (m *mount) read(in string) ([]byte, string, error) {
	switch {
	case m.inflated != nil:
		if data, ok := m.texts[in]; ok {
			return data, "", nil
		}
		return nil, "", fmt.Errorf("%s: %w", in, tree.ErrNotExist)
	case m.file != "":
		return m.source.Tree.ReadFile(remote.FileName)
	}
	return m.source.Tree.ReadFile(in)
}

// kustomization returns the parsed file of a folder, nil where it has none.
func (m *mount) kustomization(in string, limits doc.Limits) (*kustomization.File, error) {
	if m.file != "" {
		return nil, nil
	}
	if known, ok := m.parsed.Load(in); ok {
		p := known.(parsedFile)
		return p.file, p.err
	}
	f, err := m.parse(in, limits)
	m.parsed.Store(in, parsedFile{f, err})
	return f, err
}

func (m *mount) parse(in string, limits doc.Limits) (f *kustomization.File, err error) {
	for _, base := range kustomization.FileNames() {
		name := path.Join(m.prefix, in, base)
		data, _, err := m.read(path.Join(in, base))
		var large *tree.TooLargeError
		switch {
		case errors.Is(err, tree.ErrNotExist):
			continue
		case errors.As(err, &large):
			return nil, &doc.Error{Path: name, Message: large.Error()}
		case err != nil:
			return nil, err
		case f != nil:
			return nil, &doc.Error{Path: name, Message: "stands beside another kustomization file: keep one"}
		}
		if f, err = kustomization.Parse(name, data, limits); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// address says where something from outside is, for people: see origin.Link.
func (m *mount) address(in string) string {
	if m.inflated != nil {
		return "the chart"
	}
	return addressOf(m.source, in)
}

// addressOf says where a file of a source is, for people: see origin.Link.
func addressOf(src *remote.Source, in string) string {
	w := src.Want
	address := remote.Redacted(w.URL)
	switch {
	case w.Kind == remote.File:
		return address
	case w.Name != "":
		address = strings.TrimSuffix(address, "/") + "/" + w.Name
	}
	if src.Revision != "" {
		address += "@" + src.Revision
	}
	if in == "." {
		return address
	}
	return address + "//" + in
}

// local returns the mount that an entry of the repository itself brings in, through which this one comes.
func (m *mount) local() *mount {
	for m.above != nil {
		m = m.above
	}
	return m
}

// place turns a place from outside into the entry that brings it in, with what it was as the first link of its chain.
func (o *outside) place(p origin.Place) origin.Place {
	if o.plain {
		return p
	}
	links := o.links(p.Chain)
	m, in, ok := o.of(p.Path)
	if !ok {
		p.Chain, p.Spans = links, slices.Clone(p.Spans)
		for i, s := range p.Spans {
			p.Spans[i].Place = o.place(s.Place)
		}
		return p
	}
	if m.inflated != nil && in == "output/"+inflatedFile {
		var text chartText = m.inflated.text
		out := text.locate(p)
		out.Chain = append(out.Chain, links...)
		return out
	}
	if m.inflated != nil {
		out := m.local().place(origin.Enclosing)
		out.Missing, out.Chain = p.Missing, links
		return out
	}
	out := m.local().place(p.How)
	out.Missing = p.Missing
	out.Chain = append([]origin.Link{m.link(in, p.StartLine, p.EndLine, p.Role)}, links...)
	return out
}

// here is where a person sees the entry.
func (m *mount) here() entry {
	if m.shown.file != "" {
		return m.shown
	}
	return m.at
}

// asks is the line of this repository that an entry of a kustomization comes from: see asked.
func (o *outside) asks(at entry) gitops.Position {
	if m, _, ok := o.of(at.file); ok {
		at = m.local().here()
	}
	return gitops.Position{Path: at.file, Line: at.at.Line, Column: at.at.Column}
}

// place is the entry that brings it in.
func (m *mount) place(how origin.How) origin.Place {
	at := m.here()
	p := origin.Place{Path: at.file, StartLine: max(1, at.at.Line), EndLine: max(1, at.at.Line), How: how, Role: m.field}
	if m.end > 0 {
		p.StartColumn, p.EndColumn = m.at.at.Column, m.end
	}
	if how != origin.Enclosing {
		p.How = origin.Writer
	}
	return p
}

func (m *mount) link(in string, start, end int, role string) origin.Link {
	return origin.Link{Path: m.address(in), StartLine: start, EndLine: end, Role: role}
}

func (o *outside) links(list []origin.Link) []origin.Link {
	var out []origin.Link
	for _, l := range list {
		if m, in, ok := o.of(l.Path); ok && m.inflated != nil {
			if l.Path = m.inflated.text.template(l.StartLine); l.Path == "" {
				continue
			}
			if at := m.inflated.text.locate(origin.Place{StartLine: l.StartLine}); at.How != origin.Enclosing {
				l.Path, l.StartLine, l.EndLine, l.Role = at.Path, at.StartLine, at.EndLine, at.Role
				out = append(append(out, l), at.Chain...)
				continue
			}
			l.StartLine, l.EndLine = 1, 1
		} else if ok {
			l.Path = m.address(in)
		}
		out = append(out, l)
	}
	return out
}

// mountedPath matches the paths of files from outside in what kustomize says.
var mountedPath = regexp.MustCompile(outsideRoot + `/[0-9]+-[A-Z2-7]+(/[^\s'":;,]*)?`)

// shown is a path as a person knows it.
func (o *outside) shown(name string) string {
	m, in, ok := o.of(name)
	switch {
	case !ok:
		return name
	case o.plain:
		return in
	}
	return m.address(in)
}

// problems turns what is said about files from outside into what the entries that bring them in bring with them.
func (o *outside) problems(list []doc.Error) (out []doc.Error) {
	seen := map[string]bool{}
	for _, e := range list {
		e.Message = mountedPath.ReplaceAllStringFunc(e.Message, o.shown)
		if o.plain {
			out = append(out, e)
			continue
		}
		if m, in, ok := o.of(e.Path); ok {
			at := m.address(in)
			if e.Line > 0 {
				at = fmt.Sprintf("%s, line %d", at, e.Line)
			}
			top := m.local()
			line := top.here()
			e = doc.Error{Path: line.file, Line: line.at.Line, Column: line.at.Column, Unknown: e.Unknown, Quotes: true,
				Message: fmt.Sprintf("%s: what it brings in has a mistake (%s): %s", top.field, at, e.Message)}
		}
		if key := e.Error(); !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	return out
}
