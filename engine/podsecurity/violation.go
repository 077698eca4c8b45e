package podsecurity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// path is a place in a pod: names and list indexes.
type path []any

// String returns the path as Kubernetes prints fields: spec.containers[0].image.
func (p path) String() string { return p.text(strconv.Itoa) }

// generic returns the path with every index written as [*], the form of restrictedField.
func (p path) generic() string { return p.text(func(int) string { return "*" }) }

func (p path) text(index func(int) string) string {
	var b strings.Builder
	for i, step := range p {
		switch s := step.(type) {
		case int:
			b.WriteString("[" + index(s) + "]")
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// pointer returns the path as an RFC 6901 pointer.
func (p path) pointer() string {
	tokens := make([]string, len(p))
	for i, step := range p {
		tokens[i] = fmt.Sprint(step)
	}
	return jsonpointer.Join(tokens...)
}

// violation is one field that violates a control.
type violation struct {
	path    path
	missing bool     // the field has to be set and is not
	shown   any      // the value as messages print it, nil for none
	values  []string // the values to compare with those of an exclusion; none are compared with nothing
	items   []int    // which elements of the list at path are wrong
}

// String returns the violation in Kyverno's words.
func (v violation) String() string {
	switch {
	case v.missing:
		return v.path.String() + ": Required value"
	case v.shown == nil:
		return v.path.String() + ": Forbidden"
	}
	return fmt.Sprintf("%s is forbidden, forbidden values found: %+v", v.path, v.shown)
}

func (v violation) where() []string {
	if len(v.items) == 0 {
		return []string{v.path.pointer()}
	}
	var out []string
	for _, i := range v.items {
		out = append(out, append(slices.Clone(v.path), i).pointer())
	}
	return out
}

func (v violation) inContainer() bool { return len(v.path) > 2 && containerField(v.path.generic()) }

// exempt takes away the violations that an exclusion covers.
//
// An exclusion without images is about the pod. Kyverno tests it on the pod with one bare container in place of its
// own, and each violation of that container takes one away from the regular containers, whatever their values are: this
// is how a control like "Running as Non-root" is excluded by its name alone where there is one container. More of them,
// and initContainers, need images.
func exempt(ctl control, pod *corev1.Pod, e policy.PodSecurityControl, violations []violation) []violation {
	bare := map[string]int{}
	if len(e.Images) == 0 {
		probe := corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
		probe.Spec.Containers = []corev1.Container{{Name: "bare"}}
		probe.Spec.InitContainers, probe.Spec.EphemeralContainers = nil, nil
		for _, v := range find(ctl, &probe) {
			bare[v.path.generic()]++
		}
	}
	images := map[string]string{}
	for _, c := range containersOf(pod) {
		images[c.path().String()] = c.Image
	}
	return settled(ctl, violations, slices.DeleteFunc(slices.Clone(violations), func(v violation) bool {
		generic := v.path.generic()
		switch {
		case e.RestrictedField != "" && e.RestrictedField != generic:
			return false
		case len(e.Images) == 0 && v.inContainer():
			bare[generic]--
			return bare[generic] >= 0
		case len(e.Images) > 0 && (!v.inContainer() || !matchesAny(e.Images, images[v.path[:3].String()])):
			return false
		}
		return len(e.Values) == 0 ||
			!slices.ContainsFunc(v.values, func(s string) bool { return !matchesAny(e.Values, s) })
	}))
}

// settled returns the remaining violations. If a seccomp profile is wrong, Kyverno does not count missing ones: so an
// exclusion of all wrong ones removes the missing ones, too.
func settled(ctl control, before, left []violation) []violation {
	wrong := func(v violation) bool { return !v.missing }
	if ctl.id == "seccompProfile_restricted" && slices.ContainsFunc(before, wrong) && !slices.ContainsFunc(left, wrong) {
		return nil
	}
	return left
}

// containerField reports whether a field in the form of restrictedField belongs to containers.
func containerField(field string) bool {
	return slices.ContainsFunc([]string{"containers", "initContainers", "ephemeralContainers"}, func(list string) bool {
		return strings.HasPrefix(field, "spec."+list+"[*].")
	})
}
