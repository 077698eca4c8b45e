package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

func newDiffCommand() *cobra.Command {
	var o checkOptions // which change it is about, and how it is shown
	var exitCode bool
	cmd := newCommand("diff", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		return runDiff(cmd, o, exitCode, args)
	})
	f := cmd.Flags()
	o.changeFlags(cmd, "show")
	f.BoolVar(&exitCode, "exit-code", false, "end with exit code 1 if anything differs")
	addFormatsFlag[*report.Differences](cmd, &o.output)
	f.DurationVar(&o.timeout, "timeout", sandbox.DefaultTimeout, "end after this time")
	cmd.MarkFlagsMutuallyExclusive("head", "worktree")
	return cmd
}

func runDiff(cmd *cobra.Command, o checkOptions, exitCode bool, names []string) error {
	ctx := cmd.Context()
	repo, err := openRepository(ctx, o.repo)
	if err != nil {
		return err
	}
	change, rep, err := o.ask(cmd, repo, names, asking{doing: "rendering", instead: "use --worktree",
		failed: "the change could not be rendered"}, func(c *report.Change) error {
		c.Differences, c.OnlyDifferences = true, true
		return nil
	})
	if err != nil {
		return err
	}
	differences := rep.Rendered()
	around := repo.pageOptions(ctx, change, o.looksAt())
	err = writeFormats(&o.output, cmd.OutOrStdout(), func(string) *report.Differences { return differences },
		func(color string) output.Options {
			options := outputOptions(color)
			options.HTML = around
			return options
		}, o.color)
	if err != nil {
		return err
	}
	if o.output.first == "text" {
		printUnknown(cmd, differences)
	}
	switch {
	case len(differences.Errors) > 0:
		return exitUnable
	case exitCode && differences.Any():
		return exitDiffers
	case exitCode && len(differences.NotChecked) > 0:
		return exitUnable // that nothing differs is not known
	}
	return nil
}

// printUnknown prints what could not be rendered. The other formats include this already.
func printUnknown(cmd *cobra.Command, d *report.Differences) {
	say := func(label string, p report.Problem) {
		fmt.Fprintf(cmd.ErrOrStderr(), "lintel: %s: %s\n", label, visible(p.String()))
	}
	for _, p := range d.Errors {
		say("error", p)
	}
	for _, p := range view.NotChecked(d.NotChecked, nil) {
		say("not rendered", p)
	}
	for _, p := range d.Warnings {
		say("warning", p)
	}
}
