package apiserver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// unsendable finds what the cluster alone knows of an object, and with which no request for it succeeds.
func unsendable(object map[string]any, onServer bool) (found []schema.Violation) {
	for _, f := range []struct{ name, why string }{
		{"resourceVersion", "a manifest does not know the version of the object in the cluster"},
		{"managedFields", "server-side apply takes none"}, {"uid", "server-side apply finds no object of this UID"},
	} {
		at := "/metadata/" + f.name
		value := jsonpointer.At(object, at)
		list, _ := value.([]any)
		if set := text(value) != "" && !schema.Placeholder(text(value)) || len(list) > 0; set && (onServer || f.name == "resourceVersion") {
			found = append(found, schema.Violation{Pointer: at, Message: f.why + ": " + Refused})
		}
	}
	return found
}

// types has the keys of all lists that server-side apply merges.
var types = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(legacyscheme.Scheme) })

// doubled finds elements of lists that have the same key, which server-side apply refuses
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy).
func doubled(object map[string]any) (found []schema.Violation) {
	if !mayDouble(object) {
		return nil
	}
	_, err := types().ObjectToTyped(&unstructured.Unstructured{Object: object})
	var list typed.ValidationErrors
	if !errors.As(err, &list) {
		return nil
	}
	for _, e := range list {
		if strings.Contains(e.ErrorMessage, "duplicate entries for key") {
			found = append(found, schema.Violation{Pointer: schema.PointerTo(object, indexed(object, strings.TrimPrefix(e.Path, "."))),
				Message: schema.ClipTo(most, e.ErrorMessage) + ": server-side apply refuses the object"})
		}
	}
	return found
}

// elementKeys has a field of each key of a list that server-side apply merges.
var elementKeys = []string{"apiServerID", "containerPort", "device", "devicePath", "ip", "mountPath", "name", "port", "reason",
	"resourceClaimName", "resourceID", "topologyKey", "type", "uid"}

// mayDouble reports whether two elements of a list in a value may have the same key. It is much faster than reading types,
// which only few objects need.
func mayDouble(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			if mayDouble(field) {
				return true
			}
		}
	case []any:
		type key struct{ field, value any }
		seen := map[key]bool{}
		is := func(k key) bool {
			known := seen[k]
			seen[k] = true
			return known
		}
		for _, element := range v {
			fields, isMap := element.(map[string]any)
			if !isMap {
				if _, isList := element.([]any); isList || element == nil || is(key{"", element}) {
					return true
				}
				continue
			}
			if mayDouble(fields) || slices.ContainsFunc(elementKeys, func(name string) bool {
				value, has := fields[name]
				_, deep := value.(map[string]any)
				_, list := value.([]any)
				return has && (deep || list || is(key{name, value}))
			}) {
				return true
			}
		}
	}
	return false
}

var named = regexp.MustCompile(`\[name="([^"]*)"\]`)

// indexed returns a path in which elements of lists have their index instead of their name.
func indexed(object map[string]any, path string) string {
	for at := named.FindStringSubmatchIndex(path); at != nil; at = named.FindStringSubmatchIndex(path) {
		list, _ := jsonpointer.At(object, schema.PointerTo(object, path[:at[0]])).([]any)
		i := slices.IndexFunc(list, func(element any) bool { return jsonpointer.At(element, "/name") == path[at[2]:at[3]] })
		path = fmt.Sprintf("%s[%d]%s", path[:at[0]], i, path[at[1]:])
	}
	return path
}
