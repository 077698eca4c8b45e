package main

import (
	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/report"
)

func newBlameCommand() *cobra.Command {
	var o showOptions
	var as, color string
	var chain bool
	cmd := &cobra.Command{
		Use:   "blame [ROOT]",
		Short: "Show where each line of a root's rendered manifests is written",
		Long: "Render a root, and print every line with the file and the line to edit. A root is a folder with a " +
			"kustomization,\n" +
			"with manifests or with a chart, one manifest file, or what an object deploys: KIND/NAMESPACE/NAME, as " +
			"\"lintel roots\"\n" +
			"lists it. Without a root, list the roots of the repository.\n\n" +
			"The root is a path in the repository; it is rendered as it is in the work tree, or at --rev.",
		Example: "  lintel blame apps/shop/overlays/production\n" +
			"  lintel blame apps/shop/overlays/production --chain     # and what each value replaced\n" +
			"  lintel blame apps/shop/overlays/production --rev v1.2 -o json\n" +
			"  lintel blame HelmRelease/media/plex                    # a release of a chart\n" +
			"  lintel blame apps/shop --as shop-prod                  # as the Application or " +
			"Flux Kustomization deploys it",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			options := outputOptions(color)
			q := report.Query{Show: report.ShowPlaces, As: as, Chain: chain, Color: options.Color, Width: options.Width}
			if len(args) == 0 {
				q.Show = report.ShowNames
				o.output = "text"
			} else {
				q.Root.Name = args[0]
			}
			return runShow(cmd, o, q)
		},
	}
	o.flags(cmd)
	addOutputFlag[[]report.BlamedResource](cmd, &o.output)
	addColorFlag(cmd, &color, "color the text by file")
	f := cmd.Flags()
	f.StringVar(&as, "as", "",
		"render the root as the Argo CD Application or Flux Kustomization of this name deploys it")
	f.BoolVar(&chain, "chain", false, "print below a line what its value replaced")
	f.Lookup("color").NoOptDefVal = "always"
	return cmd
}
