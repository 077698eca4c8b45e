package main

import (
	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/report"
)

func newRenderCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "render ROOT",
		Short: "Print what a root deploys",
		Long: "Render a root, and print its objects: of a kustomization as \"kustomize build\" does, of a release of a " +
			"chart with the\n" +
			"custom resource definitions of crds/ and with hooks, without test hooks, after post renderers.",
		Example: "  lintel render apps/shop/overlays/production\n" +
			"  lintel render HelmRelease/media/plex -o json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runShow(cmd, o, report.Query{Show: report.ShowObjects, Root: report.RootName{Name: args[0]}})
		},
	}
	o.flags(cmd)
	addOutputFlag[[]report.Object](cmd, &o.output)
	return cmd
}
