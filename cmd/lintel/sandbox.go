package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/sandbox"
)

// newSandboxCommand returns the hidden command that the other commands start as a child process: it handles jobs from
// standard input until that ends. It is not meant for people.
func newSandboxCommand(checker sandbox.Checker) *cobra.Command {
	cmd := newCommand("sandbox", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		answers := os.Stdout
		os.Stdout = os.Stderr // what a library prints must not get between the answers
		// Helm logs warnings about values that do not fit together, and quotes the values. So only our own errors
		// are logged.
		slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
		return sandbox.Serve(cmd.Context(), os.Stdin, answers, checker)
	})
	cmd.Hidden = true
	return cmd
}
