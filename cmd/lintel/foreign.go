package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// foreignFlag is a flag of the kyverno command that means nothing here, as a value of one of ours.
type foreignFlag struct {
	name, short string
	takes       bool // it takes a value
	instead     string
}

func (f *foreignFlag) String() string   { return "" }
func (f *foreignFlag) Set(string) error { return nil }
func (f *foreignFlag) Type() string     { return "string" }

//go:embed foreign.yaml
var foreignFile []byte

// foreignFlags are those of a command of kyverno.
func foreignFlags(command string) (list []*foreignFlag) {
	var groups map[string][]struct {
		Instead string
		Flags   []string
	}
	if err := yaml.Unmarshal(foreignFile, &groups); err != nil {
		panic(err) // every test of a command reads it
	}
	for _, g := range slices.Concat(groups[command], groups["all"]) {
		for _, flag := range g.Flags {
			name, short, _ := strings.Cut(flag, " -")
			name, takes := strings.CutSuffix(name, "=")
			list = append(list, &foreignFlag{name, short, takes, g.Instead})
		}
	}
	return list
}

// addForeignFlags has a command know flags that it does not have. The help does not list them.
func addForeignFlags(cmd *cobra.Command) {
	for _, f := range foreignFlags(cmd.Name()) {
		flag := cmd.Flags().VarPF(f, f.name, f.short, cmp.Or(f.instead, "without effect"))
		flag.Hidden = true
		if !f.takes {
			flag.NoOptDefVal = "true"
		}
	}
}

// alias adds another name of a flag.
func alias(f *pflag.FlagSet, of, name string) {
	other := *f.Lookup(of)
	other.Name, other.Shorthand, other.Usage = name, "", "the same as --"+of
	f.AddFlag(&other)
}

// refused is the error of the first flag that was given and that the command does not have.
func refused(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*foreignFlag); ok && v.instead != "" && err == nil {
			err = fmt.Errorf("--%s: %s", v.name, v.instead)
		}
	})
	return err
}
