package kinds

import (
	"context"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Cluster answers which kinds a repository declares: an admission.Cluster. It may also have a method KindOf(group,
// plural string) string that knows more kinds.
type Cluster interface {
	Get(ctx context.Context, group, kind, namespace, name string) (map[string]any, bool)
	List(ctx context.Context, group, kind, namespace string) []map[string]any
}

type kindsKey struct{}

// AskedFor reports whether objects are looked up in a context only to find out which kinds there are. Then no result
// about an object depends on the answer, and it may be less complete. If it returns a word, only objects that state it count; as
// KIND.GROUP, only definitions of that kind.
func AskedFor(ctx context.Context) (word string, is bool) {
	word, is = ctx.Value(kindsKey{}).(string)
	return word, is
}

// AskFor returns a context for which AskedFor returns true.
func AskFor(ctx context.Context, word string) context.Context {
	return context.WithValue(ctx, kindsKey{}, word)
}

type reviewedKey struct{}

// Reviewed is an object under review. Its kind has a plural name, also where nothing defines it.
type Reviewed struct {
	Group, Kind, Namespace, Name string
	Created                      bool // the review is of its creation: the cluster does not have it yet
}

// Reviewing returns a context of a review of an object.
func Reviewing(ctx context.Context, of Reviewed) context.Context {
	return context.WithValue(ctx, reviewedKey{}, of)
}

// ReviewedIn returns the object that a context is for; the zero value: none is reviewed.
func ReviewedIn(ctx context.Context) Reviewed {
	of, _ := ctx.Value(reviewedKey{}).(Reviewed)
	return of
}

const apiextensions, definition = "apiextensions.k8s.io", "CustomResourceDefinition"

// In returns the kind with a plural name: a kind of Kubernetes, one that the cluster knows, one that a
// CustomResourceDefinition in the cluster defines, that of the reviewed object, or a kind of one word if the cluster has
// objects of it (a plural does not tell how a kind of several words is capitalized). It returns "" if the kind is unknown.
// cluster may be nil.
func In(ctx context.Context, cluster Cluster, group, plural string) string {
	if c, ok := cluster.(interface {
		KindOf(group, plural string) string
	}); ok {
		if kind := c.KindOf(group, plural); kind != "" {
			return kind
		}
	}
	if kind := Kind(group, plural); kind != "" || cluster == nil {
		return kind
	}
	ctx = AskFor(ctx, "")
	if kind := defined(ctx, cluster, group, plural); kind != "" {
		return kind
	}
	if of := ReviewedIn(ctx); of.Kind != "" && of.Group == group && Plural(of.Kind) == plural {
		return of.Kind
	}
	for _, ending := range []struct{ plural, singular string }{{"ies", "y"}, {"s", ""}, {"es", ""}, {"", ""}} {
		stem, ok := strings.CutSuffix(plural, ending.plural)
		if singular := stem + ending.singular; ok && singular != "" {
			kind := strings.ToUpper(singular[:1]) + singular[1:]
			if len(cluster.List(ctx, group, kind, "")) > 0 {
				return kind
			}
		}
	}
	return ""
}

// defined returns the kind with a plural name that a CustomResourceDefinition with that name defines
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/).
func defined(ctx context.Context, cluster Cluster, group, plural string) string {
	d, _ := cluster.Get(AskFor(ctx, ""), apiextensions, definition, "", plural+"."+group)
	kind, _ := jsonpointer.At(d, "/spec/names/kind").(string)
	return kind
}

// DefinedClusterScoped reports whether a CustomResourceDefinition in the cluster says that objects of an otherwise
// unknown kind have no namespace.
func DefinedClusterScoped(ctx context.Context, cluster Cluster, group, kind string) bool {
	if _, known := Namespaced(group, kind); known || group == "" {
		return false
	}
	scoped := func(d map[string]any) (is, says bool) {
		at := func(pointer string) any { return jsonpointer.At(d, pointer) }
		return at("/spec/scope") == "Cluster", at("/spec/group") == group && at("/spec/names/kind") == kind
	}
	ctx = AskFor(ctx, kind+"."+group)
	if d, ok := cluster.Get(ctx, apiextensions, definition, "", Plural(kind)+"."+group); ok {
		if is, says := scoped(d); says {
			return is
		}
	}
	for _, d := range cluster.List(ctx, apiextensions, definition, "") {
		if is, says := scoped(d); says {
			return is
		}
	}
	return false
}

// Defined reports whether a kind of which nothing is known has a plural name that only a CustomResourceDefinition in
// the cluster can have given it.
func Defined(ctx context.Context, cluster Cluster, group, kind, plural string) bool {
	_, known := Namespaced(group, kind)
	return !known && cluster != nil && !Known([]string{"*"}, plural) && defined(ctx, cluster, group, plural) == kind
}
