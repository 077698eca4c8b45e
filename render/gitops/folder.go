package gitops

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// skipMarker in a file tells Argo CD not to read it as a manifest
// (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/#skipping-file-rendering).
const skipMarker = "+argocd:skip-file-rendering"

var errTooManyFiles = unknown("holds more files and folders than the limit allows")

// Files lists the manifest files of an ArgoDirectory, sorted. A Jsonnet file is a Problem, as it is not evaluated.
func Files(t Tree, d *Deployment, limits Limits) ([]string, []Problem) {
	if d.Kind != ArgoDirectory {
		return nil, nil
	}
	var problems []Problem
	jsonnet := []any{d.Directory.State}
	leaves := d.Directory.leaves()
	var files []string
	w := &folderWalk{tree: t, list: bounded(t, limits.withDefaults().Files),
		enter: func(string) bool { return d.Directory.Recurse }}
	err := w.walk(d.Path, 0, func(p string) error {
		name := strings.TrimPrefix(strings.TrimPrefix(p, d.Path), "/")
		if ext := path.Ext(p); ext == ".jsonnet" || ext == ".libsonnet" {
			jsonnet = append(jsonnet, p, tree.State(t, p))
		}
		switch {
		case !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonnet"}, path.Ext(p)) || leaves(name):
		case path.Ext(p) == ".jsonnet":
			problems = append(problems, *problemAt(Position{Path: p}, ClusterOnly,
				"is Jsonnet, which Lintel does not evaluate: what it deploys is not checked"))
		case !Skips(t, p):
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		problems = append(problems, *problemAt(d.PathWhere, causeOf(err), "the folder %s %s", d.Path, err))
	}
	for _, p := range w.submodules {
		problems = append(problems, *problemAt(d.PathWhere, ClusterOnly, "the folder %s is a submodule, whose files are in "+
			"another repository: what is deployed from it is not checked", p))
	}
	for i := range problems {
		problems[i] = problems[i].of(d.Object)
		problems[i].State = digest(append(jsonnet, w.entries)...)
	}
	return files, problems
}

// Skips reports whether a file tells Argo CD not to read it as a manifest.
func Skips(t Tree, p string) bool {
	data, _, err := t.ReadFile(p)
	return err == nil && strings.Contains(string(data), skipMarker)
}

// leaves returns a function that reports whether the patterns exclude a file, by its path below the folder. A malformed
// pattern matches nothing, as in Argo CD.
func (d Directory) leaves() func(name string) bool {
	include, _ := directoryGlob.compile(d.Include)
	exclude, _ := directoryGlob.compile(d.Exclude)
	return func(name string) bool {
		return d.Exclude != "" && exclude != nil && exclude.MatchString(name) ||
			d.Include != "" && (include == nil || !include.MatchString(name))
	}
}

// folderWalk visits the files below a folder in the order of their paths.
type folderWalk struct {
	tree  Tree
	list  func(dir string) ([]tree.Entry, error) // see bounded
	enter func(dir string) bool                  // whether to enter a folder
	link  func(p string)                         // called for each symlink; nil: those to files are followed

	submodules []string // submodules at places where folders are entered
	entries    []string // their object ids
}

// bounded returns a function that lists folders of a tree until a number of entries is reached.
func bounded(t Tree, left int) func(dir string) ([]tree.Entry, error) {
	return func(dir string) ([]tree.Entry, error) {
		list, err := t.ReadDir(dir)
		if err != nil {
			return nil, errors.New("cannot be read")
		}
		if left -= len(list); left < 0 {
			return nil, errTooManyFiles
		}
		return list, nil
	}
}

func (w *folderWalk) walk(dir string, depth int, visit func(p string) error) error {
	if depth > MaxDepth {
		return errTooManyFiles
	}
	list, err := w.list(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		p := path.Join(dir, e.Name)
		switch {
		case e.Kind == tree.Dir && w.enter(p):
			err = w.walk(p, depth+1, visit)
		case e.Kind == tree.Submodule && w.enter(p):
			w.submodules, w.entries = append(w.submodules, p), append(w.entries, e.ID)
		case e.Kind == tree.File:
			err = visit(p)
		case e.Kind == tree.Symlink && w.link != nil:
			w.link(p)
		case e.Kind == tree.Symlink && isKind(w.tree, p, tree.File):
			err = visit(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// generate returns the kustomization that Flux writes for a folder without one. It lists every manifest below the
// folder, and every folder below it that has a kustomization
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#generating-a-kustomizationyaml-file).
func (v *Virtual) generate(t Tree, d *Deployment, limits Limits) (*field, *Problem) {
	from := newArtifact(t, d.Exclusion)
	var resources []string
	w := &folderWalk{tree: t, list: bounded(t, limits.Files), enter: func(dir string) bool {
		if from.lacks(dir, true) && !from.keeps {
			v.leaves = true
			return false
		}
		if from.kustomizationIn(dir) != "" {
			resources = append(resources, dir)
			return false
		}
		return true
	}, link: func(string) { v.leaves = true }}
	err := w.walk(d.Path, 0, func(p string) error {
		switch ext := path.Ext(p); {
		case ext != ".yaml" && ext != ".yml":
		case from.lacks(p, false):
			v.leaves = true
		default:
			resources = append(resources, p)
		}
		return nil
	})
	if err == nil && from.exceeded {
		err = unknown("has more patterns in its .sourceignore files than the limit allows")
	}
	if err != nil {
		return nil, problemAt(d.PathWhere, causeOf(err), "the folder %s %s", d.Path, err)
	}
	v.Includes = resources
	names := make([]string, len(resources))
	for i, p := range resources {
		names[i] = "./" + strings.TrimPrefix(strings.TrimPrefix(p, d.Path), "/")
	}
	file := kustomizationOf(d.PathWhere, names...)
	if !slices.ContainsFunc(d.Overrides.Edits, func(e edit) bool { return e.Key == "namespace" }) && len(names) == 0 {
		// Flux writes this, too: kustomize refuses an empty kustomization.
		file = file.with(made("_placeholder", d.PathWhere), "namespace")
	}
	return file, nil
}

// around reports whether a folder is or contains a path.
func around(dir, p string) bool { return dir == "." || dir == p || strings.HasPrefix(p, dir+"/") }

// kustomizationOf returns a new kustomization with some resources.
func kustomizationOf(where Position, resources ...string) *field {
	file := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
	if len(resources) > 0 {
		file["resources"] = anyList(resources)
	}
	return made(file, where)
}

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// repositoryName normalizes a clone URL, so that spellings can be compared: host and path in lower case, without
// scheme, user, port and ".git".
func repositoryName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if strings.Contains(s, "://") {
		if u, err := url.Parse(s); err == nil {
			s = u.Hostname() + "/" + strings.TrimPrefix(u.Path, "/")
		}
	} else if host, rest, ok := strings.Cut(s, ":"); ok && !strings.Contains(host, "/") {
		s = host[strings.IndexByte(host, '@')+1:] + "/" + strings.TrimPrefix(rest, "/")
	}
	return strings.TrimSuffix(strings.Trim(s, "/"), ".git")
}

// SameRepository reports whether two clone URLs are spellings of the same one.
func SameRepository(a, b string) bool { return repositoryName(a) == repositoryName(b) }

// Match reports whether a clone URL is one of this repository.
func (h RepoNames) Match(repository string) bool {
	name := repositoryName(repository)
	return slices.ContainsFunc(h.URLs, func(u string) bool {
		known := repositoryName(u)
		return known != "" && (name == known || strings.Count(known, "/") <= 1 && strings.HasSuffix(name, "/"+known))
	})
}

// Current reports whether a revision of this repository may be that of the tree, judging by its name. A revision with a
// variable or a template may be.
func (h RepoNames) Current(revision string) bool {
	revision = strings.TrimPrefix(revision, "refs/heads/")
	switch {
	case revision == "", revision == "HEAD", strings.Contains(revision, "${"), strings.Contains(revision, "{{"):
		return true
	case len(h.Branches) > 0:
		return slices.Contains(h.Branches, revision)
	}
	return !noBranch.MatchString(revision)
}

// noBranch matches commits, versions, ranges of versions, and references that are not branches.
var noBranch = regexp.MustCompile(`\A([0-9a-f]{7,64}|v?[0-9]+(\.[0-9x*]+)*([-+].*)?|[~^<>=*].*|.*\*.*|refs/.*)\z`)

// ours reports whether a source is this repository. If the repository's or the source's address is not known, it is if
// its path exists.
func (r *reader) ours(repository, dir string) bool {
	if len(r.Repo.URLs) > 0 && repository != "" && !strings.Contains(repository, "{{") {
		return r.Repo.Match(repository)
	}
	clean, ok := tree.Clean(dir)
	return ok && exists(r.Tree, clean)
}

// exists reports whether a path exists. A path that cannot be read counts, so that the error is reported when it is
// read.
func exists(t Tree, p string) bool {
	_, _, err := t.Lookup(p)
	return !errors.Is(err, tree.ErrNotExist)
}

// resolved returns the folder that a path with symlinks leads to.
func resolved(t Tree, dir string) string {
	if real, _, err := t.Lookup(dir); err == nil {
		return real
	}
	return dir
}

func isKind(t Tree, p string, kind tree.Kind) bool {
	_, e, err := t.Lookup(p)
	return err == nil && e.Kind == kind
}

// kustomizationIn returns the path of a folder's kustomization file, empty where it has none.
func kustomizationIn(t Tree, dir string) string {
	for _, name := range kustomizationNames {
		if p := path.Join(dir, name); isKind(t, p, tree.File) {
			return p
		}
	}
	return ""
}

func otherRepository(repository string) string {
	return fmt.Sprintf("the source is another repository, %.200s: what is deployed from it is not checked",
		cmp.Or(repository, "which nothing in this repository names"))
}

func otherRevision(revision string) string {
	return fmt.Sprintf("the source is another revision of this repository, %.200s, which is not the one to be "+
		"merged: what is deployed from it is not checked", revision)
}
