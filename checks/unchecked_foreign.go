package checks

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// lfsPointer begins a file whose content is in Git LFS
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md#the-pointer).
var lfsPointer = []byte("version https://git-lfs.github.com/spec/")

// foreign reports a changed file that Lintel cannot check as it is deployed: Jsonnet, Git LFS and hidden folders.
func (p *pairs) foreign(file string) error {
	set, dir := p.sides.Trees.Head.Roots, path.Dir(file)
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
		set.Deploys(file) || set.Named(file) || set.PolicyTests().Of(file) != "":
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
