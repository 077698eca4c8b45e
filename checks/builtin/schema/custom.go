package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// look returns the violations of an object of a defined kind, except in its metadata; none without a schema. old is the
// object before the change, nil if it is new, for transition rules. If there are several definitions, the one with the
// fewest violations counts. The error says why the object was not checked completely; violations beside it are valid.
func (d *definitions) look(ctx context.Context, group, version string, object, old map[string]any) (
	[]Violation, error,
) {
	name, _ := object["kind"].(string)
	k := d.kinds[kind{group, name}]
	if k == nil {
		return nil, nil
	}
	list, ok := k.serves[version]
	if !ok {
		switch {
		case k.legacy:
			return nil, errors.New("it has the version apiextensions.k8s.io/v1beta1, which no supported version of " +
				"Kubernetes serves")
		case len(k.versions) == 0:
			return nil, errors.New("it has no versions")
		}
		return []Violation{{Foreign: true, Pointer: "/apiVersion", Message: fmt.Sprintf(
			"%s has no version %q in its definition, but %s: the API server refuses the object", name,
			Clip(version), strings.Join(k.versions, ", "))}}, nil
	}
	if len(list) > maxVersions {
		return nil, fmt.Errorf("there are more than %d that differ", maxVersions)
	}
	was, oldName := typeOf(old)
	converted := false
	switch {
	case oldName != name || groupOf(was) != group:
		old = nil
	case was != object["apiVersion"] && k.webhook:
		old, converted = nil, true
	case was != object["apiVersion"]: // the API server converts it by writing the other version
		old = maps.Clone(old)
		old["apiVersion"] = object["apiVersion"]
	}
	var least []Violation
	var failed error
	for i, s := range list {
		schema, err := s.get()
		var found []Violation
		if err == nil {
			if schema == nil {
				return nil, nil
			}
			found, err = schema.look(ctx, object, old)
			if converted && schema.compares && err == nil {
				err = fmt.Errorf("its rules compare with the old object, which a webhook converts from %s", Clip(was))
			}
		}
		switch {
		case err != nil && len(list) > 1:
			found = nil // the cluster may have this definition, and may accept the object
			failed = err
		case err != nil:
			failed = err
		case len(found) == 0:
			return nil, nil
		}
		if i == 0 || len(found) < len(least) {
			least = found
		}
	}
	return least, failed
}

// Received returns a custom resource as admission policies get it from the API server: with the defaults of its definition,
// without nulls that the definition does not allow, and without a status that is not taken from manifests. Unknown fields stay,
// since Validate reports them. The given object is not changed. It is returned as it is where its definition is not declared or
// cannot be used, or where several disagree.
func (s *Schemas) Received(ctx context.Context, object map[string]any) (out map[string]any) {
	return s.made(ctx, object, func(schema *schema) map[string]any { return schema.filled(schema.taken(object)) })
}

// Answered returns a custom resource as the API server answers a request for it: like Received, but with its status.
func (s *Schemas) Answered(ctx context.Context, object map[string]any) map[string]any {
	return s.made(ctx, object, func(schema *schema) map[string]any {
		return schema.filled(jsonpointer.Copy(object, numberOf).(map[string]any))
	})
}

// made returns what is made of a custom resource with its definition.
func (s *Schemas) made(ctx context.Context, object map[string]any, with func(*schema) map[string]any) (out map[string]any) {
	apiVersion, name := typeOf(object)
	group, version, ok := strings.Cut(apiVersion, "/")
	if _, _, known := servedIn(apiVersion, name); known || !ok || Encrypted(object) {
		return object
	}
	defined, ok := s.defined(ctx, group, name)
	if !ok || !defined.has(group, name) {
		return object
	}
	defer func() { // as in look
		if recover() != nil || out == nil {
			out = object
		}
	}()
	for _, of := range defined.kinds[kind{group, name}].serves[version] {
		schema, err := of.get()
		if err != nil || schema == nil || schema.defaults*nodes(object) > maxWork {
			return object
		}
		made := with(schema)
		if out != nil && !reflect.DeepEqual(out, made) {
			return object
		}
		out = made
	}
	return out
}

// look returns the violations that the API server finds, in the order of its steps
// (k8s.io/apiextensions-apiserver/pkg/registry/customresource).
func (s *schema) look(ctx context.Context, object, old map[string]any) (found []Violation, err error) {
	defer func() {
		if r := recover(); r != nil {
			found, err = nil, errors.New("the object cannot be validated against its definition")
		}
	}()
	if n, paths := size(object, 0); s.defaults*n > maxWork || s.choices*n > maxChoices || n > maxValues ||
		n*paths > maxCompared {
		return nil, errors.New("it and the object are too large")
	}
	o, unknown := s.read(object)
	var was any
	if old != nil && s.defaults*nodes(old) <= maxWork {
		was, _ = s.read(old)
	}
	for _, path := range unknown[:min(len(unknown), maxLooked)] {
		if v, ok := s.unknown(object, path); ok {
			found = append(found, v)
		}
	}
	errs := validation.ValidateCustomResource(nil, o, s.validator)
	errs = append(errs, objectmeta.Validate(ctx, nil, o, s.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, o)...)
	if n, _, err := unstructured.NestedInt64(o, strings.Split(strings.TrimPrefix(s.of.scaled, "."), ".")...); err == nil && n < 0 {
		errs = append(errs, field.Invalid(field.NewPath(strings.TrimPrefix(s.of.scaled, ".")), n, "should be a non-negative integer"))
	}
	if len(errs) == 0 && s.rules != nil { // rules may rely on a valid object
		errs, _ = s.rules.Validate(ctx, nil, s.structural, o, was, celconfig.RuntimeCELCostBudget)
		errs = slices.DeleteFunc(errs, func(e *field.Error) bool {
			unusable := e.Type == field.ErrorTypeInternal || strings.HasPrefix(e.Detail, "rule compile error")
			if unusable && err == nil {
				err = fmt.Errorf("a rule of it cannot be used: %s", ClipTo(maxWords, firstLine(e.Detail)))
			}
			return unusable
		})
	}
	slices.SortFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Detail, b.Detail))
	})
	for _, e := range errs[:min(len(errs), maxLooked)] {
		if v := violation(object, e); !slices.Contains(found, v) && !open(object, v.Pointer, e) {
			found = append(found, v)
		}
	}
	if s.of.status {
		found = slices.DeleteFunc(found, func(v Violation) bool {
			_, set := jsonpointer.Below(v.Pointer, "/status")
			return set // by the cluster
		})
	}
	slices.SortStableFunc(found, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	return found[:min(len(found), most)], err
}

// maxLooked is the number of errors of one object that are processed, in the order of their fields. maxWords is the
// maximum length of a message in bytes.
const (
	maxLooked = 4 * most
	maxWords  = 300
)

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// read returns an object as the API server reads it: without unknown fields, whose paths it returns, without disallowed
// nulls, and with defaults.
func (s *schema) read(object map[string]any) (o map[string]any, unknown []string) {
	o = s.taken(object)
	if s.prunes {
		unknown = pruning.PruneWithOptions(o, s.structural, true, structural.UnknownFieldPathOptions{
			TrackUnknownFieldPaths: true})
		slices.Sort(unknown)
	}
	return s.filled(o), unknown
}

// taken returns a copy of what the API server takes from a manifest: everything but the status, if it has its own requests.
func (s *schema) taken(object map[string]any) map[string]any {
	o := jsonpointer.Copy(object, numberOf).(map[string]any)
	if s.of.status {
		delete(o, "status")
	}
	return o
}

// filled adds the defaults to an object and returns it.
func (s *schema) filled(o map[string]any) map[string]any {
	if s.prunes || s.of.part {
		defaulting.PruneNonNullableNullsWithoutDefaults(o, s.structural)
	}
	defaulting.Default(o, s.structural)
	return o
}

// unknown returns the violation for a pruned field. ok is false if its path leads to no field, since its key is none
// that anybody would write.
func (s *schema) unknown(object map[string]any, path string) (v Violation, ok bool) {
	tokens := resolve(object, path)
	in := s.structural
	for _, token := range tokens[:len(tokens)-1] {
		if in == nil {
			break
		}
		if property, ok := in.Properties[token]; ok {
			in = &property
		} else if in.AdditionalProperties != nil {
			in = in.AdditionalProperties.Structural
		} else {
			in = in.Items
		}
	}
	name := tokens[len(tokens)-1]
	message, near := fmt.Sprintf("%q is not a field in the definition of %v", Clip(name), object["kind"]), ""
	if in != nil {
		if _, known := in.Properties[name]; known {
			return v, false
		}
		near = policy.Nearest(name, slices.Sorted(maps.Keys(in.Properties)))
	}
	return Violation{Foreign: true, Pointer: pointer(tokens), Message: withEffect(message, near, dropped)}, true
}

// open reports whether an error depends on values that are replaced before the cluster sees the object.
func open(object map[string]any, pointer string, e *field.Error) bool {
	return e.Type != field.ErrorTypeRequired && FilledIn(jsonpointer.At(object, pointer))
}

// violation converts an error of the API server, and rewords it where our words are clearer.
func violation(object map[string]any, e *field.Error) Violation {
	detail := e.Detail
	if i := strings.LastIndex(detail, " in "); i >= 0 && e.Field == "<nil>" { // only its words name the field
		e.Field, detail = detail[i+len(" in "):], detail[:i]
	}
	v := Violation{Pointer: pointer(resolve(object, e.Field))}
	if path := strings.TrimPrefix(e.Field, "<nil>"); path != "" {
		detail = strings.TrimPrefix(detail, path+" in body ")
	}
	switch e.Type {
	case field.ErrorTypeRequired:
		v.Missing, v.Message = true, fmt.Sprintf("is missing: the definition of %v requires it", object["kind"])
		if detail != "" {
			v.Message += ": " + ClipTo(maxWords, detail)
		}
		return v
	case field.ErrorTypeNotSupported:
		v.Message = "has a value that is not one of the " + detail
	case field.ErrorTypeTypeInvalid:
		must, is, _ := strings.Cut(detail, ": ")
		v.Message = must + ", not " + strings.Trim(is, `"`)
	case field.ErrorTypeDuplicate:
		v.Message = "is there twice"
	default:
		v.Message = detail
	}
	v.Message = ClipTo(maxWords, strings.TrimSpace(v.Message)) + ": " + refused
	return v
}

// numberOf converts a number to the type that the API server reads. It returns other scalars as they are.
func numberOf(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return v
}
