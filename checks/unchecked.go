package checks

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/checks/starter"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// unchecked finds the parts of the change that are not checked.
func (p *pairs) unchecked(ctx context.Context) error {
	s := p.sides
	if s.All {
		return nil
	}
	for _, d := range s.Trees.Differences {
		if d.New != nil && s.Trees.Head.Roots.Dangling(d.Path) {
			p.not(path.Dir(d.Path), d.Path, "the target of this symlink is outside the repository, or does not exist")
		}
		if d.New == nil || kustomization.IsFileName(d.Path) {
			continue
		}
		p.claimed(d.Path)
		if err := p.unread(d.Path); err != nil {
			return err
		}
		if err := p.foreign(d.Path); err != nil {
			return err
		}
	}
	if err := p.submodules(); err != nil {
		return err
	}
	if err := p.changedCharts(ctx); err != nil {
		return err
	}
	return p.excluded()
}

// unread reports a changed file that looks like a manifest and is not checked.
func (p *pairs) unread(file string) error {
	set := p.sides.Head
	if set.Unreferenced(file) || set.Deploys(file) {
		const reason = "this file contains a template, so no cluster accepts it as it is: move manifests without " +
			"templates into another file"
		line := p.sides.Head.Renderer.Template(file)
		switch {
		case line == 0, p.fails(file):
		case set.Deploys(file) && p.sides.Base.Renderer.Template(file) == 0:
			p.broken = append(p.broken, report.Problem{Path: file, Line: line, Message: reason})
		default:
			p.notChecked = append(p.notChecked, report.NotChecked{Root: path.Dir(file), Path: file, Line: line, Reason: reason})
		}
	}
	test := set.PolicyTests().Of(file)
	if test == "" && (!set.Unread(file) || p.isRead(file)) {
		return nil
	}
	if data, _, err := p.sides.Trees.Head.Tree.ReadFile(file); err == nil && starter.Has(data) {
		return nil
	}
	resources, _, problem, err := p.sides.Head.Renderer.Manifest(file)
	if err != nil || len(resources) == 0 && problem == nil || set.Deploys(file) {
		return err
	}
	switch root := path.Dir(file); {
	case problem == nil && rulesOnly(resources): // policies and exceptions are in effect wherever their file is
		p.warnings = append(p.warnings, report.Problem{Path: file, Message: "no kustomization includes this file, so it is " +
			"not checked as something that is deployed"})
	case test == "":
		p.not(root, file, "no kustomization includes this file: list it under resources, or remove it")
	default:
		p.warnings = append(p.warnings, report.Problem{Path: file, Message: "is a resource of the test " + test +
			", so it is not checked as something that is deployed"})
	}
	return nil
}

// fails reports whether an error of a root is in a file.
func (p *pairs) fails(file string) bool {
	return slices.ContainsFunc(p.roots, func(r *diff.Root) bool {
		return slices.ContainsFunc(r.Head, func(e doc.Error) bool { return e.Path == file })
	})
}

// isRead reports whether a root reads a file at the head, as a generator of encrypted objects does.
func (p *pairs) isRead(file string) bool {
	id := p.sides.Trees.Head.Blob(file)
	return slices.ContainsFunc(p.roots, func(r *diff.Root) bool { return id != "" && r.Reads[file] == id })
}

// claimed reports files that were deployed until now, and that the given test uses in the head.
func (p *pairs) claimed(test string) {
	t := p.sides.Trees
	for _, file := range t.Head.Roots.PolicyTests().Claimed(t.Base.Roots.Index, test) {
		p.not(path.Dir(file), file, "the test "+test+" uses this file, which until now was checked as part of a "+
			"deployed folder. Files of tests are not checked: copy the file for the test")
	}
}

// excluded reports the roots that the change affects and the settings exclude. Files of the settings' context, and
// rules, do not count as a change of such a root.
func (p *pairs) excluded() error {
	t := p.sides.Trees
	var changed []string
	_, links := t.Touched()
	for _, d := range t.Differences {
		if settings.Under(d.Path, p.context) {
			continue
		}
		if d.New != nil && t.Head.Roots.HasMark(d.Path) {
			resources, _, problem, err := p.sides.Head.Renderer.Manifest(d.Path)
			if err != nil {
				return err
			}
			if problem == nil && rulesOnly(resources) {
				continue
			}
		}
		changed = append(changed, d.Path)
	}
	for _, root := range t.Head.Roots.Excluded(changed, links) {
		p.not(root.Path, settings.Path, "the change affects this root, and roots.exclude in .lintel.yaml excludes it")
	}
	return nil
}

// rulesOnly reports whether all of some resources are policies or exceptions. It is false for no resources.
func rulesOnly(resources []*render.Resource) bool {
	return len(resources) > 0 && !slices.ContainsFunc(resources, func(r *render.Resource) bool {
		id := admission.IdentityOf(r.Object)
		return !engine.IsRule(id.Group, id.Kind)
	})
}

// not adds an entry to notChecked.
func (p *pairs) not(root, file, reason string) {
	p.notChecked = append(p.notChecked, report.NotChecked{Root: root, Path: file, Reason: reason})
}

// lfsPointer begins a file whose content is in Git LFS
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md#the-pointer).
var lfsPointer = []byte("version https://git-lfs.github.com/spec/")

// foreign reports a changed file that Lintel cannot check as it is deployed: Jsonnet, Git LFS and hidden folders.
func (p *pairs) foreign(file string) error {
	set, dir := p.sides.Head, path.Dir(file)
	if set.Excludes(dir) {
		return nil
	}
	if ext := path.Ext(file); ext == ".jsonnet" || ext == ".libsonnet" {
		told := func(problem gitops.Problem) bool { return problem.Path == file }
		if set.MayDeploy(dir) && !slices.ContainsFunc(set.Problems(), told) {
			p.not(dir, file, "is Jsonnet, which Argo CD deploys and Lintel does not evaluate: what it deploys is not "+
				"checked")
		}
		return nil
	}
	if !graph.IsManifestName(file) && !set.Named(file) {
		return nil
	}
	data, _, err := p.sides.Trees.Head.Tree.ReadFile(file)
	switch {
	case errors.As(err, new(*tree.TooLargeError)) || errors.Is(err, tree.ErrNotExist):
		return nil // what reads the file reports the error
	case err != nil:
		return err
	case bytes.HasPrefix(data, lfsPointer):
		p.not(dir, file, "the content of this file is in Git LFS, which Lintel does not fetch: what is deployed from "+
			"it is not checked")
		return nil
	case !roots.Hidden(file) || strings.HasPrefix(file, ".github/") || !graph.IsManifestName(file) ||
		set.Deploys(file) || set.Named(file) || set.PolicyTests().Of(file) != "" || set.PolicyTests().Hides(file):
		return nil
	}
	resources, _, _, err := p.sides.Head.Renderer.Manifest(file)
	if err == nil && len(resources) > 0 && !rulesOnly(resources) {
		p.not(dir, file, "is in a hidden folder that no object in this repository deploys. Move the file, add a "+
			"kustomization, or add an object of Argo CD or Flux")
	}
	return err
}

// submodules reports the submodules that the change adds or moves to another commit.
func (p *pairs) submodules() error {
	t := p.sides.Trees
	list, err := tree.Submodules(t.Base.Tree, t.Head.Tree)
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.New != nil && !t.Head.Roots.Excludes(d.Path) {
			p.notChecked = append(p.notChecked, report.NotChecked{Root: path.Dir(d.Path), Path: d.Path, Changed: true,
				Reason: "is a submodule, whose files are in another repository: what is deployed from it is not checked"})
		}
	}
	return nil
}
