package gitops

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// files is a Tree in memory.
type files map[string]string

func (f files) Lookup(p string) (string, tree.Entry, error) {
	if _, ok := f[p]; ok {
		return p, tree.Entry{Name: path.Base(p), Kind: tree.File}, nil
	}
	for name := range f {
		if p == "." || strings.HasPrefix(name, p+"/") {
			return p, tree.Entry{Name: path.Base(p), Kind: tree.Dir}, nil
		}
	}
	return "", tree.Entry{}, tree.ErrNotExist
}

func (f files) ReadFile(p string) ([]byte, string, error) {
	if data, ok := f[p]; ok {
		return []byte(data), "id", nil
	}
	return nil, "", tree.ErrNotExist
}

func (f files) ReadDir(p string) ([]tree.Entry, error) {
	if _, e, err := f.Lookup(p); err != nil || e.Kind != tree.Dir {
		return nil, tree.ErrNotExist
	}
	kinds := map[string]tree.Kind{}
	for name := range f {
		below, ok := strings.CutPrefix("./"+name, strings.TrimSuffix("./"+p, "/.")+"/")
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(below, "/")
		kinds[first] = tree.File
		if deeper {
			kinds[first] = tree.Dir
		}
	}
	var list []tree.Entry
	for name, kind := range kinds {
		list = append(list, tree.Entry{Name: name, Kind: kind})
	}
	slices.SortFunc(list, func(a, b tree.Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// unpack reads a txtar archive.
func unpack(archive string) files {
	f := files{}
	for _, file := range txtar.Parse([]byte(archive)).Files {
		f[file.Name] = string(file.Data)
	}
	return f
}

// objectsOf parses every manifest of a tree.
func objectsOf(t testing.TB, f files) []Object {
	t.Helper()
	var names []string
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	var list []Object
	for _, name := range names {
		if ext := path.Ext(name); ext != ".yaml" {
			continue
		}
		documents, err := doc.Parse(name, []byte(f[name]), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			list = append(list, FromNode(name, d))
		}
	}
	return list
}

// read returns the deployments of a repository.
func read(t testing.TB, archive string, urls ...string) (files, []Deployment, []Problem) {
	t.Helper()
	f := unpack(archive)
	objects := objectsOf(t, f)
	list, problems := Deployments(objects, Options{Tree: f, Repo: RepoNames{URLs: urls}, Find: in(objects)})
	return f, list, problems
}

// in returns a function for Options.Find.
func in(objects []Object) func(Wanted) Found {
	return func(n Wanted) Found { return n.Select(objects) }
}

// one returns the only deployment of a repository. The test fails if there are problems.
func one(t testing.TB, archive string) (files, *Deployment) {
	t.Helper()
	f, list, problems := read(t, archive)
	for _, p := range problems {
		t.Error(p.Error.Error())
	}
	if len(list) != 1 {
		t.Fatalf("%d deployments, want 1", len(list))
	}
	return f, &list[0]
}

// String is used in messages of failing tests.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column) }

// largeFiles has files that are too large.
type largeFiles struct{ files }

func (f largeFiles) ReadFile(string) ([]byte, string, error) {
	return nil, "", &tree.TooLargeError{Size: 2, Limit: 1}
}
