package render

import "github.com/lintel-bot/lintel/render/doc"

// Check names what an issue is about.
type Check string

// The checks of single resources.
const (
	Unprintable          Check = "unprintable"        // kustomize builds it and fails when it writes the result
	EmbeddedItems        Check = "embedded-items"     // kubectl would create its items in its place
	ControllerRejects    Check = "controller-rejects" // Argo CD or Flux stumbles over it
	ControllerUnknown    Check = "controller-unknown" // what Argo CD or Flux makes of it only the cluster knows
	ControllerSuspicious Check = "controller-advice"  // it is deployed, but probably not as it was meant
)

// Issue is something about one resource that is wrong or not known. Resource.Origin of its pointer is its place.
type Issue struct {
	Check   Check
	Pointer string // RFC 6901, into the resource
	Message string
	// Value means that the value of the field is what is not known: nothing that depends on it can be decided.
	Value bool `json:",omitempty"`
}

// Breaks reports whether the resource cannot be deployed at all, by whomever.
func (i Issue) Breaks() bool { return i.Check == Unprintable || i.Check == EmbeddedItems }

func (r *Resource) issue(check Check, pointer, message string) {
	r.Issues = append(r.Issues, Issue{Check: check, Pointer: pointer, Message: message})
}

// Broken lists the resources that cannot be deployed at all, as problems with their places: for whoever needs a
// rendering as a whole.
func (r *Rendering) Broken() []doc.Error {
	var list []doc.Error
	for _, res := range r.Resources {
		for _, issue := range res.Issues {
			if issue.Breaks() {
				at := res.Origin(issue.Pointer)
				list = append(list, doc.Error{Path: at.Path, Line: at.StartLine, Message: issue.Message})
			}
		}
	}
	return list
}
