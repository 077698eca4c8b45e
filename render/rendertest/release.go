package rendertest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// The questions about the fields of releases, in addition to value, span and missing.
const (
	set  question = " set"  // set the value that the origin names for the field: does the field change?
	idle question = " idle" // for fields that no value should affect: change each value of the user in turn: does the field stay the same?
)

// isRelease reports whether a root is a release of a chart.
func isRelease(r roots.Root) bool {
	return r.Kind == roots.Chart || strings.HasPrefix(r.Object, "HelmRelease/") || r.Kind == roots.HelmRelease ||
		r.Kind == roots.Application
}

// edited returns a renderer of the tree with other contents of some files, and the same root in it. The name of the
// object that deploys the root may have changed.
func (p *prover) edited(ctx context.Context, files map[string][]byte) (*deploy.Set, roots.Root, error) {
	id, err := p.options.Write(ctx, p.tree.ID(), files)
	if err != nil {
		return nil, p.root, fmt.Errorf("writing a tree: %w", err)
	}
	t, err := p.tree.Sibling(id)
	if err != nil {
		return nil, p.root, err
	}
	set, err := deploy.Open(t, p.options.roots(), p.cache, p.options.config(p.memory))
	if err != nil {
		return nil, p.root, err
	}
	root := p.root
	if list := set.All(); !slices.Contains(list, root) {
		list = slices.DeleteFunc(slices.Clone(list), func(r roots.Root) bool {
			return r.Path != p.root.Path || r.Kind != p.root.Kind
		})
		if len(list) == 1 {
			root = list[0]
		}
	}
	return set, root, nil
}

// release checks the fields of a release.
func (p *prover) release(ctx context.Context, rendering *render.Rendering) error {
	byClass := map[Class][]*attempt{}
	var idles []*attempt
	files := map[string]bool{}
	for i, res := range rendering.Resources {
		for _, f := range res.Fields() {
			ask := func(q question, place origin.Place) *attempt {
				class := Class{How: place.How, Role: place.Role + string(q)}
				a := &attempt{resource: i, question: q, kind: f.Node.Kind, Field: Field{Root: strings.TrimSpace(p.root.Path + " " + p.root.Object),
					Resource: p.base.kinds[i], Pointer: f.Pointer, Value: f.Node.Value, Place: place, Class: class}}
				if q == idle {
					idles = append(idles, a)
				} else {
					byClass[class] = append(byClass[class], a)
				}
				return a
			}
			place := res.Origin(f.Pointer)
			if place.Role == "values" || place.Role == "chart" {
				files[place.Path] = true
			}
			switch {
			case f.Scalar() && place.Set != nil:
				ask(set, place)
			case f.Scalar() && place.How == origin.Enclosing:
				ask(idle, place)
			case f.Scalar():
				ask(value, place)
				for _, s := range place.Spans {
					if s.Place.How != origin.Enclosing {
						a := ask(span, s.Place)
						a.front, a.back = f.Node.Value[:s.From], f.Node.Value[s.To:]
					}
				}
			case f.Node.Kind == yaml.MappingNode:
				if at := res.Origin(f.Pointer + "/missing"); at.Set != nil && at.Missing != "" && at.Set[len(at.Set)-1] == "missing" {
					ask(missing, at)
				}
			}
		}
	}
	at := map[string]*trial{}
	for id, a := range p.sample(byClass) {
		key := fmt.Sprint(a.question, a.Place.Missing, a.Place.Path, a.Place.StartLine, a.Place.StartColumn, a.Place.EndColumn)
		t := at[key]
		if t == nil {
			t = &trial{alone: a.question != value && a.question != missing || identifies(a.Pointer)}
			if a.question == set {
				t.tries = p.settings(a, id)
			} else if e, ok := p.tries(a, id), true; ok {
				t.tries = e
			}
			at[key] = t
			p.trials = append(p.trials, t)
		}
		t.fields = append(t.fields, a)
	}
	if err := p.try(ctx); err != nil {
		return err
	}
	return p.idles(ctx, idles, files)
}

// settings returns the edits that set the value that the origin names for a field.
func (p *prover) settings(a *attempt, id int) (tries [][]edit) {
	e, ok := insertion(p.text(a.Place.Path), a.Place, id, a.Place.StartColumn == 0)
	if !ok || a.Place.Missing == "" {
		return nil
	}
	last := a.Place.Set[len(a.Place.Set)-1]
	for _, v := range []string{a.Value, "", "true", "5"} {
		text := e.mark
		switch other, isBool := flip(v); {
		case isBool:
			text = other
		case wholeNumber.MatchString(v):
			text = "7" + strings.TrimPrefix(v, "-")
		}
		one := e
		one.text = strings.Replace(e.text, e.mark+": "+e.mark, last+": "+text, 1)
		one.text = strings.Replace(one.text, `"`+e.mark+`": "`+e.mark+`"`, `"`+last+`": `+text, 1)
		tries = append(tries, []edit{one})
	}
	return tries
}

// maxIdle is how many values of a root are changed in turn.
const maxIdle = 25

// idles changes values of the user in turn, and checks that fields stay the same that no value should affect.
func (p *prover) idles(ctx context.Context, list []*attempt, files map[string]bool) error {
	var edits []edit
	for name := range files {
		documents, _ := doc.Parse(name, []byte(strings.Join(p.text(name), "\n")), doc.Limits{})
		for _, d := range documents {
			for _, n := range valuesOf(d) {
				leaves(n, func(n *yaml.Node) {
					place := origin.Place{Path: name, StartLine: n.Line, EndLine: n.Line}
					place.StartColumn, place.EndColumn = doc.Columns([]rune(p.text(name)[n.Line-1]), n.Column, n)
					if e, ok := newEdit(p.text(name), place, len(edits)); ok && place.StartColumn > 0 {
						edits = append(edits, e)
					}
				})
			}
		}
	}
	if len(list) == 0 || len(edits) == 0 {
		return nil
	}
	slices.SortFunc(edits, func(a, b edit) int { return strings.Compare(a.path, b.path) })
	step := max(1, len(edits)/maxIdle)
	decided := false
	for i := 0; i < len(edits); i += step {
		after, _, err := p.render(ctx, edits[i:i+1])
		if err != nil {
			return err
		}
		if after == nil || len(after.fields) != len(p.base.fields) {
			continue
		}
		decided = true
		for _, a := range list {
			now, ok := after.fields[a.resource][a.Pointer]
			if ok && now != a.Value && slices.Equal(p.base.kinds, after.kinds) {
				a.Outcome, a.Reason = Refuted, fmt.Sprintf("is %.60q after the change of %s:%d", now, edits[i].path, edits[i].line)
			}
		}
	}
	for _, a := range list {
		if !decided && a.Outcome == Confirmed {
			a.Outcome, a.Reason = Undecided, "no change of a value renders"
		}
		p.report.Fields = append(p.report.Fields, a.Field)
	}
	return nil
}

// valuesOf returns the values in a document: those in an object, or the whole content of a file without an object.
func valuesOf(d *yaml.Node) (list []*yaml.Node) {
	if doc.Text(d, "kind") == "" {
		return []*yaml.Node{d}
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for key, value := range doc.Fields(n) {
			switch key.Value {
			case "values", "valuesObject", "valuesInline":
				list = append(list, value)
			default:
				walk(value)
			}
		}
	}
	walk(d)
	return list
}

func leaves(n *yaml.Node, f func(*yaml.Node)) {
	if n.Kind == yaml.ScalarNode {
		f(n)
		return
	}
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			leaves(c, f)
		}
	}
}
