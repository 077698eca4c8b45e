package gitops

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// set is one parameter set of a generator.
type set struct {
	values map[string]any
	needs  *need  // what the missing values depend on, which only the cluster has; nil: none are missing
	guess  bool   // only the cluster knows whether this set exists, or has these values
	others bool   // of the clusters that only Argo CD knows, beside those that the repository declares
	rest   bool   // of a merge generator: the sets of its first generator, which needs the cluster, without an override
	key    string // the merge keys of an override of such a set; empty for all others

	at map[string]Position // where values are written, by their names in templates
}

// from returns the first place of the values.
func (s set) from() (first Position) {
	for _, at := range s.at {
		if first == (Position{}) || cmp.Or(strings.Compare(at.Path, first.Path), cmp.Compare(at.Line, first.Line),
			cmp.Compare(at.Column, first.Column)) < 0 {
			first = at
		}
	}
	return first
}

// applicationSet expands one ApplicationSet (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/).
func (r *reader) applicationSet(root *field) *Problem {
	spec := root.get("spec")
	for _, key := range []string{"generators", "template"} {
		if f := spec.get(key); !f.present() || key == "generators" && !f.List {
			return problemAt(spec.position(key), Broken, "this ApplicationSet has no %s", key)
		}
	}
	e := &expander{reader: r, templates: newTemplates(spec.truth("goTemplate"), plainTexts(spec.get("goTemplateOptions")),
		r.Limits)}
	r.needs, r.open = map[string]bool{}, Open{}
	var all []set
	var choices []any
	var twice *Problem
	names := map[string]bool{} // of the Applications that exist for certain
	for i, generator := range spec.elements("generators") {
		sets, err := e.generate(generator, nil, nil, 0)
		if err != nil {
			p := e.explain(generator, err)
			r.ask(spec)
			r.reads(p.Path)
			r.problem(p)
			continue
		}
		template := spec.get("template")
		for _, key := range generator.Keys {
			// A generator's own template wins over that of the ApplicationSet
			// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Template/#generator-templates).
			if own := generator.get(key, "template"); own.present() {
				template = own.over(template, true)
			}
		}
		r.choosing = choosing(generator)
		choices = append(choices, r.choosing, template.get("spec", "destination"))
		r.open.Unknown = r.open.Unknown || !opensPlainly(generator)
		declares := slices.ContainsFunc(sets, func(s set) bool { return s.others })
		for _, s := range sets {
			r.unknown, r.guess, r.part = s.needs, s.guess, partOf(generator, s, sets)
			r.ask(generator, template, spec.get("templatePatch"), s.values)
			app, err := e.templates.render(template, s)
			if err == nil {
				app, err = e.patch(app, spec.get("templatePatch"), s)
			}
			if err != nil {
				r.problem(e.explain(generator, err))
				break // the next set would fail in the same way
			}
			if s.needs != nil || !declares {
				r.opens(app, s, i)
			}
			if s.others { // the declared clusters stand for them
				if hasUnknown(app.get("spec", "source", "path")) || hasUnknown(app.get("spec", "sources")) {
					r.needed()
				}
				continue
			}
			if name := known(app, "metadata", "name"); name != "" && s.needs == nil && !s.guess && !declares {
				if names[name] && twice == nil {
					twice = problemAt(template.position("metadata", "name"), Broken,
						"several Applications of this ApplicationSet have the name %q: Argo CD refuses that, and changes none of them", name)
				}
				names[name] = true
			}
			before := len(r.found)
			r.problem(r.application(app.atValues()))
			for k := range r.found[before:] {
				r.found[before+k].Element, r.found[before+k].Certain = s.from(), s.needs == nil
			}
		}
		if declares {
			r.open.Others++
		}
		all = append(all, sets...)
	}
	r.ask()
	r.problem(twice)
	r.ask(spec.get("generators"), spec.get("template"), spec.get("templatePatch"), r.open.Others, e.unread)
	if e.read { // otherwise the generators themselves contain all values
		certain := slices.ContainsFunc(all, func(s set) bool { return s.needs == nil })
		for _, s := range all {
			if s.needs != nil && !(s.others && certain) { // what the others deploy is compared
				r.also(s.values)
			}
		}
	}
	cluster, _ := MayBeClusterOf(r.where.Path)
	r.open.Choice = digest(append(choices, e.unread, spec.get("templatePatch"), r.from, path.Dir(r.where.Path), cluster)...)
	r.addNeeds(all)
	return nil
}

// opensPlainly reports whether a generator selects clusters, or merges lists into one that does. All that its
// Applications deploy is known then, where their fields are.
func opensPlainly(generator *field) bool {
	return len(generator.Keys) == 1 && selectsOnce(generator)
}

// selectsOnce reports whether a generator selects clusters, or merges lists into one that does, so that each cluster gets
// at most one of its sets. A selector behind it may leave out some.
func selectsOnce(generator *field) bool {
	inner := generator
	if merged := generator.elements("merge", "generators"); len(merged) > 0 {
		inner = merged[0]
		for _, other := range merged[1:] {
			if len(other.Keys) != 1 || other.Keys[0] != "list" {
				return false
			}
		}
	}
	own := slices.DeleteFunc(slices.Clone(generator.Keys), func(key string) bool { return key == "selector" })
	return len(own) == 1 && len(inner.Keys) == 1 && (inner.Keys[0] == "clusters" || inner.Keys[0] == "clusterDecisionResource")
}

// opens notes an Application of a generator that needs the cluster. index is that of the generator.
func (r *reader) opens(app *field, s set, index int) {
	own := Override{Key: fmt.Sprintf("%s %d %s", r.from, index, s.key), Rest: s.key == "", Name: known(app, "metadata", "name"),
		How: digest(app.get("spec", "source"), app.get("spec", "destination")), Where: s.from()}
	source := app.get("spec", "source")
	dir, ok := tree.Clean(source.text("path"))
	switch {
	case ok && source.present("path") && r.here(source) && !app.present("spec", "sources") && !app.present("spec", "sourceHydrator"):
		own.Folder, own.Exists = dir, isKind(r.Tree, dir, tree.Dir)
	case s.rest || s.key != "":
		r.open.Unknown = true
	}
	r.open.Own = append(r.open.Own, own)
}

// here reports whether a source is certainly a folder of this revision of this repository.
func (r *reader) here(s *field) bool {
	return !hasUnknown(s.get("repoURL")) && !hasUnknown(s.get("targetRevision")) && !hasUnknown(s.get("path")) &&
		(len(r.Repo.URLs) == 0 || r.ours(s.text("repoURL"), s.text("path"))) && r.Repo.Current(s.text("targetRevision"))
}

// patch applies spec.templatePatch.
func (e *expander) patch(app, patch *field, s set) (*field, error) {
	if patch.text() == "" {
		return app, nil
	}
	text, err := e.templates.render(patch, s)
	if err != nil {
		return app, err
	}
	if text.Unknown {
		e.needed()
		return app, nil
	}
	documents, err := doc.Parse("", []byte(text.text()), e.Limits.Source)
	if err != nil {
		return nil, located(patch, errors.New("the templatePatch is not valid YAML once it is filled in"))
	}
	if len(documents) == 0 {
		return app, nil
	}
	change := nodes{where: func(n *yaml.Node) Position {
		if n == nil {
			return patch.Where
		}
		at, _ := text.line(n.Line, n.Column)
		return at
	}}.field(documents[0], 0)
	data, err := json.Marshal(change)
	switch {
	case !change.present():
		return app, nil
	case change.Fields == nil:
		return nil, located(patch, errors.New("the templatePatch is not a map once it is filled in"))
	case err != nil || otherDirective.Match(knownDirective.ReplaceAll(data, nil)):
		return nil, located(patch, unknown("the templatePatch has a directive that Lintel does not apply"))
	}
	return app.merge(change, true), nil
}

// Directives of strategic merge patches
// (https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md).
var (
	knownDirective = regexp.MustCompile(`"\$patch":"(replace|delete)"`)
	otherDirective = regexp.MustCompile(`"\$(patch"|retainKeys"|setElementOrder/|deleteFromPrimitiveList/)`)
)

// expander runs the generators of one ApplicationSet.
type expander struct {
	*reader
	templates *templates
	read      bool  // files or folders of the repository were read
	unread    []any // what declares clusters that are not known: see identity
	sets      int
	entries   int
}

// located returns an error with the place of a field, unless it already has a place.
func located(f *field, err error) *doc.Error {
	if known := (*doc.Error)(nil); errors.As(err, &known) {
		return known
	}
	e := brokenAt(f.position(), "%s", err)
	e.Unknown = causeOf(err) == ClusterOnly
	return e
}

func (e *expander) explain(generator *field, err error) *Problem {
	found, cause := located(generator, err), Broken
	if found.Unknown {
		cause = ClusterOnly
	}
	return problemAt(Position{Path: found.Path, Line: found.Line, Column: found.Column}, cause,
		"this ApplicationSet cannot be expanded: %s", found.Message)
}

const maxGenerators = 2 // levels of generators in generators that Argo CD runs

// generate returns the parameter sets of one entry of a list of generators. parent has the values of the first
// generator of a matrix. needs is what the unknown fields of the entry depend on.
func (e *expander) generate(entry *field, parent *set, needs *need, depth int) ([]set, error) {
	if depth > maxGenerators {
		return nil, located(entry, fmt.Errorf("generators are nested more than %d levels deep", maxGenerators))
	}
	var all []set
	kinds := 0
	for _, key := range entry.Keys {
		generator := entry.Fields[key]
		if key == "selector" || generator.Fields == nil {
			continue
		}
		kinds++
		sets, err := e.one(key, generator, parent, needs, depth)
		if err != nil {
			return nil, located(generator, err)
		}
		if !slices.Contains([]string{"clusters", "matrix", "merge"}, key) && slices.ContainsFunc(sets, func(s set) bool { return s.needs != nil }) {
			e.templates.open[""] = true
		}
		all = append(all, sets...)
	}
	if kinds == 0 {
		return nil, located(entry, errors.New("no generator is named"))
	}
	if kinds > 1 && depth > 0 {
		return nil, located(entry, errors.New("each entry of a matrix or merge may have only one generator"))
	}
	selected, err := selectSets(entry.get("selector"), all, needs)
	if err != nil {
		return nil, located(entry.get("selector"), err)
	}
	if e.sets += len(selected); e.sets > e.Limits.Sets {
		return nil, located(entry, unknown("it makes more than the limit of %d parameter sets", e.Limits.Sets))
	}
	return selected, nil
}

func (e *expander) one(key string, g *field, parent *set, needs *need, depth int) ([]set, error) {
	if parent != nil && (len(parent.values) > 0 || parent.needs != nil) {
		filled, err := e.interpolate(g, *parent)
		if err != nil {
			return nil, err
		}
		g, needs = filled, cmp.Or(needs, parent.needs)
		e.templates.open[""] = e.templates.open[""] || hasUnknown(g)
	}
	for _, list := range []string{"elements", "directories", "files", "generators", "mergeKeys"} {
		if f := g.get(list); f.present() && !f.List {
			return nil, located(f, fmt.Errorf("%s is not a list", list))
		}
	}
	for _, key := range []string{"repoURL", "revision", "directories", "files", "mergeKeys"} {
		if hasUnknown(g.get(key)) {
			return []set{{values: map[string]any{}, needs: needs}}, nil
		}
	}
	switch key {
	case "list":
		return e.list(g, needs)
	case "git":
		return e.git(g, needs)
	case "matrix":
		return e.matrix(g, needs, depth)
	case "merge":
		return e.merge(g, needs, depth)
	case "clusters":
		return e.clusters(g, needs)
	case "clusterDecisionResource", "pullRequest", "scmProvider", "plugin":
		needs = cmp.Or(needs, &need{g.position(), "the " + key + " generator needs the cluster"})
		return []set{{values: e.ownValues(g), needs: needs, at: g.get("values").written("values.")}}, nil
	}
	return nil, fmt.Errorf("there is no generator with the name %.40q", key)
}

// ownValues returns the values that a generator adds to each of its sets. Values with a template are left out.
func (e *expander) ownValues(g *field) map[string]any {
	values, nested := map[string]any{}, map[string]any{}
	own := g.get("values")
	if own == nil {
		return values
	}
	for _, k := range own.Keys {
		if text := own.text(k); strings.Contains(text, "{{") {
			e.templates.open["values."+k] = true
		} else {
			nested[k], values["values."+k] = text, text
		}
	}
	if e.templates.goTemplate {
		return map[string]any{"values": nested}
	}
	return values
}

// interpolate fills in a generator, and those inside it, with the values of the first generator of a matrix. Expressions
// without such a value are kept, for the generator's own values.
func (e *expander) interpolate(g *field, parent set) (_ *field, err error) {
	out := &field{Fields: map[string]*field{}, Where: g.Where}
	for _, key := range g.Keys {
		v := g.Fields[key]
		switch key {
		case "template":
		case "generators":
			v = v.each(func(entry *field) *field {
				return entry.each(func(inner *field) *field {
					if inner.Fields == nil || err != nil {
						return inner
					}
					inner, err = e.interpolate(inner, parent)
					return inner
				})
			})
		case "values":
			v = v.each(func(value *field) *field {
				filled, err := e.templates.render(value, parent)
				if err != nil || filled.Unknown || strings.Contains(filled.text(), "<no value>") {
					return value
				}
				return filled
			})
		default:
			v, err = e.templates.render(v, parent)
		}
		if err != nil {
			return nil, err
		}
		out.put(key, v)
	}
	return out, nil
}

// matrix combines two generators; the second sees the values of the first
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Matrix/).
func (e *expander) matrix(g *field, needs *need, depth int) ([]set, error) {
	children := g.elements("generators")
	if len(children) != 2 {
		return nil, fmt.Errorf("a matrix needs exactly two generators, and this one has %d", len(children))
	}
	first, err := e.generate(children[0], nil, needs, depth+1)
	if err != nil {
		return nil, err
	}
	var all []set
	for _, a := range first {
		second, err := e.generate(children[1], &a, needs, depth+1)
		if err != nil {
			return nil, err
		}
		for _, b := range second {
			combined := set{needs: cmp.Or(a.needs, b.needs), guess: a.guess || b.guess, others: a.others || b.others, at: overridden(b.at, a.at)}
			if e.templates.goTemplate {
				combined.values = deepMerge(b.values, a.values)
			} else {
				combined.values = make(map[string]any, len(a.values)+len(b.values))
				for k, v := range a.values {
					combined.values[k] = fmt.Sprint(v)
				}
				for k, v := range b.values {
					if old, ok := combined.values[k]; ok && old != fmt.Sprint(v) {
						return nil, fmt.Errorf("both generators give %.60q, with different values", k)
					}
					combined.values[k] = fmt.Sprint(v)
				}
			}
			all = append(all, combined)
		}
	}
	return all, nil
}

func plainTexts(f *field) []string {
	var list []string
	for _, item := range f.elements() {
		list = append(list, item.text())
	}
	return list
}
