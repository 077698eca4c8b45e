package gitops

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// skipMarker keeps Argo CD from reading a file as a manifest
// (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/#skipping-file-rendering).
const skipMarker = "+argocd:skip-file-rendering"

var errTooManyFiles = unknown("holds more files and folders than the limit allows")

// Files lists the manifest files of an ArgoDirectory, sorted. Jsonnet is a Problem: it is not evaluated.
func Files(t Tree, d *Deployment, limits Limits) ([]string, []Problem) {
	if d.Kind != ArgoDirectory {
		return nil, nil
	}
	var problems []Problem
	jsonnet := []any{d.Directory.state}
	// A malformed pattern matches nothing, as in Argo CD.
	include, _ := directoryGlob.compile(d.Directory.Include)
	exclude, _ := directoryGlob.compile(d.Directory.Exclude)
	var files []string
	w := &folderWalk{tree: t, list: bounded(t, limits.withDefaults().Files),
		enter: func(string) bool { return d.Directory.Recurse }}
	err := w.walk(d.Path, 0, func(p string) error {
		name := strings.TrimPrefix(strings.TrimPrefix(p, d.Path), "/")
		if ext := path.Ext(p); ext == ".jsonnet" || ext == ".libsonnet" {
			jsonnet = append(jsonnet, p, tree.State(t, p))
		}
		switch {
		case !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonnet"}, path.Ext(p)):
		case d.Directory.Exclude != "" && exclude != nil && exclude.MatchString(name):
		case d.Directory.Include != "" && (include == nil || !include.MatchString(name)):
		case path.Ext(p) == ".jsonnet":
			problems = append(problems, *problemAt(Position{Path: p}, ClusterOnly,
				"is Jsonnet, which Lintel does not evaluate: what it deploys is not checked"))
		default:
			if data, _, err := t.ReadFile(p); err == nil && strings.Contains(string(data), skipMarker) {
				return nil
			}
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

// folderWalk visits the files below a folder in the order of their paths.
type folderWalk struct {
	tree  Tree
	list  func(dir string) ([]tree.Entry, error) // see bounded
	enter func(dir string) bool                  // whether to go into a folder

	submodules []string // met where a folder would have been gone into
	entries    []string // their object ids
}

// bounded lists folders of a tree with no more entries than a limit allows.
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
		case e.Kind == tree.File, e.Kind == tree.Symlink && isKind(w.tree, p, tree.File):
			err = visit(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fluxIgnored is what Flux' source-controller leaves out of an artifact
// (https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions).
const fluxIgnored = `
.git/
.gitignore
.gitmodules
.gitattributes
.github/
.circleci/
.travis.yml
.gitlab-ci.yml
appveyor.yml
.drone.yml
cloudbuild.yaml
codeship-services.yml
codeship-steps.yml
**/.goreleaser.yml
**/.sops.yaml
**/.flux.yaml
`

// generate writes the kustomization that Flux makes for a folder without one: every manifest below it, and every
// folder that has a kustomization as such
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#generating-a-kustomizationyaml-file).
func (v *Virtual) generate(t Tree, d *Deployment, limits Limits) (*field, *Problem) {
	ignored := ignoreRules{}
	ignored.add(".", fluxIgnored)
	ignored.load(t, ".")
	for i, c := range d.Path {
		if c == '/' {
			ignored.load(t, d.Path[:i])
		}
	}
	if d.Path != "." {
		ignored.load(t, d.Path)
	}
	var resources []string
	w := &folderWalk{tree: t, list: bounded(t, limits.Files), enter: func(dir string) bool {
		if ignored.match(dir, true) {
			return false
		}
		if kustomizationIn(t, dir) != "" {
			resources = append(resources, dir)
			return false
		}
		ignored.load(t, dir)
		return true
	}}
	err := w.walk(d.Path, 0, func(p string) error {
		if ext := path.Ext(p); (ext == ".yaml" || ext == ".yml") && !ignored.match(p, false) {
			resources = append(resources, p)
		}
		return nil
	})
	if err == nil && ignored.exceeded {
		err = unknown("has more in its .sourceignore files than the limit allows")
	}
	if err != nil {
		return nil, problemAt(d.PathWhere, causeOf(err), "the folder %s %s", d.Path, err)
	}
	v.Includes = resources
	where := func() Position { return d.PathWhere }
	names := make([]string, len(resources))
	for i, p := range resources {
		names[i] = "./" + strings.TrimPrefix(strings.TrimPrefix(p, d.Path), "/")
	}
	file := kustomizationOf(where, names...)
	if !slices.ContainsFunc(d.Overrides.edits, func(e edit) bool { return e.key == "namespace" }) && len(names) == 0 {
		// What Flux writes, so that kustomize takes the file for one that is not empty.
		file = file.with(made("_placeholder", where), "namespace")
	}
	return file, nil
}

// kustomizationOf is one that no file holds.
func kustomizationOf(where func() Position, resources ...string) *field {
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

// ignoreRules are the patterns of .sourceignore files, the last that matches counts.
type ignoreRules struct {
	rules    []ignoreRule
	exceeded bool // the limits: not all rules are here
}

type ignoreRule struct {
	dir        string
	re         *regexp.Regexp
	keep       bool
	folderOnly bool
	anywhere   bool // the pattern names an element at any depth
}

func (r *ignoreRules) load(t Tree, dir string) {
	if data, _, err := t.ReadFile(path.Join(dir, ".sourceignore")); err == nil {
		r.add(dir, string(data))
	}
}

func (r *ignoreRules) add(dir, text string) {
	if r.exceeded = r.exceeded || len(text) > 1<<20 || len(r.rules) > 10_000; r.exceeded {
		return
	}
	for pattern := range strings.SplitSeq(text, "\n") {
		pattern = strings.TrimRight(pattern, " \r")
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		rule := ignoreRule{dir: dir}
		pattern, rule.keep = strings.CutPrefix(pattern, "!")
		pattern, rule.folderOnly = strings.CutSuffix(pattern, "/")
		rule.anywhere = !strings.Contains(pattern, "/")
		re, err := ignoreGlob.compile(strings.TrimPrefix(pattern, "/"))
		if err != nil {
			continue
		}
		rule.re = re
		r.rules = append(r.rules, rule)
	}
}

// match reports whether a path is left out. Whoever asks has not gone into folders that are.
func (r *ignoreRules) match(p string, folder bool) bool {
	for _, rule := range slices.Backward(r.rules) {
		name := p
		if rule.dir != "." {
			below, ok := strings.CutPrefix(p, rule.dir+"/")
			if !ok {
				continue
			}
			name = below
		}
		if rule.anywhere {
			name = path.Base(name)
		}
		if (folder || !rule.folderOnly) && rule.re.MatchString(name) {
			return !rule.keep
		}
	}
	return false
}
