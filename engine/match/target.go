package match

import (
	"slices"

	"github.com/lintel-bot/lintel/engine/admission"
)

// nameLabel is the label that every namespace has, declared or not
// (https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name).
const nameLabel = "kubernetes.io/metadata.name"

// Target is a request, with what blocks read of its objects, extracted once for all rules.
type Target struct {
	admission.Request
	Identity    admission.Identity
	Labels      map[string]string
	Annotations map[string]string
	// NamespaceLabels are the labels of the request's namespace. NamespaceKnown is false if the repository does not
	// declare it; then there is only the label with its name.
	NamespaceLabels map[string]string
	NamespaceKnown  bool
	// Unplaced is set if the object has no namespace field but may have a namespace: then it is unknown which one.
	Unplaced bool
}

// NewTarget extracts the parts that blocks read from a request, for the object that it is about.
func NewTarget(r *admission.Request) *Target {
	object := r.CurrentObject()
	t := &Target{Request: *r, Identity: r.Identity()}
	t.Labels = admission.LabelsOf(object)
	t.Annotations = admission.TextsAt(object, "/metadata/annotations")
	t.NamespaceLabels = admission.LabelsOf(r.Namespace)
	if name := admission.IdentityOf(r.Namespace).Name; name != "" {
		t.NamespaceLabels[nameLabel] = name
	} else if r.Namespace == nil && t.Identity.Namespace != "" {
		t.NamespaceLabels[nameLabel] = t.Identity.Namespace
	}
	t.Unplaced = r.Unplaced(t.Identity)
	// An object without a namespace has no namespace labels, and that is known.
	t.NamespaceKnown = r.Namespace != nil || t.Identity.Namespace == "" && !t.Unplaced
	return t
}

// anonymous reports whether nothing specific is known about the user of the request.
func (t *Target) anonymous() bool {
	return t.UserInfo.Username == "" && t.UserInfo.UID == "" && len(t.Roles) == 0 && len(t.ClusterRoles) == 0 &&
		!slices.ContainsFunc(t.UserInfo.Groups, func(g string) bool { return g != admission.Authenticated })
}
