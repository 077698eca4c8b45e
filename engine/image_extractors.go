package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// extractor finds images in objects that are not pods (imageExtractors of a rule,
// https://kyverno.io/docs/policy-types/cluster-policy/verify-images/#custom-image-extractors).
type extractor struct {
	path  []string // of the maps that hold an image; "*" is every element
	value string   // the field of such a map that holds the image
	key   string   // the field that names it in the variable; empty: its pointer does
	name  string   // the group in the variable
	jmes  *jmespath.Expression
}

// extractors compiles a rule's image extractors, by kind.
func (c *ruleCompiler) extractors(in policy.ImageExtractors) map[string][]extractor {
	out := map[string][]extractor{}
	for _, kind := range slices.Sorted(maps.Keys(in)) {
		for i, x := range in[kind] {
			at := fmt.Sprintf("/imageExtractors/%s/%d", jsonpointer.Escape(kind), i)
			e := extractor{value: x.Value, key: x.Key, name: x.Name}
			e.name = cmp.Or(e.name, "custom")
			e.path = strings.FieldsFunc(x.Path, func(r rune) bool { return r == '/' })
			if len(e.path) == 0 {
				c.bad(at+"/path", "path is empty: write one like /spec/steps/*/image")
				continue
			}
			if e.value == "" {
				e.value, e.path = e.path[len(e.path)-1], e.path[:len(e.path)-1]
			}
			if x.JMESPath != "" {
				if e.jmes = c.expression(at+"/jmesPath", x.JMESPath); e.jmes == nil {
					continue
				}
			}
			out[kind] = append(out[kind], e)
		}
	}
	return out
}

// extracted is the variable images of an object whose kind a rule has extractors for: they take the place of what is
// known of pods.
func extracted(ctx context.Context, o admission.Object, list []extractor, env jmespath.Env) (map[string]any, error) {
	out := map[string]any{}
	for _, x := range list {
		found := map[string]any{}
		if err := x.collect(ctx, o, x.path, "", env, found); err != nil {
			return nil, err
		}
		if len(found) > 0 {
			if known, ok := out[x.name].(map[string]any); ok {
				maps.Copy(known, found)
				continue
			}
			out[x.name] = found
		}
	}
	return out, nil
}

func (x *extractor) collect(ctx context.Context, at any, path []string, pointer string, env jmespath.Env,
	found map[string]any) error {
	if at == nil {
		return nil
	}
	if len(path) == 0 {
		return x.image(ctx, at, pointer, env, found)
	}
	if path[0] != "*" {
		m, ok := at.(map[string]any)
		if !ok {
			return fmt.Errorf("the image extractor expects a map at %s", pointer)
		}
		return x.collect(ctx, m[path[0]], path[1:], pointer+"/"+jsonpointer.Escape(path[0]), env, found)
	}
	switch at := at.(type) {
	case []any:
		for i, e := range at {
			if err := x.collect(ctx, e, path[1:], pointer+"/"+strconv.Itoa(i), env, found); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(at)) {
			if err := x.collect(ctx, at[k], path[1:], pointer+"/"+jsonpointer.Escape(k), env, found); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("the image extractor expects a list or a map at %s", pointer)
	}
	return nil
}

func (x *extractor) image(ctx context.Context, at any, pointer string, env jmespath.Env, found map[string]any) error {
	m, ok := at.(map[string]any)
	if !ok {
		return fmt.Errorf("the image extractor expects a map at %s", pointer)
	}
	pointer += "/" + jsonpointer.Escape(x.value)
	value, ok := m[x.value].(string)
	if !ok || strings.TrimSpace(value) == "" {
		return nil
	}
	if x.jmes != nil {
		result, err := x.jmes.Search(ctx, value, env)
		if err != nil {
			return fmt.Errorf("the image extractor's jmesPath at %s: %w", pointer, err)
		}
		text, ok := result.(string)
		if !ok {
			return fmt.Errorf("the image extractor's jmesPath at %s answers no string", pointer)
		}
		value = text
	}
	info, err := parseImage(value)
	if err != nil {
		return err
	}
	info["jsonPointer"] = pointer
	key := pointer
	if x.key != "" {
		if key, ok = m[x.key].(string); !ok {
			return fmt.Errorf("the image extractor expects a string in field %s beside %s", x.key, pointer)
		}
	}
	found[key] = info
	return nil
}

// images is the variable of that name as the rule of a frame sees it.
func (f *frame) images() (map[string]any, error) {
	o := f.request.Subject()
	if list := f.rule.extractors[admission.IdentityOf(o).Kind]; len(list) > 0 {
		return extracted(f.ctx, o, list, f.env)
	}
	return images(o)
}
