// Command lintel checks pull requests of GitOps repositories before they merge.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/output"
)

// exitCode ends the program with an exit code and no message.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// codedError is an error with its own exit code.
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
	root.SetArgs(repeatFlags(os.Args[1:]))
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
	fmt.Fprintf(os.Stderr, "lintel: %s\n", visible(sentence(err)))
	return int(code)
}

// together matches what cobra prints about flags that exclude each other.
var together = regexp.MustCompile(`^if any flags in the group .*; \[(.*)\] were all set$`)

// sentence returns the text of an error for a person: what to do about it, and not what the libraries call it.
func sentence(err error) string {
	message := err.Error()
	if failed, ok := errors.AsType[*sandbox.Failed](err); ok && len(failed.Absent) > 0 {
		message += `: if it is a partial clone, "git fetch --refetch --no-filter" gets them`
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok { // without the call that failed, and the folders above the present one
		name := of.Path
		if here, err := os.Getwd(); err == nil && filepath.IsAbs(name) {
			if below, err := filepath.Rel(here, name); err == nil && filepath.IsLocal(below) {
				name = filepath.ToSlash(below)
			}
		}
		message = strings.Replace(message, of.Error(), name+": "+of.Err.Error(), 1)
	}
	if flags := together.FindStringSubmatch(message); flags != nil {
		message = "--" + strings.ReplaceAll(flags[1], " ", " and --") + " cannot be given together: remove one"
	}
	return message
}

// commandTexts are the help texts of the commands. A text begins with == and the usage of the command; then come a line
// with a summary, the full text and, after --, examples.
//
//go:embed commands.txt
var commandTexts string

// newCommand returns a command with its help texts.
func newCommand(name string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	_, all, _ := strings.Cut("\n"+commandTexts, "\n== "+name)
	all, _, _ = strings.Cut(all, "\n== ")
	text, examples, _ := strings.Cut(name+all, "\n--\n")
	use, text, _ := strings.Cut(text, "\n")
	short, long, _ := strings.Cut(text, "\n")
	return &cobra.Command{Use: use, Short: short, Long: strings.TrimSpace(long), Example: strings.TrimRight(examples, "\n"),
		Args: args, RunE: run}
}

// between accepts a number of arguments; most 0 is any number.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most > 0 && len(args) > most {
			return fmt.Errorf("the number of arguments does not fit: write lintel %s", cmd.Use)
		}
		return nil
	}
}

func newRootCommand() *cobra.Command {
	root := newCommand("lintel", nil, nil)
	root.SilenceUsage, root.SilenceErrors = true, true
	var text strings.Builder
	if output.Write("text", &text, version(), output.Options{}) == nil {
		root.Version = text.String() // cobra adds the flag
		root.SetVersionTemplate("{{.Version}}")
	}
	root.AddCommand(newCheckCommand(), newDiffCommand(), newEvalCommand(), newApplyCommand(), newTestCommand(), newFixCommand(),
		newBlameCommand(), newRootsCommand(), newRenderCommand(), newFetchCommand(), newServeCommand(),
		newVersionCommand(), newSchemaCommand(), newExplainCommand(), newInitCommand(), newSandboxCommand(&checks.Checker{}))
	root.AddCommand(newHelpTopics()...)
	root.AddCommand(newManCommand())
	addCompletions(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help": // of what there is
			cmd.Args = func(_ *cobra.Command, names []string) error { _, _, err := root.Find(names); return err }
		case "completion": // for a shell that there is
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// repeatFlags lets the repeatable flags of eval take several values in a row, as a shell produces from "-p
// policies/*.yaml": it inserts the flag before each further value. The arguments of other commands are not changed.
func repeatFlags(args []string) []string {
	if len(args) == 0 || args[0] != "eval" {
		return args
	}
	repeatable := []string{"-p", "--policy", "-r", "--resource", "-e", "--exception", "--cluster", "--old"}
	out := []string{args[0]}
	flag, values := "", 0
	for i, a := range args[1:] {
		switch {
		case a == "--":
			return append(out, args[1+i:]...)
		case a != "-" && strings.HasPrefix(a, "-"):
			flag, values = "", 0
			if slices.Contains(repeatable, a) {
				flag = a
			}
		case flag != "":
			if values++; values > 1 {
				out = append(out, flag)
			}
		}
		out = append(out, a)
	}
	return out
}
