package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
)

func newFetchCommand() *cobra.Command {
	var o showOptions
	var rules policyOptions
	cmd := newCommand("fetch", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		return runFetch(cmd, o, rules, args)
	})
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", ".", "a folder of the repository")
	f.StringVar(&o.rev, "rev", "", "the commit to read (default: the work tree)")
	o.sources.storeFlags(cmd)
	rules.flags(cmd)
	addOutputFlag[[]report.Fetched](cmd, &o.output)
	return cmd
}

func runFetch(cmd *cobra.Command, o showOptions, rules policyOptions, roots []string) error {
	line := showProgress(cmd.ErrOrStderr(), readingTree)
	list, missing, err := fetchAll(line.in(cmd.Context()), cmd, o, rules, roots)
	line.end()
	if err != nil {
		return err
	}
	if err := output.Write(o.output, cmd.OutOrStdout(), list, output.Options{}); err != nil {
		return err
	}
	switch {
	case len(list) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "lintel: the repository has no remote sources")
	case missing > 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "lintel: %d of %d could not be fetched\n", missing, len(list))
		return exitUnable
	}
	return nil
}

// fetchAll fetches the remote sources of some roots, or of all roots and the policies. It returns what was wanted and
// how many of these are not available.
func fetchAll(ctx context.Context, cmd *cobra.Command, o showOptions, rules policyOptions, roots []string) (
	list []report.Fetched, missing int, err error,
) {
	q := report.Query{Show: report.ShowRoots}
	s, err := o.open(ctx, &q)
	if err != nil {
		return nil, 0, err
	}
	defer s.close()
	if s.outside == nil {
		return nil, 0, errors.New("no folder for the source cache is known: name one with --store")
	}
	q.Output = "json"
	if len(roots) == 0 {
		if _, err := s.show(ctx, q); err != nil {
			return nil, 0, err
		}
		change := q.Change
		change.Rules, change.All, change.Now = q.Head, true, time.Now()
		if err := rules.apply(cmd, s.repo, &change); err != nil {
			return nil, 0, err
		}
		if _, err := s.outside.Inspect(ctx, s.child, change); err != nil {
			return nil, 0, err
		}
	}
	for _, root := range roots {
		q.Show, q.Root = report.ShowObjects, report.RootName{Name: root, Paths: s.repo.paths(ctx, root)}
		if _, err := s.show(ctx, q); err != nil {
			return nil, 0, err
		}
	}
	return o.fetched(ctx, s.repo.git, s.outside.Lock())
}

// fetched lists the results of wants, and counts those that are not available.
func (o *showOptions) fetched(ctx context.Context, git string, lock remote.Lock) (list []report.Fetched, missing int,
	err error) {
	kept, _, err := o.sources.openStore(ctx, git)
	if err != nil {
		return nil, 0, err
	}
	sizes, err := kept.Sizes()
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(lock, func(a, b remote.Entry) int { return remote.Compare(a.Want, b.Want) })
	for _, e := range lock {
		one := report.Fetched{Kind: string(e.Want.Kind), URL: e.Want.URL, Name: e.Want.Name, Ref: e.Want.Ref,
			Revision: e.Revision, Digest: cmp.Or(e.Digest, e.Tree), Changed: e.Changed, Bytes: sizes[e.Want], OK: true}
		if e.Failure != nil {
			one.OK, one.Reason = false, e.Failure.Message
			missing++
		}
		list = append(list, one)
	}
	return list, missing, nil
}
