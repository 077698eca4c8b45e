package checks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// answers are the results of evaluating the rules over the pairs of a change.
type answers struct {
	list    []review.Answer
	found   []review.Finding
	usage   *exceptions.Usage                    // which merged exceptions were used
	beyond  map[*engine.Exception]*report.Beyond // what the proposed exceptions would cover besides the change
	drafts  []report.Draft
	lookups *lookups
	alone   []report.Finding // findings of standalone kustomizations that the roots including them fix

	undeclared []string // kinds without a known schema, which the checks without policies therefore skip
	notChecked []report.NotChecked
}

// ask evaluates the rules over all pairs. Policies do not evaluate pairs.asking and pairs.surveyed; only the checks
// without policies do.
func ask(ctx context.Context, repo *repository, rules *ruling, pairs *pairs) (_ *answers, err error) {
	v := reviewer(repo.change, rules, pairs)
	out := &answers{usage: exceptions.NewUsage()}
	if out.list, err = v.All(ctx, pairs.list); err != nil {
		return nil, err
	}
	reviewed := report.Mapped(out.list, func(a review.Answer) *diff.Pair { return a.Pair })
	out.undeclared, out.notChecked = builtin.Unseen(ctx, v.Checks, reviewed)
	facts, d := builtin.FactsOf(rules.Settings, pairs.declared), rules.decision
	for _, more := range []struct {
		pairs  []*diff.Pair
		checks []builtin.Check
	}{{pairs.asking, v.Checks}, {pairs.surveyed, builtin.ForRootChecks(facts)}} {
		list, err := v.WithoutPolicies(more.checks, d.Effective, d.Inactive).All(ctx, more.pairs)
		if err != nil {
			return nil, err
		}
		out.list = append(out.list, list...)
	}
	for _, a := range out.list {
		for _, r := range a.Results {
			pairs.secrets.Object(r.Patched)
		}
	}
	view := review.ViewOf(rules.Ruleset, rules.decision, repo.trees)
	out.lookups = &lookups{change: repo.change, cluster: repo.cluster, trees: repo.trees, pairs: pairs, known: map[report.Resource][]report.Exception{}}
	view.Altered = out.lookups.exemption
	for i := range out.list {
		out.find(view, &out.list[i])
		out.usage.Note(&out.list[i])
	}
	if out.alone, err = alone(ctx, v, view, pairs, out.found); err != nil {
		return nil, err
	}
	findings := report.Mapped(out.found, func(f review.Finding) report.Finding { return f.Finding })
	with := exceptions.Context{Policies: rules.Policies, Decision: rules.decision, Declared: pairs.declared, Reviewer: v,
		Now: repo.change.Now}
	if out.beyond, err = exceptions.Beyond(ctx, with, findings); err != nil {
		return nil, err
	}
	if repo.change.Drafts {
		home := exceptions.HomeOf(rules.decision, repo.settings.Exceptions)
		home.Taken = func(p string) bool { return repo.trees.Head.Blob(p) != "" }
		out.drafts, err = exceptions.Drafts(ctx, with, home, out.found)
	}
	return out, err
}

// find adds the findings of an answer. One that another cluster has, too, names both.
func (a *answers) find(view review.View, one *review.Answer) {
	for _, f := range view.Findings(one) {
		if one.Cluster != "" {
			f.Clusters = []string{one.Cluster}
			if i := slices.IndexFunc(a.found, f.Repeats); i >= 0 {
				a.found[i].Clusters = append(a.found[i].Clusters, one.Cluster)
				continue
			}
		}
		a.found = append(a.found, f)
	}
}

func reviewer(change report.Change, rules *ruling, pairs *pairs) *review.Reviewer {
	d := rules.decision
	checks := builtin.For(builtin.FactsOf(rules.Settings, pairs.declared))
	v := review.By(rules.Ruleset, checks, change.User, pairs.declared, d.Effective)
	pairs.declared.Answered = builtin.AnsweredBy(checks)
	if v.Clusters = pairs.declared.Clusters; v.Clusters != nil {
		type key struct {
			file string
			of   *engine.Exception
		}
		var known sync.Map // by key
		v.Has = func(file string, of *engine.Exception) []gitops.Cluster {
			k := key{file, of}
			list, ok := known.Load(k)
			if !ok {
				list, _ = known.LoadOrStore(k, rules.clustersOf(pairs.sides.Trees, file, of))
			}
			return list.([]gitops.Cluster)
		}
	}
	if len(d.Inactive) > 0 {
		v.Inactive = rules.Policies.Bind(slices.Concat(d.Effective, d.Inactive), pairs.declared)
	}
	if change.All || len(d.Effective) > 0 {
		v.WithoutExceptions = rules.Policies.Bind(nil, pairs.declared)
	}
	return v
}

// why adds to out the descriptions that the policies of the findings carry, by policy name.
func (a *answers) why(out map[string]report.About, policies *engine.Policies) map[string]report.About {
	for _, f := range a.found {
		about := report.About(policies.About(f.Result.Policy))
		if about == (report.About{}) {
			continue
		}
		if out == nil {
			out = map[string]report.About{}
		}
		out[f.Policy] = about
	}
	return out
}

// tell adds the answers to the report.
func (a *answers) tell(out *report.Report) {
	for _, f := range a.found {
		f.Causes = report.Union(f.Causes, report.Mapped(f.Because, out.Because))
		out.Findings = append(out.Findings, f.Finding)
	}
	out.Findings = append(out.Findings, a.alone...)
	out.Drafts = append(out.Drafts, a.drafts...)
	out.NotChecked = report.Union(out.NotChecked, a.notChecked) // another cluster may have added some already
	out.Undeclared = report.Union(out.Undeclared, a.undeclared)
	for i := range a.list {
		if a.list[i].Again {
			continue
		}
		a.list[i].Count(&out.Stats)
		out.Mutations = append(out.Mutations, a.list[i].Mutated()...)
		out.Warnings = append(out.Warnings, a.list[i].Combined()...)
	}
}

// deployed identifies an object of a root.
type deployed struct {
	root roots.Root
	id   admission.Identity
}

// met marks in objects those for which a rule of a policy had a result. Policies and exceptions themselves do not
// count.
func (a *answers) met(objects map[deployed]bool) {
	for _, one := range a.list {
		met := func(r engine.Result) bool { return r.Policy.Kind != builtin.Kind }
		if !isRule(one.Pair) && slices.ContainsFunc(one.Results, met) {
			objects[deployed{one.Pair.Root, admission.IdentityOf(one.Pair.Resource().Object)}] = true
		}
	}
}

// alone returns, as warnings, the blocking findings of kustomizations that others include, rendered standalone. It
// leaves out findings that including roots have too. They are warnings because it is unknown whether anybody deploys
// such a kustomization by itself.
func alone(ctx context.Context, v *review.Reviewer, of review.View, pairs *pairs, found []review.Finding) (
	list []report.Finding, _ error,
) {
	answers, err := v.All(ctx, pairs.alone)
	if err != nil {
		return nil, err
	}
	for i := range answers {
		for _, f := range of.Findings(&answers[i]) {
			excepted := func(other review.Finding) bool { // Lintel does not know which fields of an excepted object fail
				return other.Exemption != nil && f.Policy == other.Policy && f.Rule == other.Rule &&
					f.Resource.Kind == other.Resource.Kind && f.Resource.Name == other.Resource.Name && f.Origin.Path == other.Origin.Path
			}
			if !f.Blocks || f.Waits() || slices.ContainsFunc(found, f.Same) || slices.ContainsFunc(found, excepted) {
				continue
			}
			f.Finding.Result, f.Blocks = report.Warn, false
			says := "fixes this"
			if slices.ContainsFunc(pairs.roots, func(r *diff.Root) bool {
				_, reads := r.Reads[f.Origin.Path]
				return reads && len(r.Head) > 0 && len(r.Deployed) == 0
			}) {
				says = "is not checked"
			}
			f.Message = fmt.Sprintf("%s (%s relies on its overlay: the kustomization that includes it %s, and "+
				"%[2]s may also be deployed by itself)", view.Reason(f.Rule, f.Message), f.Roots[0], says)
			list = append(list, f.Finding)
		}
	}
	return list, nil
}

// lookups are the objects that the change alters and without which a policy would not pass. They need approval as
// exceptions do. They are safe for concurrent use.
type lookups struct {
	change  report.Change
	cluster string // of the settings
	trees   *diff.Trees
	pairs   *pairs

	mu    sync.Mutex
	known map[report.Resource][]report.Exception
}

// exemption returns the least advanced state of approval among the altered objects that an answer relies on.
func (l *lookups) exemption(a *review.Answer) *report.Exemption {
	order := []report.State{report.Refused, report.Pending, report.Approved}
	var worst *report.Exemption
	for _, object := range a.Altered {
		for _, e := range l.of(object) {
			if worst == nil || slices.Index(order, e.State) < slices.Index(order, worst.State) {
				worst = &report.Exemption{Exception: e.Name, Path: e.Path, State: e.State, By: strings.Join(e.By, ", ")}
			}
		}
	}
	if worst != nil {
		worst.Objects = view.ResourceNames(a.Altered)
	}
	return worst
}

// of returns the places at which the change alters an object, with their states of approval.
func (l *lookups) of(object report.Resource) []report.Exception {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list, ok := l.known[object]; ok {
		return list
	}
	var list []report.Exception
	for _, p := range slices.Concat(l.pairs.list, l.pairs.alone) {
		k := diff.KeyOf(p.Resource())
		if k.Group == object.APIVersion && k.Kind == object.Kind && k.Namespace == object.Namespace && k.Name == object.Name {
			list = append(list, l.waiting(p, object)...)
		}
	}
	if len(list) == 0 { // nobody can approve a change at an unknown place
		list = []report.Exception{{Name: object.String(), Object: true, State: report.Pending}}
	}
	l.known[object] = list
	return list
}

// waiting describes the approvals that are needed for a pair that alters an object, and their states: one for each file that
// the change edits for it, since each may have another owner.
func (l *lookups) waiting(p *diff.Pair, object report.Resource) (list []report.Exception) {
	own := p.Resource().Origin("")
	files, differing, taken := l.filesOf(p)
	changed := func(among map[string]bool) (list []report.File) {
		for path := range among {
			if l.trees.Changed(path) {
				list = append(list, report.File{Path: path, Blob: l.trees.Head.Blob(path)})
			}
		}
		slices.SortFunc(list, func(a, b report.File) int { return cmp.Compare(a.Path, b.Path) })
		return list
	}
	with, places := changed(files), changed(differing)
	if taken || len(places) == 0 && !l.trees.Changed(own.Path) { // what takes a field or the object away has no place
		rest := report.Kept(with, func(f report.File) bool {
			return !slices.ContainsFunc(l.pairs.list, func(q *diff.Pair) bool { return q.Root == p.Root && q.Resource().Origin("").Path == f.Path })
		})
		if len(rest)+len(places) == 0 {
			rest = with
		}
		places = report.Union(places, rest)
	}
	if len(places) == 0 {
		places = []report.File{{Path: own.Path, Blob: l.trees.Head.Blob(own.Path)}}
	}
	var now []byte // none: the change removes it
	if p.New != nil {
		now, _ = json.Marshal(p.New.Object) // it came from JSON or YAML
	}
	sum := sha256.Sum256(fmt.Appendf(now, "%s %q %+v", object, l.cluster, diff.ClustersIn(l.trees.Head.Roots, p.Root)))
	for _, f := range places {
		e := report.Exception{Name: object.String(), Object: true, State: report.Pending, Path: f.Path, Blob: f.Blob,
			Terms: []string{hex.EncodeToString(sum[:])}, With: report.Kept(with, func(o report.File) bool { return o != f })}
		if f.Path == own.Path {
			e.Line = own.StartLine
		}
		if slices.Contains(l.change.Approve, e.Path) {
			e.State, e.By = report.Approved, []string{"--approve"}
		}
		for i, r := range l.change.Reviews {
			if !r.Of(e.Path, e.Blob, e.Terms) {
				continue
			}
			e.Review = &l.change.Reviews[i]
			if r.State() != report.Pending {
				e.State, e.By = r.State(), r.By()
			}
		}
		list = append(list, e)
	}
	return list
}

// filesOf returns the files that may decide about a pair, and those of the values that differ between its sides. taken says that
// a value is there no more: its own file may be edited in another way.
func (l *lookups) filesOf(p *diff.Pair) (all, differing map[string]bool, taken bool) {
	all, differing = map[string]bool{}, map[string]bool{}
	for _, sides := range [][2]*render.Resource{{p.New, p.Old}, {p.Old, p.New}} {
		side, other := sides[0], sides[1]
		if side == nil {
			continue
		}
		for _, field := range side.Fields() {
			is := field.Scalar() && (other == nil || !reflect.DeepEqual(jsonpointer.At(map[string]any(side.Object), field.Pointer),
				jsonpointer.At(map[string]any(other.Object), field.Pointer)))
			o := side.Origin(field.Pointer)
			all[o.Path], differing[o.Path] = true, differing[o.Path] || is
			for _, link := range o.Chain {
				all[link.Path], differing[link.Path] = true, differing[link.Path] || is
			}
			taken = taken || is && side == p.Old && (other == nil || jsonpointer.At(map[string]any(other.Object), field.Pointer) == nil)
		}
	}
	for path := range l.pairs.reads(p.Root) {
		all[path] = true
	}
	maps.Copy(all, diff.DeployedBy(l.trees.Head.Roots, p.Resource().Origin("").Path)) // it may take a field away
	maps.DeleteFunc(differing, func(_ string, is bool) bool { return !is })
	return all, differing, taken
}

// list describes the altered objects that blocking findings rely on. takes selects the findings; nil selects all.
func (l *lookups) list(findings []report.Finding, takes func(report.Finding) bool) (list []report.Exception) {
	for _, waits := range l.known {
		for _, e := range waits {
			for _, f := range findings {
				if x := f.Exemption; x != nil && (takes == nil || takes(f)) && slices.Contains(x.Objects, e.Name) &&
					(f.Blocks || f.Result == report.Skip) {
					e.Lets++
				}
			}
			if e.Lets > 0 {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b report.Exception) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Line, b.Line))
	})
	return list
}
