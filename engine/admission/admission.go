// Package admission describes the admission review that a policy sees: the operation, the object, the old object, the
// user, and what else the cluster would know about them. The packages of the engine share these types. It holds no logic
// of any policy kind.
package admission

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
)

// Operation is the verb of an admission request, as the Kubernetes API server spells it
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/).
type Operation string

// The operations of admission requests.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// UserInfo is the user who makes the request: the author of the change, mapped to a user of the cluster by the
// settings.
type UserInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// Object is a Kubernetes object as JSON: maps, slices, strings, bools, nil, and numbers as int64 where they are whole
// and float64 otherwise (the convention of k8s.io/apimachinery). The engine never changes an Object it is given.
type Object = map[string]any

// Request is one admission review. The zero value of an optional field means "not known".
type Request struct {
	Operation   Operation
	Object      Object // nil for DELETE
	OldObject   Object // nil for CREATE
	SubResource string // "scale", "ephemeralcontainers"; empty for the object itself
	// Parent is the kind that has SubResource, if the object is not of that kind itself, such as the Scale of a
	// Deployment. Only its group, version and kind are set.
	Parent Identity

	// Applied: the objects are manifests that somebody applies to a cluster, so that they lack what only the cluster knows.
	Applied bool

	UserInfo     UserInfo
	Roles        []string // "namespace:name", as Kyverno writes them
	ClusterRoles []string

	Place
	// Inherited is the Place as inherited policies see it (see InheritedView); nil: the same.
	Inherited *Place
}

// Place is what is known about where in the cluster the object of a request is.
type Place struct {
	// Namespace is the Namespace object the request is in, nil where the repository declares none.
	Namespace Object
	// ClusterScoped is set if objects of an otherwise unknown kind are known to have no namespace: a
	// CustomResourceDefinition says so.
	ClusterScoped bool
}

// Known reports whether anything is known.
func (p Place) Known() bool { return p.Namespace != nil || p.ClusterScoped }

// Unplaced reports whether an object of the request has no namespace field but belongs to a namespace, which is then
// unknown.
func (r *Request) Unplaced(id Identity) bool {
	return !r.ClusterScoped && kinds.Unplaced(id.Group, id.Kind, id.Namespace)
}

// CurrentObject returns the object that the request is about: the new one, or the old one of a DELETE.
func (r *Request) CurrentObject() Object {
	if r.Object != nil {
		return r.Object
	}
	return r.OldObject
}

// Identity returns the identity of the object that the request is about. For a subresource, the kind is that of its
// parent.
func (r *Request) Identity() Identity {
	id := IdentityOf(r.CurrentObject())
	if r.Parent.Kind != "" {
		id.Group, id.Version, id.Kind = r.Parent.Group, r.Parent.Version, r.Parent.Kind
	}
	return id
}

// Identity identifies an object.
type Identity struct {
	Group, Version, Kind, Namespace, Name string
}

// APIVersion returns the group and version as in a manifest.
func (i Identity) APIVersion() string {
	if i.Group == "" {
		return i.Version
	}
	return i.Group + "/" + i.Version
}

// IdentityOf reads the identity of an object; what is missing or not a string stays empty.
func IdentityOf(o Object) Identity {
	var id Identity
	apiVersion, _ := o["apiVersion"].(string)
	id.Group, id.Version = SplitVersion(apiVersion)
	id.Kind, _ = o["kind"].(string)
	if m, ok := o["metadata"].(map[string]any); ok {
		id.Name, _ = m["name"].(string)
		id.Namespace, _ = m["namespace"].(string)
		if id.Name == "" {
			id.Name, _ = m["generateName"].(string)
		}
	}
	return id
}

// SplitVersion returns the group and the version of an apiVersion; the group of core kinds is empty.
func SplitVersion(apiVersion string) (group, version string) {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return group, version
	}
	return "", apiVersion
}

// LabelsOf returns the labels of an object whose values are text. The map is never nil, and the caller may change it.
func LabelsOf(o Object) labels.Set { return TextsAt(o, "/metadata/labels") }

// TextsAt returns the texts of the map at a pointer of an object. The map is never nil, and the caller may change it.
func TextsAt(o Object, pointer string) labels.Set {
	out := labels.Set{}
	in, _ := jsonpointer.At(o, pointer).(map[string]any)
	for k, v := range in {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// Cluster looks up other objects among those that the repository declares. Implementations are safe for concurrent use
// and never use the network.
type Cluster interface {
	// Get returns the declared object, or nil and false where the repository declares none: whether
	// the cluster has one is then unknown.
	Get(ctx context.Context, group, kind, namespace, name string) (Object, bool)
	// List returns the declared objects of a kind, of all namespaces where namespace is empty, in a fixed order.
	List(ctx context.Context, group, kind, namespace string) []Object
}

// Changing is a Cluster that knows what a change removes.
type Changing interface {
	// Removes reports whether an object was declared, and certainly nothing declares it after the change. Without a name, it
	// is about all objects of the kind in the namespace, or in all.
	Removes(ctx context.Context, group, kind, namespace, name string) bool
}

// Removed reports whether a change removes an object, or without a name all objects of a kind, so that a look-up finds
// nothing.
func Removed(ctx context.Context, c Cluster, group, kind, namespace, name string) bool {
	changing, ok := c.(Changing)
	return ok && changing.Removes(ctx, group, kind, namespace, name)
}

type inheritedView struct{}

// InheritedView returns a context in which a Cluster is asked for an inherited policy (see policy.Source). The Cluster
// decides which objects count then: whoever must not loosen a policy must not be able to influence its look-ups either.
func InheritedView(ctx context.Context) context.Context {
	return context.WithValue(ctx, inheritedView{}, true)
}

// IsInheritedView reports whether a context was made by InheritedView.
func IsInheritedView(ctx context.Context) bool { return ctx.Value(inheritedView{}) != nil }

// NeedsNamespace returns the error for a decision that needs the namespace of an object, which nothing states.
func NeedsNamespace(id Identity) *NeedsClusterError {
	return &NeedsClusterError{What: "the namespace of " + id.Kind + " " + id.Name}
}

// NeedsClusterError means that a decision needs something that is not in the repository. A rule that
// meets one is "unknown", never pass or fail.
type NeedsClusterError struct {
	What string // for people: "ConfigMap kube-system/allowed-registries"
}

func (e *NeedsClusterError) Error() string { return needsCluster + e.What }

const needsCluster = "needs the cluster: "

// Needed returns what is needed of the cluster according to a message; "" if the message does not say.
func Needed(message string) string {
	_, what, _ := strings.Cut(message, needsCluster)
	what, _, _ = strings.Cut(what, ";") // what follows if it is not so
	return what
}

// UnreadableError means that a value has a form that neither the API server nor Kyverno can read: text in place of a
// list, a container without a name. A rule that needs the value gives an error, even where other errors count as "does
// not apply".
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return e.Err.Error() }
func (e *UnreadableError) Unwrap() error { return e.Err }
