package render

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/helm/trace"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/source"
)

// chartPlaces knows where the fields are written that a chart printed. What that takes is done when the first place is
// asked for. It is safe for concurrent use.
type chartPlaces struct {
	ctx      context.Context // that the chart was rendered under
	renderer *Renderer
	chart    *helm.Chart
	homes    map[*helm.Chart]chartFolder
	top      chartFolder
	options  helm.Options
	output   *helm.Output
	values   *gitops.Values        // of the user; nil: nothing is known of them
	load     func() *gitops.Values // makes values, if it is not nil
	defaults *gitops.Values        // in place of the chart's own values.yaml; nil: that counts
	entry    origin.Place          // what brings the chart in
	name     gitops.Position
	space    gitops.Position // of the release's namespace
	advice   string          // what helps against what a chart from elsewhere prints

	mu     sync.Mutex
	ready  bool
	trace  *trace.Trace // nil: there is none
	layers *helm.Layers // likewise
	files  map[string]*origin.File
	// objects are those of a manifest, by its index, for those who ask by positions.
	objects  map[int][]*yaml.Node
	confirms int // how often it was rendered to try a value
}

// maxTraceTime ends the shadow of a chart whose functions take very long. What else it does is bounded by its steps.
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
	c.layers, _ = c.chart.Layers(c.options)
	if c.load != nil {
		c.values = c.load()
	}
}

// file returns a file of this repository that places are looked for in.
func (c *chartPlaces) file(name string) *origin.File {
	f := c.files[name]
	if f == nil {
		data, _, _ := c.renderer.read(name)
		f = origin.NewFile(name, data)
		if c.files == nil {
			c.files = map[string]*origin.File{}
		}
		c.files[name] = f
	}
	return f
}

// spot is a field of a manifest, found as far as it exists.
type spot struct {
	object     *yaml.Node
	pointer    string
	manifest   helm.Manifest
	text       *manifestText
	key, value *yaml.Node   // key is nil for the element of a list and for the whole
	above      []*yaml.Node // the keys that lead there, the outermost first
	keys       []string     // that are missing below
	missing    string       // the same as a JSON Pointer
}

// locate returns the place of the field at a pointer into an object of a manifest.
func (c *chartPlaces) locate(manifest int, object *yaml.Node, pointer string) origin.Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prepare()
	s := spot{manifest: c.output.Manifests[manifest], object: object, pointer: pointer, value: source.Deref(object)}
	s.text = newManifestText(s.manifest.Text)
	s.follow(pointer)
	p := c.field(s)
	if s.missing != "" {
		if p.How = origin.Enclosing; p.Set == nil {
			p.Missing = s.missing
		}
	}
	return p
}

// printed is locate for what begins at a position of a manifest. It returns false where nothing does.
func (c *chartPlaces) printed(manifest, line, column int, missing string) (origin.Place, bool) {
	c.mu.Lock()
	objects, ok := c.objects[manifest]
	if !ok {
		m := c.output.Manifests[manifest]
		documents, _ := source.Parse(m.Template, []byte(m.Text), c.renderer.limits.Source)
		for _, d := range documents {
			objects = append(objects, source.Unlist(d)...)
		}
		if c.objects == nil {
			c.objects = map[int][]*yaml.Node{}
		}
		c.objects[manifest] = objects
	}
	c.mu.Unlock()
	for _, object := range objects {
		if pointer, ok := pointerAt(object, line, column, missing != ""); ok {
			return c.locate(manifest, object, pointer+missing), true
		}
	}
	return origin.Place{}, false
}

// pointerAt returns the pointer of the value that begins at a position, or whose key does; column 0: on the line. holder
// says that it is a map or a list.
func pointerAt(n *yaml.Node, line, column int, holder bool) (string, bool) {
	at := func(n *yaml.Node) bool { return n != nil && n.Line == line && (column == 0 || n.Column == column) }
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
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

// follow goes down a pointer as far as it leads.
func (s *spot) follow(pointer string) {
	parts := strings.Split(strings.TrimSuffix(pointer, "/"), "/")[1:]
	for i, part := range parts {
		token := jsonpointer.Unescape(part)
		var key, value *yaml.Node
		switch s.value.Kind {
		case yaml.MappingNode:
			key, value = source.Field(s.value, token)
		case yaml.SequenceNode:
			if k, err := strconv.Atoi(token); err == nil && k >= 0 && k < len(s.value.Content) {
				value = s.value.Content[k]
			}
		}
		if value = source.Deref(value); value == nil {
			s.missing = "/" + strings.Join(parts[i:], "/")
			for _, part := range parts[i:] {
				s.keys = append(s.keys, jsonpointer.Unescape(part))
			}
			return
		}
		if s.key, s.value = key, value; key != nil {
			s.above = append(s.above, key)
		}
	}
}

// field returns the place of a field.
func (c *chartPlaces) field(s spot) origin.Place {
	if s.manifest.CRD {
		return c.verbatim(s)
	}
	near := c.nearest(s.manifest)
	if c.trace == nil || s.manifest.Offset < 0 || !c.trace.Accepted(s.manifest.Template) {
		return near
	}
	if s.missing != "" {
		if p, ok := c.absent(s); ok {
			return p
		}
	}
	at, length := s.text.extent(s)
	found := c.at(s, at, length)
	p, ok := c.decide(s, wordsFirst(found, s.text.text[at:at+length]))
	if !ok {
		return near
	}
	if s.value.Kind == yaml.ScalarNode && s.missing == "" {
		p.Spans = c.spans(s, found, at, length)
	}
	c.link(&p, s, found)
	return p
}

func (c *chartPlaces) at(s spot, at, length int) []trace.Origin {
	return c.trace.At(s.manifest.Template, s.manifest.Offset+at, length)
}

// verbatim is the place of a field that stands in a file of the chart as it is.
func (c *chartPlaces) verbatim(s spot) origin.Place {
	n := s.value
	if s.key != nil && n.Kind != yaml.ScalarNode {
		n = s.key
	}
	if s.manifest.File != "" && c.top.here && c.fileIsOfTop(s.manifest) {
		name := ""
		if s.key != nil {
			name = s.key.Value
		}
		p, ok := c.file(c.top.file(s.manifest.File)).Entry(n.Line, n.Column, name)
		if !ok {
			p = origin.Place{Path: c.top.file(s.manifest.File), StartLine: n.Line, EndLine: n.Line, How: origin.Enclosing}
		} else {
			p.How = origin.Identity
		}
		p.Role = "crds"
		return p
	}
	p := c.fixed()
	if s.manifest.File != "" {
		p.Chain = []origin.Link{{Path: c.top.file(s.manifest.File), StartLine: n.Line, EndLine: n.Line, Role: "crds"}}
	}
	return p
}

// fileIsOfTop reports whether a manifest's file is in the folder of the chart itself, not in that of one that it was
// completed with.
func (c *chartPlaces) fileIsOfTop(m helm.Manifest) bool {
	_, e, err := c.top.tree.Lookup(path.Join(c.top.dir, m.File))
	return err == nil && e.ID != ""
}

// nearest is the place of a field of which nothing more is known: the template, or what brings the chart in.
func (c *chartPlaces) nearest(m helm.Manifest) origin.Place {
	at, here := "", false
	if c.trace != nil {
		owner, file := c.trace.Source(m.Template)
		if home, ok := c.homes[owner]; ok && file != "" {
			at, here = home.file(file), home.here
		}
	} else if m.File != "" && c.fileIsOfTop(m) {
		at, here = c.top.file(m.File), c.top.here
	}
	if here {
		return origin.Place{Path: at, StartLine: 1, EndLine: 1, How: origin.Enclosing, Role: "template"}
	}
	p := c.entry
	if at != "" {
		p.Chain = []origin.Link{{Path: at, StartLine: 1, EndLine: 1, Role: "template"}}
	}
	return p
}

// fixed is the place of what a chart from elsewhere says and no value changes.
func (c *chartPlaces) fixed() origin.Place {
	p := c.entry
	p.Advice = c.advice
	return p
}

// wordsFirst puts signs that a template spells between what values say behind that.
func wordsFirst(found []trace.Origin, text string) []trace.Origin {
	found = slices.Clone(found)
	sign := func(o trace.Origin) int {
		if o.Kind == trace.Text && o.Role == trace.Verbatim && o.At >= 0 && o.At+o.Length <= len(text) &&
			!strings.ContainsFunc(text[o.At:o.At+o.Length], isWord) {
			return 1
		}
		return 0
	}
	end := slices.IndexFunc(found, func(o trace.Origin) bool { return o.Role == trace.Condition || o.Role == trace.Fallback })
	if end < 0 {
		end = len(found)
	}
	slices.SortStableFunc(found[:end], func(a, b trace.Origin) int { return sign(a) - sign(b) })
	return found
}

// decide returns the place of the first origin that a person can edit here, or else of the first.
func (c *chartPlaces) decide(s spot, found []trace.Origin) (best origin.Place, ok bool) {
	var open *origin.Place
	for _, o := range found {
		if o.Role == trace.Condition {
			break
		}
		if o.Role == trace.Derived && found[0].Role == trace.Verbatim {
			continue // it had a say in what was copied, and another value of it may say the same
		}
		if o.Role == trace.Fallback && o.Kind != trace.Value {
			continue // nobody sets a key or a release for it
		}
		p, sure := c.origin(o)
		if o.Role == trace.Derived && (o.Kind == trace.Key || o.Kind == trace.Release) {
			p.How, sure = origin.Enclosing, false // it chose among what others say, more often than not
			p.StartColumn, p.EndColumn = 0, 0
		}
		if o.Role == trace.Fallback { // of one that is set, something else did not count
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

// origin returns the place of an origin. It is sure if editing it here changes what comes of it.
func (c *chartPlaces) origin(o trace.Origin) (p origin.Place, sure bool) {
	switch o.Kind {
	case trace.Value:
		return c.value(o.Path, false)
	case trace.Key:
		return c.value(o.Path, true)
	case trace.Text:
		owner, file := c.trace.Source(o.Template)
		home, ok := c.homes[owner]
		if !ok || file == "" {
			return c.fixed(), false
		}
		if !home.here {
			p = c.fixed()
			p.Chain = []origin.Link{{Path: home.file(file), StartLine: o.Line, EndLine: o.Line, Role: "template"}}
			return p, false
		}
		return c.literal(home.file(file), o), true
	case trace.Release:
		at := c.entry
		switch {
		case slices.Equal(o.Path, []string{"Name"}) && c.name.Path != "":
			at = c.scalar(c.name, "name")
			at.Role = "release name"
		case slices.Equal(o.Path, []string{"Namespace"}) && c.space.Path != "":
			at = c.scalar(c.space, "namespace")
			at.Role = "release namespace"
		default:
			at.Role = "release"
			return at, false
		}
		return at, at.How == origin.Writer
	case trace.Chart:
		return c.metadata(o)
	case trace.File:
		return c.packed(o)
	}
	p = c.entry
	p.Role = o.Kind.String()
	return p, false
}

// literal is the place of text of a template of this repository.
func (c *chartPlaces) literal(name string, o trace.Origin) origin.Place {
	p := origin.Place{Path: name, StartLine: o.Line, EndLine: o.Line, How: origin.Writer, Role: "template"}
	data, _, err := c.renderer.read(name)
	text := strings.TrimPrefix(string(data), "\ufeff")
	if err != nil || o.Offset+o.Length > len(text) || o.Length <= 0 {
		return p
	}
	literal := text[o.Offset : o.Offset+o.Length]
	begin := strings.LastIndexByte(text[:o.Offset], '\n') + 1
	trimmed := strings.TrimLeft(literal, "\r\n\t ")
	if lines := strings.Count(strings.TrimRight(trimmed, "\r\n\t "), "\n"); lines > 0 {
		p.EndLine += lines
		return p
	}
	if strings.Contains(literal[:len(literal)-len(trimmed)], "\n") {
		return p
	}
	from := len([]rune(text[begin : o.Offset+len(literal)-len(trimmed)]))
	p.StartColumn = from + 1
	p.EndColumn = p.StartColumn + len([]rune(strings.TrimRight(trimmed, "\r\n\t ")))
	if p.EndColumn == p.StartColumn {
		p.StartColumn, p.EndColumn = 0, 0
	}
	return p
}

// metadata is the place of a field of Chart.yaml.
func (c *chartPlaces) metadata(o trace.Origin) (origin.Place, bool) {
	var home chartFolder
	ok := false
	sub := ""
	if c.trace != nil {
		home, sub, ok = c.homeOf(o.Template)
	}
	if ok && home.here && len(o.Path) > 0 && o.Path[0] != "" {
		key := strings.ToLower(o.Path[0][:1]) + o.Path[0][1:]
		if p, ok := c.alias(o); ok {
			return p, p.How == origin.Writer
		}
		p, depth := c.file(home.file(path.Join(sub, "Chart.yaml"))).Find([]string{key})
		p.Role = "chart"
		return p, depth == 1
	}
	p := c.entry
	if ok {
		p.Chain = []origin.Link{{Path: home.file(path.Join(sub, "Chart.yaml")), StartLine: 1, EndLine: 1, Role: "chart"}}
	}
	return p, false
}

// alias is the place of the name of a subchart that the chart gave it.
func (c *chartPlaces) alias(o trace.Origin) (origin.Place, bool) {
	if o.Path[0] != "Name" {
		return origin.Place{}, false
	}
	for i, d := range c.chart.Dependencies() {
		if d.Alias != "" && o.Template == c.chart.Name()+"/charts/"+d.Alias {
			p, _ := c.file(c.top.file(d.File)).Find([]string{"dependencies", strconv.Itoa(i), "alias"})
			p.Role = "chart"
			return p, true
		}
	}
	return origin.Place{}, false
}

// homeOf returns where the chart of a full name is: its folder, or that of the chart that it is packed in, and its
// folder in there.
func (c *chartPlaces) homeOf(full string) (home chartFolder, sub string, ok bool) {
	owner, file := c.trace.SourceOf(full)
	home, ok = c.homes[owner]
	if !ok || file == "" {
		return chartFolder{}, "", false
	}
	if i := strings.LastIndex("/"+file, "/templates/"); i >= 0 {
		return home, strings.Trim(file[:max(0, i)], "/"), true
	}
	return chartFolder{}, "", false
}

// packed is the place of a file that a template read.
func (c *chartPlaces) packed(o trace.Origin) (origin.Place, bool) {
	home, sub, ok := c.homeOf(o.Template)
	if !ok || o.Name == "" {
		p := c.entry
		p.Role = "file"
		return p, false
	}
	data, _, err := home.tree.ReadFile(path.Join(home.dir, sub, o.Name))
	if err != nil || !filepath.IsLocal(o.Name) {
		p := c.entry // a template may ask for what is not there
		p.Role = "file"
		return p, false
	}
	name, line := home.file(path.Join(sub, o.Name)), 1
	if o.Offset <= len(data) {
		line += strings.Count(string(data[:o.Offset]), "\n")
	}
	if home.here {
		return origin.Place{Path: name, StartLine: line, EndLine: line, How: origin.Writer, Role: "file"}, true
	}
	p := c.fixed()
	p.Chain = []origin.Link{{Path: name, StartLine: line, EndLine: line, Role: "file"}}
	return p, false
}

// position is the place of what is written at a position of this repository.
func (c *chartPlaces) position(at gitops.Position, name string) origin.Place {
	p := placeAt(at, "values")
	if at.Line > 0 && at.Column > 0 {
		if found, ok := c.file(at.Path).Entry(at.Line, at.Column, name); ok {
			found.Role = p.Role
			return found
		}
	}
	if at.Line > 0 {
		p.How = origin.Writer
	}
	return p
}

// scalar is position for what is written as a scalar; what stands around it where it is not written is no more than near.
func (c *chartPlaces) scalar(at gitops.Position, name string) origin.Place {
	p := c.position(at, name)
	if at.Column > 0 && !c.file(at.Path).Scalar(at.Line, at.Column, name) {
		p.How = origin.Enclosing
	}
	return p
}

// link adds what stands behind a place: the template.
func (c *chartPlaces) link(p *origin.Place, s spot, found []trace.Origin) {
	for _, l := range p.Chain {
		if l.Role == "template" {
			return
		}
	}
	if p.Role == "template" {
		return
	}
	owner, file := c.trace.Source(s.manifest.Template)
	home, ok := c.homes[owner]
	if !ok || file == "" {
		return
	}
	for _, o := range found {
		if c.linkText(p, o) {
			return
		}
	}
	for _, key := range slices.Backward(s.above) {
		at, length := s.text.scalar(key)
		for _, o := range c.at(s, at, length) {
			if c.linkText(p, o) {
				return
			}
		}
	}
	p.Chain = append(p.Chain, origin.Link{Path: home.file(file), StartLine: 1, EndLine: 1, Role: "template"})
}

// linkText adds the line of a template's text.
func (c *chartPlaces) linkText(p *origin.Place, o trace.Origin) bool {
	if o.Kind != trace.Text || o.Role == trace.Condition {
		return false
	}
	owner, file := c.trace.Source(o.Template)
	home, ok := c.homes[owner]
	if ok = ok && file != ""; ok {
		p.Chain = append(p.Chain, origin.Link{Path: home.file(file), StartLine: o.Line, EndLine: o.Line, Role: "template"})
	}
	return ok
}
