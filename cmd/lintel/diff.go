package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

type diffOptions struct {
	change   checkOptions // which change it is about, and how it is shown
	exitCode bool
}

func newDiffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [ROOT...]",
		Short: "Show what a change does to the rendered resources, each line with its source place",
		Long: "Show what a branch would change in the cluster: render what it reaches at both commits, and print what\n" +
			"differs in each resource, with the place where each line is written: of lines that go, at the base.\n" +
			"No policy is asked. " +
			"Values of Secrets are not shown.\n\n" +
			"With ROOTs, as \"lintel roots\" lists them, only what the change does to these is looked at.\n\n" +
			"Exit code 0: it could be rendered. 1: with --exit-code, something differs. 2: it could not be rendered, or\n" +
			"with --exit-code nothing differs in what could; what could not is said.",
		Example: "  lintel diff                      # this branch against the default branch\n" +
			"  lintel diff --worktree           # what is not committed yet\n" +
			"  lintel diff --base v1 --head v2  # any two commits\n" +
			"  lintel diff apps/shop            # one root\n" +
			"  lintel diff --exit-code -o json  # for programs",
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd, o, args) },
	}
	f := cmd.Flags()
	o.change.changeFlags(cmd, "show")
	f.BoolVar(&o.exitCode, "exit-code", false, "end with exit code 1 if anything differs")
	addFormsFlag[*report.Differences](cmd, &o.change.output)
	f.DurationVar(&o.change.timeout, "timeout", sandbox.DefaultTimeout, "end after this time")
	cmd.MarkFlagsMutuallyExclusive("head", "worktree")
	return cmd
}

func runDiff(cmd *cobra.Command, o diffOptions, names []string) error {
	ctx := cmd.Context()
	repo, err := openRepository(ctx, o.change.repo)
	if err != nil {
		return err
	}
	change, rep, err := o.change.ask(cmd, repo, names, asking{doing: "rendering", instead: "use --worktree",
		failed: "the change could not be rendered"}, func(c *report.Change) error {
		c.Differences, c.OnlyDifferences = true, true
		return nil
	})
	if err != nil {
		return err
	}
	differences := rep.Rendered()
	around := repo.pageOptions(ctx, change, o.change.looksAt())
	err = writeForms(&o.change.output, cmd.OutOrStdout(), func(string) *report.Differences { return differences },
		func(color string) output.Options {
			options := outputOptions(color)
			options.HTML = around
			return options
		}, o.change.color)
	if err != nil {
		return err
	}
	if o.change.output.first == "text" {
		sayUnknown(cmd, differences)
	}
	switch {
	case len(differences.Errors) > 0:
		return exitUnable
	case o.exitCode && differences.Any():
		return exitDiffers
	case o.exitCode && len(differences.NotChecked) > 0:
		return exitUnable // that nothing differs is not known
	}
	return nil
}

// sayUnknown says what could not be rendered: the other forms have it in themselves.
func sayUnknown(cmd *cobra.Command, d *report.Differences) {
	say := func(label string, p report.Problem) {
		fmt.Fprintf(cmd.ErrOrStderr(), "lintel: %s: %s\n", label, visible(p.String()))
	}
	for _, p := range d.Errors {
		say("error", p)
	}
	for _, n := range d.NotChecked {
		say("not rendered", n.Problem())
	}
	for _, p := range d.Warnings {
		say("warning", p)
	}
}
