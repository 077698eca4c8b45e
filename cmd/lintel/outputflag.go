package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lintel-bot/lintel/checks/output"
)

// addOutputFlag adds the flag that chooses the format of a command's result. An unknown format is an error before the
// command starts.
func addOutputFlag[V output.Value](cmd *cobra.Command, name *string) {
	names := output.Names[V]()
	def := "text"
	if !slices.Contains(names, def) {
		def = names[len(names)-1]
	}
	cmd.Flags().StringVarP(name, "output", "o", def, "one of "+strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(names, *name) {
			return &output.UnknownError{Name: *name, Names: names}
		}
		return nil
	}
}

// choice is a flag that accepts one of a few words.
type choice struct {
	value *string
	words []string
}

func (c choice) String() string {
	if c.value == nil { // as the flag package asks for the zero value
		return ""
	}
	return *c.value
}

// Set implements pflag.Value.
func (c choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return errors.New("choose " + enumerated(c.words))
	}
	*c.value = s
	return nil
}

// Type implements pflag.Value.
func (choice) Type() string { return "string" }

// addColorFlag adds the flag that turns colors on or off.
func addColorFlag(cmd *cobra.Command, mode *string, usage string) {
	words := []string{"auto", "always", "never"}
	*mode = words[0]
	addChoiceFlag(cmd, "color", mode, words, usage+": "+enumerated(words))
}

// addChoiceFlag adds a flag that accepts one of a few words.
func addChoiceFlag(cmd *cobra.Command, name string, value *string, words []string, usage string) {
	cmd.Flags().Var(choice{value, words}, name, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// outputOptions returns the options for the terminal and this program.
func outputOptions(color string) output.Options {
	return output.Options{Color: useColor(color), Width: terminalWidth(), Version: version().Number}
}

func useColor(mode string) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd()))
}

// terminalWidth returns the width of text in columns; 0 leaves it to the format.
func terminalWidth() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if n, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		return n
	}
	return 0
}
