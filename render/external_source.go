package render

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
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
