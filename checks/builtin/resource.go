package builtin

import (
	"context"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/render"
)

// resource judges what rendering found out about a resource.
type resource struct {
	issue render.Check
	info  Info
}

// resources are the checks of single resources.
func resources() []Check {
	fails := func(issue render.Check, severity string) Check {
		return resource{issue, Info{string(issue), severity, engine.Fail, true}}
	}
	return []Check{
		fails(render.Unprintable, "high"),
		fails(render.EmbeddedItems, "high"),
		fails(render.ControllerRejects, "high"),
		resource{render.ControllerUnknown, Info{string(render.ControllerUnknown), "medium", engine.Unknown, false}},
		resource{render.ControllerAdvice, Info{string(render.ControllerAdvice), "low", engine.Fail, false}},
	}
}

// Info implements Check.
func (c resource) Info() Info { return c.info }

// Look implements Check.
func (c resource) Look(_ context.Context, s Subject) (list []Violation) {
	for _, issue := range s.Issues {
		if issue.Check == c.issue {
			list = append(list, Violation{issue.Pointer, issue.Message})
		}
	}
	return list
}
