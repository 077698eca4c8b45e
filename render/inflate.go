package render

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/trial"
)

// Kustomize runs charts as the last of its built-in generators: after resources and generator maps, before components
// and transformers. So the output of a chart is included as the first component. The annotation keeps the field
// `namespace` from changing it.
const (
	inflatedFile = "chart.yaml"
	inflatedRoot = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [output]\n"
	inflatedBase = "resources: [" + inflatedFile + "]\ntransformers:\n- |\n  apiVersion: builtin\n" +
		"  kind: AnnotationsTransformer\n  metadata: {name: chart}\n  annotations: {" + konfig.HelmGeneratedAnnotation +
		": \"true\"}\n  fieldSpecs: [{path: metadata/annotations, create: true}]\n"
)

// inflationKey identifies a chart that a kustomization inflates.
type inflationKey struct {
	at    entry // the entry to remove from the kustomization's text
	shown entry // the entry that names the chart
	nth   int   // the number of the chart in one generator configuration
}

// inflation is an entry of a kustomization that inflates a chart.
type inflation struct {
	builder *builder
	inflationKey
	types.HelmGlobals
	types.HelmChart
	root      string     // the folder of the kustomization: kustomize reads values only below it
	generator bool       // it is in generators, so the kustomization's namespace does not apply
	node      *yaml.Node // the entry, with the lines of the file shown; nil: its lines are unknown
	reads     *Rendering
}

// inflated is the result of inflating an entry. It is made once per renderer.
type inflated struct {
	once  sync.Once
	reads *Rendering
	text  *printedChart
	err   error
}

// inflatedEntry is an entry of a kustomization with its mounted output.
type inflatedEntry struct {
	at        kustomization.Position
	mount     *mount
	component string // the path of the component to include
}

// inflate mounts the output of a chart.
func (b *builder) inflate(p *plan, layer *origin.Layer, i *inflation, above []string) {
	if i.Namespace == "" && !i.generator {
		i.Namespace = p.namespace
	}
	i.reads = &Rendering{Reads: map[string]string{}, links: map[string]string{}, wants: wants{}}
	if b.mounts.sources == nil && !i.local() {
		maps.Copy(p.reads, i.reads.Reads) // a change that adds the chart must reach this rendering
		p.without(i.at, doc.Error{Path: i.shown.file, Line: i.shown.at.Line, Column: i.shown.at.Column, Unknown: true,
			Message: "helmCharts: the chart is not in this repository, and Lintel does not fetch anything"})
		return
	}
	done, m := b.inflated(i)
	maps.Copy(p.reads, done.reads.Reads)
	maps.Copy(p.wants, done.reads.wants)
	maps.Copy(p.links, done.reads.links)
	p.fleeting = p.fleeting || done.reads.links == nil
	if done.err != nil {
		e, fleeting := i.problem(done.err)
		p.fleeting = p.fleeting || fleeting
		p.without(i.at, e)
		return
	}
	if other := p.inflated[i.inflationKey]; other != nil && other != m {
		p.without(i.at, doc.Error{Path: i.shown.file, Line: i.shown.at.Line, Column: i.shown.at.Column, Unknown: true,
			Message: "one root includes the chart with several namespaces, which Lintel does not distinguish"})
		return
	}
	b.include(p, layer, i.inflationKey, m, above)
}

// include includes the mounted output of an entry as a component.
func (b *builder) include(p *plan, layer *origin.Layer, key inflationKey, m *mount, above []string) {
	if p.inflated[key] == nil {
		p.inflated[key] = m
		p.charts[key.at.file] = append(p.charts[key.at.file], inflatedEntry{key.at.at, m, relative(place(layer.File.Dir), m.prefix)})
	}
	if child := b.layer(p, m.prefix, above, doc.Error{}, func(e doc.Error) { p.without(key.at, e) }); child != nil {
		layer.Components = append(layer.Components, child)
	}
}

// inflated returns the rendered chart of an entry and its mount. It renders once per combination of arguments.
func (b *builder) inflated(i *inflation) (*inflated, *mount) {
	args, _ := sigsyaml.Marshal([]any{i.HelmGlobals, i.HelmChart})
	key := mountKey{at: i.at, text: fmt.Sprintf("%x %s", sha256.Sum256(args), i.shown.file)}
	m := b.mounts.mount(key, func(m *mount) {
		m.field, m.shown, m.inflated = "helmCharts", i.shown, &inflated{}
	})
	m.inflated.once.Do(func() {
		m.inflated.reads = i.reads
		m.inflated.text, m.inflated.err = i.run()
		if m.inflated.err != nil {
			return
		}
		m.inflated.text.shown = m
		m.texts = map[string][]byte{"kustomization.yaml": []byte(inflatedRoot),
			"output/kustomization.yaml": []byte(inflatedBase),
			"output/" + inflatedFile:    m.inflated.text.text}
	})
	return m.inflated, m
}

// home returns the folder that contains the folder of the chart, as written. It returns false where that is outside the
// repository.
func (i *inflation) home() (string, bool) {
	home := i.ChartHome
	if home == "" {
		home = types.HelmDefaultHome
	}
	if i.Version != "" && i.Repo != "" {
		home = path.Join(home, i.Name+"-"+i.Version)
	}
	return join(i.root, home)
}

// local reports whether the chart is in its home. Kustomize does not pull it then.
func (i *inflation) local() bool {
	home, ok := i.home()
	if !ok {
		return false
	}
	dir := path.Join(home, i.Name)
	real, e, err := i.builder.find(dir)
	if i.reads != nil && !isMounted(dir) {
		i.noteRead(dir, real, e, err)
	}
	return err == nil && e.Kind == tree.Dir
}

// noteRead notes what a path of the repository has; with an error, nothing.
func (i *inflation) noteRead(p, real string, e tree.Entry, err error) {
	if err != nil {
		i.reads.Reads[p] = ""
		return
	}
	noteRead(i.reads.Reads, i.reads.links, p, real, e)
}

// refusal is an error about the text of the entry.
func refusal(format string, args ...any) error {
	return &remote.Failure{Broken: true, Message: fmt.Sprintf(format, args...)}
}

// run renders the chart as kustomize has it rendered (HelmChartInflationGenerator).
func (i *inflation) run() (*printedChart, error) {
	switch {
	case i.Name == "":
		return nil, refusal("has no name of a chart")
	case strings.HasPrefix(i.Name, "-"), strings.HasPrefix(i.ReleaseName, "-"):
		return nil, refusal("has a name that starts with a dash, which kustomize refuses")
	case strings.HasPrefix(i.ChartHome, "/"):
		return nil, &refusedError{message: "has its charts in a folder outside the repository (chartHome), which " +
			"Lintel does not read"}
	case !slices.Contains([]string{"", "override", "merge", "replace"}, i.ValuesMerge):
		return nil, refusal("valuesMerge is none of override, merge and replace")
	}
	from, err := i.folder()
	if err != nil {
		return nil, err
	}
	values, err := i.values(from)
	if err != nil {
		return nil, err
	}
	name, err := i.release()
	if err != nil {
		return nil, err
	}
	reader := &chartReader{builder: i.builder, out: i.reads, at: i.builder.mounts.requestedAt(i.shown)}
	chart, err := reader.chart(from, nil)
	if err != nil {
		return nil, err
	}
	options := helm.Options{
		Name: name, Namespace: i.Namespace, Values: values, Kubernetes: i.KubeVersion, APIVersions: i.ApiVersions,
		SkipCRDs: !i.IncludeCRDs, Lookup: helm.WithoutCluster,
		Hooks: func(_ string, events []string) bool {
			return !i.SkipHooks && !(i.SkipTests && slices.Contains(events, helm.Test))
		},
	}
	tried := trial.New(chart, options, i.builder.limits.Source, i.builder.steps)
	out, err := tried.Render(context.Background())
	if err != nil {
		return nil, err
	}
	printed := &printedChart{output: out, here: from.here}
	if !isMounted(i.shown.file) {
		printed.places = i.places(&chartPlaces{ctx: context.Background(), builder: i.builder, chart: chart,
			homes: reader.homes, top: from, options: options, output: out, trial: tried})
	}
	switch {
	case from.here:
		printed.from = from.dir
	case i.local():
		home, _ := i.home()
		m, in, _ := i.builder.mounts.of(path.Join(home, i.Name))
		printed.from = m.address(in)
	default:
		printed.from = strings.TrimSuffix(remote.Redacted(i.Repo), "/") + "/" + i.Name + "@" + chart.Version()
	}
	printed.print()
	return printed, nil
}

// folder returns the folder of the chart: in its home, or as it is pulled into it.
func (i *inflation) folder() (chartFolder, error) {
	home, inside := i.home()
	if i.local() {
		dir := path.Join(home, i.Name)
		if m, in, ok := i.builder.mounts.of(dir); ok {
			return chartFolder{tree: m.source.Tree, dir: in, from: m.source}, nil
		}
		return chartFolder{tree: i.builder.tree, dir: dir, here: true}, nil
	}
	want := remote.Want{Kind: remote.Chart, Ref: i.Version}
	switch {
	case i.Repo == "" && !inside:
		return chartFolder{}, refusal("the chart's folder %q points outside the repository", i.ChartHome)
	case i.Repo == "":
		return chartFolder{}, refusal("there is no chart in %s, and no repo is given to fetch it from", path.Join(home, i.Name))
	case strings.HasPrefix(i.Repo, "oci://"):
		want.URL = strings.TrimSuffix(i.Repo, "/") + "/" + i.Name
	case strings.HasPrefix(i.Repo, "https://"), strings.HasPrefix(i.Repo, "http://"):
		want.URL, want.Name = i.Repo, i.Name
	default:
		return chartFolder{}, refusal("there is no chart in %s, and repo %q is not an address to fetch it from",
			path.Join(home, i.Name), i.Repo)
	}
	if i.Devel && want.Ref == "" {
		want.Ref = ">0.0.0-0"
	}
	found, err := i.builder.fetched(i.reads, want, i.builder.mounts.requestedAt(i.shown))
	if err != nil {
		return chartFolder{}, &sourceError{want: want, err: err}
	}
	return chartFolder{tree: found.Tree, dir: ".", packed: true, from: found}, nil
}

// release returns the name of the release.
func (i *inflation) release() (string, error) {
	switch {
	case i.NameTemplate == "" && i.ReleaseName == "":
		return "release-name", nil // as "helm template --generate-name" does
	case i.NameTemplate == "":
		return i.ReleaseName, nil
	case i.ReleaseName != "":
		return "", refusal("sets both releaseName and nameTemplate, which Helm refuses")
	}
	if strings.Contains(i.NameTemplate, "{{") {
		return "", &refusedError{message: "has a template for the name of the release (nameTemplate), which Lintel " +
			"does not evaluate"}
	}
	return i.NameTemplate, nil
}

// problem describes why a chart has no output. fleeting is true where the problem may disappear although no file
// changes.
func (i *inflation) problem(err error) (doc.Error, bool) {
	e := doc.Error{Path: i.shown.file, Line: i.shown.at.Line, Column: i.shown.at.Column}
	var outside *sourceError
	var failure *remote.Failure
	var refused *refusedError
	var failed *helm.Error
	switch {
	case errors.As(err, &outside):
		e.Message = "helmCharts: "
		outside.tell(&e)
		return e, !errors.Is(err, remote.ErrWanted) && !errors.As(err, &failure) // reading the store may succeed the next time
	case errors.As(err, &failure):
		e.Message = "helmCharts: " + failure.Message
	case errors.As(err, &refused):
		e.Message, e.Unknown = "helmCharts: "+refused.message, true
	case errors.As(err, &failed):
		e.Unknown = failed.Cause == helm.CauseLimit
		e.Message = chartWords("the chart "+i.Name, failed) + chartPlace(failed)
		return e, failed.Cause == helm.CauseLimit // the limit may be one of time
	default:
		e.Message, e.Unknown = "helmCharts: cannot be read: "+err.Error(), true
		return e, true
	}
	return e, false
}
