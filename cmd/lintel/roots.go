package main

import (
	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/report"
)

func newRootsCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "roots",
		Short: "List what a repository deploys",
		Long: "List the roots of a repository: kustomizations that no other includes, folders of manifests, charts, and " +
			"what objects\n" +
			"of Argo CD and Flux deploy. Each has a name that the other commands take, and a reason where it does not " +
			"render whole.",
		Example: "  lintel roots\n  lintel roots --rev main -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runShow(cmd, o, report.Query{Show: report.ShowRoots})
		},
	}
	o.flags(cmd)
	addOutputFlag[[]report.ListedRoot](cmd, &o.output)
	return cmd
}
