package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
)

type fixOptions struct {
	check  bool
	output string
}

func newFixCommand() *cobra.Command {
	var o fixOptions
	cmd := newCommand("fix", between(1, 0), func(cmd *cobra.Command, args []string) error {
		return runFix(cmd, args, o)
	})
	cmd.Flags().BoolVar(&o.check, "check", false, "write nothing; exit with 1 if something would be rewritten")
	addOutputFlag[*report.Fixes](cmd, &o.output)
	return cmd
}

func runFix(cmd *cobra.Command, args []string, o fixOptions) error {
	files, err := fixFiles(args)
	if err != nil {
		return err
	}
	broken := false // a file could not be understood
	fixes := &report.Fixes{Edits: []report.FixEdit{}, Left: []report.FixLeft{}, Files: []string{}, Proposed: o.check}
	for _, name := range files {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		file, err := readSource(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(file.Data, []byte("kyverno.io")) {
			continue
		}
		r := rules.Fix(file)
		for _, l := range r.Left {
			broken = broken || !l.Warning
			fixes.Left = append(fixes.Left, report.FixLeft{Path: l.Path, Line: l.Line, Column: l.Column, Message: l.Message})
		}
		if len(r.Edits) == 0 {
			continue
		}
		fixes.Edits = append(fixes.Edits, r.Edits...)
		fixes.Files = append(fixes.Files, r.Path)
		if !o.check {
			if err := rewrite(name, r.Data); err != nil {
				return err
			}
		}
	}
	if err := output.Write(o.output, cmd.OutOrStdout(), fixes, output.Options{}); err != nil {
		return err
	}
	switch {
	case broken:
		return exitUnable
	case o.check && len(fixes.Edits) > 0:
		return exitBlocked
	}
	return nil
}

// fixFiles lists the given files and those in the given folders.
func fixFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		err := walkVisible(arg, func(name string, d fs.DirEntry) error {
			if name == arg || d.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml", ".json"},
				strings.ToLower(filepath.Ext(name))) {
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// rewrite writes a file atomically and keeps its mode. A symbolic link stays a link.
func rewrite(name string, data []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return replaceFile(name, data, info.Mode().Perm())
}
