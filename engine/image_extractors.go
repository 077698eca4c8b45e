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

// extracted returns the variable images for an object whose kind the rule has extractors for. They replace the built-in
// extraction from pods. If a value is not of the form that an extractor expects, it returns an
// *admission.UnreadableError.
func extracted(ctx context.Context, o admission.Object, list []extractor, env jmespath.Env) (map[string]any, error) {
	out := map[string]any{}
	for i := range list {
		x := &search{extractor: &list[i], ctx: ctx, env: env, found: map[string]any{}}
		if err := x.collect(o, x.path, "", nil); err != nil {
			return nil, err
		}
		if len(x.found) > 0 {
			if known, ok := out[x.name].(map[string]any); ok {
				maps.Copy(known, x.found)
				continue
			}
			out[x.name] = x.found
		}
	}
	return out, nil
}

// search is the run of one extractor on an object.
type search struct {
	*extractor
	ctx   context.Context
	env   jmespath.Env
	found map[string]any
}

// collect follows a path. Secrets are the names in imagePullSecrets of the maps on the way.
func (x *search) collect(at any, path []string, pointer string, secrets []any) error {
	if at == nil {
		return nil
	}
	if len(path) > 0 && path[0] == "*" {
		switch at := at.(type) {
		case []any:
			for i, e := range at {
				if err := x.collect(e, path[1:], pointer+"/"+strconv.Itoa(i), secrets); err != nil {
					return err
				}
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(at)) {
				if err := x.collect(at[k], path[1:], pointer+"/"+jsonpointer.Escape(k), secrets); err != nil {
					return err
				}
			}
		default:
			return noImages("%s must be a list or a map", pointer)
		}
		return nil
	}
	m, ok := at.(map[string]any)
	if !ok {
		return noImages("%s must be a map", cmp.Or(pointer, "the object"))
	}
	secrets = pullSecrets(m, secrets)
	if len(path) == 0 {
		return x.image(m, pointer, secrets)
	}
	return x.collect(m[path[0]], path[1:], pointer+"/"+jsonpointer.Escape(path[0]), secrets)
}

// pullSecrets adds the names in imagePullSecrets of a map to those of the maps around it.
func pullSecrets(m map[string]any, around []any) []any {
	list, _ := m["imagePullSecrets"].([]any)
	for _, e := range list {
		secret, _ := e.(map[string]any)
		if name, ok := secret["name"].(string); ok {
			around = append(around[:len(around):len(around)], name)
		}
	}
	return around
}

func (x *search) image(m map[string]any, pointer string, secrets []any) error {
	pointer += "/" + jsonpointer.Escape(x.value)
	key, ok := pointer, true
	if x.key != "" {
		if key, ok = m[x.key].(string); !ok {
			return noImages("there is no text in the field %s beside %s", x.key, pointer)
		}
	}
	value, ok := m[x.value].(string)
	if !ok || strings.TrimSpace(value) == "" {
		return nil // there may be none
	}
	if x.jmes != nil {
		result, err := x.jmes.Search(x.ctx, value, x.env)
		if err != nil {
			return fmt.Errorf("the image extractor's jmesPath at %s: %w", pointer, err)
		}
		if value, ok = result.(string); !ok {
			return fmt.Errorf("the image extractor's jmesPath at %s does not return a string", pointer)
		}
	}
	info, err := parseImage(value)
	if err != nil {
		return err
	}
	info["jsonPointer"] = pointer
	info["imagePullSecrets"] = append([]any{}, secrets...)
	x.found[key] = info
	return nil
}

func noImages(format string, args ...any) error {
	return &admission.UnreadableError{Err: fmt.Errorf("images cannot be read: "+format, args...)}
}

// images returns the variable images as the rule of a frame sees it.
func (f *frame) images() (map[string]any, error) {
	o := f.request.CurrentObject()
	if list := f.rule.extractors[admission.IdentityOf(o).Kind]; len(list) > 0 {
		return extracted(f.ctx, o, list, f.env)
	}
	return images(f.ctx, o, f.env)
}
