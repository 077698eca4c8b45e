package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
)

// helpWidth is the width of topics in columns: the manual indents them.
const helpWidth = 72

// newHelpTopics returns the topics of "lintel help" that are no commands. Their texts are created when they are shown.
func newHelpTopics() []*cobra.Command {
	topic := func(name, short string, write func(w io.Writer, root *cobra.Command)) *cobra.Command {
		cmd := &cobra.Command{Use: name, Short: short}
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { write(cmd.OutOrStdout(), cmd.Root()) })
		return cmd
	}
	return []*cobra.Command{
		topic("exit-codes", "What the exit codes mean", helpExitCodes),
		topic("settings", "The fields of "+settings.Path, helpSettings),
		topic("policies", "Which policies are evaluated, and where they are found", helpPolicies),
	}
}

// para writes text in lines of limited width with an indent.
func para(w io.Writer, indent int, text string) {
	for _, line := range output.Wrap(text, helpWidth-indent) {
		fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", indent), line)
	}
}

// exitWords describe the exit codes of all commands.
func exitWords() []string {
	return []string{
		"Nothing blocks, and the command did what was asked.",
		"Something blocks, a test failed, a difference was found with --exit-code, or files of lintel init exist " +
			"with other content.",
		"The command could not do what was asked. Standard error has the reason.",
	}
}

func helpExitCodes(w io.Writer, root *cobra.Command) {
	for code, words := range exitWords() {
		fmt.Fprintf(w, "  %d  ", code)
		lines := output.Wrap(words, helpWidth-5)
		fmt.Fprintln(w, strings.Join(lines, "\n     "))
	}
	for _, cmd := range root.Commands() {
		for part := range strings.SplitSeq(cmd.Long, "\n\n") {
			if strings.HasPrefix(part, "Exit code ") && !cmd.Hidden {
				fmt.Fprintf(w, "\n%s:\n", cmd.CommandPath())
				para(w, 2, strings.ReplaceAll(strings.TrimPrefix(part, "Exit code "), "\n", " "))
			}
		}
	}
	fmt.Fprintln(w)
	para(w, 0, "With warnings only, lintel check exits with 0. To change that, use --fail-on warn or neutral, or "+
		"block: {audit: true} in the settings.")
}

func helpSettings(w io.Writer, _ *cobra.Command) {
	para(w, 0, settings.Path+" at the top of the repository, read from the base branch: a change cannot loosen its own check. "+
		"Every field has a default; no file is needed. A * stands for any name, [] for each entry of a list.")
	for _, f := range settings.Fields() {
		fmt.Fprintf(w, "\n%s (%s)\n", f.Path, settings.FormatOf(f.Path))
		text := f.Text
		if f.Default != nil {
			text += fmt.Sprintf(" Default: %v.", f.Default)
		}
		if names := settings.CheckNames(); f.Path == "checks" && len(names) > 0 {
			text += " There are " + strings.Join(names, ", ") + "."
		}
		if f.Most != nil {
			text += fmt.Sprintf(" At most %d.", *f.Most)
		}
		para(w, 4, text)
	}
	fmt.Fprintln(w)
	para(w, 0, "\"lintel schema\" prints the same for editors. \"lintel init\" writes settings to start with.")
}

func helpPolicies(w io.Writer, _ *cobra.Command) {
	uses := []struct {
		use   engine.Use
		words string
	}{
		{engine.UseEvaluated, "Evaluated:"}, {engine.UseBinding, "Put policies into " +
			"effect:"}, {engine.UseException, "Exceptions:"},
		{engine.UseClusterOnly, "Evaluated in a cluster only; a check reports that once:"},
	}
	for _, u := range uses {
		fmt.Fprintln(w, u.words)
		for _, k := range engine.KnownKinds() {
			if k.Use == u.use {
				fmt.Fprintf(w, "  %-32s  %s (%s)\n", k.Kind, k.Group, strings.Join(k.Versions, ", "))
			}
		}
		fmt.Fprintln(w)
	}
	para(w, 0, "Policies are found by their kind, in all manifests that are neither hidden nor patches. With "+
		"\"policies\" in "+settings.Path+", only the files and folders named there count. They are read from the "+
		"base branch, so "+
		"they apply once they are merged; a check previews changes to them. \"lintel init\" writes a starter set.")
	fmt.Fprintln(w)
	para(w, 0, "New violations of enforced rules block; violations of audit rules are warnings. An exception that a "+
		"change adds counts once it is approved in review.")
	fmt.Fprintln(w)
	para(w, 0, "\"lintel test\" runs their tests ("+eval.TestName+"), \"lintel eval\" evaluates them for files, and "+
		"\"lintel fix\" moves deprecated fields to their current place.")
}
