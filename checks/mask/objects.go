// Package mask keeps what Secrets hold out of what a check says: it replaces their values in objects, in the lines of
// source files, and in texts of which nobody knows where they were put together, such as the messages of policies.
//
// Keys, names and the structure of lines stay. What is hidden is shown as [report.Hidden].
//
// A value is hidden
//
//   - by its place, whatever it is: in objects, in the lines of files that make Secrets, and where a finding about it
//     points to;
//   - by what it is, in all other texts, if it is unlikely to stand there for another reason: from eight characters on,
//     other than a word of a dictionary, which is letters in one case or with a large first one. Ports, quantities, names
//     of images and words of settings are shorter. A word of a policy's description stays;
//   - from three characters on where the text is about its Secret, but for "true" and the like.
//
// A value that is a part of a name is shown in texts: of an object, of a file or folder, of what the report names. So is one
// that is the address, or the beginning of the address, of a source outside of the repository that the report names.
//
// In texts a value is known again in quotes and escapes of any depth, in base64 of anything that holds it, also in lines,
// in one case of letters, with other white space, over lines that follow each other, and where it is cut behind its
// beginning. Passwords in addresses and settings, and words that look random, are looked for by themselves. A value that
// a policy shortens at its beginning, splits, reverses, packs or hashes is not known again, nor is a line of words of a
// longer value by itself. What SOPS encrypted is no value.
package mask

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// changed stands in place of a value that another version of the object has another one of.
const changed = "(changed)"

// lastApplied is the annotation in which kubectl keeps a copy of the whole object
// (https://kubernetes.io/docs/reference/labels-annotations-taints/).
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// kind is that of Secrets. Its group is not asked for: nobody is to get around this by a misspelled version.
const kind = "Secret"

// dataFields are the fields of a Secret that hold its values.
var dataFields = [...]string{"data", "stringData"}

// Objects returns two versions of an object, either of which may be nil, without what is secret in them. What differs
// is told by another mark. Objects that are no Secrets are returned as they are, and none is changed.
func Objects(was, now map[string]any) (a, b map[string]any) {
	if !IsSecret(was) && !IsSecret(now) {
		return was, now
	}
	a, b = maps.Clone(was), maps.Clone(now)
	for _, field := range dataFields {
		hideField(a, b, field)
	}
	for _, o := range []map[string]any{a, b} {
		meta, _ := o["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		for name, text := range annotations {
			if copyOf(name, text) == nil {
				continue
			}
			meta, annotations = maps.Clone(meta), maps.Clone(annotations)
			annotations[name] = report.Hidden
			meta["annotations"], o["metadata"] = annotations, meta
		}
	}
	return a, b
}

// copyOf returns the object in an annotation of a Secret, as kubectl, kapp and others keep it; nil where there is none.
// In the annotation of kubectl there is one in any case.
func copyOf(name string, value any) map[string]any {
	text, _ := value.(string)
	var copied map[string]any
	if strings.HasPrefix(strings.TrimSpace(text), "{") && json.Unmarshal([]byte(text), &copied) == nil {
		for _, field := range dataFields {
			if copied[field] != nil {
				return copied
			}
		}
	}
	if name == lastApplied {
		return map[string]any{}
	}
	return nil
}

// IsSecret reports whether an object is one whose values are hidden.
func IsSecret(o map[string]any) bool { return o["kind"] == kind }

// hideField hides what the keys of a field hold, and tells where that differs.
func hideField(a, b map[string]any, field string) {
	was, isMap := a[field].(map[string]any)
	now, isToo := b[field].(map[string]any)
	for _, side := range []struct {
		object map[string]any
		values map[string]any
		isMap  bool
		mark   string
	}{{a, was, isMap, report.Hidden}, {b, now, isToo, changed}} {
		if _, there := side.object[field]; !there {
			continue
		}
		if !side.isMap {
			side.object[field] = side.mark
			continue
		}
		out := make(map[string]any, len(side.values))
		for key, value := range side.values {
			old, before := was[key]
			new, after := now[key]
			if text, ok := value.(string); ok && isEncrypted(text) {
				out[key] = text
			} else if out[key] = report.Hidden; before && after && !reflect.DeepEqual(old, new) {
				out[key] = side.mark
			}
		}
		side.object[field] = out
	}
}
