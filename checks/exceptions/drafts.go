package exceptions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
)

const (
	// maxDrafts bounds the drafts of one check; those left out are counted.
	maxDrafts = 100
	// draftFor is how long a drafted exception is valid.
	draftFor = 30 * 24 * time.Hour
	// draftParts bounds the images and values that a draft is narrowed to.
	draftParts = 32
)

// Context is what evaluating proposed and drafted exceptions needs.
type Context struct {
	Policies *engine.Policies
	Decision *Decision
	Declared *declared.Objects
	Reviewer *review.Reviewer
	Now      time.Time
}

// Home is where drafted exceptions are written.
type Home struct {
	Folder, Namespace string                 // if Namespace is empty, that of the resource is used
	Taken             func(path string) bool // whether the head has a file
}

// blocked is a blocking result without a pending exception.
type blocked struct {
	pair *diff.Pair
	res  engine.Result
}

// blockedOf lists the blocking results, each once for all its fields.
func blockedOf(found []review.Finding) []blocked {
	found = report.Kept(found, func(f review.Finding) bool { return f.Blocks && !f.Waits() })
	list := report.Mapped(found, func(f review.Finding) blocked { return blocked{f.Pair, f.Result} })
	return slices.CompactFunc(list, func(a, b blocked) bool { return a.pair == b.pair && a.res.ID() == b.res.ID() })
}

// subject is the policy and the resource of one draft.
type subject struct {
	policy   engine.PolicyRef
	resource report.Resource
	delete   bool
}

func (b blocked) subject() subject {
	return subject{b.res.Policy, review.Named(b.pair.Resource().Object), b.pair.Operation == admission.Delete}
}

// Drafts writes one file for each blocked resource, with an exception for each policy. Each exception is tried, and
// returned only if it covers exactly the blocking results. It fails only if the context ends.
func Drafts(ctx context.Context, in Context, home Home, found []review.Finding) (drafts []report.Draft, _ error) {
	groups := report.Grouped[[]blocked](blockedOf(found), blocked.subject)
	if len(groups) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(groups, func(x, y []blocked) int {
		a, b := x[0].subject(), y[0].subject()
		return cmp.Or(cmp.Compare(a.resource.String(), b.resource.String()),
			cmp.Compare(a.policy.FullName(), b.policy.FullName()))
	})
	known, _, _ := in.Declared.Sample(ctx, beyondRoots, beyondObjects)
	ids, files := in.ids(), &files{home: home, at: map[subject]int{}}
	for i, list := range groups {
		if i == maxDrafts {
			return append(files.list, report.Draft{Why: fmt.Sprintf("%d more are left out", len(groups)-i)}), nil
		}
		s := list[0].subject()
		d := &drafter{Context: in, home: home, subject: s, blocked: list, known: known}
		cover, text, why := d.draft(ctx, ids)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("the check was stopped while it drafted exceptions: %w", context.Cause(ctx))
		}
		files.add(s, cover, text, why)
	}
	return files.list, nil
}

func (c *Context) ids() map[string]bool {
	taken := map[string]bool{}
	for _, e := range slices.Concat(c.Decision.Effective, c.Decision.Inactive) {
		taken[e.Name] = true
	}
	return taken
}

// files collects the exceptions of each resource in one file.
type files struct {
	home Home
	list []report.Draft
	at   map[subject]int // in the list, by subjects without policies
}

func (f *files) add(s subject, cover report.Covered, text, why string) {
	if text == "" {
		f.list = append(f.list, report.Draft{Resource: s.resource, Covers: []report.Covered{cover}, Why: why})
		return
	}
	s.policy = engine.PolicyRef{}
	i, ok := f.at[s]
	if !ok {
		i = len(f.list)
		f.at[s] = i
		f.list = append(f.list, report.Draft{Path: f.path(s), Resource: s.resource})
	} else {
		text = "---\n" + text
	}
	f.list[i].YAML += text
	f.list[i].Covers = append(f.list[i].Covers, cover)
}

func (f *files) path(s subject) string {
	names := []string{s.resource.Kind, s.resource.Namespace, s.resource.Name}
	if s.delete {
		names = append(names, "removed")
	}
	base := cmp.Or(ID(names...), "exception")
	for n := 1; ; n++ {
		id := base
		if n > 1 {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		p := path.Join(f.home.Folder, id+".yaml")
		if !f.home.Taken(p) && !slices.ContainsFunc(f.list, func(d report.Draft) bool { return d.Path == p }) {
			return p
		}
	}
}

type drafter struct {
	Context
	home    Home
	subject subject
	blocked []blocked
	target  Target
	known   []*render.Resource // other deployed resources
}

// draft returns what an exception covers and its text, or why there is none.
func (d *drafter) draft(ctx context.Context, taken map[string]bool) (out report.Covered, text, why string) {
	s := d.subject
	out.Policy = s.policy.FullName()
	names := report.Mapped(d.blocked, func(b blocked) string { return b.res.Rule })
	slices.Sort(names)
	out.Rules = slices.Compact(report.Filled(names...))
	d.target = Target{
		PolicyAPIVersion: s.policy.APIVersion, PolicyKind: s.policy.Kind, Policy: out.Policy, Rules: out.Rules,
		APIVersion: s.resource.APIVersion, Kind: s.resource.Kind, Namespace: s.resource.Namespace, Name: s.resource.Name,
		Delete: s.delete, In: d.home.Namespace, Expires: d.Now.Add(draftFor).UTC().Truncate(24 * time.Hour),
	}
	if s.policy.Kind == builtin.Kind { // exceptions name built-in checks like a ClusterPolicy
		d.target.PolicyAPIVersion = "kyverno.io/v1"
	}
	base := cmp.Or(d.target.DefaultID(), "exception")
	d.target.ID = base
	for n := 2; taken[d.target.ID]; n++ {
		d.target.ID = fmt.Sprintf("%s-%d", base, n)
	}
	if _, err := d.target.YAML(); err != nil {
		return out, "", err.Error()
	}
	alone, blocked := d.target, d.blocked
	if d.withMade(ctx); len(d.target.Made) > 0 && !d.suffices(ctx) {
		d.target, d.blocked = alone, blocked
	}
	if !d.suffices(ctx) {
		return out, "", "no exception for this resource alone lets it through. The policy fails before exceptions " +
			"are applied, or the result depends on the cluster"
	}
	d.narrow(ctx)
	taken[d.target.ID] = true
	text, _ = d.target.YAML() // it cannot fail, since suffices wrote it before
	return out, text, ""
}

// HomeOf returns where drafted exceptions go: beside those of the base, or else where the settings say.
func HomeOf(d *Decision, named []string) Home {
	folder, namespace := "exceptions", ""
	if merged := d.merged(d.Effective, d.Inactive); len(merged) > 0 {
		folder, namespace = path.Dir(merged[0].Path), merged[0].Namespace
		if slices.ContainsFunc(merged, func(e *engine.Exception) bool { return e.Namespace != namespace }) {
			namespace = ""
		}
	}
	for _, n := range named {
		if settings.Under(path.Join(folder, "new.yaml"), named) {
			break
		}
		if !strings.ContainsAny(n, "*?[") && path.Ext(n) == "" {
			folder = path.Clean(n)
		}
	}
	return Home{Folder: folder, Namespace: namespace}
}

// suffices tries the target. It reports whether, with the exception, none of the rules fails for any of the requests.
func (d *drafter) suffices(ctx context.Context) bool {
	text, err := d.target.YAML()
	if err != nil {
		return false
	}
	list, problems := engine.CompileExceptions(rules.ForEngine([]rules.File{{Path: "draft.yaml", Data: []byte(text)}}),
		engine.Options{Now: d.Now})
	if len(list) != 1 || policy.HasErrors(problems) {
		return false
	}
	evaluator := d.Policies.Bind(append(slices.Clone(d.Decision.Effective), list[0]), d.Declared)
	for _, b := range d.blocked {
		results := d.Reviewer.Ask(ctx, evaluator, b.pair)
		if slices.ContainsFunc(results, func(res engine.Result) bool {
			return res.ID() == b.res.ID() && (review.Violated(res) || review.Undecided(res))
		}) {
			return false
		}
	}
	return true
}

// narrow limits the target to images, values or controls, if the policy can use these and they suffice. It keeps as few
// of them as suffice.
func (d *drafter) narrow(ctx context.Context) {
	whole := d.target
	uses := d.Policies.Uses(d.blocked[0].res.ID())
	if uses.Controls {
		if d.target.Controls = d.controls(); len(d.target.Controls) == 0 || !d.suffices(ctx) {
			d.target = whole
			return
		}
		d.fewer(ctx)
		return
	}
	var images []string
	if uses.Images {
		images = d.images()
	}
	values := d.values(uses.Values)
	for _, try := range []Target{{Images: images}, {Values: values}, {Images: images, Values: values}} {
		if len(try.Images)+len(try.Values) == 0 {
			continue
		}
		d.target.Images, d.target.Values = try.Images, try.Values
		if d.suffices(ctx) {
			d.fewer(ctx)
			return
		}
	}
	d.target = whole
}

// fewer removes images, values and controls that are not needed, one by one.
func (d *drafter) fewer(ctx context.Context) {
	attempt := func(change func()) {
		before := d.target
		change()
		if len(d.target.Images)+len(d.target.Values)+len(d.target.Controls) == 0 || !d.suffices(ctx) {
			d.target = before
		}
	}
	for _, image := range d.target.Images {
		attempt(func() { d.target.Images = without(d.target.Images, image) })
	}
	for _, key := range slices.Sorted(maps.Keys(d.target.Values)) {
		for _, value := range d.target.Values[key] {
			attempt(func() {
				values := maps.Clone(d.target.Values)
				if values[key] = without(values[key], value); len(values[key]) == 0 {
					delete(values, key)
				}
				d.target.Values = values
			})
		}
	}
	for _, c := range d.target.Controls {
		for _, image := range c.Images {
			attempt(func() { d.target.Controls = lessImage(d.target.Controls, c.Name, image) })
		}
		if len(c.Images) == 0 {
			attempt(func() { d.target.Controls = lessImage(d.target.Controls, c.Name, "") })
		}
	}
}

func without(list []string, s string) []string {
	return report.Kept(list, func(other string) bool { return other != s })
}

// lessImage removes an image from a control, and the control with its last image. "" removes the control for the pod.
func lessImage(list []Control, name, image string) (out []Control) {
	for _, c := range list {
		if c.Name == name && (image == "") == (len(c.Images) == 0) {
			if c.Images = without(c.Images, image); len(c.Images) == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}
