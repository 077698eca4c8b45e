package exceptions

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/podsecurity"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
)

// This file finds what a draft can be narrowed to (controls, images and values), and to what it has to be widened.

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

// Drafts must also hold in a cluster: controllers create Pods from a Deployment, and admission review checks these as
// well.

// withMade adds to the target the resources that controllers create and that the same rules block. It also adds the
// names that the rules have for these.
func (d *drafter) withMade(ctx context.Context) {
	if d.subject.delete {
		return
	}
	rules := report.Mapped(d.blocked, func(b blocked) string { return view.RuleName(b.res.Rule) })
	pair := d.blocked[0].pair
	evaluator := d.Policies.Bind(d.Decision.Effective, d.Declared)
	for _, m := range MadeOf(pair.Resource().Object) {
		made := builtin.Received(ctx, d.Reviewer.Checks, &diff.Pair{Root: pair.Root, Operation: admission.Create,
			New: render.NewResource(apiserver.Received(m.Object), nil)})
		blocks := false
		for _, res := range d.Reviewer.Ask(ctx, evaluator, made) {
			if res.Policy != d.subject.policy || !review.Violated(res) || !slices.Contains(rules, view.RuleName(res.Rule)) {
				continue
			}
			blocks = true
			d.blocked = append(d.blocked, blocked{made, res})
			if res.Rule != "" && !slices.Contains(d.target.Rules, res.Rule) {
				d.target.Rules = append(slices.Clone(d.target.Rules), res.Rule)
			}
		}
		if blocks {
			d.target.Made = append(d.target.Made, m)
			d.target.Narrow = d.target.Narrow || d.crowded(m)
		}
	}
	slices.Sort(d.target.Rules)
}

// crowded reports whether the generated names of m may also be names of another deployed resource, or of what
// controllers create from one.
func (d *drafter) crowded(m Made) bool {
	begins := strings.TrimSuffix(m.Names[0], "*")
	return slices.ContainsFunc(d.known, func(r *render.Resource) bool {
		id := admission.IdentityOf(r.Object)
		return (id.Namespace == "" || d.target.Namespace == "" || id.Namespace == d.target.Namespace) &&
			strings.HasPrefix(id.Name, begins) && (id.Kind == m.Kind || len(MadeOf(r.Object)) > 0)
	})
}
