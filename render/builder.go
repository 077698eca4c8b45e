package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/diagnostics"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// builder builds the kustomizations of one tree and reads its manifests, with the files of the overlay in place of
// those of the tree. Remote sources and charts of the kustomizations are mounted.
type builder struct {
	tree     *tree.Tree
	index    *roots.Index
	limits   Limits
	cache    *Cache                         // nil: nothing is cached
	steps    int                            // see Config.AttemptSteps
	mounts   *mounts                        // of remote sources and charts
	overlay  map[string][]byte              // by path, links resolved
	virtual  *gitops.Virtual                // the overlay's kustomization that Lintel makes up, so that nobody can edit its lines; nil: there is none
	whatever bool                           // build without what is not fetched yet, although the result will be built again
	builds   *builds                        // cached builds; nil: none are cached
	finder   *diagnostics.Finder            // for the files as this builder sees them
	failed   *env.Memo[string, failedBuild] // of this builder's files, by folder: see obstacles
}

func newBuilder(x *roots.Index, l Limits, o *mounts) builder {
	return builder{tree: x.Tree(), index: x, limits: l, mounts: o, builds: &builds{}, failed: &env.Memo[string, failedBuild]{},
		finder: &diagnostics.Finder{Limits: l.Source}}
}

// with returns a builder that sees other contents of some files: see Renderer.With.
func (b *builder) with(files map[string][]byte) *builder {
	other := *b
	other.overlay, other.failed, other.finder = files, &env.Memo[string, failedBuild]{}, &diagnostics.Finder{Limits: b.limits.Source}
	return &other
}

// instead returns a builder that uses the kustomization v in place of the folder's own.
func (b *builder) instead(v *gitops.Virtual) *builder {
	other := b.with(map[string][]byte{v.Path: v.Data})
	other.virtual = v
	return other
}

// read returns the content and the object id of a file. A file of the overlay has the id of the tree's file at its
// path.
func (b *builder) read(name string) ([]byte, string, error) {
	if len(b.overlay) > 0 {
		real, e, err := b.lookup(name)
		if data, ok := b.overlay[real]; ok && err == nil {
			return data, e.ID, nil
		}
	}
	if isMounted(name) {
		m, in, ok := b.mounts.of(name)
		if !ok {
			return nil, "", fmt.Errorf("%s: %w", name, tree.ErrNotExist)
		}
		return m.read(in)
	}
	return b.tree.ReadFile(name)
}

// readDir lists a folder.
func (b *builder) readDir(name string) ([]tree.Entry, error) {
	if m, in, ok := b.mounts.of(name); ok && m.file == "" && m.inflated == nil {
		return m.source.Tree.ReadDir(in)
	}
	return b.tree.ReadDir(name)
}

// lookup resolves the symlinks of a path. It returns the resulting path and the entry there.
func (b *builder) lookup(name string) (string, tree.Entry, error) {
	real, e, err := b.find(name)
	if _, made := b.overlay[name]; made && (err != nil || real != name && !isMounted(name)) { // it may stand in place of a symlink
		return name, tree.Entry{Name: path.Base(name), Kind: tree.File, ID: e.ID}, nil
	}
	return real, e, err
}

// edited leads a place, its chain and its parts from a symlink to the file that a person edits.
func (b *builder) edited(p origin.Place) origin.Place {
	follow := func(name string) string {
		if real, _, err := b.lookup(name); err == nil {
			return real
		}
		return name
	}
	p.Path = follow(p.Path)
	for i, l := range p.Chain {
		if l.Path = follow(l.Path); l != p.Chain[i] {
			p.Chain = slices.Clone(p.Chain) // others share it
			p.Chain[i] = l
		}
	}
	for i, s := range p.Spans {
		if s.Place = b.edited(s.Place); s.Place.Path != p.Spans[i].Place.Path {
			p.Spans = slices.Clone(p.Spans)
			p.Spans[i] = s
		}
	}
	return p
}

// find is lookup without the overlay.
func (b *builder) find(name string) (string, tree.Entry, error) {
	if !isMounted(name) {
		return b.tree.Lookup(name)
	}
	m, in, ok := b.mounts.of(name)
	if !ok {
		return "", tree.Entry{}, fmt.Errorf("%s: %w", name, tree.ErrNotExist)
	}
	return m.lookup(in)
}

// kustomization returns the parsed file of a folder, nil where it has none.
func (b *builder) kustomization(dir string) (*kustomization.File, error) {
	var f *kustomization.File
	var err error
	if m, in, ok := b.mounts.of(dir); ok {
		f, err = m.kustomization(in, b.limits.Source)
	} else {
		f, err = b.index.Kustomization(dir)
	}
	for _, name := range kustomization.FileNames() {
		p := path.Join(dir, name)
		if data, ok := b.overlay[p]; ok && err == nil && (f == nil || f.Path == p) {
			return kustomization.Parse(p, data, b.limits.Source)
		}
	}
	return f, err
}

// build renders a kustomization: all of it, or what can be rendered without the entries that cannot be built.
func (b *builder) build(root roots.Root) (*Rendering, []doc.Error) {
	p := b.plan(root.Path)
	nothing := func(problems ...doc.Error) (*Rendering, []doc.Error) {
		out := &Rendering{Root: root, Reads: p.reads, wants: p.wants}
		p.link(out)
		return out, b.mounts.problems(problems)
	}
	if p.awaits && !b.whatever && b.mounts.sources.Provisional {
		return nothing(p.problems...)
	}
	for b.omit(p) {
		out, failure := b.kustomize(root, p, true)
		if failure != nil && b.culprits(p) {
			continue
		}
		if failure != nil { // what is said of a build must not come from the blank lines
			out, failure = b.kustomize(root, p, false)
		}
		switch {
		case failure == nil:
			out.Partial = len(p.omitted) > 0
			p.link(out)
			return out, b.mounts.problems(p.problems)
		case len(p.problems) == 0:
			return nothing(b.without(p.texts).explain(root, p, failure)...)
		default: // the failure may come only from the omitted entries
			out, problems := nothing(append(p.problems, doc.Error{Path: p.root.File.Path, Line: 1, Unknown: true,
				Message: "kustomize cannot build this root without the missing part, so none of it is checked"})...)
			out.Rest = func() []doc.Error {
				return b.mounts.problems(b.without(p.texts).explain(root, p, failure))
			}
			return out, problems
		}
	}
	return nothing(p.problems...)
}

// link gives a rendering the links that it went through. It has none where it may change although no file that it read
// changes.
func (p *plan) link(out *Rendering) {
	if !p.fleeting {
		out.links = p.links
	}
}

// kustomize builds the folder of a plan: see run.
func (b *builder) kustomize(root roots.Root, p *plan, pad bool) (*Rendering, error) {
	built := b.run(root.Path, p, pad)
	maps.Copy(p.reads, built.reads)
	maps.Copy(p.links, built.links)
	if built.err != nil {
		return nil, built.err
	}
	if len(built.resources) > b.limits.Resources {
		e := tooMany(p.root.File.Path, b.limits.Resources)
		return nil, &e
	}
	build := origin.NewBuild(built.files, p.root, built.nodes, func(name string) ([]byte, error) {
		data, _, err := b.read(name)
		return data, err
	})
	out := &Rendering{Root: root, Reads: p.reads, wants: p.wants, build: built}
	file := b.sources()
	for i, node := range built.nodes() {
		object, ok := doc.Value(node, false).(map[string]any)
		if !ok {
			continue
		}
		res := &Resource{Object: object, node: node, packed: built.resources[i]}
		res.locator = func(pointer string) origin.Place { return build.Locate(i, pointer) }
		if b.virtual != nil {
			res.through(func(p origin.Place) origin.Place { return real(b.virtual, file, p) })
		}
		if len(p.wants) > 0 || len(p.inflated) > 0 || isMounted(root.Path) {
			res.through(b.mounts.place)
		}
		if why := unprintable(node, true); why != "" {
			res.issue(Unprintable, "", cannotPrint+why)
		} else if issue, ok := built.misprinted[i]; ok {
			res.Issues = append(res.Issues, issue)
		}
		if embeds(object) {
			res.issue(EmbeddedItems, "/items", embedded)
		}
		out.Resources = append(out.Resources, res)
	}
	return out, nil
}

// Manifest reads the resources of one plain file. It returns those before the first document that cannot be read, the
// object id of the file, and the problem with that document. Documents without apiVersion and kind are left out, and so
// are kustomizations. A file that cannot be read because it is a template is no problem.
func (b *builder) Manifest(name string) ([]*Resource, string, *doc.Error, error) {
	return b.plainFile(name, false)
}

// plainFile is Manifest. With argo, a document that makes Argo CD fail is a problem, too, if the file can be read.
func (b *builder) plainFile(name string, argo bool) ([]*Resource, string, *doc.Error, error) {
	data, id, err := b.read(name)
	var large *tree.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, id, &doc.Error{Path: name, Message: large.Error()}, nil
	case errors.Is(err, tree.ErrNotExist):
		return nil, "", nil, nil
	case err != nil:
		return nil, "", nil, err
	}
	documents, err := doc.Parse(name, data, b.limits.Source)
	var broken *doc.Error
	if err != nil {
		broken = b.refused(name, data)
	}
	file := origin.NewFile(name, data)
	var list []*Resource
	for _, document := range documents {
		if at := ambiguous(document); at != nil {
			return nil, id, &doc.Error{Path: name, Line: at.Line, Column: at.Column, Message: "comes before a merge " +
				"key (<<) that also sets it, and programs disagree on which value wins: put the merge key first"}, nil
		}
		for _, node := range doc.Unlist(document) {
			value := doc.Value(node, true)
			if lacks := lacking(value); argo && err == nil && broken == nil && lacks != "" && (len(list) > 0 || isMeant(name, data, lacks)) {
				broken = &doc.Error{Path: name, Line: node.Line, Column: node.Column,
					Message: "has a document that " + lacks + ", so Argo CD does not synchronize the Application"}
			}
			object, ok := value.(map[string]any)
			if !ok || !deployable(object) {
				continue
			}
			if e := doc.Sound(node); e != nil && err == nil && broken == nil {
				broken = &doc.Error{Path: name, Line: e.Line, Column: e.Column, Message: e.Message}
			}
			res := &Resource{Object: object, node: node, plain: true}
			res.locator = func(pointer string) origin.Place { return file.Field(node, pointer) }
			if embeds(object) {
				res.issue(EmbeddedItems, "/items", embedded)
			}
			list = append(list, res)
		}
	}
	return list, id, broken, nil
}

// isMeant reports whether Argo CD takes a file for a manifest although its first document lacks something. Without a
// kind, it must be JSON or mention all that a manifest has (reposerver/repository, getObjsFromYAMLOrJSON).
func isMeant(name string, data []byte, lacks string) bool {
	mentions := func(key string) bool { return bytes.Contains(data, []byte(key)) }
	return lacks == lacksAPIVersion || path.Ext(name) == ".json" || mentions("apiVersion:") && mentions("kind:") && mentions("metadata:")
}

const lacksAPIVersion = "has no apiVersion"

// lacking says what keeps a document from being an object that a client of Kubernetes accepts. It returns "" if nothing
// does, and for an empty document.
func lacking(document any) string {
	object, ok := document.(map[string]any)
	switch kind, _ := object["kind"].(string); {
	case document == nil:
		return ""
	case !ok:
		return "is no object"
	case kind == "":
		return "has no kind"
	}
	if apiVersion, _ := object["apiVersion"].(string); apiVersion == "" {
		return lacksAPIVersion
	}
	return ""
}

// deployable reports whether an object is one that a cluster stores. Configuration of kustomize and of the Kyverno
// command line has the same shape, but no API server knows it.
func deployable(o map[string]any) bool {
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	if apiVersion == "" || kind == "" {
		return false
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	return group != "kustomize.config.k8s.io" && group != "cli.kyverno.io"
}

// explain turns kustomize's error into problems with lines and readable messages.
func (b *builder) explain(root roots.Root, p *plan, failure error) []doc.Error {
	// Find returns a shared list, so it is copied before it is changed.
	list := slices.Clone(b.finder.Find(rebuilder{b, p.openAPI}, root.Path, p.kustomizations, p.manifests, failure))
	for i := range list {
		list[i].Quotes = len(p.wants) > 0 || isMounted(root.Path)
	}
	return list
}

// without returns a builder that reads the kustomizations without their omitted entries, and all other files unchanged.
func (b *builder) without(texts map[string][]byte) *builder {
	if len(texts) == 0 {
		return b
	}
	overlay := map[string][]byte{}
	maps.Copy(overlay, b.overlay)
	maps.Copy(overlay, texts)
	return b.with(overlay)
}

// rebuilder builds parts of a repository to find the cause of a failed build. It implements diagnostics.Repository.
type rebuilder struct {
	*builder
	openAPI bool
}

func (t rebuilder) Build(dir string, files map[string][]byte) ([]*yaml.Node, error) {
	overlay := maps.Clone(t.overlay)
	if overlay == nil {
		overlay = map[string][]byte{}
	}
	maps.Copy(overlay, files)
	return t.with(overlay).plainly(roots.Root{Path: dir}, t.openAPI)
}

func (t rebuilder) Read(name string) ([]byte, error) {
	data, _, err := t.read(name)
	return data, err
}

func (t rebuilder) Kustomization(dir string) (*kustomization.File, error) {
	return t.kustomization(dir)
}

func (t rebuilder) Unrestricted() bool { return t.index.Unrestricted() }

func (t rebuilder) Lookup(name string) (string, tree.Entry, error) { return t.lookup(name) }

var (
	// A manifest has at least two such lines, after a byte order mark or a tag, too. A key with escapes may be any key.
	manifestLine = regexp.MustCompile(`(?m)(?:(?:^|[\r\x{85}\x{2028}\x{2029}])\x{FEFF}?[ \t?-]*(?:[!&]\S*[ \t]+)*|[{,]\s*)` +
		`(?:["']?(?:apiVersion|kind)["']?|"[^"\n]*\\[ux][^"\n]*")\s*:`)
	comment = regexp.MustCompile(`(?m)(?:^|[ \t])#.*$`)
)

// refused returns the problem of a file that cannot be read. It returns nil where the file is not meant to be deployed:
// it does not look like a manifest, or it is a template (Helm, Jinja), which no cluster accepts.
func (b *builder) refused(name string, data []byte) *doc.Error {
	if text, _ := doc.Narrow(data); len(manifestLine.FindAll(text, 2)) < 2 {
		return nil
	}
	_, problems := doc.Documents(name, data, b.limits.Source)
	for _, p := range problems {
		if !templated(data, p) {
			return &p
		}
	}
	return nil
}

// templated reports whether a document cannot be read because it is a template. Only YAML errors count, and not braces
// in comments.
func templated(data []byte, problem doc.Error) bool {
	if !problem.Syntax {
		return false
	}
	text, _ := doc.DocumentAt(data, problem.Line)
	text = comment.ReplaceAll(text, nil)
	return bytes.Contains(text, []byte("{{")) || bytes.Contains(text, []byte("{%"))
}

// Template returns the line of the template document for which a file is skipped although it has a deployable document,
// else 0.
func (b *builder) Template(name string) int {
	data, _, err := b.read(name)
	if err != nil || b.refused(name, data) != nil {
		return 0
	}
	documents, problems := doc.Documents(name, data, b.limits.Source)
	for _, d := range documents {
		if object, ok := doc.Value(d, true).(map[string]any); ok && len(problems) > 0 && deployable(object) {
			return max(1, problems[0].Line)
		}
	}
	return 0
}
