package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/output"
)

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
			return &output.UnknownError{Name: name, Names: names}
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
