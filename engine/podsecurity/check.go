// Package podsecurity checks pods against the Pod Security Standards with the exclusions of Kyverno's
// podSecurity rules.
//
// Whether a control is violated is decided by k8s.io/pod-security-admission alone. This package adds where:
// the fields that violate it, from which Kyverno's exclusions take some away
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#pod-security).
package podsecurity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/pod-security-admission/api"
	standards "k8s.io/pod-security-admission/policy"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Check is a compiled podSecurity rule: immutable and safe for concurrent use.
type Check struct {
	level, version string
	controls       []control
	exclude        []policy.PodSecurityControl
}

type control struct {
	id    string
	allow standards.CheckPodFn
}

// Outcome is the result of a Check.
type Outcome struct {
	Allowed bool
	// Message names the violated controls and fields in Kyverno's words, empty where Allowed. It starts
	// with "It violates PodSecurity"; Kyverno puts "Validation rule 'name' failed. " before it.
	Message string
	// Fields are RFC 6901 pointers into the object to the fields that violate the level, sorted and unique. A missing
	// required field has the pointer where it would be.
	Fields []string
	// Err is set if the object has no pod, or none that Kubernetes could read; Allowed is false then.
	Err error
}

// latestMinor is that of the version 1.N that "latest" stands for: the last whose checks Kyverno has (its fork of
// pod-security-admission, in 1.18 and after). What a later version of the standards lets through, such as root in a user
// namespace of its own since 1.35, Kyverno still denies.
const latestMinor = 34

// Compile prepares a check of a level (privileged, baseline or restricted) as of a version ("latest", or
// "v1.N" with or without the v; empty means latest). As in Kyverno, only baseline leaves out checks: privileged denies what
// restricted does. Its errors are of type *jsonpointer.Error, below the rule.
func Compile(level, version string, exclude []policy.PodSecurityControl) (*Check, error) {
	l, err := api.ParseLevel(level)
	if err != nil {
		return nil, jsonpointer.Errorf("/level", "%s", err)
	}
	version = cmp.Or(version, "latest")
	spelled := version
	if strings.HasPrefix(version, "1.") {
		spelled = "v" + version
	}
	v, err := api.ParseVersion(spelled)
	if err != nil {
		return nil, jsonpointer.Errorf("/version", "%s", err)
	}
	if v.Latest() {
		v = api.MajorMinorVersion(1, latestMinor)
	}
	if err := Validate(exclude); err != nil {
		return nil, err
	}
	c := &Check{level: level, version: version, exclude: slices.Clone(exclude)}
	for i, e := range exclude {
		of, _ := entryOf(e.ControlName)
		if l == api.LevelBaseline && !slices.ContainsFunc(standards.DefaultChecks(), func(check standards.Check) bool {
			return check.Level == api.LevelBaseline && slices.Contains(of.ids, string(check.ID))
		}) {
			return nil, jsonpointer.Errorf(fmt.Sprintf("/exclude/%d/controlName", i),
				"the level baseline does not have the control %q", e.ControlName)
		}
	}
	for _, check := range standards.DefaultChecks() {
		if l == api.LevelBaseline && check.Level != api.LevelBaseline {
			continue
		}
		// Like Kyverno, and unlike the API server, the restricted level keeps the baseline checks that a restricted one
		// replaces: an exclusion of one control must not turn off the other.
		var chosen standards.CheckPodFn
		for _, revision := range check.Versions {
			if !v.Older(revision.MinimumVersion) {
				chosen = revision.CheckPod
			}
		}
		if chosen != nil {
			c.controls = append(c.controls, control{id: string(check.ID), allow: chosen})
		}
	}
	return c, nil
}

// Validate describes what is wrong with exclusions: an unknown control, a restricted field of another control, images where
// the control or the field is one of the pod, and the other way round. The error is a *jsonpointer.Error, below /exclude.
func Validate(exclude []policy.PodSecurityControl) error {
	for i, e := range exclude {
		bad := func(field, format string, args ...any) error {
			return jsonpointer.Errorf(fmt.Sprintf("/exclude/%d/%s", i, field), format, args...)
		}
		of, ok := entryOf(e.ControlName)
		container := containerField(e.RestrictedField)
		switch {
		case !ok:
			return bad("controlName", "%q is not a control that can be excluded: use one of %s", explain.Clip(e.ControlName, 80),
				strings.Join(Controls(), ", "))
		case of.pod == nil && len(e.Images) == 0:
			return bad("images", "the control %q is one of containers, and needs images", e.ControlName)
		case of.inContainer == nil && len(e.Images) > 0:
			return bad("images", "the control %q is one of the pod, and takes no images", e.ControlName)
		case e.RestrictedField == "":
		case !of.restricts(e.RestrictedField):
			return bad("restrictedField", "%q is not restricted by the control %q", explain.Clip(e.RestrictedField, 80), e.ControlName)
		case container && len(e.Images) == 0:
			return bad("images", "a field of containers needs images")
		case !container && len(e.Images) > 0:
			return bad("images", "a field of the pod takes no images")
		}
	}
	return nil
}

// Evaluate checks the pod that an object is, or has a template of: a Pod, or a controller of Kubernetes that makes pods.
// Exclusions of exceptions come in extra and are expected to be valid. Other objects, and those that cannot be read, are
// an error, as in Kyverno.
func (c *Check) Evaluate(object admission.Object, extra []policy.PodSecurityControl) Outcome {
	return c.Explain(object, extra, nil)
}

// Explain is like Evaluate, and also records what the level requires of each field that violates it.
func (c *Check) Explain(object admission.Object, extra []policy.PodSecurityControl, sheet *explain.Sheet) Outcome {
	found, err := podOf(object)
	if err != nil {
		return Outcome{Err: err}
	}
	exclude := c.exclude
	if len(extra) > 0 {
		exclude = slices.Concat(c.exclude, extra)
	}
	var forbidden []string
	var fields []string
	for _, ctl := range c.controls {
		result := ctl.allow(&found.pod.ObjectMeta, &found.pod.Spec)
		if result.Allowed {
			continue
		}
		violations := find(ctl, &found.pod)
		located := len(violations) > 0
		for _, e := range exclude {
			if of, _ := entryOf(e.ControlName); slices.Contains(of.ids, ctl.id) {
				violations = exempt(ctl, &found.pod, e, violations)
			}
		}
		if located && len(violations) == 0 {
			continue
		}
		texts := make([]string, 0, len(violations))
		for _, v := range violations {
			texts = append(texts, found.field(v.String()))
			for _, p := range v.where() {
				fields = append(fields, found.pointer+p)
				if sheet != nil {
					sheet.Add(found.pointer+p, v.requirement(ctl))
				}
			}
		}
		if !located {
			// A control whose fields this package cannot find is never excluded.
			texts, fields = append(texts, result.ForbiddenDetail), append(fields, found.pointer+"/spec")
		}
		forbidden = append(forbidden, fmt.Sprintf("(Forbidden reason: %s, field error list: [%s])", result.ForbiddenReason,
			strings.Join(texts, ", ")))
	}
	if len(forbidden) == 0 {
		return Outcome{Allowed: true}
	}
	slices.Sort(fields)
	return Outcome{
		Message: fmt.Sprintf("It violates PodSecurity %q: %s", c.level+":"+c.version, strings.Join(forbidden, ", ")),
		Fields:  slices.Compact(fields),
	}
}

// matchesAny reports whether one of the patterns matches, which may have * and ?.
func matchesAny(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return pattern.Wildcard(p, s) })
}
