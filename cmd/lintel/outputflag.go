package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
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
			return output.Unknown(*name, names)
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

// formats are the formats in which a command writes its result: one to the standard output, others to files.
type formats struct {
	written []string // as the user has them: NAME, or NAME=FILE
	first   string
	files   []formatFile
}

type formatFile struct{ name, path string }

// addFormatsFlag adds the flag that chooses the formats of a command's result. An unknown format is an error before the
// command starts.
func addFormatsFlag[V output.Value](cmd *cobra.Command, o *formats) {
	names := output.Names[V]()
	cmd.Flags().StringArrayVarP(&o.written, "output", "o", nil, "one of "+strings.Join(names, ", ")+
		", on standard output (default text); NAME=FILE also writes a file (may be repeated)")
	_ = cmd.RegisterFlagCompletionFunc("output", completeFormats(names))
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.read(names) }
}

// read parses the value of the flag.
func (o *formats) read(names []string) error {
	o.first, o.files = "", nil
	for _, written := range o.written {
		name, path, isFile := strings.Cut(written, "=")
		switch {
		case !slices.Contains(names, name):
			return output.Unknown(name, names)
		case isFile && path == "":
			return fmt.Errorf("--output %s: name the file after the equals sign", written)
		case isFile && slices.ContainsFunc(o.files, func(f formatFile) bool { return f.path == path }):
			return fmt.Errorf("--output: %q is to be written twice", path)
		case isFile:
			o.files = append(o.files, formatFile{name, path})
		case o.first != "":
			return fmt.Errorf("--output: %s and %s cannot both go to the standard output: name a file, as in %s=FILE", o.first, name,
				name)
		default:
			o.first = name
		}
	}
	if o.first == "" {
		o.first = names[0]
	}
	return nil
}

// has reports whether a format is among them.
func (o *formats) has(name string) bool {
	return o.first == name || slices.ContainsFunc(o.files, func(f formatFile) bool { return f.name == name })
}

// writeFormats writes a value in all formats, each with the options that of returns. w is for the format without a
// file. Files do not depend on the terminal.
func writeFormats[V output.Value](o *formats, w io.Writer, of func(form string) V, options func(color string) output.Options,
	color string,
) error {
	if err := output.Write(o.first, w, of(o.first), options(color)); err != nil {
		return err
	}
	for _, f := range o.files {
		var b bytes.Buffer
		if err := output.Write(f.name, &b, of(f.name), options("never")); err != nil {
			return err
		}
		if err := os.WriteFile(f.path, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("--output: %q could not be written: %w", f.path, plainCause(err))
		}
	}
	return nil
}

// viewOptions are how much of a report the text shows, and in which order.
type viewOptions struct {
	groupBy, severity string
	quiet, allPlaces  bool
}

// flags adds the flags of a view. They apply only to text: formats for programs are always complete, so the flags are
// refused if no format is text.
func (o *viewOptions) flags(cmd *cobra.Command, in *formats) {
	f := cmd.Flags()
	groupings, severities := view.Groupings(), report.Severities()
	o.groupBy = groupings[0]
	addChoiceFlag(cmd, "group-by", &o.groupBy, groupings, "how the text is grouped: "+enumerated(groupings))
	addChoiceFlag(cmd, "severity", &o.severity, severities, "show findings of this severity and above, and count the "+
		"others: "+enumerated(severities)+"; a policy without severity is medium")
	f.BoolVar(&o.allPlaces, "all-places", false, "show every finding and all its places")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "show only the verdict and errors")
	for _, name := range []string{"group-by", "severity", "all-places"} {
		cmd.MarkFlagsMutuallyExclusive("quiet", name)
	}
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := before(cmd, args); err != nil {
			return err
		}
		for _, name := range []string{"group-by", "severity", "all-places", "quiet"} {
			if f.Changed(name) && !in.has("text") {
				return fmt.Errorf("--%s works with text only: -o %s is always the whole report", name, in.first)
			}
		}
		return nil
	}
}

// apply adds the view to the options of a format.
func (o *viewOptions) apply(to output.Options) output.Options {
	to.GroupBy, to.Severity = view.Grouping(o.groupBy), o.severity
	to.AllPlaces, to.Quiet = o.allPlaces, o.quiet
	return to
}

// enumerated returns "a, b or c".
func enumerated(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
