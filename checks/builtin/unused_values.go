package builtin

import (
	"context"

	"github.com/lintel-bot/lintel/render"
)

// unusedValues finds values of releases that no template of their chart reads: see render.Renderer.UnusedValues.
type unusedValues struct{}

// Info implements Survey.
func (unusedValues) Info() Info { return warning(string(render.UnusedValue), "medium") }

// Of implements Survey.
func (unusedValues) Of(ctx context.Context, a *Area) (list []Sight, _ error) {
	r := a.Renderer.UnusedValues(ctx, a.Root)
	if r == nil {
		return nil, ctx.Err()
	}
	for _, issue := range r.Issues {
		list = append(list, Sight{r, Violation{issue.Pointer, issue.Message}})
	}
	return list, nil
}
