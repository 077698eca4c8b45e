package main

import (
	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/report"
)

func newRenderCommand() *cobra.Command {
	var o showOptions
	cmd := newCommand("render", between(1, 1), func(cmd *cobra.Command, args []string) error {
		return runShow(cmd, o, report.Query{Show: report.ShowObjects, Root: report.RootName{Name: args[0]}})
	})
	o.flags(cmd)
	addOutputFlag[[]report.Object](cmd, &o.output)
	return cmd
}
