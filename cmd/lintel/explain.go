package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

func newExplainCommand() *cobra.Command {
	var o showOptions
	var color string
	cmd := newCommand("explain", nil, func(cmd *cobra.Command, args []string) error {
		list, err := explained(cmd, o, strings.Join(args, " "))
		if err != nil {
			return err
		}
		return output.Write(o.output, cmd.OutOrStdout(), list, outputOptions(color))
	})
	o.flags(cmd)
	addOutputFlag[[]report.Explanation](cmd, &o.output)
	addColorFlag(cmd, &color, "color the text")
	return cmd
}

// explained finds the subject of a text: among the messages of reports, which needs no repository, and among the
// policies of the repository. A check and a policy may have the same name.
func explained(cmd *cobra.Command, o showOptions, text string) ([]report.Explanation, error) {
	if text == "" {
		return checks.Topics(), nil
	}
	known := checks.Explain(text)
	if len(known) > 0 && known[0].Kind == report.ExplainMessage {
		return known, nil
	}
	policies, err := policiesOf(cmd, o)
	switch {
	case err != nil && len(known) > 0: // there need be no repository
		return known, nil
	case err != nil:
		return nil, fmt.Errorf("there is no check or message %q, and policies cannot be looked up: %w", text, err)
	}
	name := strings.ReplaceAll(text, " ", "")
	for _, e := range policies {
		rule, of := strings.CutPrefix(name, e.Name+"/")
		if e.Name == name || slices.Contains(e.Rules, name) || of && slices.Contains(e.Rules, rule) {
			known = append(known, e)
		}
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("there is no check, message, policy or rule %q: \"lintel explain\" lists the checks and messages, "+
			"and the repository has %s", text, report.Count(len(policies), "policy", "policies"))
	}
	return known, nil
}

// policiesOf asks a sandbox for the policies of the tree, including those of other repositories that its settings name.
func policiesOf(cmd *cobra.Command, o showOptions) (list []report.Explanation, err error) {
	ctx := cmd.Context()
	q := report.Query{Show: report.ShowPolicies}
	s, err := o.open(ctx, &q)
	if err != nil {
		return nil, err
	}
	defer s.close()
	q.Host = s.repo.host(ctx)
	line := showProgress(cmd.ErrOrStderr(), "reading policies")
	defer line.end()
	out, err := s.show(line.in(ctx), q)
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(out.Text, &list)
}
