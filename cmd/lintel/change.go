package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
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
