package admission

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// PodPointer returns where objects of a Kubernetes kind have their pod: the pointer of the value with its metadata and
// spec. It returns false for all other kinds.
func PodPointer(kind string) (pointer string, ok bool) {
	switch kind {
	case "Pod":
		return "", true
	case "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet":
		return "/spec/template", true
	case "CronJob":
		return "/spec/jobTemplate/spec/template", true
	}
	return "", false
}

// MapAt returns the map at a pointer of an object, nil if it or a value on the way is missing or null. The pointer has
// no escapes. The error is an *UnreadableError if one of them is not a map.
func MapAt(o Object, pointer string) (map[string]any, error) {
	m := o
	for rest := pointer; rest != ""; {
		token := rest[1:]
		if i := strings.IndexByte(token, '/'); i >= 0 {
			token = token[:i]
		}
		rest = rest[1+len(token):]
		value := m[token]
		if value == nil {
			return nil, nil
		}
		var ok bool
		if m, ok = value.(map[string]any); !ok {
			at := jsonpointer.Dotted(strings.TrimSuffix(pointer, rest))
			return nil, &UnreadableError{fmt.Errorf("%s must be a map, not %s", at, noun(value))}
		}
	}
	return m, nil
}

func noun(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "a boolean"
	}
	return "a number"
}
