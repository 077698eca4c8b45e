package checks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/exceptions/draft"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

const (
	// maxDrafts bounds the drafts of one check; those left out are counted.
	maxDrafts = 100
	// draftFor is how long a drafted exception counts.
	draftFor = 30 * 24 * time.Hour
	// draftParts bounds the images and values that a draft is narrowed to.
	draftParts = 32
)

// blocked is a result that blocks and that no exception waits for.
type blocked struct {
	pair *pair
	res  engine.Result
}

// block notes a result that blocks, once for all its fields.
func (r *run) block(p *pair, res engine.Result) {
	if n := len(r.blocked); n == 0 || r.blocked[n-1].pair != p || !sameRule(r.blocked[n-1].res, res) {
		r.blocked = append(r.blocked, blocked{p, res})
	}
}

// subject is what one draft is for.
type subject struct {
	policy   engine.PolicyRef
	resource report.Resource
	delete   bool
}

// draft writes an exception for each resource and policy that blocks. Each is tried out: it is in the report only if
// it lets exactly that through.
func (r *run) draft(ctx context.Context, v *reviewer, cluster *declared) error {
	var order []subject
	groups := map[subject][]blocked{}
	for _, b := range r.blocked {
		s := subject{b.res.Policy, resourceOf(b.pair.resource()), b.pair.operation == admission.Delete}
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], b)
	}
	slices.SortStableFunc(order, func(a, b subject) int {
		return cmp.Or(cmp.Compare(report.Name(a.policy.Namespace, a.policy.Name), report.Name(b.policy.Namespace, b.policy.Name)), cmp.Compare(a.resource.String(), b.resource.String()))
	})
	taken := map[string]bool{}
	for i, s := range order {
		if i == maxDrafts {
			r.report.Drafts = append(r.report.Drafts, report.Draft{Why: fmt.Sprintf("%d more are left out", len(order)-i)})
			break
		}
		d := &drafter{run: r, reviewer: v, cluster: cluster, subject: s, blocked: groups[s]}
		out := d.draft(ctx, taken)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the check was stopped while exceptions were drafted: %w", context.Cause(ctx))
		}
		r.report.Drafts = append(r.report.Drafts, out)
	}
	return nil
}

// drafter makes one draft.
type drafter struct {
	*run
	*reviewer
	cluster *declared
	subject subject
	blocked []blocked
	target  draft.Target
}

func (d *drafter) draft(ctx context.Context, taken map[string]bool) report.Draft {
	s := d.subject
	out := report.Draft{Policy: report.Name(s.policy.Namespace, s.policy.Name), Resource: s.resource}
	for _, b := range d.blocked {
		if b.res.Rule != "" && !slices.Contains(out.Rules, b.res.Rule) {
			out.Rules = append(out.Rules, b.res.Rule)
		}
	}
	slices.Sort(out.Rules)
	folder, namespace := d.home()
	d.target = draft.Target{
		PolicyAPIVersion: s.policy.APIVersion, PolicyKind: s.policy.Kind, Policy: out.Policy, Rules: out.Rules,
		APIVersion: s.resource.APIVersion, Kind: s.resource.Kind, Namespace: s.resource.Namespace, Name: s.resource.Name, Delete: s.delete,
		In: namespace, Expires: d.change.Now.Add(draftFor).UTC().Truncate(24 * time.Hour),
	}
	base := d.target.DefaultID()
	if base == "" {
		base = "exception"
	}
	for n := 1; ; n++ {
		if d.target.ID = base; n > 1 {
			d.target.ID = fmt.Sprintf("%s-%d", base, n)
		}
		out.Path = path.Join(folder, d.target.ID+".yaml")
		if _, err := d.headTree.Entry(out.Path); !taken[out.Path] && err != nil {
			break
		}
	}
	if _, err := d.target.YAML(); err != nil {
		out.Why = err.Error()
		return out
	}
	if !d.suffices(ctx) {
		out.Why = "no exception for just this resource lets it through: the policy fails before it looks at exceptions, or something only the cluster has decides"
		return out
	}
	d.narrow(ctx)
	out.YAML, _ = d.target.YAML() // it was written before
	taken[out.Path] = true
	return out
}

// home is the folder for new exceptions, and their namespace ("" for that of the resource): where those of the base
// are, else what the settings say.
func (r *run) home() (folder, namespace string) {
	folder = "exceptions"
	var merged []*engine.Exception
	for _, e := range slices.Concat(r.decision.Counting, r.decision.Idle) {
		if !r.isProposed(e) {
			merged = append(merged, e)
		}
	}
	if len(merged) > 0 {
		folder, namespace = path.Dir(merged[0].Path), merged[0].Namespace
		if slices.ContainsFunc(merged, func(e *engine.Exception) bool { return e.Namespace != namespace }) {
			namespace = ""
		}
	}
	for _, named := range r.settings.Exceptions {
		if underAny(path.Join(folder, "new.yaml"), r.settings.Exceptions) {
			break
		}
		if !strings.ContainsAny(named, "*?[") && path.Ext(named) == "" {
			folder = path.Clean(named)
		}
	}
	return folder, namespace
}

// suffices tries the target: with the exception, none of the rules fails for any of the requests.
func (d *drafter) suffices(ctx context.Context) bool {
	text, err := d.target.YAML()
	if err != nil {
		return false
	}
	list, problems := engine.CompileExceptions([]policy.Source{{Path: "draft.yaml", Data: []byte(text)}}, engine.Options{Now: d.change.Now})
	if len(list) != 1 || policy.HasErrors(problems) {
		return false
	}
	evaluator := d.policies.Bind(append(slices.Clone(d.decision.Counting), list[0]), d.cluster)
	for _, b := range d.blocked {
		request := d.request(b.pair)
		results := evaluator.Evaluate(ctx, request)
		if slices.ContainsFunc(results, undecided) && d.addNamespace(ctx, request) {
			results = evaluator.Evaluate(ctx, request)
		}
		if slices.ContainsFunc(results, func(res engine.Result) bool { return sameRule(res, b.res) && (violated(res) || undecided(res)) }) {
			return false
		}
	}
	return true
}

// request is the one about a pair.
func (d *drafter) request(p *pair) *admission.Request {
	request := d.user.request(p.operation)
	if p.new != nil {
		request.Object = p.new.Object
	}
	if p.old != nil {
		request.OldObject = p.old.Object
	}
	return request
}

// narrow limits the target to images, values or controls, where the policy can use them and they suffice, and
// to as few as do.
func (d *drafter) narrow(ctx context.Context) {
	whole := d.target
	document, ok := d.policyDocument(d.subject.policy.Path, d.subject.policy.Line)
	if !ok {
		return
	}
	if document.Group() == "kyverno.io" {
		if d.target.Controls = d.controls(); len(d.target.Controls) == 0 || !d.suffices(ctx) {
			d.target = whole
			return
		}
		d.fewer(ctx)
		return
	}
	text := policyExpressions(document)
	images, values := []string(nil), map[string][]string(nil)
	if readsImages.MatchString(text) {
		images = d.images()
	}
	if found := readsValues.FindAllStringSubmatch(text, -1); len(found) > 0 {
		values = d.values(found)
	}
	for _, try := range []draft.Target{{Images: images}, {Values: values}, {Images: images, Values: values}} {
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

// fewer leaves out, one by one, what is not needed.
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
	return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == s })
}

// lessImage takes an image from a control, and the control when that was its last; "" takes the one for the pod.
func lessImage(list []draft.Control, name, image string) (out []draft.Control) {
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
