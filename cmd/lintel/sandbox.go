package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/sandbox"
)

// newSandboxCommand is the hidden command that the other commands start as their child: it answers jobs on
// standard input until that ends. It is not for people.
func newSandboxCommand(checker sandbox.Checker) *cobra.Command {
	return &cobra.Command{
		Use:           "sandbox",
		Short:         "Run checks for a parent process (internal)",
		Hidden:        true,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answers := os.Stdout
			os.Stdout = os.Stderr // what a library prints must not get between the answers
			// Helm warns of values that do not fit together, and quotes them: only errors of ours are for a log.
			slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
			return sandbox.Serve(cmd.Context(), os.Stdin, answers, checker)
		},
	}
}
