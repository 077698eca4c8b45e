package schema

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lintel-bot/lintel/engine/policy"
)

// dropped describes what happens to an unknown field, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation; server-side apply rejects it.
const dropped = "kubectl apply and server-side apply refuse it, and other clients drop it with a warning"

// refused describes what happens to an object that cannot be read or is invalid.
const refused = "the API server refuses the object"

func (w *walk) add(at *path, format string, args ...any) {
	w.found = append(w.found, Violation{Pointer: at.pointer(), Message: fmt.Sprintf(format, args...)})
}

// missing adds the violation of a missing field.
func (w *walk) missing(of *record, at *path) {
	w.add(at, "is missing: %s requires it", of.name)
	w.found[len(w.found)-1].Missing = true
}

// unknown adds the violation of a field that the type does not have.
func (w *walk) unknown(of *record, name string, at *path) {
	message, near := fmt.Sprintf("%q is not a field of %s in %s", Clip(name), of.name, w.name), ""
	switch in := of.fields[name].all(); {
	case in == 0:
		near = policy.Nearest(name, of.names(w.in))
	case in > w.in:
		message += fmt.Sprintf(", but exists since 1.%d", w.table.firstOf(in))
	default:
		message += fmt.Sprintf(", but existed up to 1.%d", w.table.lastOf(in))
	}
	w.add(at, "%s", withEffect(message, near, dropped))
}

// withEffect adds to a message the most similar name, if there is one, and the effect of the error.
func withEffect(message, near, effect string) string {
	if near == "" {
		return message + ": " + effect
	}
	return fmt.Sprintf("%s: did you mean %q? (%s)", message, near, effect)
}

// enumerated adds a violation for a value that none of the versions allows.
func (w *walk) enumerated(f *form, field variants[property], value string, at *path) {
	for _, v := range field {
		form := v.is.form
		if form.is == isList {
			form = form.of
		}
		if v.in&w.in != 0 && (form.enum == nil || slices.Contains(form.enum, value)) {
			return
		}
	}
	if Placeholder(value) {
		return
	}
	quoted := make([]string, len(f.enum))
	for i, e := range f.enum {
		quoted[i] = strconv.Quote(e)
	}
	message := fmt.Sprintf("%q is not one of %s", Clip(value), strings.Join(quoted, ", "))
	w.add(at, "%s", withEffect(message, policy.Nearest(value, f.enum), refused))
}

// The words for what a value must be.
var wanted = map[base]string{isString: "a string", isInt32: "a whole number", isInt64: "a whole number",
	isNumber: "a number", isBool: "true or false", isQuantity: "a quantity", isIntOrString: "a whole number or a string",
	isTime: "a time", isBytes: "a string in base64", isMap: "a map", isList: "a list", isObject: "a map"}

// mistyped adds the violation of a value of a wrong type.
func (w *walk) mistyped(f *form, value any, at *path) {
	is, advice := "", ""
	switch v := value.(type) {
	case string:
		if Placeholder(v) {
			return // the type of a placeholder is unknown
		}
		is = "a string"
		_, err := strconv.ParseFloat(v, 64)
		number := f.is == isInt32 || f.is == isInt64 || f.is == isNumber
		if number && err == nil || f.is == isBool && (v == "true" || v == "false") {
			advice = ": write it without quotes"
		}
	case bool:
		is = strconv.FormatBool(v)
		if f.is == isString {
			advice = ": write it in quotes"
		}
	case map[string]any:
		is = "a map"
	case []any:
		is = "a list"
	default:
		is = "a number"
		if f.is == isString {
			advice = ": write it in quotes"
		}
	}
	if advice == "" {
		w.refuse(at, "must be %s, not %s: %s", wanted[f.is], is, refused)
		return
	}
	w.refuse(at, "must be %s, not %s%s (%s)", wanted[f.is], is, advice, refused)
}

// refuse adds the violation of a value that the API server cannot read.
func (w *walk) refuse(at *path, format string, args ...any) {
	w.add(at, format, args...)
	w.found[len(w.found)-1].Refused = true
}

// formatted returns the error of a string in a format; empty if it is correct.
func formatted(is base, s string) string {
	switch is {
	case isQuantity:
		if _, err := resource.ParseQuantity(s); err != nil {
			return fmt.Sprintf("%q is not a quantity: write it like 500m or 2Gi", Clip(s))
		}
	case isTime:
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			return fmt.Sprintf("%q is not a time: write it like 2006-01-02T15:04:05Z", Clip(s))
		}
	case isBytes:
		if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			return "is not in base64"
		}
	}
	return ""
}

// Placeholder reports whether a string will be replaced before the cluster sees it: by a plugin of Argo CD, by
// variables of Flux, or by SOPS.
func Placeholder(s string) bool {
	for _, mark := range []struct{ open, end string }{{"<", ">"}, {"${", "}"}, {"$(", ")"}, {"{{", "}}"}, {"ENC[", "]"}} {
		if _, rest, ok := strings.Cut(s, mark.open); ok && strings.Contains(rest, mark.end) {
			return true
		}
	}
	return false
}

// FilledIn reports whether a value has one in it that others fill in.
func FilledIn(value any) bool {
	switch v := value.(type) {
	case string:
		return Placeholder(v)
	case []any:
		return slices.ContainsFunc(v, FilledIn)
	case map[string]any:
		for key, child := range v {
			if Placeholder(key) || FilledIn(child) {
				return true
			}
		}
	}
	return false
}

// Clip shortens a quoted text.
func Clip(s string) string { return ClipTo(60, s) }

// ClipTo shortens a text to n bytes.
func ClipTo(n int, s string) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}

// optional are fields that the published schemas require and the API server does not, or not everywhere: the names of
// the type and the field. They were found by running the validation of k8s.io/kubernetes v1.37.0 on objects without
// each required field.
var optional = map[string]bool{
	"CSIDriver.spec":                          true,
	"CustomResourceDefinitionVersion.served":  true,
	"CustomResourceDefinitionVersion.storage": true,
	"HTTPHeader.value":                        true,
	"ISCSIPersistentVolumeSource.lun":         true,
	"ISCSIVolumeSource.lun":                   true,
	"LimitRangeSpec.limits":                   true,
	"OwnerReference.apiVersion":               true, // the owner references of a template are not checked
	"OwnerReference.kind":                     true,
	"OwnerReference.name":                     true,
	"OwnerReference.uid":                      true,
	"PodFailurePolicy.rules":                  true,
	"PreferredSchedulingTerm.preference":      true,
	"ScaleIOPersistentVolumeSource.secretRef": true,
	"ScaleIOVolumeSource.secretRef":           true,
	"SleepAction.seconds":                     true,
	"SuccessPolicy.rules":                     true,
	"Sysctl.value":                            true,
	"Taint.effect":                            true,
	"TokenRequest.audience":                   true,
}
