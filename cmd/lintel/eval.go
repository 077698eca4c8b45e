package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/manifest"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/policytest"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

type evalOptions struct {
	policies, resources, exceptions, cluster, old []string
	values, userInfo, operation, output, color    string
}

func newEvalCommand() *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval -p POLICY... -r RESOURCE...",
		Short: "Ask policies about resources in files, with no repository",
		Long: "Review the resources of files as if each were sent to a cluster with these policies. " +
			"Files and folders (with all\n" +
			"YAML and JSON below them) may be named, \"-\" is the standard input.\n\n" +
			"Exit code 0: nothing blocks. 1: an enforced rule failed, or a file is broken. " +
			"2: the resources could not be reviewed.",
		Example: "  kustomize build overlays/prod | lintel eval -p policies/ -r -\n" +
			"  lintel eval -p policies/ -r pod.yaml -e exceptions/ --cluster cluster/ -o json\n" +
			"  lintel eval -p policies/ -r new.yaml --old old.yaml",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runEval(cmd, o) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.policies, "policy", "p", nil, "a file or folder of policies (may be repeated)")
	f.StringArrayVarP(&o.resources, "resource", "r", nil, "a file or folder of resources to review (may be repeated)")
	f.StringArrayVarP(&o.exceptions, "exception", "e", nil, "a file or folder of exceptions (may be repeated)")
	f.StringArrayVar(&o.cluster, "cluster", nil,
		"a file or folder of objects that the cluster holds, for look-ups (may be repeated)")
	f.StringArrayVar(&o.old, "old", nil, "a file or folder of the resources before an update (may be repeated)")
	f.StringVar(&o.values, "values", "", "a file of kind Values with variables and namespace labels")
	f.StringVar(&o.userInfo, "userinfo", "", "a file of kind UserInfo with who asks")
	f.StringVar(&o.operation, "operation", "",
		"CREATE, UPDATE, DELETE or CONNECT (default: UPDATE for what --old holds, else CREATE)")
	addOutputFlag[*report.Evaluation](cmd, &o.output)
	addColorFlag(cmd, &o.color, "color the text")
	_ = cmd.MarkFlagRequired("policy") // the flags exist
	_ = cmd.MarkFlagRequired("resource")
	return cmd
}

func runEval(cmd *cobra.Command, o evalOptions) error {
	in, problems, err := o.input(cmd)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		for _, p := range problems {
			fmt.Fprintln(cmd.ErrOrStderr(), "lintel:", visible(fmt.Sprint(p)))
		}
		return exitUnable
	}
	// One processor at a time: the work is done by one goroutine, and more of them only let the garbage collector take
	// what is idle, a tenth of the CPU time and of the memory.
	runtime.GOMAXPROCS(1)
	rep, err := eval.Run(cmd.Context(), in)
	if err != nil {
		return fmt.Errorf("the resources could not be reviewed: %w", err)
	}
	if err := output.Write(o.output, cmd.OutOrStdout(), rep, outputOptions(o.color)); err != nil {
		return err
	}
	if rep.Conclusion == report.Failure {
		return exitBlocked
	}
	return nil
}

// input reads the files that the flags name. Problems are those of the files that only this command reads.
func (o evalOptions) input(cmd *cobra.Command) (in eval.Input, problems []policy.Problem, err error) {
	operation := admission.Operation(strings.ToUpper(o.operation))
	known := []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect}
	if o.operation != "" && !slices.Contains(known, operation) {
		return in, nil, fmt.Errorf("--operation: %q is none of CREATE, UPDATE, DELETE, CONNECT", o.operation)
	}
	in = eval.Input{Operation: operation, Now: time.Now().UTC()}
	reader := fileReader{ctx: cmd.Context(), stdin: cmd.InOrStdin()}
	var values, users []manifest.File
	for _, list := range []struct {
		flag  string
		paths []string
		into  *[]manifest.File
	}{
		{"--policy", o.policies, &in.Policies}, {"--resource", o.resources, &in.Resources},
		{"--exception", o.exceptions, &in.Exceptions}, {"--cluster", o.cluster, &in.Cluster}, {"--old", o.old, &in.Old},
		{"--values", given(o.values), &values}, {"--userinfo", given(o.userInfo), &users},
	} {
		for _, p := range list.paths {
			sources, err := reader.read(p)
			if err != nil {
				return in, nil, fmt.Errorf("%s: %w", list.flag, err)
			}
			*list.into = append(*list.into, sources...)
		}
	}
	var bad []policy.Problem
	for _, s := range values {
		in.Values, bad = eval.ParseValues(s)
		problems = append(problems, bad...)
	}
	for _, s := range users {
		in.User, bad = eval.ParseUser(s)
		problems = append(problems, bad...)
	}
	return in, problems, nil
}

// given lists the value of a flag, if it has one.
func given(value string) []string {
	return slices.DeleteFunc([]string{value}, func(s string) bool { return s == "" })
}

// fileReader reads what flags name.
type fileReader struct {
	ctx   context.Context
	stdin io.Reader
	used  bool // the standard input
}

var errStdinTwice = errors.New("the standard input (-) can be read only once")

// read reads a file, or the manifests of a folder and of those below it that are not hidden.
func (r *fileReader) read(name string) ([]manifest.File, error) {
	if name == "-" {
		if r.used {
			return nil, errStdinTwice
		}
		r.used = true
		data, err := io.ReadAll(io.LimitReader(r.stdin, manifest.MaxBytes+1))
		return []manifest.File{{Path: "-", Data: data}}, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		source, err := readSource(name)
		return []manifest.File{source}, err
	}
	var out []manifest.File
	err = filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case p != name && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !policytest.IsManifest(d.Name()):
			return nil
		}
		source, err := readSource(p)
		out = append(out, source)
		return err
	})
	return out, err
}

// readSource reads one file, as far as it is of a size that is read at all; of a larger one enough to be refused.
func readSource(name string) (manifest.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return manifest.File{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, manifest.MaxBytes+1))
	return manifest.File{Path: filepath.ToSlash(name), Data: data}, err
}
