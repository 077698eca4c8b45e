package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/pattern"
)

type testOptions struct {
	output, color, run, file string
	all, failOnly, detailed  bool
	noColor, strict          bool
	coverage, watch          bool
	workers                  int
}

func newTestCommand() *cobra.Command {
	var o testOptions
	cmd := newCommand("test", between(1, 0), func(cmd *cobra.Command, args []string) error {
		return runTest(cmd, o, args)
	})
	f := cmd.Flags()
	addOutputFlag[*report.TestRun](cmd, &o.output)
	addColorFlag(cmd, &o.color, "color the text")
	alias(f, "output", "output-format")
	f.StringVarP(&o.run, "run", "t", "",
		"only results with these names: policy=NAME,rule=NAME,resource=NAME; each is optional and may have wildcards")
	alias(f, "run", "test-case-selector")
	f.StringVarP(&o.file, "file-name", "f", eval.TestName, "the name of the test files")
	f.BoolVar(&o.all, "all", false, "show all rows, including those where nothing was compared")
	f.BoolVar(&o.failOnly, "fail-only", false, "show only the rows that failed")
	f.BoolVar(&o.detailed, "detailed-results", false, "show the message of each row")
	f.BoolVar(&o.noColor, "remove-color", false, "the same as --color never")
	f.BoolVar(&o.strict, "strict", false, "fail rows where nothing was compared")
	f.BoolVar(&o.coverage, "coverage", false, "list the rules that no row reaches, and those that only pass")
	f.BoolVar(&o.watch, "watch", false, "run again when a file that the tests read changes, until Ctrl-C")
	f.IntVar(&o.workers, "workers", 0, "number of test files to run at the same time (default: one per processor)")
	addForeignFlags(cmd)
	return cmd
}

func runTest(cmd *cobra.Command, o testOptions, dirs []string) error {
	if err := refused(cmd); err != nil {
		return err
	}
	switch {
	case o.workers < 0:
		return errors.New("--workers cannot be negative")
	case o.all && o.failOnly:
		return errors.New("--all and --fail-only are both given: choose one")
	case o.file == "" || o.file != path.Base(filepath.ToSlash(o.file)):
		return fmt.Errorf("--file-name: %q is not a file name", o.file)
	}
	match, err := resultFilter(o.run)
	if err != nil {
		return err
	}
	if o.noColor {
		o.color = "never"
	}
	once := func(files func(root string) fs.FS) error {
		in, err := testInput(files, dirs, o.file)
		if err != nil {
			return err
		}
		in.Match, in.Workers, in.Now = match, o.workers, time.Now().UTC()
		in.Strict, in.Coverage = o.strict, o.coverage
		return o.write(cmd, in)
	}
	switch {
	case !o.watch:
		return once(os.DirFS)
	case o.output != "text":
		return fmt.Errorf("--watch needs text output, since it prints repeatedly: -o %s is a single report", o.output)
	}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	return watch(cmd.Context(), ticker.C, cmd.ErrOrStderr(), once)
}

// write runs tests and writes the results.
func (o *testOptions) write(cmd *cobra.Command, in eval.TestInput) error {
	run, err := eval.RunTests(cmd.Context(), in)
	if err != nil {
		return fmt.Errorf("the tests could not be run: %w", err)
	}
	options := outputOptions(o.color)
	options.Messages = o.detailed
	switch {
	case o.all:
		options.Rows = output.AllRows
	case o.failOnly:
		options.Rows = output.FailedRows
	}
	if err := output.Write(o.output, cmd.OutOrStdout(), run, options); err != nil {
		return err
	}
	if !run.OK() {
		return exitBlocked
	}
	return nil
}

// testInput finds the tests. They may refer to files outside of the folders, so the whole file system can be read;
// reports name files relative to the folders as the user wrote them.
func testInput(files func(root string) fs.FS, dirs []string, file string) (eval.TestInput, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return eval.TestInput{}, err
	}
	root := filepath.VolumeName(here) + string(filepath.Separator)
	in := eval.TestInput{Files: files(root)}
	inside := func(p string) string {
		p = strings.TrimPrefix(filepath.ToSlash(p), filepath.ToSlash(root))
		if p == "" {
			return "."
		}
		return p
	}
	relative := slices.ContainsFunc(dirs, func(d string) bool { return !filepath.IsAbs(d) })
	in.Name = func(p string) string {
		if !relative {
			return filepath.ToSlash(root) + p
		}
		name, err := filepath.Rel(here, filepath.Join(root, filepath.FromSlash(p)))
		if err != nil {
			return p
		}
		return filepath.ToSlash(name)
	}
	for _, dir := range dirs {
		if strings.Contains(dir, "://") {
			return in, errors.New(`tests are read from folders: use "git clone", and name the folder`)
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return in, err
		}
		if _, err := os.Stat(abs); err != nil {
			return in, err
		}
		tests, err := eval.FindTests(in.Files, inside(abs), file)
		if err != nil {
			return in, err
		}
		in.Tests = report.Union(in.Tests, tests)
	}
	if len(in.Tests) == 0 {
		return in, fmt.Errorf("no %s in %s", file, strings.Join(dirs, ", "))
	}
	return in, nil
}

// resultFilter parses the value of --run.
func resultFilter(value string) (func(policy, rule, resource string) bool, error) {
	if value == "" {
		return nil, nil
	}
	want := map[string]string{"policy": "*", "rule": "*", "resource": "*"}
	for part := range strings.SplitSeq(value, ",") {
		key, name, ok := strings.Cut(strings.TrimSpace(part), "=")
		if _, known := want[key]; !ok || !known {
			return nil, fmt.Errorf("--run: %q is not policy=NAME, rule=NAME or resource=NAME", part)
		}
		want[key] = name
	}
	return func(policy, rule, resource string) bool {
		return pattern.Wildcard(want["policy"], policy) && pattern.Wildcard(want["rule"], rule) &&
			pattern.Wildcard(want["resource"], resource)
	}, nil
}
