package builtin

import (
	"context"

	"github.com/lintel-bot/lintel/render"
)

// idleEntry finds entries of kustomizations and of post renderers that match nothing: patches, replacements, images.
// Strategic merge patches without a target, replicas and generators that merge are not among them: kustomize itself
// refuses those.
type idleEntry render.Check

// Info implements Survey.
func (c idleEntry) Info() Info { return warning(string(c), "medium") }

// Of implements Survey.
func (c idleEntry) Of(ctx context.Context, a *Area) (list []Sight, _ error) {
	for _, r := range a.Idle(ctx) {
		for _, issue := range r.Issues {
			if issue.Check == render.Check(c) {
				list = append(list, Sight{r, Violation{issue.Pointer, issue.Message}})
			}
		}
	}
	return list, nil
}
