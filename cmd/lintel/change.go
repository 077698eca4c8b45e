package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

// looksAt describes which files the flags choose as the head.
func (o checkOptions) looksAt() files {
	switch {
	case o.worktree:
		return inTree
	case o.staged:
		return inIndex
	}
	return committed
}

// localChange returns the change that the flags choose. The caller runs the clean-up after the check.
func localChange(ctx context.Context, repo *repository, o checkOptions) (report.Change, func(), error) {
	change, cleanup := report.Change{GitDir: repo.gitDir, Git: repo.git, All: o.all, User: report.User{Login: o.user},
		Now: time.Now().UTC()}, func() {}
	fail := func(err error) (report.Change, func(), error) {
		cleanup()
		return report.Change{}, func() {}, err
	}
	change.Repository, change.Branches = repo.names(ctx), repo.branches(ctx, o.base)
	for _, file := range o.approve {
		name, err := repo.fromTop(file)
		if err != nil {
			return fail(err)
		}
		change.Approve = append(change.Approve, name)
	}
	var tree string // what is looked at, where it is no commit
	if of := o.looksAt(); of != committed {
		var objects string
		var err error
		if tree, objects, err = repo.snapshot(ctx, of); err != nil {
			return fail(err)
		}
		change.Alternates, cleanup = []string{objects}, func() { _ = os.RemoveAll(filepath.Dir(objects)) }
	}
	var err error
	if o.staged {
		change.Head = tree
		err = repo.nextCommit(ctx, &change)
	} else {
		err = repo.branch(ctx, &change, o, tree)
	}
	if err != nil {
		return fail(err)
	}
	return change, cleanup, nil
}

// branch fills in the commits of a change that is a branch, and the work tree beside it where tree has it.
func (r *repository) branch(ctx context.Context, change *report.Change, o checkOptions, tree string) (err error) {
	head, err := r.commit(ctx, o.head)
	if err != nil && (!o.all || tree == "") { // of the whole work tree no commit is a part, and there may be none yet
		return err
	}
	change.Head = head
	var p *pipeline
	switch {
	case o.base != "":
		change.Rules, err = r.commit(ctx, o.base)
	case o.all:
		change.Rules, err = cmp.Or(tree, head), nil
	default:
		change.Rules, p, err = r.goesTo(ctx, change)
	}
	if err == nil && !o.all {
		change.Base, err = r.mergeBase(ctx, change.Rules, head)
	}
	change.Head = cmp.Or(tree, head)
	if err == nil && o.base == "" && !o.all && change.Base == head && (tree == "" || r.same(ctx, change)) {
		err = r.nothing(ctx, change, p)
	}
	return err
}

// nextCommit fills in the commits of a change whose head is what git would commit now, change.Head. The first commit of
// a repository is checked with its own rules, since there are no others.
func (r *repository) nextCommit(ctx context.Context, change *report.Change) (err error) {
	change.Rules = change.Head
	if _, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil || change.All {
		return nil
	}
	change.Base, err = r.commit(ctx, "HEAD")
	change.Rules = change.Base
	return err
}

// same reports whether head and base of a change have the same files.
func (r *repository) same(ctx context.Context, change *report.Change) bool {
	if change.Base == "" {
		return false
	}
	tree, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", change.Base+"^{tree}")
	return err == nil && tree == change.Head
}

// fromTop returns the path of a file within the repository, for one that is relative to the folder the user named, or
// to the top.
func (r *repository) fromTop(file string) (string, error) {
	name := path.Join(r.prefix, filepath.ToSlash(file))
	if filepath.IsAbs(file) || name == ".." || strings.HasPrefix(name, "../") {
		return "", errors.New("--approve " + file + ": name the file by its path in the repository")
	}
	return name, nil
}

// A clone may lack the commit that a change is compared with, or the history up to it: it is shallow, or has a single
// branch. A change that is compared with the wrong commit, or with nothing, must not count as checked. So this is an
// error, which says what to fetch.

// branch is a branch of the repository.
type branch struct {
	id, name string // its commit, and what others call it
	local    bool   // no remote says that it is the default branch, nor has one of this name
}

// commit returns the object id of a revision's commit.
func (r *repository) commit(ctx context.Context, rev string) (string, error) {
	id, ok := r.resolve(ctx, rev)
	if ok {
		return id, nil
	}
	remote := r.remote(ctx)
	if _, ok := r.resolve(ctx, "refs/remotes/"+remote+"/"+rev); ok {
		return "", fmt.Errorf("%q is not a commit of this repository: did you mean %q?", rev, remote+"/"+rev)
	}
	if remote == "" {
		return "", fmt.Errorf("%q is not a commit of this repository", rev)
	}
	return "", fmt.Errorf("%q is not a commit of this clone: if the remote has it, fetch it (%s)", rev, r.howToFetch(ctx))
}

func (r *repository) resolve(ctx context.Context, rev string) (id string, ok bool) {
	id, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	return id, err == nil
}

// remote returns the name of the remote to use: origin, or the only one; empty if there is none.
func (r *repository) remote(ctx context.Context) string {
	out, _ := r.run(ctx, nil, "remote")
	switch list := strings.Fields(out); {
	case slices.Contains(list, "origin"):
		return "origin"
	case len(list) == 1:
		return list[0]
	}
	return ""
}

// howToFetch explains how to fetch the commits and branches that a clone lacks.
func (r *repository) howToFetch(ctx context.Context) string {
	remote, all := cmp.Or(r.remote(ctx), "origin"), ""
	if r.shallow {
		all = "--unshallow "
	}
	return fmt.Sprintf("git fetch %s%s '+refs/heads/*:refs/remotes/%s/*'; with actions/checkout, fetch-depth: 0", all, remote,
		remote)
}

// defaultBranch finds the branch that pull requests go to: the head of the remote, otherwise a branch with one of the
// usual names. One call of git is enough in most cases. With an error, it returns at most a name.
func (r *repository) defaultBranch(ctx context.Context) (branch, error) {
	if r.byDefault.id != "" {
		return r.byDefault, nil
	}
	found, lost, err := r.usualBranch(ctx, "origin")
	if err != nil {
		return branch{}, err
	}
	if lost == "" && (found.id == "" || found.local) {
		if remote := r.remote(ctx); remote != "" && remote != "origin" {
			if found, lost, err = r.usualBranch(ctx, remote); err != nil {
				return branch{}, err
			}
		}
	}
	switch {
	case lost != "":
		return branch{name: lost}, fmt.Errorf("the default branch %s was not fetched: fetch it (%s), or name the base with --base",
			lost, r.howToFetch(ctx))
	case found.id != "":
		r.byDefault = found
		return found, nil
	case r.remote(ctx) != "":
		return branch{}, fmt.Errorf("the default branch is not known and may not have been fetched: name the base "+
			"with --base, or fetch it (%s)", r.howToFetch(ctx))
	}
	return branch{}, errors.New("the default branch is not known: name the base with --base")
}

// usualBranch looks for the default branch by name, on the remote or else locally. lost is the name of a branch that
// the remote has and the clone lacks.
func (r *repository) usualBranch(ctx context.Context, remote string) (found branch, lost string, err error) {
	at := "refs/remotes/" + remote + "/"
	candidates := []string{at + "HEAD", at + "main", at + "master", "refs/heads/main", "refs/heads/master"}
	out, err := r.run(ctx, nil, append([]string{"for-each-ref", "--format=%(refname) %(objectname) %(symref)", "--"},
		candidates...)...)
	if err != nil {
		return branch{}, "", err
	}
	first := len(candidates)
	for line := range strings.Lines(out) {
		ref, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		id, leads, _ := strings.Cut(rest, " ")
		if i := slices.Index(candidates, ref); i >= 0 && i < first {
			first, found = i, branch{id, branchName(cmp.Or(leads, ref)), strings.HasPrefix(ref, "refs/heads/")}
		}
	}
	if first > 0 {
		// git lists no head that points to a branch which is missing here.
		if leads, err := r.run(ctx, nil, "symbolic-ref", "--quiet", at+"HEAD"); err == nil {
			return branch{}, branchName(leads), nil
		}
	}
	return found, "", nil
}

const moreHistory = "fetch more history (git fetch --unshallow)"

// mergeBase returns the best common ancestor of two commits.
func (r *repository) mergeBase(ctx context.Context, a, b string) (string, error) {
	id, err := r.run(ctx, nil, "merge-base", a, b)
	if err != nil {
		if r.shallow {
			return "", errors.New("base and head have no common commit in this shallow clone: " + moreHistory)
		}
		return "", errors.New("base and head have no common commit")
	}
	if id == a || id == b || !r.shallow {
		return id, nil
	}
	// If the known history of one of them ends before that commit, there may be a better one.
	cut, err := r.cut()
	if err != nil {
		return "", err
	}
	since, err := r.run(ctx, nil, "rev-list", a, b, "--not", id)
	if err != nil {
		return "", err
	}
	for commit := range strings.Lines(since) {
		if slices.Contains(cut, strings.TrimSpace(commit)) {
			return "", errors.New("the history of this shallow clone is too short to find the merge base: " +
				moreHistory)
		}
	}
	return id, nil
}

// cut returns the commits of a shallow clone whose parents are missing.
func (r *repository) cut() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(r.common, "shallow"))
	if err != nil {
		return nil, fmt.Errorf("the end of this shallow clone could not be read: %w", err)
	}
	return strings.Fields(string(data)), nil
}

// goesTo finds the commit that the head of a change is compared with if the user names none: as the running workflow
// says, which may know more about the change, or the default branch.
func (r *repository) goesTo(ctx context.Context, change *report.Change) (string, *pipeline, error) {
	p, err := readPipeline(os.Getenv)
	if err != nil {
		return "", nil, err
	}
	if p == nil {
		b, err := r.defaultBranch(ctx)
		return b.id, nil, err
	}
	if p.branch != "" {
		change.Branches = []string{p.branch}
	}
	change.User.Login = cmp.Or(change.User.Login, p.author)
	id, err := p.base(ctx, r, change.Head)
	return id, p, err
}

// nothing decides about a head that is already part of a base which nobody named: either there is nothing to compare,
// or the clone lacks the change, which is an error.
func (r *repository) nothing(ctx context.Context, change *report.Change, p *pipeline) error {
	switch {
	case p != nil:
		return p.nothing(change)
	case r.byDefault.local && r.remote(ctx) != "":
		return fmt.Errorf("head and base are the same commit, because the remote branch %s was not fetched: fetch it "+
			"(%s), use --base, or use --all", r.byDefault.name, r.howToFetch(ctx))
	case r.shallow:
		return fmt.Errorf("head and base are the same commit; this clone is shallow and may lack the base branch: "+
			"fetch it (%s), use --base, or use --all", r.howToFetch(ctx))
	}
	return nil
}
