package gitops

import (
	"cmp"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

const argoGroup = "argoproj.io"

var kustomizationNames = kustomization.FileNames()

// application reads an Application. One that an ApplicationSet generates has the same shape
// (https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/).
func (r *reader) application(app *field) *Problem {
	spec := app.get("spec")
	sources := spec.elements("sources")
	if len(sources) == 0 && spec.present("source") {
		sources = []*field{spec.get("source")}
	}
	if hydrated := spec.get("sourceHydrator", "drySource"); hydrated.present() {
		sources = append(sources, hydrated)
	}
	if len(sources) == 0 {
		return problemAt(app.position("spec"), Broken, "this Application names no source")
	}
	for i, s := range sources {
		r.askFor(app, s)
		r.problem(r.argoSource(app, s, i))
	}
	return nil
}

// askFor starts the state of the problems of one source of an Application: see ask.
func (r *reader) askFor(app, s *field) {
	r.ask(app.get("metadata", "name"), app.get("spec", "destination"), s)
	for _, file := range append(s.elements("helm", "valueFiles"), s.elements("helm", "fileParameters")...) {
		name, folder := cmp.Or(file.text(), file.text("path")), s.text("path")
		if ref, inside, ok := strings.Cut(name, "/"); ok && strings.HasPrefix(ref, "$") {
			other := sourceOf(app, ref)
			if r.also(other); other == nil || !r.ours(other.text("repoURL"), fixed(inside)) {
				continue
			}
			name, folder = inside, ""
		} else if s.text("chart") != "" {
			continue
		}
		if clean, ok := below(folder, name); ok {
			r.reads(fixed(clean))
		}
	}
}

// argoSource reads one source of an Application. It returns a problem where it is not known what is deployed from the
// source.
func (r *reader) argoSource(app, s *field, index int) *Problem {
	s = normalized(s)
	d := Deployment{
		Path: app.position("metadata", "name").Path, Object: r.object, Name: app.text("metadata", "name"), Source: index,
		Revision: known(s, "targetRevision"), Where: app.position("metadata", "name"), PathWhere: s.position("path"),
	}
	d.Namespace, d.NamespaceWhere = known(app, "spec", "destination", "namespace"), app.position("spec", "destination", "namespace")
	if d.Cluster, d.To = r.argoCluster(app.get("spec", "destination")); d.To.By == ByGenerator {
		d.Part = r.part
	}
	to := app.get("spec", "destination", "name")
	if server := app.get("spec", "destination", "server"); server.present() {
		to = server
	}
	if d.ToWhere = to.position(); to != nil && to.Value != nil {
		d.ToValue = *to.Value
	}
	d.Created = argoNamespace(app)
	for _, option := range app.elements("spec", "syncPolicy", "syncOptions") {
		d.Replace = d.Replace || option.text() == "Replace=true"
		d.Applied = d.Applied || option.text() == "ServerSideApply=true"
		if option.text() == "RespectIgnoreDifferences=true" {
			d.Ignored = ignoredFields(app)
		}
	}
	if keys := argoKinds(s); len(keys) > 1 { // ExplicitType of ApplicationSource
		return problemAt(s.position(keys[1]), Broken, "this source has %s and %s, and Argo CD renders only one of them: remove the other",
			keys[0], keys[1])
	}
	if chart, ok := r.argoChart(s); ok {
		return r.argoRemoteChart(app, s, chart, d)
	}
	repository, revision := s.text("repoURL"), s.text("targetRevision")
	dir, ok := tree.Clean(s.text("path"))
	switch {
	case s.text("path") == "" && s.text("ref") != "":
		return nil // other sources read values files from it
	case s.text("path") == "":
		return problemAt(d.PathWhere, Broken, "this source names no path and no chart")
	case s.get("path").Unknown:
		if len(r.Repo.URLs) > 0 && repository != "" && !hasUnknown(s.get("repoURL")) && !r.Repo.Match(repository) {
			return problemAt(s.position("repoURL"), ClusterOnly, "%s", otherRepository(repository))
		}
		r.needed()
		return nil
	case r.guess && ok && !isKind(r.Tree, dir, tree.Dir) && r.here(s):
		return nil // if this Application exists, it deploys nothing: see Open
	}
	at, words := s.position("repoURL"), "" // words: why the source is not this revision of this repository
	switch {
	case !r.ours(repository, s.text("path")):
		words = otherRepository(repository)
	case hasUnknown(s.get("repoURL")) || hasUnknown(s.get("targetRevision")):
		r.needed()
	case !r.Repo.Current(revision):
		at, words = s.position("targetRevision"), otherRevision(revision)
	}
	switch {
	case words != "" && r.argoExternal(app, s, &d, at, words):
		return nil
	case words != "":
		return problemAt(at, ClusterOnly, "%s", words)
	case !ok:
		return problemAt(d.PathWhere, Broken, "the path points outside the repository")
	case strings.Contains(dir, "{{"):
		return problemAt(d.PathWhere, Broken, "the path has a template expression that no generator fills in")
	case !isKind(r.Tree, dir, tree.Dir):
		return problemAt(d.PathWhere, Broken, "the path of %s %q is not a folder of this repository", d.Object.Kind,
			d.Object.Name)
	}
	d.Path = resolved(r.Tree, dir)
	s = r.withSourceFiles(s, &d)
	r.askFor(app, s)
	d.Revision = known(s, "targetRevision")
	switch d.Kind = r.argoKind(s, d.Path); d.Kind {
	case "":
		r.reads(d.Path)
		return problemAt(s.position("plugin"), ClusterOnly, "a config management plugin renders this source: Lintel does "+
			"not run it, so what it deploys is not known")
	case ArgoDirectory:
		r.argoDirectory(s, &d)
	case ArgoKustomize:
		d.Overrides = r.argoOverrides(s.get("kustomize"), s, app)
	case ArgoHelm:
		chart := Chart{Folder: d.Path, Where: d.PathWhere, Named: d.PathWhere, Source: s.position("repoURL")}
		if problem := r.charted(chart, d); problem != nil {
			return problem
		}
		d.Release = r.argoRelease(app, s, chart)
	}
	if strings.Contains(d.Namespace, "{{") {
		r.problem(problemAt(d.NamespaceWhere, Broken, "the namespace has a template expression that no generator "+
			"fills in"))
	}
	r.deploys(d, s.get("kustomize"), s.get("directory"), s.get("helm"), app.get("spec", "destination", "namespace"))
	return nil
}

// deploys adds a deployment. The fields says decide how it is rendered: if one of them is unknown, so is the
// deployment.
func (r *reader) deploys(d Deployment, says ...*field) {
	if slices.ContainsFunc(says, hasUnknown) {
		r.needed()
	}
	r.found = append(r.found, d)
}

// argoDirectory reads which manifests of its folder a source selects.
func (r *reader) argoDirectory(s *field, d *Deployment) {
	d.Directory = directoryOf(s)
	d.LeavesOut = d.Directory.Include+d.Directory.Exclude != ""
	for _, key := range []string{"include", "exclude"} {
		if _, err := directoryGlob.compile(s.text("directory", key)); err != nil {
			r.problem(problemAt(s.position("directory", key), Suspicious,
				"the pattern is malformed: for Argo CD it matches nothing"))
		}
	}
	r.also(s.get("directory", "jsonnet"))
	for _, lib := range s.elements("directory", "jsonnet", "libs") {
		if clean, ok := tree.Clean(lib.text()); ok {
			r.reads(clean)
		}
	}
	d.Directory.State = r.state()
}

func directoryOf(s *field) Directory {
	return Directory{Recurse: s.truth("directory", "recurse"), Include: s.text("directory", "include"),
		Exclude: s.text("directory", "exclude")}
}

// argoExternal reads a source in another repository or another revision of this one. It returns false where the source
// is not known well enough to fetch it.
func (r *reader) argoExternal(app, s *field, d *Deployment, at Position, words string) bool {
	address, revision := s.text("repoURL"), s.text("targetRevision")
	dir, ok := tree.Clean(s.text("path"))
	if !ok || address == "" || slices.ContainsFunc([]string{address, revision, dir}, unfilled) || s.present("plugin") ||
		s.present("helm") || hasUnknown(s.get("repoURL")) || hasUnknown(s.get("targetRevision")) {
		return false
	}
	e := &ExternalSource{Want: argoGit(address, revision), Folder: dir, Where: s.position("targetRevision"), Asked: at, Message: words}
	if revision == "" {
		e.Where = s.position("repoURL")
	}
	d.External, d.Directory, d.Kind = e, directoryOf(s), ArgoDirectory
	switch {
	case s.present("kustomize"):
		d.Kind, d.Overrides = ArgoKustomize, r.argoOverrides(s.get("kustomize"), s, app)
	case !s.present("directory"):
		e.Detect = true
		e.Release = r.argoRelease(app, s, Chart{Want: e.Want, Folder: dir, Where: e.Where, Named: d.PathWhere,
			Source: s.position("repoURL")})
	}
	r.deploys(*d, s.get("kustomize"), s.get("directory"), app.get("spec", "destination", "namespace"))
	return true
}

// unfilled reports whether a text still contains a template or a variable.
func unfilled(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "${") }

// known returns the text of a field, empty where it depends on the cluster.
func known(f *field, keys ...string) string {
	if f = f.get(keys...); f == nil || f.Unknown {
		return ""
	}
	return f.text()
}

// normalized returns a source without what has only zero values, as Argo CD does first (NormalizeSource of util/argo).
func normalized(s *field) *field {
	out := *s
	out.Fields = maps.Clone(s.Fields)
	maps.DeleteFunc(out.Fields, func(key string, one *field) bool {
		return slices.Contains([]string{"kustomize", "helm", "directory"}, key) && !one.Unknown &&
			!slices.ContainsFunc(one.Keys, func(key string) bool { return !one.Fields[key].zero() })
	})
	out.Keys = slices.DeleteFunc(slices.Clone(s.Keys), func(key string) bool { return out.Fields[key] == nil })
	return &out
}

// argoKinds lists what a source names to render it.
func argoKinds(s *field) []string {
	return slices.DeleteFunc([]string{"plugin", "kustomize", "helm", "directory"}, func(key string) bool { return !s.present(key) })
}

// argoKind returns what renders a source: what the source names, else what its folder contains
// (https://argo-cd.readthedocs.io/en/stable/user-guide/tool_detection/). It is empty for a plugin.
func (r *reader) argoKind(s *field, dir string) Kind {
	if keys := argoKinds(s); len(keys) > 0 {
		return map[string]Kind{"kustomize": ArgoKustomize, "helm": ArgoHelm, "directory": ArgoDirectory}[keys[0]]
	}
	return Detect(r.Tree, dir)
}

// skipReconcile is the annotation with which Argo CD does not apply an Application
// (https://argo-cd.readthedocs.io/en/stable/user-guide/skip_reconcile/).
const skipReconcile = "argocd.argoproj.io/skip-reconcile"

// sourceFiles lists the parameter files of a folder that Argo CD reads for an Application
// (https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git). File names with the
// Application's namespace count as well, because Argo CD's own namespace is not known.
func sourceFiles(t Tree, dir string, d *Deployment) []string {
	files := []string{path.Join(dir, ".argocd-source.yaml")}
	if d.Name != "" && !strings.ContainsAny(d.Name, "/{") {
		files = append(files, path.Join(dir, ".argocd-source-"+d.Name+".yaml"),
			path.Join(dir, ".argocd-source-"+d.Object.Namespace+"_"+d.Name+".yaml"))
	}
	return slices.DeleteFunc(files, func(p string) bool { return !isKind(t, p, tree.File) })
}

// withSourceFiles merges the parameter files of a folder over its source.
func (r *reader) withSourceFiles(s *field, d *Deployment) *field {
	merged := s
	for _, p := range sourceFiles(r.Tree, d.Path, d) {
		patch, problem := r.readFile(p)
		if r.problem(problem); len(patch) > 0 {
			merged = merged.merge(patch[0], false)
		}
	}
	if merged == s {
		return s
	}
	for _, key := range []string{"chart", "path", "repoURL", "targetRevision"} { // parameter files cannot change these
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
		list = append(list, fieldOfNode(p, d))
	}
	return list, problem
}

// argoOverrides turns an Application's kustomize options into edits, in the order in which Argo CD applies them.
func (r *reader) argoOverrides(k, s, app *field) Overrides {
	var o Overrides
	filled := func(text *field) *field {
		replaced, _ := environment(s, app, text.text())
		return made(replaced, text.Where)
	}
	for _, key := range []string{"namePrefix", "nameSuffix"} {
		o.take(setField, key, k.get(key), flags{})
	}
	o.take(replaceByName, "images", k.get("images").each(func(image *field) *field {
		return imageArgument(filled(image).text(), image.Where)
	}), flags{})
	o.take(replaceByName, "replicas", k.get("replicas").each(countOf), flags{})
	if labels := k.get("commonLabels"); labels.present() {
		e := edit{addPairs, "commonLabels", labels.each(filled), flags{Force: k.truth("forceCommonLabels")}}
		if k.truth("labelWithoutSelector") {
			e.Op, e.Key, e.Flags.Templates = addLabels, "labels", k.truth("labelIncludeTemplates")
		}
		o.add(e)
	}
	if annotations := k.get("commonAnnotations"); annotations.present() {
		if k.truth("commonAnnotationsEnvsubst") {
			annotations = annotations.each(filled)
		}
		o.add(edit{addPairs, "commonAnnotations", annotations, flags{Force: k.truth("forceCommonAnnotations")}})
	}
	o.take(setField, "namespace", k.get("namespace"), flags{})
	o.take(appendItems, "patches", k.get("patches"), flags{})
	o.take(appendItems, "components", k.get("components"), flags{Optional: k.truth("ignoreMissingComponents")})
	return o
}

// countOf converts a replica count that is written as text.
func countOf(item *field) *field {
	count := item.get("count")
	if n, err := strconv.ParseInt(count.text(), 10, 64); err == nil {
		return item.with(made(n, count.Where), "count")
	}
	return item
}

// environment replaces the variables of a build in a text as Argo CD does (Env.Envsubst of pkg/apis/application): unknown
// names become empty. Those that are only known with a commit are kept, and ok is false
// (https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/).
func environment(s, app *field, text string) (filled string, ok bool) {
	values := map[string]string{
		"ARGOCD_APP_NAME": app.text("metadata", "name"), "ARGOCD_APP_NAMESPACE": app.text("spec", "destination", "namespace"),
		"ARGOCD_APP_PROJECT_NAME": cmp.Or(app.text("spec", "project"), "default"), "ARGOCD_APP_SOURCE_PATH": s.text("path"),
		"ARGOCD_APP_SOURCE_REPO_URL": s.text("repoURL"), "ARGOCD_APP_SOURCE_TARGET_REVISION": s.text("targetRevision"),
		"$": "$",
	}
	ok = true
	filled = os.Expand(text, func(name string) string {
		if strings.HasPrefix(name, "ARGOCD_APP_REVISION") {
			ok = false
			return "${" + name + "}"
		}
		return values[name]
	})
	return filled, ok
}

// Detect returns what Argo CD renders a folder with, if the source does not name it
// (https://argo-cd.readthedocs.io/en/stable/user-guide/tool_detection/).
func Detect(t Tree, dir string) Kind {
	switch {
	case kustomizationIn(t, dir) != "":
		return ArgoKustomize
	case isKind(t, path.Join(dir, "Chart.yaml"), tree.File):
		return ArgoHelm
	}
	return ArgoDirectory
}

// HasSourceFile reports whether a folder has parameter files that Argo CD merges into the source of an Application.
func HasSourceFile(t Tree, d *Deployment, dir string) bool {
	return len(sourceFiles(t, dir, d)) > 0
}
