package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// evalOptions are the options for evaluating files, for both commands: eval and apply.
type evalOptions struct {
	policies, resources, exceptions, cluster, old []string
	values, userInfo, operation, output, color    string
	branch                                        string // of policies in git repositories
	sources                                       sourcesOptions

	trace   bool
	spelled map[string]string // flags that the command calls by another name

	set                     []string // variables as NAME=VALUE, in place of values
	inResources, inPolicies bool     // exceptions are among these, too
}

func newEvalCommand() *cobra.Command {
	var o evalOptions
	cmd := newCommand("eval", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return runEval(cmd, o) })
	f := cmd.Flags()
	f.StringArrayVarP(&o.policies, "policy", "p", nil, "a file or folder of policies (may be repeated)")
	f.StringArrayVarP(&o.resources, "resource", "r", nil, "a file or folder of resources to review (may be repeated)")
	f.StringArrayVarP(&o.exceptions, "exception", "e", nil, "a file or folder of exceptions (may be repeated)")
	f.StringArrayVar(&o.cluster, "cluster", nil,
		"a file or folder of objects that the cluster holds, for look-ups (may be repeated)")
	f.StringArrayVar(&o.old, "old", nil, "a file or folder of the resources before an update (may be repeated)")
	f.StringVar(&o.values, "values", "", "a file of kind Values with variables and namespace labels")
	f.StringVar(&o.userInfo, "userinfo", "", "a file of kind UserInfo with the requesting user")
	f.StringVar(&o.operation, "operation", "",
		"CREATE, UPDATE, DELETE or CONNECT (default: UPDATE for what --old holds, else CREATE)")
	f.StringVar(&o.branch, "git-branch", "", "the branch or tag of policies in git repositories")
	o.sources.flags(cmd)
	o.traceFlag(cmd)
	addOutputFlag[*report.Evaluation](cmd, &o.output)
	addColorFlag(cmd, &o.color, "color the text")
	_ = cmd.MarkFlagRequired("policy") // the flags exist
	_ = cmd.MarkFlagRequired("resource")
	return cmd
}

func (o *evalOptions) traceFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.trace, "trace", false,
		"explain for each rule why it matches a resource or not, and what decided (text and JSON)")
}

// traceable returns an error for a format that cannot show the reasons.
func (o *evalOptions) traceable(form string) error {
	if o.trace && form != "text" && form != "json" {
		return fmt.Errorf("--trace works with text and JSON output, not with %s", form)
	}
	return nil
}

func runEval(cmd *cobra.Command, o evalOptions) error {
	if err := o.traceable(o.output); err != nil {
		return err
	}
	rep, err := o.evaluate(cmd)
	if err != nil {
		return err
	}
	if err := output.Write(o.output, cmd.OutOrStdout(), rep, outputOptions(o.color)); err != nil {
		return err
	}
	if rep.Conclusion == report.Failure {
		return exitBlocked
	}
	return nil
}

// evaluate reads the files and evaluates the policies.
func (o evalOptions) evaluate(cmd *cobra.Command) (*report.Evaluation, error) {
	in, problems, err := o.input(cmd)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		for _, p := range problems {
			fmt.Fprintln(cmd.ErrOrStderr(), "lintel:", visible(fmt.Sprint(p)))
		}
		return nil, exitUnable
	}
	// One processor is enough: the work is done by one goroutine, and with more the garbage collector would use the
	// idle ones, for a tenth more CPU time and memory.
	runtime.GOMAXPROCS(1)
	rep, err := eval.Run(cmd.Context(), in)
	if err != nil {
		return nil, fmt.Errorf("the resources could not be reviewed: %w", err)
	}
	return rep, nil
}

// input reads the files that the flags name. The problems are those of files that only this command reads.
func (o evalOptions) input(cmd *cobra.Command) (in eval.Input, problems []policy.Problem, err error) {
	operation := admission.Operation(strings.ToUpper(o.operation))
	known := []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect}
	if o.operation != "" && !slices.Contains(known, operation) {
		return in, nil, fmt.Errorf("--operation: %q is none of CREATE, UPDATE, DELETE, CONNECT", o.operation)
	}
	in = eval.Input{Operation: operation, Now: time.Now().UTC(), Trace: o.trace}
	reader := fileReader{ctx: cmd.Context(), stdin: cmd.InOrStdin(), linked: o.sources}
	var values, users []rules.File
	for _, list := range []struct {
		flag  string
		paths []string
		into  *[]rules.File
	}{
		{"--policy", o.policies, &in.Policies}, {"--resource", o.resources, &in.Resources},
		{"--exception", o.exceptions, &in.Exceptions}, {"--cluster", o.cluster, &in.Cluster}, {"--old", o.old, &in.Old},
		{"--values", report.Filled(o.values), &values}, {"--userinfo", report.Filled(o.userInfo), &users},
	} {
		branch := ""
		if list.into == &in.Policies {
			branch = o.branch
		}
		if *list.into, err = reader.all(list.paths, branch); err != nil {
			return in, nil, fmt.Errorf("%s: %w", cmp.Or(o.spelled[list.flag], list.flag), err)
		}
	}
	if o.inResources {
		in.Exceptions = append(in.Exceptions, in.Resources...)
	}
	if o.inPolicies {
		in.Exceptions = append(in.Exceptions, in.Policies...)
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
	if len(o.set) > 0 {
		in.Values, err = variables(o.set)
	}
	return in, problems, err
}

// variables parses variables written as NAME=VALUE.
func variables(set []string) (*eval.Values, error) {
	out := &eval.Values{GlobalValues: map[string]any{}}
	for _, one := range set {
		name, value, ok := strings.Cut(one, "=")
		switch name = strings.TrimSpace(name); {
		case !ok || name == "":
			return nil, fmt.Errorf("--set: %q is not NAME=VALUE", one)
		case out.GlobalValues[name] != nil:
			return nil, fmt.Errorf("--set: %s is given twice", name)
		case strings.HasPrefix(name, "request.object."):
			return nil, fmt.Errorf("--set: %s is part of the resource: change it there", name)
		}
		out.GlobalValues[name] = strings.TrimSpace(value)
	}
	return out, nil
}
