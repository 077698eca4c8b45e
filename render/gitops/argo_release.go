package gitops

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// argoChart returns the chart of a source, if it is in a chart repository, a registry or another git repository.
// Otherwise it returns false.
func (r *reader) argoChart(s *field) (Chart, bool) {
	address, chart, revision := s.text("repoURL"), s.text("chart"), s.text("targetRevision")
	c := Chart{Named: s.position("chart"), Source: s.position("repoURL"), Where: s.position("targetRevision")}
	oci, inRegistry := strings.CutPrefix(address, "oci://")
	dir, inside := tree.Clean(s.text("path"))
	switch {
	case chart != "":
		c.Want = remote.Want{Kind: remote.Chart, URL: address, Name: chart, Ref: newest(revision)}
		if inRegistry || !strings.Contains(address, "://") {
			c.Want.URL, c.Want.Name = "oci://"+strings.Trim(oci, "/")+"/"+chart, ""
		}
	case inRegistry && (s.text("path") == "" || dir == ".") && s.text("ref") == "":
		c.Want = remote.Want{Kind: remote.Chart, URL: address, Ref: newest(revision)}
		c.Named = c.Source
	case s.present("helm") && !s.present("plugin") && address != "" && s.text("path") != "" && inside &&
		(!r.ours(address, s.text("path")) || !r.Repo.Current(revision)):
		c.Want, c.Folder, c.Named = argoGit(address, revision), dir, s.position("path")
	default:
		return c, false
	}
	if revision == "" {
		c.Where = c.Named
	}
	return c, true
}

// argoRemoteChart reads a source with a remote chart.
func (r *reader) argoRemoteChart(app, s *field, c Chart, d Deployment) *Problem {
	says := []string{"repoURL", "chart", "path", "targetRevision"}
	if slices.ContainsFunc(says, func(key string) bool { return hasUnknown(s.get(key)) }) {
		r.needed()
		return nil
	}
	for _, key := range says {
		if unfilled(s.text(key)) {
			return problemAt(s.position(key), Broken, "%s has a template expression that no generator fills in", key)
		}
	}
	if s.text("repoURL") == "" {
		return problemAt(c.Named, Broken, "this source names no repository for the chart %.80q", s.text("chart"))
	}
	d.Kind, d.PathWhere, d.Release = ArgoHelm, c.Named, r.argoRelease(app, s, c)
	r.deploys(d, s.get("helm"), app.get("spec", "destination", "namespace"))
	return nil
}

// argoGit returns the want for another git repository or revision. Argo CD fetches submodules, too.
func argoGit(address, revision string) remote.Want {
	return remote.Want{Kind: remote.Git, URL: address, Ref: argoRevision(revision), Submodules: true}
}

// argoRevision returns the git reference of a targetRevision. A range of versions selects a tag
// (https://argo-cd.readthedocs.io/en/stable/user-guide/tracking_strategies/#git).
func argoRevision(revision string) string {
	if revision == "" || revision == "HEAD" {
		return ""
	}
	if _, err := semver.NewVersion(revision); err == nil {
		return revision
	}
	if _, err := semver.NewConstraint(revision); err == nil {
		return remote.ShortVersions + revision
	}
	return revision
}

// charted returns a problem where the folder of a local chart has no chart.
func (r *reader) charted(c Chart, d Deployment) *Problem {
	switch {
	case !isKind(r.Tree, c.Folder, tree.Dir):
		return problemAt(c.Named, Broken, "the chart of %s %q is not a folder of this repository", d.Object.Kind, d.Object.Name)
	case !isKind(r.Tree, path.Join(c.Folder, "Chart.yaml"), tree.File):
		r.reads(c.Folder)
		return problemAt(c.Named, Broken, "the folder %s of %s %q has no Chart.yaml", c.Folder, d.Object.Kind, d.Object.Name)
	}
	return nil
}

// argoRelease reads how Argo CD installs a chart (https://argo-cd.readthedocs.io/en/stable/user-guide/helm/).
func (r *reader) argoRelease(app, s *field, c Chart) *Release {
	helm := s.get("helm")
	name := helm.get("releaseName").or(app.get("metadata", "name"))
	namespace := helm.get("namespace").or(app.get("spec", "destination", "namespace"))
	out := &Release{
		Chart: c, Rule: argoRule, Limits: r.Limits,
		Name: name.text(), NameWhere: cmp.Or(name.position(), app.position("metadata", "name")), Namespace: known(namespace),
		NamespaceWhere: cmp.Or(namespace.position(), app.position("spec", "destination", "namespace")),
		Kubernetes:     known(helm, "kubeVersion"), APIVersions: plainTexts(helm.get("apiVersions")),
		SkipCRDs: helm.truth("skipCrds"), Hooks: Hooks{SkipTests: helm.truth("skipTests")},
		SkipSchema: helm.truth("skipSchemaValidation"),
	}
	if name != nil && name.Unknown {
		out.Name, out.NameUnknown = placeholder("release"), true
	}
	if c.Here() {
		out.reads(r.readsChart(c.Folder)...)
	}
	a := &argoValues{reader: r, app: app, source: s, release: out}
	a.files(helm)
	a.inPlace(helm)
	a.parameters(helm)
	return out
}

// argoValues collects the layers of values of one source.
type argoValues struct {
	*reader
	app, source *field
	release     *Release
}

// files adds valueFiles. A file that is named explicitly is only read at that position, and not for a pattern that
// matches it.
func (a *argoValues) files(helm *field) {
	optional := helm.truth("ignoreMissingValueFiles")
	var layers []Layer
	var named []layerFile
	for _, item := range helm.elements("valueFiles") {
		l := a.file(item)
		l.Optional = optional && l.Want.Kind != remote.File
		l.Glob = l.Want.Kind != remote.File && isPattern(l.File)
		if l.File != "" && !l.Glob {
			named = append(named, layerFile{l.Want, l.File})
		}
		layers = append(layers, l)
	}
	for _, l := range layers {
		if l.Glob {
			l.Named = named
			if l.Want.Kind == "" {
				list, err := matching(a.Tree, l.File, a.Limits)
				if err == nil {
					a.release.reads(list...)
				}
				l.Matched = strings.Join(list, "\n")
			}
		}
		a.release.Layers = append(a.release.Layers, l)
	}
}

// file resolves the name of a values file. It is relative to the chart's folder; with a leading slash, to the top of
// the repository or of the packed chart; with a leading $ref, to the top of another source.
func (a *argoValues) file(item *field) Layer {
	written := item.text()
	l := Layer{Name: written, Where: item.position()}
	if item.Unknown {
		l.Unknown = "the name of the file depends on values that only the cluster has"
		a.mayBe(written)
		return l
	}
	ref, inside, _ := strings.Cut(written, "/")
	if source := sourceOf(a.app, ref); source != nil {
		inside, ok := environment(a.source, a.app, inside)
		name, in := below("", inside)
		address, revision := source.text("repoURL"), source.text("targetRevision")
		switch {
		case !ok || hasUnknown(source):
			l.Unknown = "the name of the file depends on values that only the cluster has"
		case source.text("chart") != "":
			l.Broken = "the values file " + written + " is in a source that is a chart: Argo CD reads values files " +
				"from git sources only"
		case !in:
			l.Broken = "the values file " + written + " points outside its repository"
		case a.ours(address, name) && a.Repo.Current(revision):
			l.File = name
		default:
			l.File, l.Want = name, argoGit(address, revision)
		}
	} else if strings.HasPrefix(ref, "$") && len(a.app.elements("spec", "sources")) > 0 {
		l.Broken = "the values file " + written + ": no source of this Application has the ref " + ref[1:]
	} else if text, ok := environment(a.source, a.app, written); !ok {
		l.Unknown = "the name of the file depends on values that only the cluster has"
	} else if scheme, _, remotely := strings.Cut(text, "://"); remotely {
		l.File, l.Want = remote.FileName, remote.Want{Kind: remote.File, URL: text}
		if scheme != "http" && scheme != "https" {
			l.Broken = "Argo CD does not read values files over " + scheme
		}
	} else {
		name, in := below(a.release.Chart.Folder, text)
		if l.File, l.Want = name, a.release.Chart.Want; !in {
			l.Broken = "the values file " + written + " points outside its repository"
		}
	}
	if l.File != "" && l.Want.Kind == "" {
		a.release.reads(fixed(l.File))
	}
	return l
}

// mayBe has the release read all files that a name may stand for. Part of the name is only known to the cluster.
func (a *argoValues) mayBe(written string) {
	pattern, folder := insideElement.ReplaceAllString(wholeElement.ReplaceAllString(written, "$1**$2"), "*"), ""
	if ref, inside, ok := strings.Cut(pattern, "/"); ok && strings.HasPrefix(ref, "$") {
		source := sourceOf(a.app, ref)
		if source == nil || !a.ours(source.text("repoURL"), "") || !a.Repo.Current(source.text("targetRevision")) {
			return
		}
		pattern = inside
	} else if !a.release.Chart.Here() {
		return
	} else {
		folder = a.release.Chart.Folder
	}
	if name, in := below(folder, pattern); in && name != "**" {
		list, err := matching(a.Tree, name, a.Limits)
		if a.release.reads(list...); err != nil {
			a.release.reads(fixed(name))
		}
	}
}

// Template expressions in names of files: for whole elements of a path, which may become several elements, or for a
// part of one.
var (
	wholeElement  = regexp.MustCompile(`(^|/)\{\{[^{}]*\}\}(/)`)
	insideElement = regexp.MustCompile(`\{\{[^{}]*\}\}`)
)

// below joins a path to a folder, or to the top folder where it begins with a slash. It returns false where the result
// is outside the repository.
func below(folder, name string) (string, bool) {
	if strings.HasPrefix(name, "/") {
		folder = ""
	}
	return tree.Clean(path.Join(folder, strings.TrimLeft(name, "/")))
}

// sourceOf returns the source that a name with a leading $ refers to.
func sourceOf(app *field, ref string) *field {
	if !strings.HasPrefix(ref, "$") {
		return nil
	}
	for _, s := range app.elements("spec", "sources") {
		if "$"+s.text("ref") == ref {
			return s
		}
	}
	return nil
}

// inPlace adds valuesObject or, without that, values.
func (a *argoValues) inPlace(helm *field) {
	l := Layer{Name: "helm.valuesObject", Value: helm.get("valuesObject")}
	if !l.Value.present() {
		if l = (Layer{Name: "helm.values", Value: helm.get("values")}); l.Value.text() == "" {
			return
		}
		if l.Value.Unknown {
			l.Unknown = "it depends on values that only the cluster has"
		}
	}
	l.Where = l.Value.position()
	a.release.Layers = append(a.release.Layers, l)
}

// parameters adds parameters in Helm's order: typed ones, texts, then files. Of several with the same name only the
// last one counts.
func (a *argoValues) parameters(helm *field) {
	for _, kind := range []layerKind{setLayer, stringLayer} {
		var layers []Layer
		for _, p := range helm.elements("parameters") {
			if p.truth("forceString") != (kind == stringLayer) || p.text("name") == "" {
				continue
			}
			value, ok := environment(a.source, a.app, p.text("value"))
			l := Layer{Name: "parameter " + p.text("name"), Where: p.position("value"), Kind: kind, Set: p.text("name"),
				Value: made(listed(value), p.Where)}
			if !ok || hasUnknown(p) {
				l.Unknown = "it depends on values that only the cluster has"
			}
			layers = append(slices.DeleteFunc(layers, func(old Layer) bool { return old.Set == l.Set }), l)
		}
		a.release.Layers = append(a.release.Layers, layers...)
	}
	for _, p := range helm.elements("fileParameters") {
		name := p.get("path")
		if name == nil {
			name = made("", p.Where)
		}
		l := a.file(name)
		l.Name, l.Kind, l.Set = "parameter "+p.text("name"), fileLayer, p.text("name")
		a.release.Layers = append(slices.DeleteFunc(a.release.Layers, func(old Layer) bool {
			return old.Kind == fileLayer && old.Set == l.Set
		}), l)
	}
}
