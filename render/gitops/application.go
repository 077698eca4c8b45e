package gitops

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

const argoGroup = "argoproj.io"

var kustomizationNames = kustomization.FileNames()

// application reads one Application, or one that an ApplicationSet generates, which by then has the same shape
// (https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/).
func (r *reader) application(app *field) {
	spec := app.get("spec")
	sources := spec.elements("sources")
	if len(sources) == 0 && spec.present("source") {
		sources = []*field{spec.get("source")}
	}
	if hydrated := spec.get("sourceHydrator", "drySource"); hydrated.present() {
		sources = append(sources, hydrated)
	}
	if len(sources) == 0 {
		r.problem(problemAt(app.position("spec"), Broken, "this Application names no source"))
	}
	for i, s := range sources {
		r.askFor(app, s)
		r.argoSource(app, s, i)
	}
}

// askFor begins what one source of an Application asks for.
func (r *reader) askFor(app, s *field) {
	r.ask(app.get("metadata", "name"), app.get("spec", "destination"), s)
	for _, file := range append(s.elements("helm", "valueFiles"), s.elements("helm", "fileParameters")...) {
		name := cmp.Or(file.text(), file.text("path"))
		if ref, inside, ok := strings.Cut(name, "/"); ok && strings.HasPrefix(ref, "$") {
			for _, other := range app.elements("spec", "sources") {
				if "$"+other.text("ref") != ref {
					continue
				}
				r.also(other)
				if clean, ok := tree.Clean(fixed(inside)); ok && r.ours(other.text("repoURL"), clean) {
					r.reads(clean)
				}
			}
		} else if s.text("chart") == "" {
			clean, ok := tree.Clean(fixed(path.Join(s.text("path"), name)))
			if inside, whole := strings.CutPrefix(name, "/"); whole {
				clean, ok = tree.Clean(fixed(inside))
			}
			if ok {
				r.reads(clean)
			}
		}
	}
}

func (r *reader) argoSource(app, s *field, index int) {
	switch {
	case r.Releases && r.argoChart(app, s, index):
		return
	case s.text("chart") != "":
		r.problem(problemAt(s.position("chart"), ClusterOnly,
			"the chart %.80q is not in this repository, and Lintel renders "+
				"no charts: what it deploys is not checked", s.text("chart")))
		return
	case s.text("path") == "" && s.text("ref") != "":
		return // others take values from it
	case s.text("path") == "":
		r.problem(problemAt(s.position("path"), Broken, "this source names no path and no chart"))
		return
	}
	at, object := s.position("path"), r.object
	if s.get("path").unknown {
		repository := s.text("repoURL")
		if len(r.Repo.URLs) == 0 || repository == "" || hasUnknown(s.get("repoURL")) || r.Repo.match(repository) {
			r.needed()
		} else {
			r.elsewhere(s.position("repoURL"), repository)
		}
		return
	}
	dir, ok := tree.Clean(s.text("path"))
	if r.guess && ok && !isKind(r.Tree, dir, tree.Dir) &&
		(len(r.Repo.URLs) == 0 || r.ours(s.text("repoURL"), s.text("path"))) {
		r.needed() // nobody knows that there is such an Application
		return
	}
	if !r.ours(s.text("repoURL"), s.text("path")) {
		if at := s.position("repoURL"); !r.argoElsewhere(app, s, index, at, elsewhereWords(s.text("repoURL"))) {
			r.elsewhere(at, s.text("repoURL"))
		}
		return
	}
	if hasUnknown(s.get("repoURL")) || hasUnknown(s.get("targetRevision")) {
		r.needed()
	} else if revision := s.text("targetRevision"); !r.Repo.current(revision) {
		if at := s.position("targetRevision"); !r.argoElsewhere(app, s, index, at, anotherWords(revision)) {
			r.another(at, revision)
		}
		return
	}
	switch {
	case !ok:
		r.problem(problemAt(at, Broken, "the path leads out of the repository"))
		return
	case strings.Contains(dir, "{{"):
		r.problem(problemAt(at, Broken, "the path keeps a template that nothing fills in"))
		return
	case !isKind(r.Tree, dir, tree.Dir):
		r.problem(problemAt(at, Broken, "the path of %s %q is not a folder of this repository", object.Kind, object.Name))
		return
	}
	dir = resolved(r.Tree, dir)
	name := app.text("metadata", "name")
	s = r.sourceFiles(s, dir, name)
	r.askFor(app, s)
	d := Deployment{
		Path: dir, Object: object, Name: name, Source: index, Revision: known(s, "targetRevision"),
		Where: app.position("metadata", "name"), PathWhere: at,
	}
	d.Cluster, d.Namespace, d.NamespaceWhere = argoDestination(app)
	switch kind := r.argoKind(s, dir); kind {
	case "":
		r.reads(dir)
		r.problem(problemAt(s.position("plugin"), ClusterOnly, "a config management plugin renders this source: Lintel does "+
			"not run it, so what it deploys is not known"))
		return
	case ArgoDirectory:
		d.Directory = Directory{Recurse: s.truth("directory", "recurse"), Include: s.text("directory", "include"),
			Exclude: s.text("directory", "exclude")}
		for _, key := range []string{"include", "exclude"} {
			if _, err := directoryGlob.compile(s.text("directory", key)); err != nil {
				r.problem(problemAt(s.position("directory", key), Advice,
					"the pattern is malformed: Argo CD takes it for one that matches nothing"))
			}
		}
		r.also(s.get("directory", "jsonnet"))
		for _, lib := range s.elements("directory", "jsonnet", "libs") {
			if clean, ok := tree.Clean(lib.text()); ok {
				r.reads(clean)
			}
		}
		d.Directory.state = r.state()
		d.Kind = kind
	case ArgoKustomize:
		d.Overrides = r.argoOverrides(s.get("kustomize"), s, app)
		d.Kind = kind
	case ArgoHelm:
		d.Kind = kind
		if r.Releases {
			chart := Chart{Folder: dir, Where: at, Named: at, Source: s.position("repoURL")}
			if !r.charted(chart, d) {
				return
			}
			d.Release = r.argoRelease(app, s, chart)
			break
		}
		r.readsChart(dir)
		r.problem(problemAt(at, ClusterOnly,
			"the folder %s is a Helm chart, which Lintel does not render: what it deploys is "+
				"not checked", dir))
	}
	if strings.Contains(d.Namespace, "{{") {
		r.problem(problemAt(d.NamespaceWhere, Broken, "the namespace keeps a template that nothing fills in"))
	}
	if hasUnknown(s.get("kustomize")) || hasUnknown(s.get("directory")) || r.Releases && hasUnknown(s.get("helm")) ||
		hasUnknown(app.get("spec", "destination", "namespace")) {
		r.needed()
	}
	r.found = append(r.found, d)
}

// elsewhere reports a source that is not of this repository.
func (r *reader) elsewhere(at Position, repository string) {
	r.problem(problemAt(at, ClusterOnly, "%s", elsewhereWords(repository)))
}

// another reports a source that is another state of this repository.
func (r *reader) another(at Position, revision string) {
	r.problem(problemAt(at, ClusterOnly, "%s", anotherWords(revision)))
}

// known is a text that does not depend on the cluster, empty otherwise.
func known(f *field, keys ...string) string {
	if f = f.get(keys...); f == nil || f.unknown {
		return ""
	}
	return f.text()
}

func argoDestination(app *field) (cluster, namespace string, at Position) {
	to := app.get("spec", "destination")
	if cluster = known(to, "name"); cluster == "" {
		cluster = known(to, "server")
	}
	if cluster == "https://kubernetes.default.svc" {
		cluster = "in-cluster" // the name that Argo CD gives it
	}
	return cluster, known(to, "namespace"), to.position("namespace")
}

// argoKind says what renders a source: what it says itself, else what its folder holds
// (https://argo-cd.readthedocs.io/en/stable/user-guide/tool_detection/). Empty: a plugin.
func (r *reader) argoKind(s *field, dir string) Kind {
	for _, k := range []struct {
		key  string
		kind Kind
	}{{"plugin", ""}, {"kustomize", ArgoKustomize}, {"helm", ArgoHelm}, {"directory", ArgoDirectory}} {
		if s.present(k.key) {
			return k.kind
		}
	}
	return Detect(r.Tree, dir)
}

// sourceFiles merges the parameter files of a folder over its source
// (https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git).
func (r *reader) sourceFiles(s *field, dir, name string) *field {
	merged := s
	names := []string{".argocd-source.yaml"}
	if name != "" && !strings.ContainsAny(name, "/{") {
		names = append(names, ".argocd-source-"+name+".yaml")
	}
	for _, file := range names {
		p := path.Join(dir, file)
		if !isKind(r.Tree, p, tree.File) {
			continue
		}
		patch, problem := r.readFile(p)
		if problem != nil {
			r.problem(*problem)
			continue
		}
		if len(patch) > 0 {
			merged = merged.merge(patch[0])
		}
	}
	if merged == s {
		return s
	}
	for _, key := range []string{"chart", "path", "repoURL", "targetRevision"} { // not theirs to change
		if original := s.get(key); original != nil {
			merged = merged.with(original, key)
		}
	}
	return merged
}

// readFile parses a YAML or JSON file of the repository.
func (r *reader) readFile(p string) ([]*field, *Problem) {
	_, nodes, problem := documents(r.Tree, p, r.Limits)
	var list []*field
	for _, d := range nodes {
		list = append(list, fieldOfNode(p, d, 0))
	}
	return list, problem
}

// argoOverrides turns an Application's kustomize options into edits, in the order in which Argo CD makes them.
func (r *reader) argoOverrides(k, s, app *field) Overrides {
	var o Overrides
	env := buildEnvironment(s, app)
	for _, key := range []string{"namePrefix", "nameSuffix"} {
		o.take(setField, key, k.get(key), flags{})
	}
	if images := k.elements("images"); len(images) > 0 {
		value := &field{list: true, where: k.get("images").where}
		for _, image := range images {
			value.items = append(value.items, imageArgument(env(image.text()), image.where))
		}
		o.add(edit{op: replaceByName, key: "images", value: value})
	}
	if replicas := k.get("replicas"); len(replicas.elements()) > 0 {
		value := &field{list: true, where: replicas.where}
		for _, item := range replicas.items {
			value.items = append(value.items, countOf(item))
		}
		o.add(edit{op: replaceByName, key: "replicas", value: value})
	}
	if labels := k.get("commonLabels"); labels.present() {
		e := edit{op: addPairs, key: "commonLabels", value: mapped(labels, env),
			flags: flags{force: k.truth("forceCommonLabels")}}
		if k.truth("labelWithoutSelector") {
			e.op, e.key, e.flags.templates = addLabels, "labels", k.truth("labelIncludeTemplates")
		}
		o.add(e)
	}
	if annotations := k.get("commonAnnotations"); annotations.present() {
		if k.truth("commonAnnotationsEnvsubst") {
			annotations = mapped(annotations, env)
		}
		o.add(edit{op: addPairs, key: "commonAnnotations", value: annotations,
			flags: flags{force: k.truth("forceCommonAnnotations")}})
	}
	o.take(setField, "namespace", k.get("namespace"), flags{})
	o.take(appendItems, "patches", k.get("patches"), flags{})
	o.take(appendItems, "components", k.get("components"), flags{optional: k.truth("ignoreMissingComponents")})
	return o
}

// countOf reads a replica count that may be written as text.
func countOf(item *field) *field {
	count := item.get("count")
	if n, err := strconv.ParseInt(count.text(), 10, 64); err == nil {
		return item.with(made(n, count.where), "count")
	}
	return item
}

func mapped(f *field, change func(string) string) *field {
	out := &field{fields: map[string]*field{}, where: f.where}
	for _, k := range f.keys {
		v := f.fields[k]
		out.put(k, made(change(v.text()), v.where))
	}
	return out
}

var environmentName = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+)|\$)`)

// buildEnvironment returns what replaces the variables of a build
// (https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/) that are known without a commit.
func buildEnvironment(s, app *field) func(string) string {
	values := map[string]string{
		"ARGOCD_APP_NAME": app.text("metadata", "name"), "ARGOCD_APP_NAMESPACE": app.text("spec", "destination", "namespace"),
		"ARGOCD_APP_PROJECT_NAME": app.text("spec", "project"), "ARGOCD_APP_SOURCE_PATH": s.text("path"),
		"ARGOCD_APP_SOURCE_REPO_URL": s.text("repoURL"), "ARGOCD_APP_SOURCE_TARGET_REVISION": s.text("targetRevision"),
	}
	return func(text string) string {
		return environmentName.ReplaceAllStringFunc(text, func(match string) string {
			if match == "$$" {
				return "$"
			}
			if value, ok := values[strings.Trim(match, "${}")]; ok {
				return value
			}
			return match
		})
	}
}
