package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/remote"
)

type checkOptions struct {
	repo, base, head, user, color string
	policies                      policyOptions
	output                        formats
	drafts                        string
	worktree, staged              bool
	all, noCache                  bool
	approve, fix                  []string
	failOn                        string
	view                          viewOptions
	timeout                       time.Duration
	sources                       sourcesOptions
}

func newCheckCommand() *cobra.Command {
	var o checkOptions
	cmd := newCommand("check", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		return runCheck(cmd, o, args)
	})
	f := cmd.Flags()
	o.changeFlags(cmd, "check")
	f.BoolVar(&o.staged, "staged", false, "check the index (what git would commit now) against HEAD; for a "+
		"pre-commit hook")
	f.BoolVar(&o.all, "all", false, "check every root of the head, not only what changed")
	f.StringVar(&o.user, "user", "", "the account that requests the change; the settings map it to a user of the cluster")
	f.StringArrayVar(&o.approve, "approve", nil, "treat this exception file of the change as approved (may be repeated)")
	f.StringSliceVar(&o.fix, "fix", nil, "apply the suggested fixes that a trial confirms, of all policies or of each "+
		"`POLICY` named (may be repeated); print the difference and check again")
	f.Lookup("fix").NoOptDefVal = "*"
	f.StringVar(&o.drafts, "draft-exceptions", "",
		"write exceptions for blocking findings to this file, or to one file per resource in this folder (DIR/). "+
			"With -, write them to standard output and the report to standard error")
	addFormatsFlag[*report.Report](cmd, &o.output)
	o.view.flags(cmd, &o.output)
	o.policies.flags(cmd)
	f.DurationVar(&o.timeout, "timeout", sandbox.DefaultTimeout, "end the check after this time")
	addChoiceFlag(cmd, "fail-on", &o.failOn, []string{failOnWarn, failOnNeutral}, "also exit with code 1 on warn "+
		"(new violations of audit rules, and rules that could not be evaluated) or neutral (every conclusion but "+
		"success)")
	cmd.MarkFlagsMutuallyExclusive("head", "worktree", "staged")
	cmd.MarkFlagsMutuallyExclusive("base", "staged")
	return cmd
}

// changeFlags adds the flags of all commands that take a change. do is the verb for their help texts.
func (o *checkOptions) changeFlags(cmd *cobra.Command, do string) {
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", ".", "a folder of the repository")
	f.StringVar(&o.base, "base", "", "the commit the change goes to (default: the default branch)")
	f.StringVar(&o.head, "head", "HEAD", "the commit to "+do)
	f.BoolVar(&o.worktree, "worktree", false, do+" the work tree, including uncommitted changes, in place of --head")
	f.BoolVar(&o.noCache, "no-cache", false, "do not read or write the cache in the user's cache folder")
	addColorFlag(cmd, &o.color, "color the text")
	o.sources.flags(cmd)
}

func runCheck(cmd *cobra.Command, o checkOptions, names []string) error {
	ctx := cmd.Context()
	if len(o.fix) > 0 {
		if cmd.Flags().Changed("head") || o.staged {
			return errors.New("--fix checks and edits the work tree: remove --head and --staged")
		}
		o.worktree = true
	}
	repo, err := openRepository(ctx, o.repo)
	if err != nil {
		return err
	}
	words := asking{doing: "checking", instead: "use --worktree or --all", failed: "the check could not be run"}
	if len(o.fix) > 0 {
		if words.edits = cmd.OutOrStdout(); o.output.first != "text" || o.drafts == "-" {
			words.edits = cmd.ErrOrStderr() // what a program reads stands alone
		}
	}
	change, rep, err := o.ask(cmd, repo, names, words, func(c *report.Change) error {
		c.Drafts, c.Differences, c.Edits = o.drafts != "", o.output.has("html"), o.fix
		return o.policies.apply(cmd, repo, c)
	})
	if err != nil && len(o.fix) > 0 && len(names) > 0 {
		err = fmt.Errorf("%w (a policy is named with an equals sign: --fix=%s)", err, names[0])
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if o.drafts == "-" {
		out = cmd.ErrOrStderr()
	}
	around := repo.pageOptions(ctx, change, o.looksAt())
	bare := *rep // the other forms do not depend on whether there is a page
	bare.Differences, bare.MoreDifferences, bare.Relabeled, bare.Images = nil, 0, 0, nil
	err = writeFormats(&o.output, out, func(form string) *report.Report {
		if form == "html" {
			return rep
		}
		return &bare
	}, func(color string) output.Options {
		options := o.view.apply(outputOptions(color))
		options.HTML, options.Drafts = around, draftCommand(cmd, names)
		return options
	}, o.color)
	if err != nil {
		return err
	}
	if err := writeDrafts(cmd, o.drafts, rep.Drafts); err != nil {
		return err
	}
	if err := approvesNothing(change, rep); err != nil {
		return err
	}
	if rep.Stats.Policies == 0 && !o.worktree {
		if file := repo.uncommittedRules(ctx); file != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "lintel: "+strconv.Quote(file)+" is not committed and was not checked. Use "+
				"--worktree to check the files as they are now; add --all to use their own policies")
		}
	}
	if fails(rep, o.failOn) {
		return exitBlocked
	}
	return nil
}

// approvesNothing returns an error for a file of --approve in which the change has no exception.
func approvesNothing(change *report.Change, rep *report.Report) error {
	known := report.Mapped(rep.Exceptions, func(e report.Exception) string { return e.Path })
	for _, name := range change.Approve {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--approve %s: the change has no exception in this file%s", name, policy.DidYouMean(policy.Nearest(name, known)))
		}
	}
	return nil
}

// asking has the texts of a command that takes a change: what it is doing, what to do if there is no change, and the
// error message. edits is called with the difference when the suggested edits are to be written; nil: they are not.
type asking struct {
	doing, instead, failed string
	edits                  io.Writer
}

// ask lets a sandbox handle the change that the flags and names describe, with the request that prepare returns.
func (o checkOptions) ask(cmd *cobra.Command, repo *repository, names []string, words asking,
	prepare func(*report.Change) error,
) (*report.Change, *report.Report, error) {
	ctx := cmd.Context()
	line := showProgress(cmd.ErrOrStderr(), readingTree)
	change, cleanup, err := localChange(ctx, repo, o)
	line.end()
	if err != nil {
		return nil, nil, err
	}
	defer cleanup()
	switch {
	case o.staged && !o.all && repo.same(ctx, &change):
		fmt.Fprintln(cmd.ErrOrStderr(), "lintel: nothing is staged, so there is nothing to compare: stage files with "+
			"git add, or "+words.instead)
	case change.Base == change.Head:
		fmt.Fprintln(cmd.ErrOrStderr(), "lintel: head and base are the same commit, so there is nothing to compare: "+
			"name a --base, or "+words.instead)
	}
	if !o.noCache {
		change.Cache = userCache()
	}
	if err := prepare(&change); err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		change.Roots = append(change.Roots, report.RootName{Name: name, Paths: repo.paths(ctx, name)})
	}
	outside, err := o.sources.open(ctx, repo.git)
	if err != nil {
		return nil, nil, err
	}
	child := repo.sandbox(ctx, change.Cache, change.Alternates, outside, o.timeout)
	defer child.Close()
	line = showProgress(cmd.ErrOrStderr(), words.doing)
	ctx = line.in(ctx)
	run := func(change report.Change) (*report.Report, error) {
		return outside.Run(ctx, watched{child, line, words.doing}, change)
	}
	rep, err := run(change)
	var fixes *fixing
	if err == nil && words.edits != nil {
		words.doing = "trying edits"
		fixes, change, rep, err = tryFixes(ctx, repo, change, rep, run)
	}
	line.end()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", words.failed, err)
	}
	if fixes != nil && !fixes.write(words.edits, cmd.ErrOrStderr()) {
		words.edits = nil
		return o.ask(cmd, repo, names, words, prepare)
	}
	return &change, rep, nil
}

// writeDrafts writes drafted exceptions: into a folder with one file for each resource, otherwise as one YAML stream,
// each with its path. It also says why some findings have no draft.
func writeDrafts(cmd *cobra.Command, file string, drafts []report.Draft) error {
	if file == "" {
		return nil
	}
	if len(drafts) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "lintel: no finding blocks, so no exception was drafted")
	}
	info, err := os.Stat(file)
	folder := strings.HasSuffix(file, "/") || err == nil && info.IsDir()
	var b strings.Builder
	for _, d := range drafts {
		if d.YAML != "" && folder {
			if !filepath.IsLocal(filepath.FromSlash(d.Path)) {
				return fmt.Errorf("the drafts could not be written: %q points outside the folder", d.Path)
			}
			name := filepath.Join(file, filepath.FromSlash(d.Path))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return fmt.Errorf("the drafts could not be written: %q: %w", name, plainCause(err))
			}
			if err := writeDraft(cmd, name, d.YAML); err != nil {
				return err
			}
			continue
		}
		if d.YAML == "" {
			what := strings.TrimSpace(strings.Join(append(d.Policies(), d.Resource.Kind, d.Resource.Name), " "))
			fmt.Fprintln(cmd.ErrOrStderr(), "lintel: no draft for", strconv.Quote(what)+":", visible(d.Why))
			continue
		}
		fmt.Fprintf(&b, "---\n# %s\n%s", strings.Trim(strconv.Quote(d.Path), `"`), d.YAML)
	}
	switch {
	case folder || b.Len() == 0:
		return nil
	case file == "-":
		_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
		return err
	}
	return writeDraft(cmd, file, b.String())
}

// writeDraft writes drafts into a new file and prints where. It does not overwrite a file.
func writeDraft(cmd *cobra.Command, name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the drafts could not be written: %q exists and is kept: remove it, or name another place", name)
	}
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("the drafts could not be written: %q: %w", name, plainCause(err))
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "lintel: wrote", strconv.Quote(name))
	return nil
}

// The values of --fail-on.
const (
	failOnWarn    = "warn"
	failOnNeutral = "neutral"
)

// fails reports whether a check ends with exit code 1: it failed, or is waiting, or has what --fail-on names.
func fails(r *report.Report, on string) bool {
	switch {
	case r.Conclusion == report.Failure || r.Conclusion == report.ActionRequired:
		return true
	case on == failOnNeutral:
		return r.Conclusion != report.Success
	}
	return on == failOnWarn && slices.ContainsFunc(r.Findings, func(f report.Finding) bool {
		return f.New && (f.Result == report.Warn || f.Result == report.Error)
	})
}

// plainWord matches a word that a shell does not change.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-][A-Za-z0-9@%+=:,./_~-]*$`)

// draftCommand returns the command that drafts exceptions for the findings of the same check, to run in the repository.
// It has all flags that the user gave, except those for how the check runs, for folders of this machine, and for the
// output. Values that may be passwords are left out.
func draftCommand(cmd *cobra.Command, names []string) string {
	words := []string{"lintel", "check"}
	add := func(word string) {
		if word = remote.Redacted(word); !plainWord.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	for _, name := range names {
		add(name)
	}
	without := []string{"all-places", "color", "draft-exceptions", "fail-on", "fix", "group-by", "no-cache", "output", "quiet",
		"repo", "severity", "store", "timeout"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, several := f.Value.(pflag.SliceValue)
		switch {
		case f.Name == "fix" && !cmd.Flags().Changed("worktree"):
			words = append(words, "--worktree")
		case slices.Contains(without, f.Name):
		case f.Value.Type() == "bool":
			add("--" + f.Name + strings.TrimSuffix("="+f.Value.String(), "=true"))
		case several:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name)
				add(value)
			}
		default:
			words = append(words, "--"+f.Name)
			add(f.Value.String())
		}
	})
	return output.LogLine(strings.Join(append(words, "--draft-exceptions", "-"), " "))
}
