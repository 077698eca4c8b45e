package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

// applyOptions are the flags that only the kyverno command has. The evaluation is the same as that of eval.
type applyOptions struct {
	evalOptions
	report, table, detailed, noColor bool
	auditWarn, warnNoPass            bool
	warnExitCode                     int
	format                           string
}

func newApplyCommand() *cobra.Command {
	var o applyOptions
	cmd := newCommand("apply", func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return codedError{errors.New("no policies are named: write lintel apply POLICY... -r RESOURCE"), exitBlocked}
		}
		return nil
	}, func(cmd *cobra.Command, args []string) error {
		o.policies = args
		o.spelled = map[string]string{"--policy": "policies", "--cluster": "--context-file and the like",
			"--values": "--values-file"}
		err := runApply(cmd, o)
		if code, ok := errors.AsType[exitCode](err); err == nil || ok && code != exitUnable {
			return err
		}
		return codedError{err, exitBlocked}
	})
	o.flags(cmd)
	// A mistake must not look like a warning to a script that distinguishes warnings from failures by the exit code.
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return codedError{err, exitBlocked} })
	return cmd
}

func (o *applyOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	lists := func(into *[]string, usage, short string, names ...string) { // values separated by commas, under any of the names
		f.StringSliceVarP(into, names[0], short, nil, usage)
		for _, name := range names[1:] {
			alias(f, names[0], name)
		}
	}
	lists(&o.resources, "files and folders of resources", "r", "resource", "resources")
	lists(&o.exceptions, "files and folders of exceptions", "e", "exception", "exceptions")
	f.BoolVar(&o.inResources, "exceptions-with-resources", false, "also read exceptions from the files of the resources")
	alias(f, "exceptions-with-resources", "exceptions-within-resources")
	f.BoolVar(&o.inPolicies, "exceptions-within-policies", false, "also read exceptions from the files of the policies")
	lists(&o.cluster, "files and folders of objects that the cluster holds, for look-ups", "", "context-file",
		"parameter-resource", "target-resource", "target-resources", "crd-paths")
	lists(&o.set, "variables of policies, NAME=VALUE", "s", "set")
	f.StringVarP(&o.values, "values-file", "f", "", "a file of kind Values with variables and namespace labels")
	f.StringVarP(&o.userInfo, "userinfo", "u", "", "a file of kind UserInfo with the requesting user")
	f.StringVarP(&o.branch, "git-branch", "b", "", "the branch or tag of policies in git repositories")
	o.sources.flags(cmd)
	o.traceFlag(cmd)
	f.BoolVarP(&o.table, "table", "t", false, "print a table")
	f.BoolVar(&o.detailed, "detailed-results", false, "show the messages in the table")
	f.BoolVarP(&o.report, "policy-report", "p", false, "print a policy report")
	f.StringVar(&o.format, "output-format", "yaml", "format of the policy report: yaml or json")
	f.BoolVar(&o.auditWarn, "audit-warn", false, "failures of policies that audit are warnings")
	f.IntVar(&o.warnExitCode, "warn-exit-code", 0, "exit code if there are warnings and no failures")
	f.BoolVar(&o.warnNoPass, "warn-no-pass", false, "use --warn-exit-code also if nothing passed")
	f.BoolVar(&o.noColor, "remove-color", false, "no colors")
	addForeignFlags(cmd)
}

func runApply(cmd *cobra.Command, o applyOptions) error {
	if err := refused(cmd); err != nil {
		return err
	}
	if err := o.traceable(o.outputFormat()); err != nil {
		return err
	}
	switch {
	case len(o.resources) == 0:
		return errors.New("name the resources: -r FILE, -r FOLDER, or -r - for the standard input")
	case len(o.set) > 0 && o.values != "":
		return errors.New("--set and --values-file are both given: put all variables into the file")
	case o.table && o.report:
		return errors.New("--table and --policy-report are both given: choose one")
	case o.format != "yaml" && o.format != "json":
		return fmt.Errorf("--output-format: %q is neither yaml nor json", o.format)
	case o.warnExitCode < 0 || o.warnExitCode > 255:
		return errors.New("--warn-exit-code is a number from 0 to 255")
	}
	rep, err := o.evaluate(cmd)
	if err != nil {
		return err
	}
	rep.Apply(o.auditWarn)
	color := "auto"
	if o.noColor {
		color = "never"
	}
	options := outputOptions(color)
	options.Counts, options.JSON, options.Messages = true, o.format == "json", o.detailed
	if err := output.Write(o.outputFormat(), cmd.OutOrStdout(), rep, options); err != nil {
		return err
	}
	return o.exit(rep)
}

// outputFormat returns the name of the format that the flags choose.
func (o *applyOptions) outputFormat() string {
	switch {
	case o.report:
		return "policyreport"
	case o.table || o.detailed:
		return "table"
	}
	return "text"
}

// exit returns the command's result as the kyverno command does, where a file that cannot be used is an error, too.
func (o *applyOptions) exit(rep *report.Evaluation) error {
	s := rep.Stats
	switch {
	case s.Fail > 0 || s.Error > 0 || len(rep.Errors) > 0:
		return exitBlocked
	case o.warnExitCode != 0 && (s.Warn > 0 || s.Pass == 0 && o.warnNoPass):
		return exitCode(o.warnExitCode)
	}
	return nil
}
