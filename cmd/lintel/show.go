package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// showOptions are the options that all commands which show a tree have.
type showOptions struct {
	repo, rev, output string
	sources           sourcesOptions
}

func (o *showOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", ".", "a folder of the repository")
	f.StringVar(&o.rev, "rev", "", "the commit to read (default: the work tree)")
	o.sources.flags(cmd)
}

func newRootsCommand() *cobra.Command {
	var o showOptions
	cmd := newCommand("roots", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return runShow(cmd, o, report.Query{Show: report.ShowRoots})
	})
	o.flags(cmd)
	addOutputFlag[[]report.ListedRoot](cmd, &o.output)
	return cmd
}

func newRenderCommand() *cobra.Command {
	var o showOptions
	cmd := newCommand("render", between(1, 1), func(cmd *cobra.Command, args []string) error {
		return runShow(cmd, o, report.Query{Show: report.ShowObjects, Root: report.RootName{Name: args[0]}})
	})
	o.flags(cmd)
	addOutputFlag[[]report.Object](cmd, &o.output)
	return cmd
}

func newBlameCommand() *cobra.Command {
	var o showOptions
	var as, color string
	var chain bool
	cmd := newCommand("blame", between(0, 1), func(cmd *cobra.Command, args []string) error {
		options := outputOptions(color)
		q := report.Query{Show: report.ShowPlaces, As: as, Chain: chain, Color: options.Color, Width: options.Width}
		if len(args) == 0 {
			q.Show = report.ShowNames
			o.output = "text"
		} else {
			q.Root.Name = args[0]
		}
		return runShow(cmd, o, q)
	})
	o.flags(cmd)
	addOutputFlag[[]report.BlamedResource](cmd, &o.output)
	addColorFlag(cmd, &color, "color the text by file")
	f := cmd.Flags()
	f.StringVar(&as, "as", "",
		"render the root as the Argo CD Application or Flux Kustomization with this name deploys it")
	f.BoolVar(&chain, "chain", false, "print the replaced values below each line")
	f.Lookup("color").NoOptDefVal = "always"
	return cmd
}

// runShow asks a sandbox what a tree deploys, and prints the answer.
func runShow(cmd *cobra.Command, o showOptions, q report.Query) error {
	ctx := cmd.Context()
	line := showProgress(cmd.ErrOrStderr(), readingTree)
	s, err := o.open(ctx, &q)
	line.end()
	if err != nil {
		return err
	}
	defer s.close()
	q.Output = o.output
	line = showProgress(cmd.ErrOrStderr(), "rendering")
	out, err := s.show(line.in(ctx), q)
	line.end()
	if err != nil {
		return err
	}
	if q.Alternates != nil && out.Roots != nil { // of the work tree
		keepNames(s.repo.gitDir, names{Tree: q.Head, Roots: out.Roots})
	}
	if _, err := cmd.OutOrStdout().Write(out.Text); err != nil {
		return err
	}
	for _, said := range out.Said {
		fmt.Fprintf(cmd.ErrOrStderr(), "lintel: %s\n", visible(said))
	}
	if len(out.Said) > 0 {
		return exitUnable
	}
	return nil
}

// shownTree is a repository of which a sandbox shows a tree.
type shownTree struct {
	repo    *repository
	outside *remotes.Resolver
	child   *sandbox.Sandbox
	cleanup func()
}

// open sets the tree that a query is about to that of the options. The caller closes what it returns.
func (o *showOptions) open(ctx context.Context, q *report.Query) (*shownTree, error) {
	repo, err := openRepository(ctx, o.repo)
	if err != nil {
		return nil, err
	}
	cleanup, err := repo.ask(ctx, o.rev, q)
	if err != nil {
		return nil, err
	}
	outside, err := o.sources.open(ctx, repo.git)
	if err != nil {
		cleanup()
		return nil, err
	}
	return &shownTree{repo, outside, repo.sandbox(ctx, q.Cache, q.Alternates, outside, 0), cleanup}, nil
}

func (s *shownTree) close() {
	s.child.Close()
	s.cleanup()
}

// show repeats a query until it needs no further remote sources. If something cannot be shown, it returns an error.
func (s *shownTree) show(ctx context.Context, q report.Query) (out *report.Showing, err error) {
	err = s.outside.Until(ctx, func(have *report.Sources) (json.RawMessage, error) {
		q.Sources = have
		if out, err = s.child.Show(ctx, q); err != nil {
			return nil, err
		}
		return out.Wanted, nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("the repository could not be rendered: %w", err)
	case out.Unable != "":
		return nil, errors.New(visible(out.Unable))
	}
	return out, nil
}

// visible returns text without control characters that a terminal or the log of a CI system would interpret.
func visible(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = output.LogLine(line)
	}
	return strings.Join(lines, "\n")
}

// ask sets the tree that a query is about: that of a revision, or the work tree (in a bare repository: HEAD). The
// caller runs the clean-up.
func (r *repository) ask(ctx context.Context, rev string, q *report.Query) (cleanup func(), err error) {
	q.GitDir, q.Git, q.Repository, q.Branches = r.gitDir, r.git, r.names(ctx), r.branches(ctx, "")
	q.Root.Paths = r.paths(ctx, q.Root.Name)
	q.Cache = userCache()
	if rev != "" || !r.inside {
		if rev == "" {
			rev = "HEAD"
		}
		q.Head, err = r.commit(ctx, rev)
		return func() {}, err
	}
	id, objects, err := r.snapshot(ctx, inTree)
	if err != nil {
		return nil, err
	}
	q.Head, q.Alternates = id, []string{objects}
	return func() { _ = os.RemoveAll(filepath.Dir(objects)) }, nil
}

// paths returns the possible meanings of a path that the user typed, in the order to try: relative to the folder that
// the user named, and relative to the top of the repository.
func (r *repository) paths(ctx context.Context, root string) []string {
	prefix := r.prefix
	if filepath.IsAbs(root) {
		if top, err := r.top(ctx); err == nil {
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
