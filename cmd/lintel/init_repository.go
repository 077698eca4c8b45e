package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/checks/starter"
)

// beginning is the folder in which "lintel init" is run.
type beginning struct {
	dir string   // absolute, without links
	top *os.Root // of it: whatever links are in it, nothing is read or written outside

	shownTree // the zero value: it is in no git repository; likewise the others
	layout    *report.Layout
	query     report.Query
}

// begin opens the repository that a folder is in, or else the folder itself. The caller closes it.
func begin(ctx context.Context, dir string) (*beginning, error) {
	b := &beginning{}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, err
	}
	b.dir = abs
	if inGit(abs) {
		if err := b.look(ctx, dir); err != nil {
			b.close()
			return nil, err
		}
	}
	if b.top, err = os.OpenRoot(b.dir); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// inGit reports whether a folder or one above it has a .git, or is a bare repository: then errors of git are reported.
func inGit(dir string) bool {
	for {
		for _, name := range []string{".git", "HEAD"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return true
			}
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}

// look finds out what the repository has.
func (b *beginning) look(ctx context.Context, dir string) error {
	repo, err := openRepository(ctx, dir)
	if err != nil {
		return err
	}
	top, err := repo.top(ctx)
	if err != nil {
		return fmt.Errorf("this repository has no work tree: %w", err)
	}
	if b.dir, err = filepath.EvalSymlinks(top); err != nil {
		return err
	}
	b.query = report.Query{Show: report.ShowLayout}
	cleanup, err := repo.ask(ctx, "", &b.query)
	if err != nil {
		return err
	}
	b.shownTree = shownTree{repo, nil, repo.sandbox(ctx, b.query.Cache, b.query.Alternates, nil, 0), cleanup}
	b.layout, err = b.ask(ctx, b.query)
	return err
}

// ask has the sandbox describe a tree.
func (b *beginning) ask(ctx context.Context, q report.Query) (*report.Layout, error) {
	out, err := b.child.Show(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("the repository could not be read: %w", err)
	}
	layout := &report.Layout{}
	if err := json.Unmarshal(out.Text, layout); err != nil {
		return nil, fmt.Errorf("the repository could not be read: %w", err)
	}
	return layout, nil
}

// with describes the repository as it would be with the files of a plan.
func (b *beginning) with(ctx context.Context, plan *starter.Plan) (*report.Layout, error) {
	files := report.Mapped(plan.Write, func(f starter.File) treeFile { return treeFile{f.Path, f.Data, 0o600} })
	id, err := b.repo.treeWith(ctx, b.query.Head, b.query.Alternates[0], files, "add", "--force",
		"--pathspec-from-file=-", "--pathspec-file-nul")
	if err != nil {
		return nil, err
	}
	q := b.query
	q.Before, q.Head = q.Head, id
	return b.ask(ctx, q)
}

// ignored lists files that git ignores.
func (b *beginning) ignored(ctx context.Context, files []starter.File) (list []string, err error) {
	paths := report.Mapped(files, func(f starter.File) string { return f.Path })
	args := append([]string{"-C", b.dir, "check-ignore", "--"}, paths...)
	// The exit code is 1 if none of them is ignored (git-check-ignore(1)).
	if out, err := b.repo.run(ctx, nil, args...); err == nil && len(files) > 0 {
		list = strings.Split(out, "\n")
	}
	return list, ctx.Err()
}

// read returns the content of a file in the work tree, or an error that is fs.ErrNotExist.
func (b *beginning) read(name string) ([]byte, error) {
	data, err := b.top.ReadFile(name)
	return data, plainCause(err)
}

// write writes files, none of which may exist. An error says which files were written before.
func (b *beginning) write(files []starter.File) error {
	for i, f := range files {
		if err := b.writeFile(f); err != nil {
			wrote := "no file was written"
			if i > 0 {
				wrote = report.Count(i, "file was", "files were") + " written, the last one is " + files[i-1].Path
			}
			return fmt.Errorf("%s could not be written: %w; %s", f.Path, err, wrote)
		}
	}
	return nil
}

func (b *beginning) writeFile(f starter.File) (err error) {
	if err := b.top.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return plainCause(err)
	}
	file, err := b.top.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return plainCause(err)
	}
	_, err = file.Write(f.Data)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = b.top.Remove(f.Path)
	}
	return err
}

// close releases what begin opened.
func (b *beginning) close() {
	if b.child != nil {
		b.shownTree.close()
	}
	if b.top != nil {
		_ = b.top.Close()
	}
}

// planner plans what "lintel init" writes. The policies must not be deployed by anything, which is checked on the
// repository as it would be afterwards.
type planner struct {
	*beginning
	choice     starter.Choice
	repository starter.Repository
	notes      []string
}

// planner returns a planner for the flags. What they leave open is decided by what the repository has.
func (o initOptions) planner(b *beginning) *planner {
	p := &planner{beginning: b, choice: starter.Choice{Kind: o.kind, Action: o.action, Sets: o.sets},
		repository: starter.Repository{Layout: b.layout, Read: b.read}}
	if p.choice.Kind == "" {
		p.choice.Kind = starter.KindOf(b.layout)
	}
	if len(p.choice.Sets) == 0 {
		p.choice.Sets = starter.DefaultSets(b.layout)
		if !slices.Contains(p.choice.Sets, starter.Namespaces) {
			p.notes = append(p.notes, "The set "+starter.Namespaces+" is left out: for most manifests without a "+
				"namespace, the repository does not name one. --set "+starter.Namespaces+" writes it.")
		}
	}
	if b.layout != nil && len(b.layout.Problems) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("The existing settings are not valid: %s.", b.layout.Problems[0]))
	}
	return p
}

// plan makes a plan with the first of some folders that nothing deploys.
func (p *planner) plan(ctx context.Context, folders []string) (*starter.Plan, error) {
	if p.layout == nil {
		p.choice.Folder = folders[0]
		return p.choice.Plan(p.repository)
	}
	var deployer string
	for _, p.choice.Folder = range folders {
		plan, err := p.choice.Plan(p.repository)
		if err != nil {
			return nil, err
		}
		after, err := p.with(ctx, plan)
		if err != nil {
			return nil, err
		}
		if deployer = starter.Deployer(p.choice.Folder, p.layout, after); deployer != "" {
			continue
		}
		return plan, p.note(ctx, plan, after)
	}
	return nil, fmt.Errorf("nothing was written: %s would deploy the policies and the resources of their tests from "+
		"%s. Name a folder that is not deployed with --policies", deployer, strings.Join(folders, " and "))
}

// note adds notes for the user to a plan.
func (p *planner) note(ctx context.Context, plan *starter.Plan, after *report.Layout) error {
	plan.Notes = append(plan.Notes, p.notes...)
	counts := func(path string) bool {
		return slices.ContainsFunc(after.Policies, func(l report.LaidPolicy) bool { return l.Path == path })
	}
	if slices.ContainsFunc(plan.Covers, func(path string) bool { return !counts(path) }) {
		plan.Notes = append(plan.Notes, fmt.Sprintf("With the existing settings, the policies in %s do not count: "+
			"add %[1]s/ to \"policies\" in %s.", p.choice.Folder, settings.Path))
	}
	ignored, err := p.ignored(ctx, plan.Write)
	if len(ignored) > 0 {
		plan.Notes = append(plan.Notes, "Git ignores "+ignored[0]+", so it does not count: see .gitignore.")
	}
	return err
}
