package render

import (
	"errors"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// mountEntry returns the path that an entry of a kustomization names. It mounts a remote source, and kustomize reads
// the path of the mount in place of the entry.
func (b *builder) mountEntry(p *plan, layer *origin.Layer, ref kustomization.Ref, report func(doc.Error),
	errorOf func(string, ...any) doc.Error) (string, bool) {
	address := remote.Redacted(ref.Value)
	unknown := func(reason, format string, args ...any) (string, bool) {
		e := errorOf(format, args...)
		e.Unknown = true
		if reason != "" {
			e.Missing, e.Reason = address, reason
		}
		report(e)
		return "", false
	}
	if b.mounts.sources == nil && kustomization.Remote(ref.Value) {
		return unknown("", notFetched, ref.Field, address)
	}
	named, inside := join(layer.File.Dir, ref.Value)
	if b.mounts.sources != nil {
		e := &mountedEntry{builder: b, plan: p, layer: layer, ref: ref}
		name, err := e.name(named, inside)
		var failure *remote.Failure
		var refused *refusedError
		switch {
		case err == nil && name != "":
			return name, true
		case err == nil:
		case errors.Is(err, remote.ErrWanted):
			p.awaits = true
			return unknown("it has not been fetched", "%s: %q has not been fetched", ref.Field, address)
		case errors.As(err, &failure) && failure.Broken:
			p.fleeting = true
			report(errorOf("%s: %q: %s", ref.Field, address, failure.Message))
			return "", false
		case errors.As(err, &failure):
			return unknown(failure.Message, "%s: %q: %s", ref.Field, address, failure.Message)
		case errors.As(err, &refused) && refused.cycle:
			p.problem(errorOf("%s: %q %s", ref.Field, address, refused.message))
			return "", false
		case errors.As(err, &refused):
			return unknown("", "%s: %q %s", ref.Field, address, refused.message)
		default:
			p.fleeting = true
			return unknown("", "%s: %q cannot be read: %s", ref.Field, address, err)
		}
	}
	if !inside {
		report(errorOf("%s: %q points outside the repository", ref.Field, address))
	}
	return named, inside
}

// refusedError says why a remote source is not requested.
type refusedError struct {
	message string
	cycle   bool
}

func (e *refusedError) Error() string { return e.message }

// join returns the path that an entry of a kustomization in a folder names. It returns false for a path that leads out
// of the repository, or out of the mount of the folder.
func join(dir, entry string) (string, bool) {
	if strings.HasPrefix(entry, "/") {
		return "", false
	}
	if !isMounted(dir) {
		return tree.Clean(path.Join(dir, entry))
	}
	parts := strings.SplitN(dir, "/", 4) // "", the root, the mount's name, and the path in it
	in := ""
	if len(parts) == 4 {
		in = parts[3]
	}
	named, ok := tree.Clean(path.Join(in, entry))
	return path.Join(strings.Join(parts[:3], "/"), named), ok
}

// mountedEntry is an entry of a kustomization that may name a remote source.
type mountedEntry struct {
	builder *builder
	plan    *plan
	layer   *origin.Layer
	ref     kustomization.Ref
}

// name returns the path of the mount, empty where kustomize takes the entry for a path. named is that path. Kustomize
// first takes an entry for the address of a file. Where a folder is allowed, it then tries a repository
// (KustTarget.accumulateResources). A component is always a folder.
func (b *mountedEntry) name(named string, inside bool) (string, error) {
	address, isFile := kustomization.FileURL(b.ref.Value)
	repo, isRepo := kustomization.ParseRepo(b.ref.Value)
	switch b.ref.Role {
	case kustomization.Resource, kustomization.Plugin:
		if !isFile && inside {
			if _, found, err := b.builder.find(named); err == nil && found.Kind == tree.File {
				return "", nil
			}
		}
	case kustomization.Component:
		isFile = false
	default:
		isRepo = false
	}
	switch {
	case isFile && isRepo && kustomization.FileFirst(b.ref.Value, repo):
		return b.first(func() (string, error) { return b.file(address) }, func() (string, error) { return b.repo(repo) })
	case isFile && isRepo:
		return b.first(func() (string, error) { return b.repo(repo) }, func() (string, error) { return b.file(address) })
	case isFile:
		return b.file(address)
	case isRepo:
		return b.repo(repo)
	}
	return "", nil
}

// first returns the result of the first of two functions that succeeds. Where both fail, it returns the error of the
// first.
func (b *mountedEntry) first(one, other func() (string, error)) (string, error) {
	name, err := one()
	var failure *remote.Failure
	if !errors.As(err, &failure) {
		return name, err
	}
	name, next := other()
	var refused *refusedError
	if next == nil || errors.Is(next, remote.ErrWanted) || errors.As(next, &refused) {
		return name, next
	}
	return "", err
}

// get returns a remote source, and records that the rendering wants it.
func (b *mountedEntry) get(want remote.Want) (*remote.Source, error) {
	sources := b.builder.mounts.sources
	b.plan.wants.add(sources, want, b.builder.mounts.requestedAt(entry{b.layer.File.Path, b.ref.Position}))
	return sources.Get(want)
}

// repo mounts a git repository and returns the path of the folder in it.
func (b *mountedEntry) repo(repo kustomization.Repo) (string, error) {
	if repo.Disk() {
		return "", &refusedError{message: "is a repository on a local disk, which Lintel does not read"}
	}
	around, _, _ := b.builder.mounts.of(b.layer.File.Path)
	for m := around; m != nil; m = m.parent {
		if m.file == "" && strings.HasPrefix(m.raw, b.ref.Value) {
			return "", &refusedError{cycle: true, message: "includes itself: it is included by " + remote.Redacted(m.raw)}
		}
	}
	want := remote.Want{Kind: remote.Git, URL: repo.URL, Ref: repo.Ref, Submodules: repo.Submodules}
	found, err := b.get(want)
	if err != nil {
		return "", err
	}
	m := b.mount(want, found)
	name := path.Join(m.prefix, repo.Folder)
	if _, e, err := m.lookup(path.Clean(repo.Folder)); err == nil && e.Kind == tree.File {
		return "", &remote.Failure{Broken: true, Message: "is a file of a repository, but a folder is expected"}
	}
	b.rewrite(m, name)
	return name, nil
}

// file mounts a single file and returns its path.
func (b *mountedEntry) file(address string) (string, error) {
	beside, _ := join(b.layer.File.Dir, fileMountName)
	if _, _, err := b.builder.find(beside); err == nil {
		return "", &refusedError{message: "cannot be included beside the file " + fileMountName + ": give that file " +
			"another name"}
	}
	want := remote.Want{Kind: remote.File, URL: address}
	found, err := b.get(want)
	if err != nil {
		return "", err
	}
	if b.ref.Role == kustomization.Resource || b.ref.Role == kustomization.Plugin {
		if err := b.readable(found); err != nil {
			return "", err
		}
	}
	m := b.mount(want, found)
	b.rewrite(m, "")
	return path.Join(m.prefix, m.file), nil
}

// readable returns a failure where a file does not contain resources, but an HTML page, for example.
func (b *mountedEntry) readable(found *remote.Source) error {
	data, _, err := found.Tree.ReadFile(remote.FileName)
	if _, large := errors.AsType[*tree.TooLargeError](err); large {
		return nil // reported when the file is read
	}
	if err != nil {
		return err
	}
	documents, err := doc.Parse("", data, b.builder.limits.Source)
	if err == nil && !slices.ContainsFunc(documents, func(d *yaml.Node) bool { return doc.Text(d, "kind") == "" }) {
		return nil
	}
	if e, ok := errors.AsType[*doc.Error](err); ok && !e.Syntax {
		return nil // likewise
	}
	return &remote.Failure{Broken: true, Message: "what is there is not YAML of resources"}
}

// mount returns the mount of the entry.
func (b *mountedEntry) mount(want remote.Want, found *remote.Source) *mount {
	f, ref := b.layer.File, b.ref
	end := b.end()
	key := mountKey{at: entry{f.Path, ref.Position}, want: want}
	return b.builder.mounts.mount(key, func(m *mount) {
		m.field, _, _ = strings.Cut(ref.Field, ".")
		m.source = found
		m.end = end
		m.raw = ref.Value
		if want.Kind == remote.File {
			m.file = path.Base(ref.Value)
		}
	})
}

// end returns the column after the entry, 0 where the entry has several lines.
func (b *mountedEntry) end() int {
	at, _ := b.builder.sources()(b.layer.File.Path).Entry(b.ref.Line, b.ref.Column, "")
	return at.EndColumn
}

// rewrite has kustomize read the path of the mount in place of the entry.
func (b *mountedEntry) rewrite(m *mount, name string) {
	at := entry{b.layer.File.Path, b.ref.Position}
	values := b.plan.values[at.file]
	if values == nil {
		values = map[kustomization.Position]kustomization.Value{}
		b.plan.values[at.file] = values
	}
	values[at.at] = kustomization.Value{Old: b.ref.Value, New: m.entryPath(name)}
}

// annotated corrects the annotations of buildMetadata that say where resources come from. Kustomize wrote paths of
// mounts; it must be what it writes without mounts (resource.Origin.Append).
func (b *builder) annotated(p *plan, resources []*yaml.Node) {
	f := p.root.File
	asked := slices.ContainsFunc(doc.Items(f.Node, "buildMetadata"), func(n *yaml.Node) bool {
		return n.Value == "originAnnotations" || n.Value == "transformerAnnotations"
	})
	if !asked || len(p.values) == 0 {
		return
	}
	at := place(f.Dir)
	for _, n := range resources {
		_, metadata := doc.Field(n, "metadata")
		_, annotations := doc.Field(metadata, "annotations")
		if _, value := doc.Field(annotations, "config.kubernetes.io/origin"); value != nil {
			var o resource.Origin
			if kyaml.Unmarshal([]byte(value.Value), &o) == nil {
				b.mounts.origin(at, &o)
				if text, err := o.String(); err == nil {
					value.Value = text
				}
			}
		}
		if _, value := doc.Field(annotations, "alpha.config.kubernetes.io/transformations"); value != nil {
			var list resource.Transformations
			if kyaml.Unmarshal([]byte(value.Value), &list) == nil {
				for _, o := range list {
					b.mounts.origin(at, o)
				}
				if text, err := list.String(); err == nil {
					value.Value = text
				}
			}
		}
	}
}

// origin converts paths relative to a folder that kustomize sees into those of the mounted source.
func (o *mounts) origin(at string, origin *resource.Origin) {
	for _, p := range []*string{&origin.Path, &origin.ConfiguredIn} {
		if *p == "" {
			continue
		}
		name := within(path.Join(at, *p))
		if file, ok := o.fileMount(name); ok {
			m, _, _ := o.of(file)
			*p, origin.Repo, origin.Ref = m.noted()
		} else if m, in, ok := o.of(name); ok {
			repo, _ := kustomization.ParseRepo(m.raw)
			if repo.Folder == "" {
				in = path.Join(uncloned, in)
			}
			*p, origin.Repo, origin.Ref = in, repo.URL, repo.Ref
		}
	}
}

// uncloned is what kustomize writes for the top folder of a repository.
const uncloned = "notCloned"

// noted returns what kustomize writes about a single file.
func (m *mount) noted() (name, repository, ref string) {
	repo, ok := kustomization.ParseRepo(m.raw)
	if !ok {
		return path.Join(m.raw), "", ""
	}
	if repo.Folder == "" {
		repo.Folder = uncloned
	}
	return path.Clean(repo.Folder), repo.URL, repo.Ref
}
