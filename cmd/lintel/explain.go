package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/explain"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

func newExplainCommand() *cobra.Command {
	var repo, format, color string
	cmd := newCommand("explain", nil, func(cmd *cobra.Command, args []string) error {
		list, err := explained(cmd, repo, strings.Join(args, " "))
		if err != nil {
			return err
		}
		return output.Write(format, cmd.OutOrStdout(), list, outputOptions(color))
	})
	cmd.Flags().StringVar(&repo, "repo", ".", "a folder of the repository whose policies are explained")
	addOutputFlag[[]report.Explanation](cmd, &format)
	addColorFlag(cmd, &color, "color the text")
	return cmd
}

// explained finds what a text is about: first among what every report may say, which needs no repository, then among the
// policies of the repository.
func explained(cmd *cobra.Command, dir, text string) ([]report.Explanation, error) {
	if text == "" {
		return explain.Topics(), nil
	}
	if list := explain.Find(text); len(list) > 0 {
		return list, nil
	}
	policies, err := policiesOf(cmd, dir)
	if err != nil {
		return nil, fmt.Errorf("there is no check or message %q, and policies cannot be looked up: %w", text, err)
	}
	name, _, _ := strings.Cut(strings.ReplaceAll(text, " ", ""), "/")
	list := slices.DeleteFunc(slices.Clone(policies), func(e report.Explanation) bool {
		return e.Name != text && e.Name != name && !slices.Contains(e.Rules, text)
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no check, message or policy %q: \"lintel explain\" lists the checks and messages, and "+
			"the repository has %s", text, report.Count(len(policies), "policy", "policies"))
	}
	return list, nil
}

// policiesOf asks a sandbox for the policies of the work tree.
func policiesOf(cmd *cobra.Command, dir string) (list []report.Explanation, err error) {
	ctx := cmd.Context()
	repo, err := openRepository(ctx, dir)
	if err != nil {
		return nil, err
	}
	q := report.Query{Show: report.ShowPolicies}
	cleanup, err := repo.ask(ctx, "", &q)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	child := repo.sandbox(ctx, q.Cache, q.Alternates, nil, 0)
	defer child.Close()
	line := showProgress(cmd.ErrOrStderr(), "reading policies")
	defer line.end()
	out, err := child.Show(ctx, q)
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(out.Text, &list)
}
