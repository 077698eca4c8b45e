package main

import (
	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/report"
)

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
