package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/fix"
	"github.com/lintel-bot/lintel/engine/policy"
)

type fixOptions struct {
	check  bool
	output string
}

// fixReport is what "lintel fix -o json" writes.
type fixReport struct {
	Edits []fix.Edit `json:"edits"`
	Left  []fixLeft  `json:"left"`
	Files []string   `json:"files"`
}

type fixLeft struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func newFixCommand() *cobra.Command {
	var o fixOptions
	cmd := &cobra.Command{
		Use:   "fix FILE...",
		Short: "Rewrite deprecated fields of policies to their present place",
		Long: "Rewrite deprecated fields, operators and spellings of Kyverno policies to their present place, in the files\n" +
			"themselves. Comments, order, quotes and formatting stay. What cannot be rewritten with certainty is named and left.\n" +
			"Of a folder all YAML and JSON files are taken, hidden ones aside.\n\n" +
			"Exit code 0: done. 1: with --check, something would be rewritten. 2: a file could not be read or written.",
		Example: "  lintel fix policies/          # rewrite\n" +
			"  lintel fix --check policies/  # only say what would be rewritten",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runFix(cmd, args, o) },
	}
	cmd.Flags().BoolVar(&o.check, "check", false, "write nothing, exit with 1 if something would be rewritten")
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "text or json")
	return cmd
}

func runFix(cmd *cobra.Command, args []string, o fixOptions) error {
	if !slices.Contains([]string{"text", "json"}, o.output) {
		return fmt.Errorf("unknown output %q: use text or json", o.output)
	}
	files, err := fixFiles(args)
	if err != nil {
		return err
	}
	broken := false // a file could not be understood
	report := fixReport{Edits: []fix.Edit{}, Left: []fixLeft{}, Files: []string{}}
	for _, name := range files {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		data, err := readPolicy(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(data, []byte("kyverno.io")) {
			continue
		}
		r := fix.File(policy.Source{Path: filepath.ToSlash(name), Data: data})
		for _, l := range r.Left {
			broken = broken || !l.Warning
			report.Left = append(report.Left, fixLeft{l.Path, l.Line, l.Column, l.Message})
		}
		if len(r.Edits) == 0 {
			continue
		}
		report.Edits = append(report.Edits, r.Edits...)
		report.Files = append(report.Files, r.Path)
		if !o.check {
			if err := replaceFile(name, r.Data); err != nil {
				return err
			}
		}
	}
	if err := report.write(cmd.OutOrStdout(), o); err != nil {
		return err
	}
	switch {
	case broken:
		return exitUnable
	case o.check && len(report.Edits) > 0:
		return exitBlocked
	}
	return nil
}

func (r *fixReport) write(w io.Writer, o fixOptions) error {
	if o.output == "json" {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	var b strings.Builder
	for _, e := range r.Edits {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", e.Path, e.Line, e.Column, e.Message)
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "%s:%d:%d: left as it is: %s\n", l.Path, l.Line, l.Column, l.Message)
	}
	done := "rewritten"
	if o.check {
		done = "to rewrite"
	}
	switch {
	case len(r.Edits) > 0:
		fmt.Fprintf(&b, "%s %s in %s\n", count(len(r.Edits), "place"), done, count(len(r.Files), "file"))
	case len(r.Left) == 0:
		b.WriteString("nothing is deprecated\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// fixFiles lists the files that were named and those in folders that were named.
func fixFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		err := filepath.WalkDir(arg, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			hidden := strings.HasPrefix(d.Name(), ".") && name != arg && d.Name() != ".." && d.Name() != "."
			switch {
			case d.IsDir() && hidden:
				return fs.SkipDir
			case d.IsDir() || hidden:
			case name == arg:
				files = append(files, name)
			case d.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name))):
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", arg, err)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// readPolicy reads a file up to the size that policies can have; of a larger one enough is read to be refused.
func readPolicy(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, policy.MaxBytes+1))
}

// replaceFile writes a file at once or not at all, and keeps its mode. A symbolic link stays one.
func replaceFile(name string, data []byte) (err error) {
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".lintel-fix-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if _, err = tmp.Write(data); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err = tmp.Chmod(info.Mode().Perm()); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
