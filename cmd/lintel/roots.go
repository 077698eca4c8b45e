package main

import (
	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/report"
)

func newRootsCommand() *cobra.Command {
	var o showOptions
	cmd := newCommand("roots", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return runShow(cmd, o, report.Query{Show: report.ShowRoots})
	})
	o.flags(cmd)
	addOutputFlag[[]report.ListedRoot](cmd, &o.output)
	return cmd
}
