package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// externalSource renders a root that is a folder of another repository, or of another revision of this one, as its
// controller does. It also returns the deployment with which finish must be called.
func (r *Renderer) externalSource(ctx context.Context, t Target) (*Rendering, []doc.Error, *Deployment, error) {
	one := t.By
	e := one.External
	out := &Rendering{Reads: map[string]string{}, links: map[string]string{}, wants: wants{}}
	found, err := r.fetched(out, e.Want, gitops.Position{})
	if err != nil {
		problem, err := unavailable(e, err)
		return out, problem, one, err
	}
	refused := func(at gitops.Position, unknown bool, format string, args ...any) (
		*Rendering, []doc.Error, *Deployment, error,
	) {
		return out, []doc.Error{{Path: at.Path, Line: at.Line, Column: at.Column, Unknown: unknown,
			Message: fmt.Sprintf(format, args...)}}, one, nil
	}
	at := entry{e.Where.Path, kustomization.Position{Line: e.Where.Line, Column: e.Where.Column}}
	m := r.mounts.mount(mountKey{at: at, want: e.Want, text: t.Object}, func(m *mount) {
		m.field, m.source = "source", found
	})
	real, top, err := m.lookup(e.Folder)
	if err != nil && !errors.Is(err, tree.ErrNotExist) {
		return out, nil, one, err
	}
	if err != nil || top.Kind != tree.Dir {
		return refused(one.PathWhere, false, "the path %s is not a folder of %s", e.Folder, m.address("."))
	}
	local := &Deployment{Deployment: one.Deployment}
	if local.Path = strings.TrimPrefix(strings.TrimPrefix(real, m.prefix), "/"); local.Path == "" {
		local.Path = "."
	}
	if one.Kind != gitops.Flux && gitops.HasSourceFile(found.Tree, &one.Deployment, local.Path) {
		return refused(e.Asked, true, "the folder has an .argocd-source.yaml, which Lintel does not read in another "+
			"repository: what is deployed from it is not checked")
	}
	if e.Detect {
		local.Kind = gitops.Detect(found.Tree, local.Path)
	}
	limits := gitops.Limits{Source: r.limits.Source}
	var problems []doc.Error
	switch local.Kind {
	case gitops.ArgoHelm:
		local.Release = e.Release
		out, problems, err = r.release(ctx, t, e.Release)
		return out, problems, local, err
	case gitops.ArgoDirectory:
		names, said := gitops.Files(found.Tree, &local.Deployment, limits)
		for i := range names {
			names[i] = path.Join(m.prefix, names[i])
		}
		var more []doc.Error
		if out, more, err = r.files(ctx, Target{Root: t.Root, Files: names, By: local}); err != nil {
			return nil, nil, local, err
		}
		for _, res := range out.Resources {
			res.through(r.mounts.place)
		}
		problems = r.mounts.problems(append(m.problems(said, one), more...))
		out.Partial = len(problems) > 0
	default:
		out, problems = r.buildMounted(m, real, local, limits)
	}
	if out.wants == nil {
		out.wants = wants{}
	}
	out.wants.add(r.mounts.sources, e.Want, gitops.Position{})
	if out.links == nil && (len(problems) == 0 || local.Kind == gitops.ArgoDirectory) {
		out.links = map[string]string{}
	}
	maps.DeleteFunc(out.links, func(name, _ string) bool { return isMounted(name) })
	maps.DeleteFunc(out.Reads, func(name, _ string) bool { return isMounted(name) })
	return out, problems, local, nil
}

// buildMounted builds the kustomization of a folder of a mount as a controller does.
func (r *Renderer) buildMounted(m *mount, dir string, one *Deployment, limits gitops.Limits) (
	*Rendering, []doc.Error,
) {
	v, said := gitops.Edit(m.source.Tree, &one.Deployment, limits)
	others := r.mounts.problems(m.problems(said, one))
	if slices.ContainsFunc(said, func(p gitops.Problem) bool { return p.Cause == gitops.Broken }) {
		return &Rendering{Reads: map[string]string{}}, others
	}
	with := &r.builder
	if v != nil {
		with = with.instead(v.Below(m.prefix))
	}
	out, problems := with.build(roots.Root{Path: dir})
	return out, append(problems, others...)
}

// problems converts the problems of a deployment. Problems of files of the mount get their path in the mount.
func (m *mount) problems(list []gitops.Problem, one *Deployment) (problems []doc.Error) {
	for _, p := range list {
		if p.Cause == gitops.Suspicious {
			continue
		}
		e := p.Error
		if e.Unknown = p.Cause != gitops.Broken; e.Path != one.Where.Path && e.Path != one.External.Where.Path {
			e.Path = path.Join(m.prefix, e.Path)
		}
		problems = append(problems, e)
	}
	return problems
}

// unavailable returns the problem of a source that could not be had. It returns an error only where reading failed.
func unavailable(e *gitops.ExternalSource, err error) ([]doc.Error, error) {
	out := doc.Error{Path: e.Asked.Path, Line: e.Asked.Line, Column: e.Asked.Column, Unknown: true, Message: e.Message}
	var failure *remote.Failure
	switch {
	case errors.As(err, &failure) && failure.Broken:
		out.Path, out.Line, out.Column = e.Where.Path, e.Where.Line, e.Where.Column
		out.Message, out.Unknown = fmt.Sprintf("the source %s: %s", remote.Redacted(e.Want.URL), failure.Message), false
	case errors.As(err, &failure):
		out.Message += ": " + failure.Message
		out.Missing, out.Reason = e.Want.String(), failure.Message
	case !errors.Is(err, remote.ErrWanted):
		return nil, err
	}
	return []doc.Error{out}, nil
}

// wants are the remote sources that a rendering requested.
type wants map[remote.Want]asked

// asked is the digest of a requested source, and the place of the request.
type asked struct {
	digest string // see remote.Sources.Digest
	// at is the line of this repository that requests it. It has no path where the object that deploys the root
	// requests it, since other objects may share the rendering.
	at gitops.Position
}

// placedWant is a want with the line that requests it.
type placedWant struct {
	Want remote.Want     `json:"want"`
	At   gitops.Position `json:"at"`
}

// add records a want. The first place that requests it is kept.
func (w wants) add(sources *remote.Sources, want remote.Want, at gitops.Position) {
	if _, known := w[want]; !known {
		w[want] = asked{sources.Digest(want), at}
	}
}

// placed lists the wants that a line of the repository requests.
func (w wants) placed() (list []placedWant) {
	for _, want := range w.sorted() {
		if at := w[want].at; at.Path != "" {
			list = append(list, placedWant{want, at})
		}
	}
	return list
}

func (w wants) sorted() []remote.Want { return slices.SortedFunc(maps.Keys(w), remote.Compare) }

// wantsOf returns the wants among the questions of a cached rendering, with their places.
func wantsOf(questions env.Asked, placed []placedWant) wants {
	w := wants{}
	for q, digest := range questions {
		var want remote.Want
		if q.Kind == env.Source && json.Unmarshal([]byte(q.Name), &want) == nil {
			w[want] = asked{digest: digest}
		}
	}
	for _, one := range placed {
		w[one.Want] = asked{w[one.Want].digest, one.At}
	}
	return w
}

// Use is a remote source that a root uses.
type Use struct {
	remote.Entry
	Where gitops.Position // the line of this repository that chooses its version
}

// Uses lists the fetched remote sources of a rendering, sorted. as is the target whose object requests them, since
// several targets may share a rendering. Sources that could not be fetched are left out.
func (r *Rendering) Uses(as Target) (list []Use) {
	by := as.By
	for _, want := range r.wants.sorted() {
		one := r.wants[want]
		var e remote.Entry
		if json.Unmarshal([]byte(one.digest), &e) != nil || e.Failure != nil {
			continue
		}
		at := one.at
		switch {
		case at.Path != "" || by == nil:
		case by.Release != nil:
			at = askedAt(by.Release, want)
		case by.External != nil:
			at = by.External.Where
		}
		list = append(list, Use{e, at})
	}
	return list
}

// Repositories lists the git repositories that fields of a rendering may come from: its remote sources, and those of
// roots whose objects its chart looked up. Possible passwords are removed from the addresses.
func (r *Renderer) Repositories(out *Rendering) (urls []string) {
	from := []wants{out.wants}
	for _, l := range out.lookups {
		for _, o := range r.lookups.declaredAs(l.APIVersion, l.Kind, l.Namespace, l.Name) {
			from = append(from, o.from)
		}
	}
	for _, w := range from {
		for want, one := range w {
			var e remote.Entry
			if want.Kind == remote.Git && json.Unmarshal([]byte(one.digest), &e) == nil && e.Failure == nil {
				urls = append(urls, remote.Redacted(want.URL))
			}
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls)
}

// askedAt returns the position at which a release requests a source.
func askedAt(release *gitops.Release, want remote.Want) gitops.Position {
	if want != release.Chart.Want {
		for _, l := range slices.Concat(release.Layers, release.Defaults) {
			if l.Want == want {
				return l.Where
			}
		}
	}
	return release.Chart.Where
}

// ChartFile returns Chart.yaml of a remote chart, nil where it cannot be read.
func (r *Renderer) ChartFile(u Use) []byte {
	found, err := r.mounts.sources.Get(u.Want)
	if err != nil {
		return nil
	}
	data, _, err := found.Tree.ReadFile("Chart.yaml")
	if err != nil {
		return nil
	}
	return data
}
