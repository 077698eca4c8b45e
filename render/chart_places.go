package render

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/jsonpointer"
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
	parts  map[int]*manifestPart // by the index of the manifest
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

// field returns the place of a field.
func (c *chartPlaces) field(s spot) origin.Place {
	if s.manifest.CRD {
		return c.verbatim(s)
	}
	near := c.nearest(s)
	if c.trace == nil || s.manifest.Offset < 0 || !c.trace.Accepted(s.manifest.Template) {
		return near
	}
	tried := ""
	if s.missing != "" {
		if p, ok := c.inElement(s); ok {
			return p
		}
		p, ok, all := c.absent(s)
		if ok {
			return p
		}
		if tried = byNoFound; !all {
			tried = byNoTried
		}
	}
	at, length := s.part.text.extent(s)
	found := c.at(s, at, length)
	if quotes := `""`; s.value.Value == "" && length == len(quotes) {
		if inside := c.at(s, at+1, 0); len(inside) > 0 {
			at, length, found = at+1, 0, inside
		}
	}
	text := s.part.text.Text[at : at+length]
	p, ok := c.decide(s, wordsFirst(found, text), text)
	if !ok {
		return near
	}
	if length == 0 && p.Set == nil && len(found) == 1 && found[0].Kind == trace.Value {
		p.Set = found[0].Path // any value there is printed
	}
	c.reasoned(&p, s, tried, found)
	if s.value.Kind == yaml.ScalarNode && s.missing == "" {
		p.Spans = c.spans(s, found, at, length)
	}
	c.link(&p, s, found)
	return p
}

func (c *chartPlaces) at(s spot, at, length int) []trace.Origin {
	return c.trace.At(s.manifest.Template, s.manifest.Offset+at, length)
}

// wordsFirst moves punctuation that the template wrote between values behind the values.
func wordsFirst(found []trace.Origin, text string) []trace.Origin {
	found = slices.Clone(found)
	sign := func(o trace.Origin) int {
		if o.Kind == trace.Text && o.Role == trace.Verbatim && o.At >= 0 && o.At+o.Length <= len(text) &&
			!strings.ContainsFunc(text[o.At:o.At+o.Length], origin.IsWord) {
			return 1
		}
		return 0
	}
	end := slices.IndexFunc(found, func(o trace.Origin) bool {
		return o.Role == trace.Condition || o.Role == trace.Fallback
	})
	if end < 0 {
		end = len(found)
	}
	slices.SortStableFunc(found[:end], func(a, b trace.Origin) int { return sign(a) - sign(b) })
	return found
}

// decide returns the place of the first origin that a person can edit in this repository, or else of the first origin.
// text is what they made.
func (c *chartPlaces) decide(s spot, found []trace.Origin, text string) (best origin.Place, ok bool) {
	if p, ok := c.unsure(found); ok {
		return p, true
	}
	var open *origin.Place
	for _, o := range found { // a value that is set and counts as empty, so that another was used
		if o.Role != trace.Fallback || o.Kind != trace.Value || found[0].Kind != trace.Text {
			continue
		}
		if p, sure := c.origin(o, ""); sure && p.Set == nil && p.Missing == "" && c.prints(s, o.Path) {
			return p, true
		}
	}
	for _, o := range found {
		if o.Role == trace.Condition {
			break
		}
		if o.Role == trace.Derived && found[0].Role == trace.Verbatim {
			continue // it affected the copied value, but another value of it may print the same
		}
		if o.Role == trace.Fallback && o.Kind != trace.Value {
			continue // a key or a release is not set to get a default
		}
		copied := ""
		if o.Role == trace.Verbatim && (s.value.Style&yaml.LiteralStyle == 0 || !strings.Contains(text, "\n")) {
			copied, _, _ = strings.Cut(text[o.At:min(o.At+o.Length, len(text))], "\n")
		}
		p, sure := c.origin(o, copied)
		if o.Role == trace.Derived && (o.Kind == trace.Key || o.Kind == trace.Release) {
			p.How, sure = origin.Enclosing, false // a key or a release usually chose between values, and did not print the text itself
			p.StartColumn, p.EndColumn = 0, 0
		}
		if o.Role == trace.Fallback { // another value was tried first and is not set, so this one was used
			if p.Set == nil || open != nil && open.Set != nil || !c.changes(s, p.Set) {
				continue
			}
			sure = false
		}
		if sure {
			return p, true
		}
		if open == nil || open.Set == nil && p.Set != nil {
			open = &p
		}
	}
	if open == nil {
		return origin.Place{}, false
	}
	return *open, true
}

// unsure returns the place of a value that only the cluster knows, where a text contains one among others. A finding
// about the text is unsure because of that value.
func (c *chartPlaces) unsure(found []trace.Origin) (origin.Place, bool) {
	if c.values == nil || c.layers == nil {
		return origin.Place{}, false
	}
	for _, o := range found {
		if o.Kind != trace.Value || o.Role > trace.Derived {
			continue
		}
		set, _ := c.layers.At(o.Path)
		if u, ok := c.values.Unsure(userPath(set, o.Path)); ok {
			return placeAt(u.Where, "values"), true
		}
	}
	return origin.Place{}, false
}

// spot is a field of a manifest. Where the field does not exist, it is the nearest existing parent.
type spot struct {
	object      *yaml.Node
	pointer     string
	manifest    helm.Manifest
	part        *manifestPart
	key, value  *yaml.Node   // key is nil for a list element and for the whole object
	keys        []*yaml.Node // the keys that lead to it, the outermost first
	missingKeys []string     // the keys below it that do not exist
	missing     string       // the same as a JSON Pointer
	steps       []step       // the steps that lead to it
}

// step is one key or index and the node that it leads to.
type step struct {
	token      string
	key, value *yaml.Node
}

// follow goes down a pointer as far as it exists. If last is given, it starts where the pointer diverges from that of
// last, a field of the same object.
func (s *spot) follow(pointer string, last *spot) {
	path := doc.Tokens(strings.TrimSuffix(pointer, "/"))
	from := 0
	if last != nil && last.object == s.object {
		for from < len(path)-1 && from < len(last.steps) && last.steps[from].token == path[from] {
			s.enter(last.steps[from])
			from++
		}
	}
	for i, e := range doc.Follow(s.value, path[from:]) {
		s.enter(step{path[from+i], e.Key, e.Value})
	}
	s.missingKeys = path[len(s.steps):]
	s.missing = doc.Pointer(s.missingKeys...)
}

func (s *spot) enter(to step) {
	s.steps = append(s.steps, to)
	if s.key, s.value = to.key, to.value; to.key != nil {
		s.keys = append(s.keys, to.key)
	}
}

// pointerAt returns the JSON Pointer of the value that begins, or whose key begins, at a position. Column 0 is any
// column of the line. holder means that only maps and lists count.
func pointerAt(n *yaml.Node, line, column int, holder bool) (string, bool) {
	at := func(n *yaml.Node) bool { return n != nil && n.Line == line && (column == 0 || n.Column == column) }
	switch n.Kind {
	case yaml.MappingNode:
		for key, value := range doc.Pairs(n) {
			here := "/" + jsonpointer.Escape(key.Value)
			scalar := value.Kind == yaml.ScalarNode
			if (at(key) || at(value) && (scalar || value.Style&yaml.FlowStyle != 0)) && !(holder && scalar) {
				return here, true
			}
			if below, ok := pointerAt(value, line, column, holder); ok {
				return here + below, true
			}
		}
		if len(n.Content) > 0 && at(n.Content[0]) {
			return "", true
		}
	case yaml.SequenceNode:
		for i, value := range n.Content {
			here := "/" + strconv.Itoa(i)
			if at(value) && value.Kind == yaml.ScalarNode && !holder {
				return here, true
			}
			if below, ok := pointerAt(value, line, column, holder); ok {
				return here + below, true
			}
		}
	}
	return "", false
}

// manifestText is the text of a manifest with the offsets of its lines.
type manifestText struct{ doc.Offsets }

// extent returns the bytes whose origin is the origin of a field: those of a scalar, or of the key of a map or a list.
func (t manifestText) extent(s spot) (at, length int) {
	n := s.value
	if n.Kind != yaml.ScalarNode && s.key != nil {
		n = s.key
	}
	for len(n.Content) > 0 && n.Kind != yaml.ScalarNode {
		n = n.Content[0]
	}
	return t.scalar(n)
}

// scalar returns the bytes of a scalar, without its quotes, which the template wrote.
func (t manifestText) scalar(n *yaml.Node) (at, length int) {
	at, end, ok := t.Span(n)
	if n.Kind != yaml.ScalarNode || !ok {
		return min(t.Of(n), len(t.Text)), 0
	}
	text := t.Text[at:end]
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		mark, inner, _ := strings.Cut(text, "\n")
		trimmed := strings.TrimLeft(inner, " ")
		return min(end, at+len(mark)+1+len(inner)-len(trimmed)), len(strings.TrimRight(trimmed, "\n"))
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		if len(text) > 2 {
			return at + 1, len(text) - 2
		}
	}
	return at, len(text)
}

// mapping returns the bytes of a map from its first key to the end of its last line, or all bytes of a flow map or null.
func (t manifestText) mapping(n *yaml.Node) (at, length int) {
	at, end, ok := t.Span(n)
	if !ok {
		return min(t.Of(n), len(t.Text)), 0
	}
	if !strings.HasSuffix(t.Text[:end], "\n") {
		line, _, _ := strings.Cut(t.Text[end:], "\n")
		end += len(line)
	}
	return at, end - at
}

// has reports whether the repository has a file.
func (b *builder) has(name string) bool {
	_, _, err := b.lookup(name)
	return err == nil
}
