// Package mask removes the values of Secrets from reports: in objects, in lines of source files, and in texts of
// unknown origin, such as messages of policies.
//
// Keys, names and the structure of lines stay. Masked text is shown as [report.Hidden].
//
// A value is masked
//
//   - by its place, whatever it is: in objects, in lines of files from which Secrets are made, and where a finding
//     about it points. In a Secret, all places count but the known ones of something else, so that a misspelled or
//     misplaced key hides its value, too;
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
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// changed replaces a value that differs from that of the other version of the object.
const changed = "(changed)"

// lastApplied is the annotation in which kubectl keeps a copy of the whole object
// (https://kubernetes.io/docs/reference/labels-annotations-taints/).
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// kind is the kind of Secrets. Its letter case and the group are ignored, so that a misspelled kind or version does not
// disable masking.
const kind = "Secret"

func isKind(text string) bool { return strings.EqualFold(strings.TrimSpace(text), kind) }

// dataFields are the fields of a Secret that contain its values.
var dataFields = [...]string{"data", "stringData"}

func isData(field string) bool {
	return slices.ContainsFunc(dataFields[:], func(name string) bool { return strings.EqualFold(name, field) })
}

// isEncoded reports whether the values of a field of a Secret are base64.
func isEncoded(field string) bool { return strings.EqualFold(field, dataFields[0]) }

// plainFields are the fields of a Secret that contain none of its values, each with the length of the longest pointer to
// a value of it. What is deeper is there by mistake.
var plainFields = map[string]int{
	"apiVersion": 1, "kind": 1, "type": 1, "immutable": 1, "metadata/name": 2, "metadata/generateName": 2,
	"metadata/namespace": 2, "metadata/labels": 3, "metadata/annotations": 3, "metadata/finalizers": 3,
	"metadata/ownerReferences": 4, "metadata/creationTimestamp": 2, "$patch": 1,
	"sops": 8, // what SOPS adds to an encrypted file: public keys, and the encrypted key of the data
}

// Objects returns masked copies of two versions of an object, either of which may be nil. Values that differ get
// another mask. An object that is no Secret is returned as it is.
func Objects(was, now map[string]any) (a, b map[string]any) {
	if !IsSecret(was) && !IsSecret(now) {
		return was, now
	}
	a, _ = hide(versionOf(was), "", was, now, report.Hidden).(map[string]any)
	b, _ = hide(versionOf(now), "", now, was, changed).(map[string]any)
	return a, b
}

func versionOf(o map[string]any) string {
	text, _ := o["apiVersion"].(string)
	return text
}

// hide returns a value of a Secret at a pointer with the mask, and with a mark where the other version of the Secret has
// another value.
func hide(apiVersion, at string, value, other any, mark string) any {
	child := func(key string, value any) any {
		same, _ := jsonpointer.Child(other, key)
		return hide(apiVersion, at+jsonpointer.Join(key), value, same, mark)
	}
	inside := InData(apiVersion, at)
	switch value := value.(type) {
	case map[string]any:
		if value == nil || inside && strings.Count(at, "/") > 1 { // the value should be a string
			break
		}
		out := make(map[string]any, len(value))
		for key, one := range value {
			out[key] = child(key, one)
		}
		return out
	case []any:
		if inside {
			break
		}
		out := make([]any, len(value))
		for i, one := range value {
			out[i] = child(strconv.Itoa(i), one)
		}
		return out
	case string:
		if doc.IsEncrypted(value) {
			return value
		}
	}
	switch {
	case !inside && copyOf(at, value) == nil:
		return value
	case other == nil || reflect.DeepEqual(value, other):
		return report.Hidden
	}
	return mark
}

// copyOf returns the copy of the object that kubectl, kapp and others store in an annotation of a Secret; nil if the
// field at a pointer is none. The annotation of kubectl always contains one.
func copyOf(at string, value any) map[string]any {
	name, ok := strings.CutPrefix(at, "/metadata/annotations/")
	if !ok {
		return nil
	}
	text, _ := value.(string)
	var copied map[string]any
	if strings.HasPrefix(strings.TrimSpace(text), "{") && json.Unmarshal([]byte(text), &copied) == nil {
		if IsSecret(copied) {
			return copied
		}
		for field := range copied {
			if isData(field) {
				return copied
			}
		}
	}
	if jsonpointer.Unescape(name) == lastApplied {
		return map[string]any{}
	}
	return nil
}

// IsSecret reports whether the values of an object are masked.
func IsSecret(o map[string]any) bool {
	text, _ := o["kind"].(string)
	return isKind(text)
}
