package render

import "github.com/lintel-bot/lintel/render/doc"

// Check names the check that reports an issue.
type Check string

// The checks of single resources.
const (
	Unprintable          Check = "unprintable"        // kustomize builds the resource and fails when it writes it
	EmbeddedItems        Check = "embedded-items"     // kubectl would create the items of the resource in its place
	ControllerRejects    Check = "controller-rejects" // Argo CD or Flux fails to deploy the resource
	ControllerUnknown    Check = "controller-unknown" // only the cluster knows what Argo CD or Flux makes of the resource
	ControllerSuspicious Check = "controller-advice"  // the resource is deployed, but probably not as intended
)

// Issue is something about one resource that is wrong or not known. Its place is that of its Pointer.
type Issue struct {
	Check   Check
	Pointer string // RFC 6901, into the resource
	Message string
	// Value means that the value of the field is not known, so that no policy that depends on it can be decided.
	Value bool `json:",omitempty"`
}

// Breaks reports whether no tool can deploy the resource.
func (i Issue) Breaks() bool { return i.Check == Unprintable || i.Check == EmbeddedItems }

func (r *Resource) issue(check Check, pointer, message string) {
	r.Issues = append(r.Issues, Issue{Check: check, Pointer: pointer, Message: message})
}

// Broken lists the resources that no tool can deploy, as problems with their places. It is for callers that need the
// whole rendering.
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
