// Package mask removes the values of Secrets from reports: in objects, in lines of source files, and in texts of
// unknown origin, such as messages of policies.
//
// Keys, names and the structure of lines stay. Masked text is shown as [report.Hidden].
//
// A value is masked
//
//   - by its place, whatever it is: in objects, in lines of files from which Secrets are made, and where a finding
//     about it points;
//   - by its content, in all other texts, if the text is unlikely to contain it for another reason. Such a value has at
//     least eight characters, and is no dictionary word: letters in one case, or with the first one in upper case.
//     Ports, quantities, names of images and words of settings are shorter. A word in a policy's description stays;
//   - from three characters on in texts about its Secret, except for "true" and similar words.
//
// A value that is a part of a name is shown: a name of an object, a file or folder, or one in the report. So is a value
// that is the address of a remote source in the report, or the beginning of one.
//
// In texts, a value is recognized in quotes and escapes of any depth, and in base64 of any text that contains it, also
// if the base64 is wrapped. It is recognized in lower and upper case, with other white space, over several lines, and
// if it is cut after its beginning. Passwords in addresses and settings, and random words in a value, are searched
// separately. A value is not recognized if a policy cuts its beginning, splits, reverses, compresses or hashes it. A
// single line of words of a longer value is not recognized either. Values encrypted by SOPS are not masked.
package mask

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// changed replaces a value that differs from that of the other version of the object.
const changed = "(changed)"

// lastApplied is the annotation in which kubectl keeps a copy of the whole object
// (https://kubernetes.io/docs/reference/labels-annotations-taints/).
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// kind is the kind of Secrets. The group is ignored, so that a misspelled version does not disable masking.
const kind = "Secret"

// dataFields are the fields of a Secret that contain its values.
var dataFields = [...]string{"data", "stringData"}

// Objects returns masked copies of two versions of an object, either of which may be nil. Values that differ get
// another mask. An object that is no Secret is returned as it is.
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

// copyOf returns the copy of the object that kubectl, kapp and others store in an annotation of a Secret; nil if it is
// none. The annotation of kubectl always contains one.
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

// IsSecret reports whether the values of an object are masked.
func IsSecret(o map[string]any) bool { return o["kind"] == kind }

// hideField masks the values of a field, and marks the ones that differ.
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
