package exceptions

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
)

// Drafts must also hold in a cluster: controllers create Pods from a Deployment, and admission review checks these as
// well.

// withMade adds to the target the resources that controllers create and that the same rules block. It also adds the
// names that the rules have for these.
func (d *drafter) withMade(ctx context.Context) {
	if d.subject.delete {
		return
	}
	rules := report.Mapped(d.blocked, func(b blocked) string { return view.RuleName(b.res.Rule) })
	pair := d.blocked[0].pair
	evaluator := d.Policies.Bind(d.Decision.Effective, d.Declared)
	for _, m := range MadeOf(pair.Resource().Object) {
		made := &diff.Pair{Root: pair.Root, Operation: admission.Create,
			New: render.NewResource(apiserver.Received(m.Object), nil)}
		blocks := false
		for _, res := range d.Reviewer.Ask(ctx, evaluator, made) {
			if res.Policy != d.subject.policy || !review.Violated(res) || !slices.Contains(rules, view.RuleName(res.Rule)) {
				continue
			}
			blocks = true
			d.blocked = append(d.blocked, blocked{made, res})
			if res.Rule != "" && !slices.Contains(d.target.Rules, res.Rule) {
				d.target.Rules = append(slices.Clone(d.target.Rules), res.Rule)
			}
		}
		if blocks {
			d.target.Made = append(d.target.Made, m)
			d.target.Narrow = d.target.Narrow || d.crowded(m)
		}
	}
	slices.Sort(d.target.Rules)
}

// crowded reports whether the generated names of m may also be names of another deployed resource, or of what
// controllers create from one.
func (d *drafter) crowded(m Made) bool {
	begins := strings.TrimSuffix(m.Names[0], "*")
	return slices.ContainsFunc(d.known, func(r *render.Resource) bool {
		id := admission.IdentityOf(r.Object)
		return (id.Namespace == "" || d.target.Namespace == "" || id.Namespace == d.target.Namespace) &&
			strings.HasPrefix(id.Name, begins) && (id.Kind == m.Kind || len(MadeOf(r.Object)) > 0)
	})
}
