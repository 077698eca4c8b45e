package checks

import (
	"context"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/tree"
)

// repository is everything that a change is read from.
type repository struct {
	change   report.Change
	kept     *kept // results of earlier checks
	objects  *tree.Objects
	remote   *diff.RemoteSources // the fetched sources
	trees    *diff.Trees
	settings *settings.Settings // the settings in effect
	proposed *settings.Settings // the settings of the head; nil if the change does not edit them, or if they cannot be read
	problems []report.Problem   // problems of the proposed settings that the change introduces
	standing []report.Problem   // problems of the settings in effect that the change does not fix

	asksTime bool // the result depends on the present time

	cluster string           // cluster whose settings these are; see in
	advice  []report.Problem // parts of the settings that the organisation's settings override

	progress progress.Func
	config   render.Config // configuration of the renderer, without remote sources
}

// open opens the repository of a change: its trees, its settings, and what differs.
func open(ctx context.Context, change report.Change, k *kept) (_ *repository, err error) {
	r := &repository{change: change, kept: k, progress: progress.From(ctx)}
	r.objects, err = tree.Open(ctx, tree.Config{GitDir: change.GitDir, Alternates: change.Alternates, Git: change.Git,
		Store: &k.blobs})
	if err != nil {
		return nil, err
	}
	if r.remote, err = diff.OpenRemoteSources(ctx, change.Sources, change.Git, &k.fetched); err == nil {
		err = r.read()
	}
	if err != nil {
		return nil, r.close(err)
	}
	return r, nil
}

// close closes the repository. It returns err, or the error that some requested object could not be read: the result
// does not count then. Absent objects take precedence over err, since the caller may fetch them.
func (r *repository) close(err error) error {
	defer r.objects.Close()
	defer r.remote.Close()
	unread := r.objects.Err()
	if unread != nil && (err == nil || r.objects.Absent()) {
		return fmt.Errorf("the repository cannot be read whole: %w", unread)
	}
	if err == nil {
		err = r.remote.Err()
	}
	return err
}

func (r *repository) read() (err error) {
	change := r.change
	t := &diff.Trees{Base: diff.Commit{ID: change.Base}, Head: diff.Commit{ID: change.Head}}
	r.trees = t
	if t.Head.Tree, err = r.objects.Tree(change.Head); err != nil {
		return err
	}
	t.Base.Tree = r.objects.Empty()
	t.Rules = diff.Commit{ID: change.Rules, Tree: t.Head.Tree}
	for _, c := range []*diff.Commit{&t.Base, &t.Rules} {
		if c.ID == "" {
			continue
		}
		if c.Tree, err = r.objects.Tree(c.ID); err != nil {
			return err
		}
	}
	r.elsewhere()
	own, standing, err := settings.Read(t.Rules.Tree)
	if err != nil {
		return err
	}
	r.standing = standing
	if r.settings, r.advice, err = r.inherit(t.Rules, own); err != nil {
		return err
	}
	if change.Proposed != nil {
		if r.proposed, _, err = r.inherit(t.Head, own); err != nil {
			return err
		}
	}
	r.objects.SetBlobLimit(r.settings.Limits.FileBytes)
	r.objects.SetFileLimit(r.settings.Limits.Files)
	r.remote.Apply(r.settings.Limits.FileBytes, r.settings.Limits.Files, r.settings.Sources.Allow)
	if err := t.Compare(); err != nil {
		return err
	}
	if t.ProposesRules() && slices.ContainsFunc(settings.Paths(), t.Proposes) {
		own, problems, err := settings.Read(t.Head.Tree)
		if err != nil {
			return err
		}
		if len(problems) == 0 {
			if r.proposed, _, err = r.inherit(t.Head, own); err != nil {
				return err
			}
		}
		r.problems = broughtProblems(r.standing, problems)
		r.standing = stays(r.standing, problems, func(report.Problem) bool { return true })
	}
	r.seek()
	return r.index()
}

// index finds the roots of the base, the head, and the tip of the base branch.
func (r *repository) index() (err error) {
	r.config = render.Config{Limits: r.settings.Limits.Render(), Namespaced: kinds.HasNamespace, Cache: &r.kept.renderings,
		Progress: r.progress}
	ofBase, ofHead := r.config, r.config
	ofBase.Sources, ofHead.Sources = r.remote.Sources()
	t, options := r.trees, r.settings.RootOptions(r.change.Repository, r.change.Branches)
	at := func(c render.Config, commit diff.Commit) render.Config {
		if commit.Tree.ID() == t.Rules.Tree.ID() {
			c.Branch = r.change.Now
		}
		return c
	}
	for _, c := range []*diff.Commit{&t.Rules, &t.Base, &t.Head} {
		c.Renderings = &r.kept.renderings
	}
	if t.Base.Roots, err = deploy.Open(t.Base.Tree, options, &r.kept.graphs, at(ofBase, t.Base)); err != nil {
		return err
	}
	changed := options
	changed.Before = t.Base.Roots.Index
	if t.Head.Roots, err = deploy.Open(t.Head.Tree, changed, &r.kept.graphs, at(ofHead, t.Head)); err != nil {
		return err
	}
	switch t.Rules.Tree.ID() {
	case t.Head.Tree.ID():
		t.Rules.Roots = t.Head.Roots
	case t.Base.Tree.ID():
		t.Rules.Roots = t.Base.Roots
	default:
		t.Rules.Roots, err = deploy.Open(t.Rules.Tree, options, &r.kept.graphs, at(ofBase, t.Rules))
	}
	return err
}

// finder is rules.Find or rules.FindExceptions.
type finder = func(context.Context, diff.Commit, *settings.Settings) (*rules.Sources, error)

// find finds the rules of a commit according to settings, which select the roots, too.
func (r *repository) find(ctx context.Context, find finder, c diff.Commit, s *settings.Settings) (_ *rules.Sources, err error) {
	if !s.SameRoots(r.settings) {
		options := s.RootOptions(r.change.Repository, r.change.Branches)
		if c.Roots, err = deploy.Open(c.Tree, options, &r.kept.graphs, r.config); err != nil {
			return nil, err
		}
	}
	return find(ctx, c, s)
}
