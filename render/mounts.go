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

// Remote sources and charts of kustomizations are mounted in the file system that kustomize sees. Each entry that names
// one has its own mount. Within this package the path of a mounted file is absolute, and paths of the repository are
// relative to it. No mounted path leaves the package: places and problems in a mount become those of the entry in the
// repository.

// mountsRoot is the folder of the mounts. The name of a mount is random, so that no file can name it, even where
// kustomizations may read files outside their folders.
const mountsRoot = "/outside"

// fileMountName is the folder of single remote files, below the folder of the kustomization that names them. Kustomize
// reads files only below that folder.
const fileMountName = ".lintel-outside"

// mounts are the remote sources and charts of a renderer's kustomizations. It is safe for concurrent use.
type mounts struct {
	sources *remote.Sources

	mu    sync.Mutex
	list  []*mount
	known map[mountKey]*mount

	plain bool // problems keep the paths of mounts, because the caller converts them
}

type mountKey struct {
	at   entry
	want remote.Want
	text string // of a chart: its release and values
}

// mount is the source of one entry: a tree or a single file.
type mount struct {
	at     entry  // the entry of a kustomization that names it
	end    int    // the column after the entry; 0: whole lines
	field  string // field of the kustomization
	prefix string // the path of the mount
	parent *mount // the mount of that kustomization; nil: it is in the repository

	raw    string // text of the entry
	source *remote.Source
	file   string // the name of the only file in the mount; empty: it is a tree

	shown    entry             // of a chart: the entry that names it, which may be in a generator file
	inflated *inflated         // the rendered chart; nil: it is no chart
	texts    map[string][]byte // the files of the rendered chart
	copies   map[string]string // paths of files in texts that are copies, with the files that they are copies of

	parsed sync.Map // by folder: what parse returns
}

// isMounted reports whether a path is that of a mounted file.
func isMounted(name string) bool { return strings.HasPrefix(name, "/") }

// mount returns the mount of a key. A new one is filled by fill.
func (o *mounts) mount(key mountKey, fill func(*mount)) *mount {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.known[key]; m != nil {
		return m
	}
	m := &mount{at: key.at, prefix: mountsRoot + "/" + strconv.Itoa(len(o.list)) + "-" + rand.Text()}
	m.parent, _, _ = o.numbered(key.at.file)
	fill(m)
	if o.known == nil {
		o.known = map[mountKey]*mount{}
	}
	o.known[key] = m
	o.list = append(o.list, m)
	return m
}

// of returns the mount that contains an absolute path, and the path in it.
func (o *mounts) of(name string) (*mount, string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.numbered(name)
}

func (o *mounts) numbered(name string) (*mount, string, bool) {
	in, ok := strings.CutPrefix(path.Clean(name), mountsRoot+"/")
	if !ok {
		return nil, "", false
	}
	top, in, _ := strings.Cut(in, "/")
	number, _, _ := strings.Cut(top, "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(o.list) || o.list[n].prefix != mountsRoot+"/"+top {
		return nil, "", false
	}
	if in == "" {
		in = "."
	}
	return o.list[n], in, true
}

// fileMount returns the mounted path of a single remote file, from its path below the folder of a kustomization.
func (o *mounts) fileMount(name string) (string, bool) {
	dir, rest, ok := strings.Cut(name, "/"+fileMountName+"/")
	if !ok {
		if rest, ok = strings.CutPrefix(name, fileMountName+"/"); !ok {
			return "", false
		}
		dir = "."
	}
	m, in, ok := o.of(mountsRoot + "/" + rest)
	if !ok || m.file == "" || in != m.file || path.Dir(m.at.file) != dir {
		return "", false
	}
	return path.Join(m.prefix, in), true
}

// entryPath returns the path by which a kustomization must name a path in a mount.
func (m *mount) entryPath(name string) string {
	if m.file != "" {
		return path.Join(fileMountName, path.Base(m.prefix), m.file)
	}
	return relative(path.Dir(place(m.at.file)), name)
}

// relative returns the path from one folder to another; both are absolute.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + strings.TrimPrefix(to, "/")
}

// place returns the path of a file or folder in the file system that kustomize sees.
func place(name string) string {
	if isMounted(name) {
		return name
	}
	return path.Join(mountPoint, name)
}

func (m *mount) lookup(in string) (string, tree.Entry, error) {
	_, made := m.texts[in]
	switch here := path.Join(m.prefix, in); {
	case made:
		return here, tree.Entry{Name: path.Base(in), Kind: tree.File}, nil
	case m.inflated != nil && (in == "." || in == "output"), m.file != "" && in == ".":
		return here, tree.Entry{Name: path.Base(in), Kind: tree.Dir}, nil
	case m.inflated != nil, m.file != "" && in != m.file:
		return "", tree.Entry{}, fmt.Errorf("%s: %w", in, tree.ErrNotExist)
	case m.file != "":
		_, e, err := m.source.Tree.Lookup(remote.FileName)
		return here, e, err
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
	parse, _ := m.parsed.LoadOrStore(in, sync.OnceValues(func() (*kustomization.File, error) { return m.parse(in, limits) }))
	return parse.(func() (*kustomization.File, error))()
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
			return nil, &doc.Error{Path: name, Message: "is in a folder with another kustomization file: keep one"}
		}
		if f, err = kustomization.Parse(name, data, limits); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// address returns the address of a mounted path for messages: see origin.Link.
func (m *mount) address(in string) string {
	if m.inflated != nil {
		return "the chart"
	}
	return addressOf(m.source, in)
}

// addressOf returns the address of a file of a source for messages: see origin.Link.
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

// local returns the outermost mount that contains this one. Its entry is in the repository itself.
func (m *mount) local() *mount {
	for m.parent != nil {
		m = m.parent
	}
	return m
}

// place converts a mounted place into that of its entry in the repository. The mounted place becomes the first link of
// the chain.
func (o *mounts) place(p origin.Place) origin.Place {
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
	if real := m.copies[in]; real != "" {
		p.Path, p.Chain = real, links
		return o.place(p)
	}
	if m.inflated != nil && in == "output/"+inflatedFile {
		out := m.inflated.text.locate(p)
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

// here returns the entry that a person sees.
func (m *mount) here() entry {
	if m.shown.file != "" {
		return m.shown
	}
	return m.at
}

// requestedAt returns the line of this repository that an entry of a kustomization comes from: see asked.
func (o *mounts) requestedAt(at entry) gitops.Position {
	if m, _, ok := o.of(at.file); ok {
		at = m.local().here()
	}
	return gitops.Position{Path: at.file, Line: at.at.Line, Column: at.at.Column}
}

// place returns the place of the mount's entry.
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

func (o *mounts) links(list []origin.Link) []origin.Link {
	var out []origin.Link
	for _, l := range list {
		if m, in, ok := o.of(l.Path); ok && m.copies != nil {
			if l.Path = m.copies[in]; l.Path != "" {
				out = append(out, o.links([]origin.Link{l})...)
			}
			continue
		} else if ok && m.inflated != nil {
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

// mountedPath matches the paths of mounted files in messages of kustomize.
var mountedPath = regexp.MustCompile(mountsRoot + `/[0-9]+-[A-Z2-7]+(/[^\s'":;,]*)?`)

// shown returns the path or address that a person knows for a path.
func (o *mounts) shown(name string) string {
	m, in, ok := o.of(name)
	switch {
	case !ok:
		return name
	case o.plain:
		return in
	}
	return m.address(in)
}

// problems turns problems of mounted files into problems of their entries in the repository.
func (o *mounts) problems(list []doc.Error) (out []doc.Error) {
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
			line, missing, reason := top.here(), "", ""
			if e.Missing != "" && top.source != nil {
				missing, reason = remote.Redacted(top.source.Want.URL), "a source that it includes could not be fetched"
			}
			e = doc.Error{Path: line.file, Line: line.at.Line, Column: line.at.Column, Unknown: e.Unknown, Quotes: true,
				Missing: missing, Reason: reason,
				Message: fmt.Sprintf("%s: what it includes has an error (%s): %s", top.field, at, e.Message)}
		}
		if key := e.Error(); !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	return out
}
