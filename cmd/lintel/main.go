// Command lintel checks pull requests of GitOps repositories before they merge.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/output"
)

// exitCode ends the program with a code and no further words.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// codedError is an error that ends the program with a code of its own.
type codedError struct {
	error
	code exitCode
}

func (e codedError) Unwrap() error { return e.error }

// The exit codes of all commands.
const (
	exitBlocked exitCode = 1 // findings that block, or failed tests
	exitDiffers exitCode = 1 // something differs, where that is asked
	exitUnable  exitCode = 2 // could not do what was asked
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRootCommand()
	root.SetArgs(spread(os.Args[1:]))
	err := root.ExecuteContext(ctx)
	var code exitCode
	var coded codedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		code = coded.code
		if errors.As(coded.error, new(exitCode)) { // it was told already
			return int(code)
		}
	case errors.As(err, &code):
		return int(code)
	default:
		code = exitUnable
	}
	fmt.Fprintf(os.Stderr, "lintel: %s\n", visible(err.Error()))
	return int(code)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lintel",
		Short: "Check pull requests of GitOps repositories against Kyverno policies, before they merge",
		Long: "Lintel renders the manifests that a change reaches, asks the repository's Kyverno policies about every\n" +
			"difference as if it were an admission review, and puts each finding on the line to edit.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	var text strings.Builder
	if output.Write("text", &text, version(), output.Options{}) == nil {
		root.Version = text.String() // cobra adds the flag
		root.SetVersionTemplate("{{.Version}}")
	}
	root.AddCommand(newCheckCommand(), newDiffCommand(), newEvalCommand(), newApplyCommand(), newTestCommand(), newFixCommand(), newBlameCommand(),
		newRootsCommand(), newRenderCommand(), newFetchCommand(),
		newServeCommand(), newVersionCommand(), newSchemaCommand(), newInitCommand(), newSandboxCommand(&checks.Checker{}))
	root.AddCommand(newHelpTopics()...)
	root.AddCommand(newManCommand())
	addCompletions(root)
	return root
}
