package checks

import (
	"context"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/view"
)

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
