package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newManCommand returns the command that writes the manual pages, for people who make packages.
func newManCommand() *cobra.Command {
	cmd := newCommand("man", between(1, 1), func(cmd *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		for _, page := range manPages(cmd.Root()) {
			if err := os.WriteFile(filepath.Join(args[0], page.name), page.text, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
	cmd.Hidden = true
	return cmd
}

// manPage is a manual page and its file name.
type manPage struct {
	name string
	text []byte
}

// manPages returns the pages of all commands that are not hidden, and of the topics.
func manPages(root *cobra.Command) []manPage {
	root.InitDefaultHelpCmd()
	pages := []manPage{{"lintel.1", man(root)}}
	for _, cmd := range visibleCommands(root) {
		pages = append(pages, manPage{manName(cmd) + ".1", man(cmd)})
	}
	return pages
}

// visibleCommands returns the commands and topics that are not hidden.
func visibleCommands(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(root.Commands()), func(cmd *cobra.Command) bool {
		return cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion"
	})
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// man returns the page of a command, in the macros of man(7).
func man(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"Lintel\" \"Lintel\"\n", strings.ToUpper(manName(cmd)))
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	if topic := cmd.IsAdditionalHelpTopicCommand(); topic {
		var text bytes.Buffer
		cmd.SetOut(&text)
		_ = cmd.Help() // a buffer takes all of it
		section("DESCRIPTION")
		verbatim(&b, text.String())
		seeAlso(&b, cmd)
		return b.Bytes()
	}
	section("SYNOPSIS")
	use := cmd.UseLine()
	if cmd.HasSubCommands() {
		use = cmd.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(&b, ".B %s\n", roff(use))
	section("DESCRIPTION")
	for i, part := range strings.Split(cmp.Or(cmd.Long, cmd.Short), "\n\n") {
		switch {
		case strings.HasPrefix(part, "  "):
			verbatim(&b, part)
		case i > 0:
			fmt.Fprintf(&b, ".PP\n%s\n", roff(part))
		default:
			fmt.Fprintln(&b, roff(part))
		}
	}
	if cmd.HasSubCommands() {
		section("COMMANDS")
		for _, c := range visibleCommands(cmd) {
			fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(manName(c)), roff(c.Short))
		}
	}
	if cmd.NonInheritedFlags().HasAvailableFlags() {
		section("OPTIONS")
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { option(&b, f) })
	}
	if cmd.Example != "" {
		section("EXAMPLES")
		verbatim(&b, cmd.Example)
	}
	if !strings.Contains(cmd.Long, "Exit code ") {
		section("EXIT STATUS")
		for code, words := range exitWords() {
			fmt.Fprintf(&b, ".TP\n%d\n%s\n", code, roff(words))
		}
	}
	seeAlso(&b, cmd)
	return b.Bytes()
}

// option writes a flag.
func option(b *bytes.Buffer, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	value, usage := pflag.UnquoteUsage(f)
	if value != "" {
		name += " " + strings.TrimSuffix(strings.TrimSuffix(value, "Array"), "s") // what one flag takes
	}
	if !slices.Contains([]string{"", "false", "0", "[]", "0s"}, f.DefValue) && !strings.Contains(usage, "(default") {
		usage += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(usage))
}

// verbatim writes lines as they are.
func verbatim(b *bytes.Buffer, text string) {
	fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(strings.TrimRight(text, "\n")))
}

// seeAlso writes the names of related pages.
func seeAlso(b *bytes.Buffer, cmd *cobra.Command) {
	b.WriteString(".SH SEE ALSO\n")
	var pages []string
	for _, c := range append([]*cobra.Command{cmd.Root()}, visibleCommands(cmd.Root())...) {
		if c != cmd {
			pages = append(pages, roff(manName(c))+"(1)")
		}
	}
	fmt.Fprintln(b, strings.Join(pages, ", "))
}

// roff escapes text so that troff prints it unchanged: backslashes, hyphens, and lines that look like requests.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
