package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

type blameOptions struct {
	repo, rev, output, color string
	as                       string
	chain                    bool
}

func newBlameCommand() *cobra.Command {
	var o blameOptions
	cmd := &cobra.Command{
		Use:   "blame [ROOT]",
		Short: "Show where each line of a root's rendered manifests is written",
		Long: "Render a root, which is a folder with a kustomization or with manifests, or one manifest file, " +
			"and print every\n" +
			"line with the file and the line to edit. Without a root, list the roots of the repository.\n\n" +
			"The root is a path in the repository; it is rendered as it is in the work tree, or at --rev.",
		Example: "  lintel blame apps/shop --as shop-prod                   # as the Application or " +
			"Flux Kustomization deploys it\n" +
			"  lintel blame apps/shop/overlays/production\n" +
			"  lintel blame apps/shop/overlays/production --chain     # and what each value replaced\n" +
			"  lintel blame apps/shop/overlays/production --rev v1.2 -o json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{""}
			}
			return runBlame(cmd, o, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", ".", "a folder of the repository")
	f.StringVar(&o.rev, "rev", "", "the commit to read (default: the work tree)")
	addOutputFlag[[]report.BlamedResource](cmd, &o.output)
	addColorFlag(cmd, &o.color, "color the text by file")
	f.StringVar(&o.as, "as", "",
		"render the root as the Argo CD Application or Flux Kustomization of this name deploys it")
	f.BoolVar(&o.chain, "chain", false, "print below a line what its value replaced")
	f.Lookup("color").NoOptDefVal = "always"
	return cmd
}

func runBlame(cmd *cobra.Command, o blameOptions, root string) error {
	ctx := cmd.Context()
	repo, err := openRepository(ctx, o.repo)
	if err != nil {
		return err
	}
	t, cleanup, err := repo.openTree(ctx, o.rev)
	if err != nil {
		return err
	}
	defer cleanup()
	_ = sandbox.Isolate() // what the repository names is rendered in this process; what the system lacks stops nobody here
	rendering, problems, err := blame(ctx, t, repo, root, o.as, cmd.OutOrStdout())
	if err != nil || rendering == nil {
		return err
	}
	resources, err := blamed(rendering.Resources)
	if err != nil {
		return err
	}
	options := outputOptions(o.color)
	options.Chain = o.chain
	if err := output.Write(o.output, cmd.OutOrStdout(), resources, options); err != nil {
		return err
	}
	problems = append(problems, rendering.Broken()...)
	for _, p := range problems {
		fmt.Fprintf(cmd.ErrOrStderr(), "lintel: %s\n", output.Visible(p.Error()))
	}
	if len(problems) > 0 {
		return exitUnable
	}
	return nil
}

// openTree opens a revision, or the work tree (of a bare repository: its head). The caller runs the clean-up.
func (r *repository) openTree(ctx context.Context, rev string) (*tree.Tree, func(), error) {
	c := tree.Config{GitDir: r.gitDir, Git: r.git}
	cleanup := func() {}
	bare, err := r.run(ctx, nil, "rev-parse", "--is-inside-work-tree")
	switch {
	case rev == "" && err == nil && bare == "true":
		id, objects, err := r.snapshot(ctx)
		if err != nil {
			return nil, nil, err
		}
		cleanup = func() { _ = os.RemoveAll(filepath.Dir(objects)) }
		rev, c.Alternates = id, []string{objects}
	case rev == "":
		rev = "HEAD"
		fallthrough
	default:
		if rev, err = r.commit(ctx, rev); err != nil {
			return nil, nil, err
		}
	}
	objects, err := tree.Open(ctx, c)
	if err != nil {
		cleanup()
		return nil, nil, err
	}
	done := func() { _ = objects.Close(); cleanup() }
	t, err := objects.Tree(rev)
	if err != nil {
		done()
		return nil, nil, err
	}
	return t, done, nil
}

// paths returns what the user's words may mean, in the order to try: a path from the folder the user named, and one
// from the top of the repository.
func (r *repository) paths(ctx context.Context, t *tree.Tree, root string) []string {
	prefix, _ := r.run(ctx, nil, "rev-parse", "--show-prefix")
	if filepath.IsAbs(root) {
		if top, err := r.run(ctx, nil, "rev-parse", "--show-toplevel"); err == nil {
			if real, err := filepath.EvalSymlinks(root); err == nil {
				root = real
			}
			if inside, err := filepath.Rel(top, root); err == nil {
				root, prefix = inside, ""
			}
		}
	}
	var list []string
	for _, p := range []string{path.Join(prefix, filepath.ToSlash(root)), filepath.ToSlash(root)} {
		if clean, ok := tree.Clean(p); ok {
			if kustomization.IsFileName(clean) {
				clean = path.Dir(clean)
			}
			list = append(list, clean)
		}
	}
	return list
}

// blame renders a root: as it is, or as an object of a name deploys it. Without a root it lists all roots and returns
// nil. The repository as a whole is looked at only where the root is not a kustomization.
func blame(ctx context.Context, t *tree.Tree, repo *repository, root, as string, out io.Writer) (
	*render.Rendering, []source.Error, error,
) {
	defer quiet()()
	paths := repo.paths(ctx, t, root)
	if root != "" && as == "" {
		set, err := roots.Unindexed(t, roots.Options{})
		if err != nil {
			return nil, nil, err
		}
		for _, p := range paths {
			if f, broken := set.Kustomization(p); f != nil || broken != nil {
				return render.New(set, render.Config{Namespaced: kinds.HasNamespace}).Render(ctx, roots.Root{Path: p})
			}
			if _, e, err := t.Lookup(p); err == nil && (e.Kind == tree.File || e.Kind == tree.Dir) {
				break
			}
		}
	}
	set, err := roots.Open(t, roots.Options{Repository: repo.names(ctx), Branches: repo.branches(ctx, "")}, &graph.Cache{})
	if err != nil {
		return nil, nil, err
	}
	renderer := render.New(set, render.Config{Namespaced: kinds.HasNamespace})
	switch {
	case root == "":
		return nil, nil, output.Write("text", out, listRoots(set), output.Options{})
	case as != "":
		return blameDeployed(ctx, set, renderer, paths, as)
	}
	return blamePlain(ctx, t, set, renderer, paths)
}

// blamePlain renders the first of some paths that is a folder of manifests, or a manifest.
func blamePlain(ctx context.Context, t *tree.Tree, set *roots.Set, renderer *render.Renderer, paths []string) (
	*render.Rendering, []source.Error, error,
) {
	for _, p := range paths {
		folder := roots.Root{Path: p, Kind: roots.Folder}
		if f, broken := set.Kustomization(p); f != nil || broken != nil {
			return renderer.Render(ctx, roots.Root{Path: p})
		}
		if len(set.Files(folder)) > 0 {
			return renderer.Render(ctx, folder)
		}
		if real, e, err := t.Lookup(p); err == nil && e.Kind == tree.File {
			list, _, problem, err := renderer.Manifest(real)
			out := &render.Rendering{Root: folder, Resources: list}
			switch {
			case err != nil:
				return nil, nil, err
			case problem != nil:
				return out, []source.Error{*problem}, nil
			case len(list) > 0:
				return out, nil, nil
			}
			return nil, nil, fmt.Errorf("%s holds no manifest", p)
		}
	}
	if len(paths) == 0 {
		return nil, nil, errors.New("the root must be a path in the repository")
	}
	message := paths[0] + " has neither a kustomization nor manifests"
	var below []string
	for _, r := range set.All() {
		if strings.HasPrefix(r.Path, paths[0]+"/") || paths[0] == "." {
			below = append(below, r.Path)
		}
	}
	if n := len(below); n > 0 {
		const most = 8
		message += "; roots below it:\n  " + strings.Join(below[:min(n, most)], "\n  ")
		if n > most {
			message += fmt.Sprintf("\n  and %d more", n-most)
		}
	}
	return nil, nil, errors.New(message)
}

// quiet keeps what kustomize prints by itself (hints at deprecated fields) off the terminal until its answer is
// called. No other part of the program runs meanwhile.
func quiet() func() {
	stderr, logged := os.Stderr, log.Writer()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	os.Stderr = null
	log.SetOutput(io.Discard)
	return func() {
		os.Stderr = stderr
		log.SetOutput(logged)
		_ = null.Close()
	}
}

// blameDeployed renders a root as the object of a name deploys it.
func blameDeployed(ctx context.Context, set *roots.Set, renderer *render.Renderer, paths []string, as string) (
	*render.Rendering, []source.Error, error,
) {
	var names []string
	for _, p := range slices.Compact(slices.Clone(paths)) {
		for _, root := range set.Of(p) {
			switch name := set.Name(root); {
			case root.Object == "" || root.Path != p:
			case name == as:
				return renderer.Render(ctx, root)
			default:
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("no Application or Flux Kustomization deploys this folder in a way of its own")
	}
	return nil, nil, fmt.Errorf("%q does not deploy this folder; these do: %s", as,
		strings.Join(slices.Compact(names), ", "))
}

// listRoots lists the roots of a repository.
func listRoots(set *roots.Set) []report.ListedRoot {
	kinds := map[roots.Kind]string{roots.Kustomization: "kustomization", roots.Folder: "manifests",
		roots.Application: "application", roots.ApplicationSet: "applicationset", roots.FluxKustomization: "flux"}
	var list []report.ListedRoot
	for _, r := range set.All() {
		one := report.ListedRoot{Kind: kinds[r.Kind], Path: r.Path}
		if r.Object != "" {
			one.As = set.Name(r)
		}
		list = append(list, one)
	}
	return list
}
