package preview

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// previewTests runs the policy tests that the change can affect. A failing test is an error of the check, because the
// author of a policy must keep its tests passing.
func previewTests(ctx context.Context, in Input, p *report.Preview, e *rules.Edits) ([]report.Problem, error) {
	files, err := testFiles(in.Trees, e)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	run, err := eval.RunTests(ctx, eval.TestInput{Files: treeFiles{in.Trees.Head.Tree}, Tests: files, Now: in.Now})
	if err != nil {
		return nil, err
	}
	problems := run.Errors
	p.Tests = &report.PreviewTests{Files: files, Errors: len(problems), Rows: []report.TestRow{}}
	more := map[string]int{} // number of omitted failed rows by file
	for _, row := range run.Rows {
		switch {
		case row.Excluded:
			p.Tests.Excluded++
		case row.OK:
			p.Tests.Passed++
		default:
			p.Tests.Failed++
			if len(p.Tests.Rows) == maxListed {
				more[row.File]++
				continue
			}
			p.Tests.Rows = append(p.Tests.Rows, row)
			problems = append(problems, report.Problem{Path: row.File, Line: row.Line, Message: row.Words()})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(more)) {
		problems = append(problems, report.Problem{Path: file,
			Message: fmt.Sprintf("%d more rows of this policy test fail", more[file])})
	}
	return problems, nil
}

// testFiles lists the tests of the head that the change can make fail. These are tests that it edits or beside which it
// edits a manifest, tests beside or below a policy or exception that it edits, and tests that name one.
func testFiles(t *diff.Trees, e *rules.Edits) ([]string, error) {
	found := map[string]bool{}
	for _, d := range t.Differences {
		name := path.Join(path.Dir(d.Path), roots.PolicyTestName)
		if entry, err := t.Head.Tree.Entry(name); err == nil && entry.Kind == tree.File && graph.IsManifestName(d.Path) && t.ProposesRules() {
			found[name] = true
		}
	}
	if len(e.Touched) > 0 {
		err := t.Head.Tree.Walk(func(p string, entry tree.Entry) error {
			if path.Base(p) == roots.PolicyTestName && entry.Kind == tree.File && !found[p] {
				found[p] = concernsTest(e, t.Head.Tree, p)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(found, func(_ string, yes bool) bool { return !yes })
	return slices.Sorted(maps.Keys(found)), nil
}

// concernsTest reports whether a test is beside or below an edited file of rules, or names one.
func concernsTest(e *rules.Edits, t *tree.Tree, test string) bool {
	for p := range e.Touched {
		if dir := path.Dir(p); dir == "." || strings.HasPrefix(test, dir+"/") {
			return true
		}
	}
	data, _, err := t.ReadFile(test)
	if err != nil {
		return false
	}
	documents, _ := rules.File{Path: test, Data: data}.Documents()
	for _, d := range documents {
		for _, field := range []string{"policies", "exceptions"} {
			list, _ := jsonpointer.At(d.Value(), "/"+field).([]any)
			for _, named := range list {
				name, _ := named.(string)
				name = path.Join(path.Dir(test), name)
				if e.Touched[name] {
					return true
				}
				for p := range e.Touched {
					if path.Dir(p) == name {
						return true
					}
				}
			}
		}
	}
	return false
}

// treeFiles is a tree as an fs.FS: it follows symlinks inside the tree, and reads whole files.
type treeFiles struct{ tree *tree.Tree }

// Open implements fs.FS. It fails: io/fs asks the other methods for files and folders.
func (f treeFiles) Open(name string) (fs.File, error) {
	return nil, failed(name, errors.ErrUnsupported)
}

// Stat implements fs.StatFS.
func (f treeFiles) Stat(name string) (fs.FileInfo, error) {
	_, e, err := f.tree.Lookup(name)
	return infoOf(name, e.Kind), failed(name, err)
}

// ReadFile implements fs.ReadFileFS. The content is shared: it must not be changed.
func (f treeFiles) ReadFile(name string) ([]byte, error) {
	data, _, err := f.tree.ReadFile(name)
	return data, failed(name, err)
}

// ReadDir implements fs.ReadDirFS. Symlinks and submodules are listed as files; reading them resolves or rejects them.
func (f treeFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := f.tree.ReadDir(name)
	return report.Mapped(entries, func(e tree.Entry) fs.DirEntry {
		return fs.FileInfoToDirEntry(infoOf(e.Name, e.Kind))
	}), failed(name, err)
}

// failed returns the error of package fs for an error of a tree.
func failed(name string, err error) error {
	switch {
	case !fs.ValidPath(name):
		err = fs.ErrInvalid
	case err == nil:
		return nil
	case errors.Is(err, tree.ErrNotExist):
		err = fs.ErrNotExist
	}
	return &fs.PathError{Op: "open", Path: name, Err: err}
}

// infoOf describes an entry, without its size.
func infoOf(name string, kind tree.Kind) fs.FileInfo {
	h := tar.Header{Name: name, Mode: 0o444}
	if kind == tree.Dir {
		h.Typeflag, h.Mode = tar.TypeDir, 0o555
	}
	return h.FileInfo()
}
