package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// foreignFlag is a flag of the kyverno command that means nothing here. With instead, whoever uses it is told what to
// use in its place; without, it asks for nothing that would differ, and is taken.
type foreignFlag struct {
	name, short string
	takes       bool // it takes a value
	instead     string
}

// foreignValue is a foreign flag as one of a command.
type foreignValue struct{ foreignFlag }

func (v *foreignValue) String() string   { return "" }
func (v *foreignValue) Set(string) error { return nil }
func (v *foreignValue) Type() string     { return "string" }

// foreignApplyFlags are those of "kyverno apply" 1.19.
func foreignApplyFlags() []foreignFlag {
	const noCluster = "Lintel asks no cluster: get the resources with kubectl (kubectl get pods -A -o yaml) and name " +
		"them with -r"
	const noPatches = "Lintel does not print what mutate rules make of a resource: \"lintel test\" compares it with " +
		"patchedResources"
	const noPayloads = "Lintel reviews Kubernetes objects only: use the kyverno command for other payloads"
	const noPasswords = "a password does not belong into a command: use git's credential helpers, or credentials in " +
		"--sources"
	return append([]foreignFlag{
		{name: "cluster", short: "c", instead: noCluster},
		{name: "cluster-wide-resources", instead: noCluster},
		{name: "namespace", short: "n", takes: true, instead: noCluster},
		{name: "kubeconfig", takes: true, instead: noCluster},
		{name: "context", takes: true, instead: noCluster},
		{name: "output", short: "o", takes: true, instead: noPatches + "; for a form of the results use -t or -p, or " +
			"\"lintel eval -o json\""},
		{name: "stdin", short: "i", instead: noPatches + "; to read resources from the standard input use -r -"},
		{name: "json", takes: true, instead: noPayloads},
		{name: "http-payload", takes: true, instead: noPayloads},
		{name: "envoy-payload", takes: true, instead: noPayloads},
		{name: "registry", instead: "Lintel asks no registry: say what one would answer in a file of kind Context, with " +
			"--context-file"},
		{name: "username", takes: true, instead: noPasswords},
		{name: "password", takes: true, instead: noPasswords},
		{name: "generate-exceptions", instead: "use \"lintel check --draft-exceptions DIR/\", which tries each " +
			"exception out"},
		{name: "generated-exception-ttl", takes: true, instead: "use \"lintel check --draft-exceptions DIR/\", and set " +
			"spec.expiresAt"},
		{name: "show-performance", instead: "Lintel fetches nothing from a cluster: use \"time lintel apply\""},
		// How resources are fetched from a cluster, and that one which cannot be read does not end the run, as always here.
		{name: "batch-size", takes: true}, {name: "concurrent", takes: true},
		{name: "continue-on-fail"}, {name: "continue-on-error"},
		{name: "crd-path", takes: true, instead: "use --crd-paths"},
	}, foreignLogFlags()...)
}

// foreignLogFlags are those of all commands of kyverno 1.19, about logs: Lintel writes none.
func foreignLogFlags() []foreignFlag {
	return []foreignFlag{
		{name: "add_dir_header"}, {name: "alsologtostderr"}, {name: "alsologtostderrthreshold", takes: true},
		{name: "legacy_stderr_threshold_behavior"}, {name: "log_backtrace_at", takes: true}, {name: "log_dir", takes: true},
		{name: "log_file", takes: true}, {name: "log_file_max_size", takes: true}, {name: "logtostderr"},
		{name: "one_output"},
		{name: "skip_headers"}, {name: "skip_log_headers"}, {name: "stderrthreshold", takes: true},
		{name: "v", short: "v", takes: true}, {name: "vmodule", takes: true},
	}
}

// addForeignFlags has a command know flags that it does not have. The help does not list them.
func addForeignFlags(cmd *cobra.Command, list []foreignFlag) {
	for _, f := range list {
		usage := f.instead
		if usage == "" {
			usage = "without effect"
		}
		flag := cmd.Flags().VarPF(&foreignValue{f}, f.name, f.short, usage)
		flag.Hidden = true
		if !f.takes {
			flag.NoOptDefVal = "true"
		}
	}
}

// foreignTestFlags are those of "kyverno test" 1.19.
func foreignTestFlags() []foreignFlag {
	return append([]foreignFlag{
		{name: "git-branch", short: "b", takes: true, instead: noClone},
		{name: "registry", instead: "Lintel asks no registry: say what one would answer in a file of kind Context, which " +
			"the test names as context"},
		{name: "kubeconfig", takes: true, instead: "Lintel asks no cluster: say what it holds in clusterResources of the " +
			"test"},
		{name: "require-tests"}, // as always
	}, foreignLogFlags()...)
}

const noClone = "tests are read from folders: use \"git clone\", and name the folder"

// alias adds another name of a flag.
func alias(f *pflag.FlagSet, of, name string) {
	other := *f.Lookup(of)
	other.Name, other.Shorthand, other.Usage = name, "", "the same as --"+of
	f.AddFlag(&other)
}

// refused is the error of the first flag that was given and that the command does not have.
func refused(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*foreignValue); ok && v.instead != "" && err == nil {
			err = fmt.Errorf("--%s: %w", v.name, errors.New(v.instead))
		}
	})
	return err
}
