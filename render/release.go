package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/trial"
)

// release is one release of a chart while it is rendered.
type release struct {
	renderer *Renderer
	target   Target
	spec     *gitops.Release
	values   *gitops.Values // of the user
	chart    *helm.Chart
	options  helm.Options
	trial    *trial.Release
	output   *helm.Output
	folder   string // of the chart, in this repository; empty: the chart is remote
	from     chartFolder
	reader   *chartReader
	defaults *gitops.Values // see gitops.Release.ChartValues
	instead  []byte         // the same as a file that replaces the chart's values.yaml; nil: none
	places   *chartPlaces
	runs     []postRun // runs through the post renderers
}

// fetched returns a remote source. It records that the rendering depends on it, and where it is requested: see asked.
func (b *builder) fetched(out *Rendering, w remote.Want, at gitops.Position) (*remote.Source, error) {
	out.wants.add(b.mounts.sources, w, at)
	return b.mounts.sources.Get(w)
}

// release renders a release of a chart with Helm.
func (r *Renderer) release(ctx context.Context, t Target, spec *gitops.Release) (*Rendering, []doc.Error, error) {
	out := &Rendering{Reads: map[string]string{}, links: map[string]string{}, wants: wants{}}
	s := &release{renderer: r, target: t, spec: spec}
	s.reads(out)
	err := s.load(out)
	if err == nil {
		s.output, err = s.trial.Render(ctx)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	var problems []doc.Error
	if err == nil {
		s.places = s.placesOf(ctx)
		problems, err = s.resources(out)
	}
	if err != nil {
		nothing := &Rendering{Reads: out.Reads, wants: out.wants}
		if failed := (*helm.Error)(nil); errors.As(err, &failed) {
			nothing.lookups = failed.AnsweredLookups
		}
		problem, err := s.problem(err)
		if err != nil {
			return nil, nil, err
		}
		return nothing, []doc.Error{problem}, nil
	}
	out.versions.add(s.output)
	problems = slices.Concat(problems, s.unknown(), s.unsure(ctx, out.Resources), s.otherClusters(ctx, out))
	out.Partial = len(problems) > 0 && out.Resources != nil
	out.lookups = slices.Concat(s.output.AnsweredLookups, s.output.Lookups)
	s.noted(out)
	out.inactive = func() []*Resource { return s.inactivePostRenderers(s.runs) }
	return out, problems, nil
}

// otherClusters returns a problem where the release renders differently for its clusters. Only the objects for the
// first are rendered.
func (s *release) otherClusters(ctx context.Context, rendering *Rendering) []doc.Error {
	clusters := s.target.clusters()
	for _, other := range clusters[1:] {
		kubernetes, versions := s.versions(other)
		if kubernetes == s.options.Kubernetes && slices.Equal(versions, s.options.APIVersions) {
			continue
		}
		out, err := s.trial.Try(ctx, trial.Edit{Cluster: &trial.Cluster{Kubernetes: kubernetes, APIVersions: versions}})
		if err == nil {
			rendering.versions.add(out)
		}
		if err == nil && slices.Equal(out.Manifests, s.output.Manifests) {
			continue
		}
		words := "the chart renders differently for the clusters %q and %q, as their Kubernetes versions or API " +
			"versions differ: only the latter is checked"
		if err != nil {
			words = "the chart does not render with the Kubernetes version and API versions of the cluster %q, but " +
				"does for %q: only the latter is checked"
		}
		at := s.spec.Chart.Where
		return []doc.Error{{Path: at.Path, Line: at.Line, Column: at.Column, Unknown: true,
			Message: fmt.Sprintf(words, other.Name, clusters[0].Name)}}
	}
	return nil
}

// reads records the files of this repository that the release names.
func (s *release) reads(out *Rendering) {
	for _, p := range s.spec.Reads {
		if real, e, err := s.renderer.tree.Lookup(p); err != nil {
			out.Reads[p] = ""
		} else {
			noteRead(out.Reads, out.links, p, real, e)
		}
	}
}

// load loads the chart and merges the values.
func (s *release) load(out *Rendering) (err error) {
	r := s.renderer
	from := chartFolder{tree: r.tree, dir: s.spec.Chart.Folder, here: true, instead: without(s.spec.Chart.Lacks)}
	if s.spec.Chart.Here() {
		s.folder = s.spec.Chart.Folder
	} else {
		src, err := r.fetched(out, s.spec.Chart.Want, gitops.Position{})
		if err != nil {
			return &sourceError{want: s.spec.Chart.Want, err: err}
		}
		from = fetchedChart(s.spec.Chart, src)
	}
	for _, l := range append(s.spec.Layers[:len(s.spec.Layers):len(s.spec.Layers)], s.spec.Defaults...) {
		if l.Want.Kind != "" {
			out.wants.add(r.mounts.sources, l.Want, gitops.Position{})
		}
	}
	defaults, err := s.spec.ChartValues(r.tree, r.mounts.sources)
	if err != nil {
		return err
	}
	if defaults != nil {
		if s.instead, err = sigsyaml.Marshal(defaults.Map); err != nil {
			return fmt.Errorf("writing down values: %w", err)
		}
	}
	s.from, s.defaults, s.reader = from, defaults, &chartReader{builder: &r.builder, out: out}
	if s.chart, err = s.reader.chart(from, s.instead); err != nil {
		return err
	}
	if s.values, err = s.spec.Values(r.tree, r.mounts.sources); err != nil {
		return err
	}
	s.options = helm.Options{
		Name: s.spec.Name, Namespace: s.spec.Namespace, Values: s.values.Map, SkipCRDs: s.spec.SkipCRDs,
		SkipSchema: s.spec.SkipSchema, Hooks: s.spec.Hooks.Runs, Lookup: r.lookups.lookUp,
	}
	if s.target.Kind == roots.Application { // runs "helm template"
		s.options.Lookup = helm.WithoutCluster
	}
	s.options.Kubernetes, s.options.APIVersions = s.versions(s.target.clusters()[0])
	s.trial = trial.New(s.chart, s.options, r.limits.Source, r.steps)
	return nil
}

// without returns contents of files in which some do not exist: see chartFolder.instead.
func without(files []string) map[string][]byte {
	if len(files) == 0 {
		return nil
	}
	instead := map[string][]byte{}
	for _, p := range files {
		instead[p] = nil
	}
	return instead
}

// fetchedChart returns the folder of a fetched chart.
func fetchedChart(c gitops.Chart, src *remote.Source) chartFolder {
	return chartFolder{tree: src.Tree, dir: cmp.Or(c.Folder, "."), packed: c.Want.Kind == remote.Chart, from: src}
}

// resources turns Helm's output into resources.
func (s *release) resources(out *Rendering) (problems []doc.Error, err error) {
	for i, m := range s.output.Manifests {
		documents, err := m.Documents(s.renderer.limits.Source)
		if e, ok := errors.AsType[*doc.Error](err); ok {
			message := fmt.Sprintf("prints what cannot be read: line %d %s", e.Line, e.Message)
			if why, ok := strings.CutPrefix(e.Message, "is not valid YAML: "); ok {
				message = "prints what is not YAML: " + why
			}
			return nil, &helm.Error{Cause: helm.CauseOutput, File: m.File, Template: m.Template, Message: message}
		}
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			for _, node := range doc.Unlist(document) {
				value := doc.Value(node, true)
				if lacks := lacking(value); lacks != "" {
					problem, err := s.problem(&helm.Error{Cause: helm.CauseOutput, File: m.File, Template: m.Template,
						Line: s.line(i, node), Message: "prints a document that " + lacks + ", so the release fails"})
					if err != nil {
						return nil, err
					}
					problems = append(problems, problem)
					continue
				}
				object, ok := value.(map[string]any)
				if !ok || !deployable(object) {
					continue
				}
				res := &Resource{Object: object, node: node, plain: true, manifest: i + 1, crd: m.CRD}
				res.locator = func(pointer string) origin.Place { return s.places.locate(i, node, pointer) }
				out.Resources = append(out.Resources, res)
			}
		}
		if len(out.Resources) > s.renderer.limits.Resources {
			return nil, &helm.Error{Cause: helm.CauseLimit,
				Message: fmt.Sprintf("the chart has more than %d resources", s.renderer.limits.Resources)}
		}
	}
	var failed []doc.Error
	out.Resources, failed = s.postRender(out.Resources)
	problems = append(problems, failed...)
	for _, res := range out.Resources {
		res.through(s.renderer.builder.edited)
		if res.plain && embeds(res.Object) {
			res.issue(EmbeddedItems, "/items", embedded)
		}
	}
	return problems, nil
}

// line returns the line of a template that prints a document, or 0.
func (s *release) line(manifest int, document *yaml.Node) int {
	at := s.places.locate(manifest, document, "")
	if s.folder == "" || at.Path != path.Join(s.folder, s.output.Manifests[manifest].File) {
		return 0
	}
	return at.StartLine
}

// unknown returns a problem for each source of values that is not known.
func (s *release) unknown() (problems []doc.Error) {
	seen := map[gitops.Position]bool{}
	for _, u := range s.values.Unknown {
		if u.Path == nil && !seen[u.Where] {
			seen[u.Where] = true
			problems = append(problems, doc.Error{Path: u.Where.Path, Line: u.Where.Line, Column: u.Where.Column, Unknown: true, Lacks: u.Lacks,
				Message: u.Reason + ", so what its values change is not checked"})
		}
	}
	return problems
}

// problem describes why the release was not rendered, at the line of this repository that a person must edit. The error
// is about the repository.
func (s *release) problem(err error) (doc.Error, error) {
	at := s.spec.Chart.Where
	out := doc.Error{Path: at.Path, Line: at.Line, Column: at.Column}
	var outside *sourceError
	var failure *remote.Failure
	var written *doc.Error
	var failed *helm.Error
	switch {
	case errors.As(err, &outside):
		outside.tell(&out)
		if by := outside.at; s.folder != "" && by.Path == path.Join(s.folder, path.Base(by.Path)) {
			if !s.isStandalone() {
				out.By = fmt.Sprintf("%s:%d", out.Path, out.Line)
			}
			out.Path, out.Line, out.Column = by.Path, by.Line, by.Column
		}
	case errors.As(err, &failure):
		out.Message, out.Unknown = failure.Message, !failure.Broken
	case errors.Is(err, remote.ErrWanted):
		out.Message, out.Unknown = "not all values have been fetched", true
	case errors.As(err, &written):
		out = *written
		out.Quotes = true
	case errors.As(err, &failed):
		s.failed(&out, failed)
		out.Quotes = true
	case errors.Is(err, tree.ErrNotExist):
		out.Message = "the chart was not found: " + s.spec.Chart.Folder + " is not a folder of " + s.spec.Chart.Want.URL
	default:
		return out, err
	}
	return out, nil
}

// failed describes why Helm did not render the chart.
func (s *release) failed(out *doc.Error, e *helm.Error) {
	out.Message = chartWords("the chart", e)
	for path := valueRead(e); len(path) > 0 && s.values != nil; path = path[:len(path)-1] {
		if at, exact := s.values.Origin(path); exact && at.Path != "" {
			out.Message += fmt.Sprintf("; %s is set at %s:%d", strings.Join(path, "."), at.Path, at.Line)
			break
		}
	}
	switch {
	case (e.Cause == helm.CauseSchema || e.Cause == helm.CauseValues) && len(e.Paths) > 0 && s.values != nil:
		if at := s.refusedAt(e.Paths); at.Path != "" {
			out.Path, out.Line, out.Column = at.Path, at.Line, at.Column
		}
	case s.folder != "" && e.File != "":
		if !s.isStandalone() {
			out.By = fmt.Sprintf("%s:%d", out.Path, out.Line)
		}
		out.Path, out.Line, out.Column = path.Join(s.folder, e.File), e.Line, 0
	default:
		out.Message += chartPlace(e)
	}
	asked := s.values != nil && len(s.values.Unknown) > 0 // the chart may render with the values that the cluster has
	out.Unknown = e.Cause == helm.CauseLimit || asked || e.Cause == helm.CauseVersion && s.options.Kubernetes == "" ||
		len(e.Lookups) > 0 ||
		s.isStandalone() // an object that deploys it may set more values
}

// refusedAt returns the place of the first of some refused values that this repository sets, in its strongest layer, or else of
// what is nearest to the first one.
func (s *release) refusedAt(paths [][]string) gitops.Position {
	for _, p := range paths {
		if at, exact := s.values.Origin(p); exact {
			return at
		}
		if s.defaults != nil {
			if at, exact := s.defaults.Origin(p); exact {
				return at
			}
		} else if at, ok := s.inChart("values.yaml", p...); ok {
			return at
		}
	}
	at, _ := s.values.Origin(paths[0])
	return at
}

// inChart returns the place of a value in a file of a chart in this repository.
func (s *release) inChart(name string, keys ...string) (gitops.Position, bool) {
	if s.folder == "" || len(keys) == 0 {
		return gitops.Position{}, false
	}
	file := path.Join(s.folder, name)
	data, _, err := s.renderer.read(file)
	documents, bad := doc.Parse(file, data, s.renderer.limits.Source)
	if err != nil || bad != nil || len(documents) == 0 {
		return gitops.Position{}, false
	}
	n := documents[0]
	for _, key := range keys {
		if _, n = doc.Field(n, key); n == nil {
			return gitops.Position{}, false
		}
	}
	return gitops.Position{Path: file, Line: n.Line, Column: n.Column}, true
}

// Made returns the object of a release as Helm and the post renderers printed it. Object also has what Argo CD, Flux
// and the API server set, which policies see: the namespace of the release, and Flux' labels. For other roots, Made
// returns Object.
func (r *Resource) Made() map[string]any {
	if r.made != nil {
		if object := r.made(); object != nil {
			return object
		}
	}
	return r.Object
}

// Admitted returns a copy of the resource with the object that an API server makes of it. Made still returns the
// original.
func (r *Resource) Admitted(object map[string]any) *Resource {
	with := *r
	with.Object = object
	if r.printed == nil {
		with.printed = r.Object
	}
	if made := r.Object; r.made == nil {
		with.made = func() map[string]any { return made }
	}
	return &with
}

// isStandalone reports whether no object deploys the chart.
func (s *release) isStandalone() bool { return s.target.Kind == roots.Chart && s.target.Object == "" }

// standalone returns the release of a chart that no object deploys: it is rendered with its own values.
func standalone(root roots.Root) *gitops.Release {
	at := gitops.Position{Path: path.Join(root.Path, "Chart.yaml"), Line: 1}
	return &gitops.Release{Chart: gitops.Chart{Folder: root.Path, Where: at, Named: at, Source: at},
		Name: gitops.ReleaseName(root.Path), NameWhere: at, NamespaceWhere: at, Reads: []string{root.Path}}
}

// patchFix is the suggested fix for text of a remote chart.
const patchFix = "patch what the chart prints by a kustomization"

// placesOf returns the places of the fields of a release.
func (s *release) placesOf(ctx context.Context) *chartPlaces {
	advice := patchFix
	if s.flux() {
		advice = "change it by a post renderer of the HelmRelease (spec.postRenderers)"
	}
	name, space := s.spec.NameWhere, s.spec.NamespaceWhere
	if s.target.Kind == roots.Chart { // name and namespace are written nowhere
		name, space = gitops.Position{}, gitops.Position{}
	}
	return &chartPlaces{ctx: ctx, builder: &s.renderer.builder, chart: s.chart, homes: s.reader.homes, top: s.from,
		options: s.options, output: s.output, trial: s.trial, values: s.values, defaults: s.defaults,
		entry: placeAt(s.spec.Chart.Where, "chart"), name: name, space: space, fixWords: advice}
}

// flux reports whether Flux installs a release.
func (s *release) flux() bool {
	return s.target.By != nil && s.target.By.Kind == gitops.FluxHelm
}

// placeAt returns a place near a field.
func placeAt(at gitops.Position, role string) origin.Place {
	return origin.Place{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(1, at.Line, at.EndLine), How: origin.Enclosing,
		Role: role}
}
