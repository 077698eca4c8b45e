// Package rendertest checks whether the places that origins name are correct: it changes the text at a place, renders
// again, and checks whether the field changed.
package rendertest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Options choose what is checked. The zero value checks everything.
type Options struct {
	Fields int    // how many questions to ask about one root, rare classes first; 0: all
	Roots  int    // how many roots to check, spread over the repository; 0: all
	Only   string // the path of the one root to try, or of the folder around several; empty: no limit
	Limits render.Limits
	// Write writes a tree that differs from another one in the contents of some files, and returns its object id. It is
	// needed for charts, which are rendered from trees. Nil: roots of charts are left out.
	Write func(ctx context.Context, tree string, files map[string][]byte) (string, error)
	// Sources is what was fetched from outside of the repository; nil: nothing.
	Sources *remote.Sources
	// Repository are the repository's names: see roots.Options.
	Repository []string
	Log        func(string) // called for each root, to show progress; may be nil
}

// batch is how many places are changed in one rendering at most.
const batch = 128

// Prove checks the origins of the roots of a tree. An error means that the repository could not be read, or that the
// context ended; then the report has the results until then.
func Prove(ctx context.Context, t *tree.Tree, o Options) (*Report, error) {
	cache := &graph.Cache{}
	memory := &render.Cache{}
	set, err := deploy.Open(t, o.roots(), cache, o.config(memory))
	if err != nil {
		return nil, err
	}
	report := &Report{}
	for _, root := range choose(set.All(), o) {
		if o.Log != nil {
			o.Log(root.Path)
		}
		p := &prover{tree: t, set: set, root: root, options: o, cache: cache,
			memory: memory, report: report, lines: map[string][]string{}}
		if err := p.run(ctx); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (o Options) roots() roots.Options {
	return roots.Options{Limits: o.Limits.Source, Repository: o.Repository}
}

func (o Options) config(memory *render.Cache) render.Config {
	return render.Config{Limits: o.Limits, Sources: o.Sources, Cache: memory}
}

func choose(list []roots.Root, o Options) []roots.Root {
	if o.Only != "" {
		list = slices.DeleteFunc(list, func(r roots.Root) bool {
			return r.Path != o.Only && !strings.HasPrefix(r.Path, o.Only+"/")
		})
	}
	list = slices.DeleteFunc(list, func(r roots.Root) bool { return o.Write == nil && isRelease(r) })
	if o.Roots <= 0 || len(list) <= o.Roots {
		return list
	}
	picked := make([]roots.Root, o.Roots)
	for i := range picked {
		picked[i] = list[i*len(list)/o.Roots]
	}
	return picked
}

// prover checks the fields of one root.
type prover struct {
	tree    *tree.Tree
	set     *deploy.Set
	root    roots.Root
	options Options
	report  *Report
	base    *rendered
	lines   map[string][]string // of the source files
	written []string            // all files that the root reads
	trials  []*trial
	cache   *graph.Cache
	memory  *render.Cache
	charts  bool // some objects come from a chart
}

// rendered is one rendering of the renderer.
type rendered struct {
	kinds  []string
	fields []map[string]string // pointer -> value, for each resource; for maps and lists the whole content
}

func (p *prover) run(ctx context.Context) error {
	rendering, problems, err := p.set.Render(ctx, p.root)
	if err != nil {
		return err
	}
	if problems = append(problems, rendering.Broken()...); len(problems) > 0 {
		p.report.Broken = append(p.report.Broken, p.root.Path+": "+problems[0].Error())
		return nil
	}
	p.report.Roots++
	p.charts = isRelease(p.root)
	for name := range rendering.Reads {
		p.charts = p.charts || strings.HasSuffix(name, "/") && p.options.Write != nil
	}
	if p.root.Kind != roots.Folder && !isRelease(p.root) && p.root.Object == "" {
		if same, err := p.sameWithoutOrigins(ctx, rendering); err != nil {
			return err
		} else if !same {
			p.report.Different = append(p.report.Different, p.root.Path)
		}
	}
	for name, id := range rendering.Reads {
		if id != "" && !strings.HasSuffix(name, "/") {
			p.written = append(p.written, name)
		}
	}
	p.base = flatten(rendering)
	if p.charts {
		return p.release(ctx, rendering)
	}
	p.collect(rendering)
	return p.try(ctx)
}

// try runs the trials that were collected.
func (p *prover) try(ctx context.Context) error {
	var together, alone []*trial
	for _, t := range p.trials {
		if t.alone || len(t.tries) == 0 || len(t.tries[0]) != 1 || t.tries[0][0].mark == "" {
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

func (p *prover) text(name string) []string {
	lines, ok := p.lines[name]
	if !ok {
		if data, _, err := p.tree.ReadFile(name); err == nil {
			lines = strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
		}
		p.lines[name] = lines
	}
	return lines
}

// render renders the root with some edits. It returns nil and a reason if the build fails.
func (p *prover) render(ctx context.Context, edits []edit) (*rendered, string, error) {
	byPath := map[string][]edit{}
	for _, e := range edits {
		byPath[e.path] = append(byPath[e.path], e)
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
	renderer, target := p.set.Renderer.With(files), p.set.Target(p.root)
	if p.charts || p.root.Object != "" && p.options.Write != nil {
		set, root, err := p.edited(ctx, files)
		if err != nil {
			return nil, "", err
		}
		renderer, target = set.Renderer, set.Target(root)
	}
	rendering, problems, err := renderer.Render(ctx, target)
	if err != nil {
		return nil, "", err
	}
	if problems = append(problems, rendering.Broken()...); len(problems) > 0 {
		return nil, problems[0].Error(), nil
	}
	return flatten(rendering), "", nil
}

// together tries many places in one rendering and returns those that have to be tried alone.
func (p *prover) together(ctx context.Context, trials []*trial) ([]*trial, error) {
	var edits []edit
	for _, t := range trials {
		edits = append(edits, t.tries[0]...)
	}
	after, _, err := p.render(ctx, edits)
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
			ok = ok && t.tries[0][0].carries(after.fields[a.resource][a.expected(t.tries[0][0])])
		}
		if !ok {
			rest = append(rest, t)
		}
	}
	return rest, nil
}

// single tries one place. The first edit that builds decides; for a removal, all edits that build.
func (p *prover) single(ctx context.Context, t *trial) error {
	for _, a := range t.fields {
		a.Outcome, a.Reason = Undecided, "the place holds no text of its own"
	}
	for _, edits := range t.tries {
		after, reason, err := p.render(ctx, edits)
		if err != nil {
			return err
		}
		open := false
		for _, a := range t.fields {
			switch outcome := a.judge(p.base, after, edits[0]); {
			case a.Outcome == Confirmed:
			case outcome == Undecided:
				open = true
				if a.Outcome == Undecided {
					if a.Reason = reason; after != nil {
						a.Reason = "another number of resources"
					}
				}
			case outcome == Overwritten:
				a.Outcome, a.Reason, open = outcome, "another layer writes it, too", true
			case a.Outcome == Overwritten:
			case outcome == Confirmed:
				a.Outcome, a.Reason = outcome, ""
			default:
				a.Outcome = Refuted
				a.Reason = fmt.Sprintf("is %.60q after the change to %q", strings.TrimSpace(after.fields[a.resource][a.Pointer]),
					edits[0].text)
				if a.question == chain {
					a.Reason += fmt.Sprintf(", want %q", a.want)
				}
				open = open || a.question != value
			}
		}
		if !open {
			return nil
		}
	}
	return nil
}

// sameWithoutOrigins reports whether kustomize alone prints the same bytes for the unchanged files.
func (p *prover) sameWithoutOrigins(ctx context.Context, with *render.Rendering) (bool, error) {
	plain, err := p.set.Renderer.Unmarked(ctx, p.root)
	if err != nil {
		return false, err
	}
	have, err := with.YAML()
	if err != nil {
		return false, err
	}
	return string(have) == string(plain), nil
}

// flatten lists the fields of a rendering for comparison.
func flatten(r *render.Rendering) *rendered {
	out := &rendered{}
	for _, res := range r.Resources {
		meta, _ := res.Object["metadata"].(map[string]any)
		out.kinds = append(out.kinds, fmt.Sprint(res.Object["kind"], " ", meta["namespace"], " ", meta["name"]))
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
