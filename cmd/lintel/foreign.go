package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// foreignFlag is a flag of the kyverno command that is not supported here, declared as one of ours.
type foreignFlag struct {
	name, short string
	takes       bool // it takes a value
	instead     string
}

func (f *foreignFlag) String() string   { return "" }
func (f *foreignFlag) Set(string) error { return nil }
func (f *foreignFlag) Type() string     { return "string" }

//go:embed foreign.txt
var foreignText string

// foreignFlags are the unsupported flags of a command of kyverno.
func foreignFlags(command string) (list []*foreignFlag) {
	for line := range strings.Lines(strings.ReplaceAll(foreignText, "\n  ", " ")) {
		of, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if of != command && of != "all" {
			continue
		}
		flags, instead, _ := strings.Cut(rest, ": ")
		for flag := range strings.SplitSeq(flags, ", ") {
			name, short, _ := strings.Cut(flag, " -")
			name, takes := strings.CutSuffix(name, "=")
			list = append(list, &foreignFlag{name, short, takes, instead})
		}
	}
	return list
}

// addForeignFlags makes a command accept flags that it does not support. The help does not list them.
func addForeignFlags(cmd *cobra.Command) {
	for _, f := range foreignFlags(cmd.Name()) {
		flag := cmd.Flags().VarPF(f, f.name, f.short, cmp.Or(f.instead, "without effect"))
		flag.Hidden = true
		if !f.takes {
			flag.NoOptDefVal = "true"
		}
	}
}

// alias adds another name for a flag.
func alias(f *pflag.FlagSet, of, name string) {
	other := *f.Lookup(of)
	other.Name, other.Shorthand, other.Usage = name, "", "the same as --"+of
	f.AddFlag(&other)
}

// refused returns an error for the first given flag that the command does not support.
func refused(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*foreignFlag); ok && v.instead != "" && err == nil {
			err = fmt.Errorf("--%s: %s", v.name, v.instead)
		}
	})
	return err
}
