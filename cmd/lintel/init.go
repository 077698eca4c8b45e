package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/starter"
	"github.com/lintel-bot/lintel/render/tree"
)

type initOptions struct {
	repo, output, color  string
	kind, action, folder string
	sets                 []string
	dryRun               bool
}

// policyFolders are the default folders for starting policies: the first one that nothing deploys is used.
func policyFolders() []string { return []string{"policies", "lintel/policies"} }

func newInitCommand() *cobra.Command {
	var o initOptions
	cmd := newCommand("init", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return runInit(cmd, o) })
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", ".", "a folder of the repository")
	addChoiceFlag(cmd, "kind", &o.kind, starter.Kinds(), "the kind of the policies (default: the most frequent kind "+
		"in the repository, else "+starter.Kinds()[0]+")")
	o.action = starter.Audit
	addChoiceFlag(cmd, "action", &o.action, starter.Actions(), "the effect of violations: audit (a warning) or "+
		"enforce (a new one blocks)")
	f.StringSliceVar(&o.sets, "set", nil, "sets of policies: "+strings.Join(starter.Sets(), ", ")+" (default: all but "+
		"restricted, which contains baseline; namespaces only if Argo CD or Flux names most namespaces)")
	_ = cmd.RegisterFlagCompletionFunc("set", cobra.FixedCompletions(starter.Sets(), cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&o.folder, "policies", "", "the folder of the policies, relative to the top of the repository (default: "+
		strings.Join(policyFolders(), ", or if that is deployed, ")+")")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing, and print what would be written")
	addOutputFlag[*report.InitPlan](cmd, &o.output)
	addColorFlag(cmd, &o.color, "color the text")
	return cmd
}

func runInit(cmd *cobra.Command, o initOptions) error {
	ctx := cmd.Context()
	folders, err := o.folders()
	if err != nil {
		return err
	}
	line := showProgress(cmd.ErrOrStderr(), "reading the repository")
	ctx = line.in(ctx)
	beginning, err := begin(ctx, o.repo)
	if err != nil {
		line.end()
		return err
	}
	defer beginning.close()
	plan, err := o.planner(beginning).plan(ctx, folders)
	line.end()
	if err != nil {
		return err
	}
	plan.DryRun = o.dryRun
	if !o.dryRun {
		if err := beginning.write(plan.Write); err != nil {
			return err
		}
	}
	plan.Next = beginning.next(plan)
	if err := output.Write(o.output, cmd.OutOrStdout(), &plan.InitPlan, outputOptions(o.color)); err != nil {
		return err
	}
	if plan.Left() {
		return exitDiffers
	}
	return nil
}

// folders returns the folders to try for the policies, the best first.
func (o initOptions) folders() ([]string, error) {
	if o.folder == "" {
		return policyFolders(), nil
	}
	p, ok := tree.Clean(filepath.ToSlash(o.folder))
	if !ok || p == "." || filepath.IsAbs(o.folder) || slices.Contains(strings.Split(strings.ToLower(p), "/"), ".git") {
		return nil, fmt.Errorf("--policies: %q is not a folder of the repository", o.folder)
	}
	return []string{p}, nil
}

// next returns the commands to run next.
func (b *beginning) next(plan *starter.Plan) []report.PlannedStep {
	if plan.DryRun {
		return []report.PlannedStep{{Command: "lintel init", For: "with the same flags, but without --dry-run, writes it"}}
	}
	var steps []report.PlannedStep
	add := func(command, purpose string) {
		steps = append(steps, report.PlannedStep{Command: command, For: purpose})
	}
	if b.repo == nil {
		add("git init", "Lintel checks git repositories")
	}
	add("lintel check --all --worktree", "findings of the policies now")
	if len(plan.Policies) > 0 {
		folder := path.Dir(plan.Policies[0].Folder)
		add("lintel test "+b.fromHere(folder), "the tests of the policies")
	}
	add("git add -A && git commit", "policies apply once the base branch has them")
	add("lintel check", "on a branch: findings of its changes")
	return steps
}

// fromHere returns the path of a repository file, relative to the current folder.
func (b *beginning) fromHere(p string) string {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return p
	}
	rel, err := filepath.Rel(here, filepath.Join(b.dir, filepath.FromSlash(p)))
	if err != nil {
		return p
	}
	return filepath.ToSlash(rel)
}
