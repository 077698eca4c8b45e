package exceptions

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/podsecurity"
	"github.com/lintel-bot/lintel/engine/policy"
)

// This file finds what a draft can be narrowed to: controls, images and values.

// controls returns all controls of the Pod Security Standards, for the pod and for its images as far as each applies to
// them. It returns none unless every blocking rule is about these standards.
func (d *drafter) controls() (out []Control) {
	if slices.ContainsFunc(d.blocked, func(b blocked) bool { return !d.Policies.Uses(b.res.ID()).Controls }) {
		return nil
	}
	images := d.images()
	for _, name := range podsecurity.Controls() {
		for _, c := range []Control{{Name: name}, {Name: name, Images: images}} {
			if podsecurity.Validate([]policy.PodSecurityControl{{ControlName: name, Images: c.Images}}) == nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// images returns the images of the containers in the resource.
func (d *drafter) images() (out []string) {
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range []string{"initContainers", "containers", "ephemeralContainers"} {
				list, _ := v[key].([]any)
				for _, c := range list {
					m, _ := c.(map[string]any)
					if image, ok := m["image"].(string); ok && image != "" && !slices.Contains(out, image) && len(out) < draftParts {
						out = append(out, image)
					}
				}
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key])
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	for _, b := range d.blocked {
		walk(b.pair.Resource().Object)
	}
	return out
}

// values returns the content and the names of the failing fields, for each of the value names that the policy reads.
func (d *drafter) values(names []string) map[string][]string {
	if len(names) == 0 {
		return nil
	}
	var list []string
	add := func(s string) {
		if _, err := strconv.ParseUint(s, 10, 31); s != "" && err != nil && !slices.Contains(list, s) && len(list) < draftParts {
			list = append(list, s)
		}
	}
	for _, b := range d.blocked {
		for _, field := range b.res.Fields {
			object := b.pair.Resource().Object
			value := jsonpointer.At(object, field)
			for at := field; value == nil && at != ""; { // for a missing field, its nearest existing parent
				at = at[:strings.LastIndexByte(at, '/')]
				value = jsonpointer.At(object, at)
			}
			for _, text := range words(value, 3) {
				add(text)
			}
			add(jsonpointer.Unescape(path.Base("/" + field)))
		}
	}
	out := map[string][]string{}
	for _, key := range names {
		if out[key] = list; key == "" {
			return map[string][]string{"": list}
		}
	}
	return out
}

// words returns the keys and scalars of a value, the outer ones first.
func words(v any, depth int) (out []string) {
	var inner []any
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, key)
			inner = append(inner, v[key])
		}
	case []any:
		inner = v
	case nil:
	default:
		return []string{fmt.Sprint(v)}
	}
	for _, item := range inner {
		if depth > 0 {
			out = append(out, words(item, depth-1)...)
		}
	}
	return out
}
