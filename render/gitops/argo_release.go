package gitops

import (
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// argoChart returns the chart of a source that is one from outside: of a chart repository, of a registry, or of another git
// repository. It returns false where the source is none.
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
		(!r.ours(address, s.text("path")) || !r.Repo.current(revision)):
		c.Want, c.Folder, c.Named = argoGit(address, revision), dir, s.position("path")
	default:
		return c, false
	}
	if revision == "" {
		c.Where = c.Named
	}
	return c, true
}

// argoRemoteChart reads a source that is such a chart.
func (r *reader) argoRemoteChart(app, s *field, c Chart, d Deployment) *Problem {
	says := []string{"repoURL", "chart", "path", "targetRevision"}
	if slices.ContainsFunc(says, func(key string) bool { return hasUnknown(s.get(key)) }) {
		r.needed()
		return nil
	}
	for _, key := range says {
		if unfilled(s.text(key)) {
			return problemAt(s.position(key), Broken, "%s keeps a template that nothing fills in", key)
		}
	}
	if s.text("repoURL") == "" {
		return problemAt(c.Named, Broken, "this source names no repository that the chart %.80q is of", s.text("chart"))
	}
	d.Kind, d.PathWhere, d.Release = ArgoHelm, c.Named, r.argoRelease(app, s, c)
	r.deploys(d, s.get("helm"), app.get("spec", "destination", "namespace"))
	return nil
}

// argoGit is another git repository, or another state of this one, as Argo CD has it: with its submodules.
func argoGit(address, revision string) remote.Want {
	return remote.Want{Kind: remote.Git, URL: address, Ref: argoRevision(revision), Submodules: true}
}

// argoRevision is the reference that a targetRevision of git asks for: a range of versions is one of tags, see
// https://argo-cd.readthedocs.io/en/stable/user-guide/tracking_strategies/#git.
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

// charted returns a problem where a folder of this repository has no chart.
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
	name := helm.get("releaseName")
	if name.text() == "" {
		name = app.get("metadata", "name")
	}
	namespace := helm.get("namespace")
	if namespace.text() == "" {
		namespace = app.get("spec", "destination", "namespace")
	}
	out := &Release{
		Chart: c, Name: name.text(), NameWhere: app.position("metadata", "name"), Namespace: known(namespace),
		NamespaceWhere: app.position("spec", "destination", "namespace"), rule: argoRule, limits: r.Limits,
		Kubernetes: known(helm, "kubeVersion"), APIVersions: plainTexts(helm.get("apiVersions")),
		SkipCRDs: helm.truth("skipCrds"), SkipTests: helm.truth("skipTests"),
		SkipSchema: helm.truth("skipSchemaValidation"),
	}
	if name != nil && name.where != nil {
		out.NameWhere = name.position()
	}
	if namespace != nil && namespace.where != nil {
		out.NamespaceWhere = namespace.position()
	}
	if name != nil && name.unknown {
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
