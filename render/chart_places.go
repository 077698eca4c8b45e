package render

import (
	"context"
	"path"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/helm/trace"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/trial"
)

// chartPlaces finds the places of the fields that a chart printed. It is prepared when the first place is requested. It
// is safe for concurrent use.
type chartPlaces struct {
	ctx        context.Context // the context in which the chart was rendered
	builder    *builder
	chart      *helm.Chart
	homes      map[*helm.Chart]chartFolder
	top        chartFolder
	options    helm.Options
	output     *helm.Output
	trial      *trial.Release
	values     *gitops.Values        // values of the user; nil: they are not known
	load       func() *gitops.Values // loads values on first use; nil: they are loaded
	defaults   *gitops.Values        // replace the chart's values.yaml; nil: they do not
	entry      origin.Place          // what deploys the chart
	name       gitops.Position
	space      gitops.Position // of the release's namespace
	fixWords   string          // how to change what a remote chart prints
	deployedBy origin.Place    // what deploys the chart that printed the requested field

	mu     sync.Mutex
	ready  bool
	trace  *trace.Trace // nil: it could not be made
	layers *helm.Layers // nil: they could not be made
	files  parsedFiles
	parts  map[int]*manifestPart       // by the index of the manifest
	joint  map[string]map[string]joint // by template and path
	order  map[string][]string         // the names of a template's objects
}

// manifestPart is what all places in one manifest share.
type manifestPart struct {
	text       manifestText
	deployedBy origin.Place // see chartPlaces.deployedBy
	own        bool         // the template is the chart's own, and not one of a dependency that was added to it
	objects    []*yaml.Node // parsed for requests by position
	parsed     bool         // objects are known
	last       spot         // the last field that was requested: the next one is mostly near it
}

// maxTraceTime limits the traced run of a chart whose functions take very long. Everything else in it is limited by
// steps.
const maxTraceTime = time.Minute

// prepare runs the chart's templates once more. It is called with the lock held.
func (c *chartPlaces) prepare() {
	if c.ready {
		return
	}
	c.ready = true
	ctx, stop := context.WithTimeout(c.ctx, maxTraceTime)
	defer stop()
	c.trace, _ = trace.Run(ctx, c.chart, c.options, c.output)
	if c.trace != nil {
		c.trial.Weigh(c.trace.Steps(), c.trace.Apart())
	}
	c.layers, _ = c.chart.Layers(c.options)
	if c.load != nil {
		c.values = c.load()
	}
}

// background returns a context without cancellation, for results that later callers share.
func (c *chartPlaces) background() context.Context { return context.WithoutCancel(c.ctx) }

// file returns a file of this repository that places are looked for in.
func (c *chartPlaces) file(name string) *origin.File {
	return c.files.parsed(name, func() ([]byte, string, error) { return c.builder.read(name) })
}

// locate returns the place of the field at a JSON Pointer in an object of a manifest.
func (c *chartPlaces) locate(manifest int, object *yaml.Node, pointer string) origin.Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prepare()
	part := c.part(manifest)
	s := spot{manifest: c.output.Manifests[manifest], part: part, object: object, pointer: pointer, value: doc.Deref(object)}
	s.follow(pointer, &part.last)
	c.deployedBy = part.deployedBy
	part.last = s
	p := c.field(s)
	if s.missing != "" {
		if p.How = origin.Enclosing; p.Set == nil {
			p.Missing = s.missing
		}
	}
	return p
}

// part returns the shared part of a manifest, and makes it on first use. The caller holds the lock and has called
// prepare.
func (c *chartPlaces) part(manifest int) *manifestPart {
	p := c.parts[manifest]
	if p == nil {
		m := c.output.Manifests[manifest]
		p = &manifestPart{text: manifestText{doc.NewOffsets(m.Text)}, deployedBy: c.deployer(m)}
		if m.File != "" {
			_, e, err := c.top.tree.Lookup(path.Join(c.top.dir, m.File))
			p.own = err == nil && e.ID != ""
		}
		if c.parts == nil {
			c.parts = map[int]*manifestPart{}
		}
		c.parts[manifest] = p
	}
	return p
}

// printed is locate for the value that begins at a line and column of a manifest. It returns false where none does.
func (c *chartPlaces) printed(manifest, line, column int, missing string) (origin.Place, bool) {
	c.mu.Lock()
	c.prepare()
	part := c.part(manifest)
	if !part.parsed {
		part.objects, part.parsed = c.output.Manifests[manifest].Objects(c.builder.limits.Source), true
	}
	objects := part.objects
	c.mu.Unlock()
	for _, object := range objects {
		if pointer, ok := pointerAt(object, line, column, missing != ""); ok {
			return c.locate(manifest, object, pointer+missing), true
		}
	}
	return origin.Place{}, false
}

// parsedFiles caches parsed files, by path in this repository or by address (see chartFolder.file).
type parsedFiles map[string]*origin.File

// of returns a file of a chart. It is read from the chart's folder where that is not in this repository.
func (f *parsedFiles) of(home chartFolder, name string, here func(string) *origin.File) *origin.File {
	if home.here {
		return here(home.file(name))
	}
	return f.parsed(home.file(name), func() ([]byte, string, error) { return home.tree.ReadFile(path.Join(home.dir, name)) })
}

// parsed parses a file once; one that cannot be read is empty.
func (f *parsedFiles) parsed(name string, read func() ([]byte, string, error)) *origin.File {
	if (*f)[name] == nil {
		if *f == nil {
			*f = parsedFiles{}
		}
		data, _, _ := read()
		(*f)[name] = origin.NewFile(name, data)
	}
	return (*f)[name]
}
