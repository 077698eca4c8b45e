package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/checks/starter"
	"github.com/lintel-bot/lintel/render/tree"
)

type initOptions struct {
	repo, output, color  string
	kind, action, folder string
	sets                 []string
	dryRun               bool
}

// policyFolders are where starting policies go if nobody says otherwise: the first that nothing deploys.
func policyFolders() []string { return []string{"policies", "lintel/policies"} }

func newInitCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write settings and policies to start with",
		Long: "Look at a repository, and write " + settings.Path + " and policies to start with, each with its test " +
			"(kyverno-test.yaml).\n" +
			"Policies are audits unless --action says otherwise: the first findings are warnings, and nothing blocks.\n\n" +
			"Nothing that is there is changed. Clusters are proposed where the repository clearly has several.\n\n" +
			"Exit code 0: all of it is written, or there already. 1: something else was in the way, and was left.\n" +
			"2: it could not be done.",
		Example: "  lintel init --dry-run             # what would be written\n" +
			"  lintel init\n" +
			"  lintel init --set restricted --kind ValidatingPolicy\n" +
			"  lintel check --all --worktree     # then: what they find",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInit(cmd, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", ".", "a folder of the repository")
	addChoiceFlag(cmd, "kind", &o.kind, starter.Kinds(), "the kind of the policies (default: that of most policies of the "+
		"repository, else "+starter.Kinds()[0]+")")
	o.action = starter.Audit
	addChoiceFlag(cmd, "action", &o.action, starter.Actions(), "what becomes of a violation: audit (a warning) or enforce "+
		"(a new one blocks)")
	f.StringSliceVar(&o.sets, "set", nil, "sets of policies: "+strings.Join(starter.Sets(), ", ")+" (default: all but "+
		"restricted, which contains baseline; namespaces where Argo CD or Flux says where most of it is deployed)")
	_ = cmd.RegisterFlagCompletionFunc("set", cobra.FixedCompletions(starter.Sets(), cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&o.folder, "policies", "", "the folder of the policies, from the top of the repository (default: "+
		strings.Join(policyFolders(), ", or where something deploys that, ")+")")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing, and say what would be written")
	addOutputFlag[*report.InitPlan](cmd, &o.output)
	addColorFlag(cmd, &o.color, "color the text")
	return cmd
}

// addChoiceFlag adds a flag that takes one of a few words.
func addChoiceFlag(cmd *cobra.Command, name string, value *string, words []string, usage string) {
	cmd.Flags().Var(choice{value, words}, name, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func runInit(cmd *cobra.Command, o initOptions) error {
	ctx := cmd.Context()
	folders, err := o.folders()
	if err != nil {
		return err
	}
	beginning, err := begin(ctx, o.repo)
	if err != nil {
		return err
	}
	defer beginning.close()
	plan, err := o.plan(ctx, beginning, folders)
	if err != nil {
		return err
	}
	plan.DryRun = o.dryRun
	if !o.dryRun {
		if err := beginning.write(plan.Write); err != nil {
			return err
		}
	}
	plan.Next = beginning.next(plan, o)
	if err := output.Write(o.output, cmd.OutOrStdout(), &plan.InitPlan, outputOptions(o.color)); err != nil {
		return err
	}
	if plan.Left() {
		return exitDiffers
	}
	return nil
}

// folders are those that the policies may go to, the best first.
func (o initOptions) folders() ([]string, error) {
	if o.folder == "" {
		return policyFolders(), nil
	}
	p, ok := tree.Clean(filepath.ToSlash(o.folder))
	if !ok || p == "." || filepath.IsAbs(o.folder) || slices.Contains(strings.Split(strings.ToLower(p), "/"), ".git") {
		return nil, fmt.Errorf("--policies: %q is no folder in the repository", o.folder)
	}
	return []string{p}, nil
}

// plan plans what to write, so that what is written is deployed by nobody, and that clusters are proposed only where each
// root is then of its own.
func (o initOptions) plan(ctx context.Context, b *beginning, folders []string) (*starter.Plan, error) {
	choice := starter.Choice{Kind: o.kind, Action: o.action, Sets: o.sets}
	repository := starter.Repository{Layout: b.layout, Read: b.read}
	if choice.Kind == "" {
		choice.Kind = starter.KindOf(b.layout)
	}
	var notes []string
	if len(choice.Sets) == 0 {
		choice.Sets = starter.DefaultSets(b.layout)
		if !slices.Contains(choice.Sets, starter.Namespaces) {
			notes = append(notes, "The set "+starter.Namespaces+" is left out: nothing here says in which namespace most "+
				"manifests are deployed that name none. --set "+starter.Namespaces+" writes it.")
		}
	}
	if b.layout == nil {
		choice.Folder = folders[0]
		return choice.Plan(repository)
	}
	return o.planAround(ctx, b, choice, repository, folders, notes)
}

// planAround is plan for a repository that was looked at.
func (o initOptions) planAround(ctx context.Context, b *beginning, choice starter.Choice, repository starter.Repository,
	folders, notes []string,
) (*starter.Plan, error) {
	var deployer string
	for _, choice.Folder = range folders {
		repository.Clusters = starter.Clusters(b.layout)
		plan, err := choice.Plan(repository)
		if err != nil {
			return nil, err
		}
		after, err := b.with(ctx, plan)
		if err != nil {
			return nil, err
		}
		if deployer = deployedBy(b.layout, after); deployer != "" {
			continue
		}
		if why := starter.Unclear(repository.Clusters, b.layout, after); why != "" && len(plan.Clusters) > 0 {
			names := strings.Join(plan.Clusters, ", ")
			repository.Clusters = nil
			if plan, err = choice.Plan(repository); err != nil {
				return nil, err
			}
			plan.Notes = append(plan.Notes, "The repository may be of several clusters ("+names+"), which the settings do "+
				"not name: "+why+".")
			if after, err = b.with(ctx, plan); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(plan.Covers, func(p string) bool {
			return !slices.ContainsFunc(after.Policies, func(l report.LaidPolicy) bool { return l.Path == p })
		}) {
			plan.Notes = append(plan.Notes, fmt.Sprintf("By the settings that are there, the policies in %s do not count: add "+
				"%s to \"policies\" in %s.", choice.Folder, choice.Folder+"/", settings.Path))
		}
		plan.Notes = append(plan.Notes, notes...)
		ignored, err := b.ignored(ctx, plan.Write)
		if len(ignored) > 0 {
			plan.Notes = append(plan.Notes, "Git ignores "+ignored[0]+", so that it does not count: see .gitignore.")
		}
		return plan, err
	}
	return nil, fmt.Errorf("nothing was written: %s would deploy the policies and the resources of their tests from %s: "+
		"name a folder that nothing deploys with --policies", deployer, strings.Join(folders, " and "))
}

// deployedBy returns a root of a tree that got files by which it changes, or that somebody deploys; "" for none.
func deployedBy(before, after *report.Layout) string {
	for _, name := range after.Reached {
		is := func(r report.LaidRoot) bool { return r.Name == name }
		if slices.ContainsFunc(before.Roots, is) {
			return name
		}
		if i := slices.IndexFunc(after.Roots, is); i >= 0 && len(after.Roots[i].By) > 0 {
			return name
		}
	}
	return ""
}

// next are the commands that come next.
func (b *beginning) next(plan *starter.Plan, o initOptions) []report.PlannedStep {
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
	add("lintel check --all --worktree", "what the policies find here as it is")
	if len(plan.Policies) > 0 {
		folder := path.Dir(plan.Policies[0].Folder)
		add("lintel test "+b.fromHere(folder), "the tests of the policies")
	}
	add("git add -A && git commit", "policies count once the base branch has them")
	add("lintel check", "on a branch: what it changes")
	return steps
}

// fromHere is the path of a file of the repository for a command that is typed here.
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

var errOutside = errors.New("it leads out of the repository")
