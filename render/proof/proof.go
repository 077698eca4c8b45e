// Package proof tries whether the places that origins name are the right ones: it changes the text at the
// place, renders again, and looks whether the field changed.
package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/tree"
)

// Options choose what is tried. The zero value tries everything.
type Options struct {
	Fields int    // fields of one root, rare classes first; 0: all
	Roots  int    // roots, spread over the repository; 0: all
	Only   string // the path of the one root to try, or of the folder around several; empty: no limit
	Limits render.Limits
	Log    func(string) // told each root, for progress; may be nil
}

// batch is how many places are changed in one render at most.
const batch = 128

// Prove tries the origins of the roots of a tree. An error means that the repository could not be read, or that the
// context ended; then the report holds what was found until then.
func Prove(ctx context.Context, t *tree.Tree, o Options) (*Report, error) {
	g, err := graph.Build(t, graph.Options{Limits: o.Limits.Source}, &graph.Cache{})
	if err != nil {
		return nil, err
	}
	report := &Report{}
	for _, root := range choose(g.Roots(), o) {
		if o.Log != nil {
			o.Log(root.Path)
		}
		p := &prover{tree: t, renderer: render.New(t, g, o.Limits), root: root, options: o, report: report, lines: map[string][]string{}}
		if err := p.run(ctx); err != nil {
			return report, err
		}
	}
	return report, nil
}

func choose(roots []graph.Root, o Options) []graph.Root {
	if o.Only != "" {
		roots = slices.DeleteFunc(roots, func(r graph.Root) bool {
			return r.Path != o.Only && !strings.HasPrefix(r.Path, o.Only+"/")
		})
	}
	if o.Roots <= 0 || len(roots) <= o.Roots {
		return roots
	}
	picked := make([]graph.Root, o.Roots)
	for i := range picked {
		picked[i] = roots[i*len(roots)/o.Roots]
	}
	return picked
}

// prover tries the fields of one root.
type prover struct {
	tree     *tree.Tree
	renderer *render.Renderer
	root     graph.Root
	options  Options
	report   *Report
	base     *rendered
	lines    map[string][]string // of the source files
	trials   []*trial
}

// trial is one place and the fields that are said to come from it.
type trial struct {
	edit   edit
	fields []*attempt
	alone  bool // what others refer to is changed alone
}

type attempt struct {
	Field
	resource int
}

// rendered is one answer of the renderer.
type rendered struct {
	kinds  []string
	fields []map[string]string // of each resource, pointer -> value; of maps and lists everything they hold
}

func (p *prover) run(ctx context.Context) error {
	rendering, problems, err := p.renderer.Render(ctx, p.root)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		p.report.Broken = append(p.report.Broken, p.root.Path+": "+problems[0].Error())
		return nil
	}
	p.report.Roots++
	if !p.root.Plain {
		if same, err := p.sameWithoutOrigins(ctx, rendering); err != nil {
			return err
		} else if !same {
			p.report.Different = append(p.report.Different, p.root.Path)
		}
	}
	p.base = flatten(rendering)
	p.collect(rendering)
	var together, alone []*trial
	for _, t := range p.trials {
		if t.alone || t.edit.mark == "" {
			alone = append(alone, t)
		} else {
			together = append(together, t)
		}
	}
	for chunk := range slices.Chunk(together, batch) {
		rest, err := p.together(ctx, chunk)
		if err != nil {
			return err
		}
		alone = append(alone, rest...)
	}
	for _, t := range alone {
		if err := p.single(ctx, t); err != nil {
			return err
		}
	}
	for _, t := range p.trials {
		for _, a := range t.fields {
			p.report.Fields = append(p.report.Fields, a.Field)
		}
	}
	return nil
}

// collect asks for the place of each field and makes the trials.
func (p *prover) collect(rendering *render.Rendering) {
	byClass := map[Class][]*attempt{}
	for i, res := range rendering.Resources {
		for _, f := range res.Fields() {
			if !f.Scalar() && lastIsIndex(f.Pointer) {
				continue // an element of a list has no key
			}
			place := res.Origin(f.Pointer)
			class := Class{How: place.How, Role: place.Role}
			if !f.Scalar() {
				class.Role += " key"
			}
			byClass[class] = append(byClass[class], &attempt{resource: i, Field: Field{
				Root: p.root.Path, Resource: p.base.kinds[i], Pointer: f.Pointer, Value: f.Node.Value, Place: place, Class: class}})
		}
	}
	at := map[string]*trial{}
	for _, a := range p.sample(byClass) {
		key := fmt.Sprintf("%s:%d:%d:%d", a.Place.Path, a.Place.StartLine, a.Place.StartColumn, a.Place.EndLine)
		t := at[key]
		if t == nil {
			e, ok := newEdit(p.text(a.Place.Path), a.Place, len(at))
			if !ok || a.Place.Missing != "" && a.Place.How == origin.Enclosing && nobodyWrote(a.Pointer) {
				a.Outcome, a.Reason = Undecided, "the place holds no text of its own"
				p.report.Fields = append(p.report.Fields, a.Field)
				continue
			}
			t = &trial{edit: e}
			at[key] = t
			p.trials = append(p.trials, t)
		}
		t.fields = append(t.fields, a)
		t.alone = t.alone || identifies(a.Pointer) || strings.HasSuffix(a.Class.Role, " key")
	}
}

// sample picks fields so that no class is left out.
func (p *prover) sample(byClass map[Class][]*attempt) []*attempt {
	random := rand.New(rand.NewPCG(1, uint64(len(p.root.Path))))
	var classes []Class
	total := 0
	for c, list := range byClass {
		classes = append(classes, c)
		total += len(list)
	}
	slices.SortFunc(classes, func(a, b Class) int { return strings.Compare(a.String(), b.String()) })
	limit := p.options.Fields
	if limit <= 0 {
		limit = total
	}
	for _, c := range classes {
		list := byClass[c]
		if limit < total {
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	}
	var picked []*attempt
	for i := 0; len(picked) < min(limit, total); i++ {
		for _, c := range classes {
			if i < len(byClass[c]) && len(picked) < limit {
				picked = append(picked, byClass[c][i])
			}
		}
	}
	return picked
}

func (p *prover) text(name string) []string {
	lines, ok := p.lines[name]
	if !ok {
		if data, _, err := p.tree.ReadFile(name); err == nil {
			lines = strings.Split(string(data), "\n")
		}
		p.lines[name] = lines
	}
	return lines
}

// render renders the root with some places changed. The answer is nil with a reason where it does not build.
func (p *prover) render(ctx context.Context, trials []*trial) (*rendered, string, error) {
	byPath := map[string][]edit{}
	for _, t := range trials {
		byPath[t.edit.path] = append(byPath[t.edit.path], t.edit)
	}
	files := map[string][]byte{}
	for name, edits := range byPath {
		data, ok := apply(p.text(name), edits)
		if !ok {
			return nil, "the places overlap", nil
		}
		real, _, err := p.tree.Lookup(name)
		if err != nil {
			return nil, "the file does not exist", nil
		}
		files[real] = data
	}
	p.report.Renders++
	rendering, problems, err := p.renderer.With(files).Render(ctx, p.root)
	if err != nil {
		return nil, "", err
	}
	if len(problems) > 0 {
		return nil, problems[0].Error(), nil
	}
	return flatten(rendering), "", nil
}

// together tries many places in one render and answers those that must be tried alone.
func (p *prover) together(ctx context.Context, trials []*trial) ([]*trial, error) {
	after, _, err := p.render(ctx, trials)
	if err != nil {
		return nil, err
	}
	if after == nil || len(after.fields) != len(p.base.fields) {
		if len(trials) <= 4 {
			return trials, nil
		}
		half := len(trials) / 2
		first, err := p.together(ctx, trials[:half])
		if err != nil {
			return nil, err
		}
		second, err := p.together(ctx, trials[half:])
		return append(first, second...), err
	}
	var rest []*trial
	for _, t := range trials {
		ok := true
		for _, a := range t.fields {
			ok = ok && t.edit.carries(after.fields[a.resource][a.Pointer])
		}
		if !ok {
			rest = append(rest, t)
		}
	}
	return rest, nil
}

// single tries one place.
func (p *prover) single(ctx context.Context, t *trial) error {
	after, reason, err := p.render(ctx, []*trial{t})
	if err != nil {
		return err
	}
	for _, a := range t.fields {
		switch {
		case after == nil:
			a.Outcome, a.Reason = Undecided, reason
		case len(after.fields) != len(p.base.fields):
			a.Outcome, a.Reason = Undecided, "another number of resources"
		case p.same(after, a):
			a.Outcome, a.Reason = Refuted, "is the same after the change to "+t.edit.text
		default:
			a.Outcome = Confirmed
		}
	}
	return nil
}

// same says whether a field is as it was. A map or list that other layers write, too, lives on without this key, but
// then what holds it has changed.
func (p *prover) same(after *rendered, a *attempt) bool {
	pointer := a.Pointer
	if strings.HasSuffix(a.Class.Role, " key") {
		if pointer = pointer[:strings.LastIndexByte(pointer, '/')]; pointer == "" {
			return fmt.Sprint(after.fields[a.resource]) == fmt.Sprint(p.base.fields[a.resource])
		}
	}
	return after.fields[a.resource][pointer] == p.base.fields[a.resource][pointer]
}

// flatten makes a rendering's fields comparable.
func flatten(r *render.Rendering) *rendered {
	out := &rendered{}
	for _, res := range r.Resources {
		meta, _ := res.Object["metadata"].(map[string]any)
		out.kinds = append(out.kinds, fmt.Sprint(res.Object["kind"], " ", meta["name"]))
		fields := map[string]string{}
		for _, f := range res.Fields() {
			fields[f.Pointer] = text(f.Node)
		}
		out.fields = append(out.fields, fields)
	}
	return out
}

func text(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	data, err := yaml.Marshal(n)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func lastIsIndex(pointer string) bool {
	last := pointer[strings.LastIndexByte(pointer, '/')+1:]
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// identifies says whether other parts of a build may refer to a field.
func identifies(pointer string) bool {
	switch pointer[strings.LastIndexByte(pointer, '/')+1:] {
	case "name", "kind", "apiVersion", "namespace":
		return true
	}
	return false
}

// nobodyWrote says whether a field is one that kustomize adds to a resource that it generates.
func nobodyWrote(pointer string) bool { return pointer == "/kind" || pointer == "/apiVersion" }
