package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The limits of a schema. The API server stores no object of more than 1.5 MB, and a schema within the limits takes
// less than some seconds.
const (
	maxNodes     = 200_000 // values in the schema
	maxDepth     = 100     // of the schema's maps and lists
	maxRules     = 1_000   // CEL rules
	maxRuleBytes = 512 << 10
	maxPatterns  = 1_000_000 // steps in all patterns
	maxWork      = 5_000_000 // values in defaults times values in the object
	maxChoices   = 2_000_000 // values in one anyOf, oneOf or allOf, times values in the object
	// All values of an object may be wrong. The API server's code compares each error, which contains the path of its
	// value, with all others.
	maxValues   = 20_000  // values in the object
	maxCompared = 1 << 36 // values times the bytes of all paths
)

// schema is a compiled schema. It is immutable.
type schema struct {
	structural *structural.Structural
	prunes     bool
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil if there are none
	defaults   int            // values in all defaults
	choices    int            // values in the largest of anyOf, oneOf and allOf
	compares   bool           // a rule compares with the old object
	of         *schemaOf
}

// get compiles the schema when it is first used. It is nil if there is none.
func (s *schemaOf) get() (*schema, error) {
	s.once.Do(func() {
		if s.source != nil {
			s.schema, s.err = compile(s)
		}
		s.source = nil
	})
	return s.schema, s.err
}

// structuralProblem returns why the API server rejects a schema (openAPIV3Schema), nil if no reason is known. No reason
// is known for a schema beyond our limits. It does not check CEL rules.
func structuralProblem(source any) error {
	_, _, err := parse(source, newCount())
	if errors.As(err, new(tooLarge)) {
		return nil
	}
	return err
}

// tooLarge is the error that a schema exceeds one of our limits.
type tooLarge string

// Error implements error.
func (e tooLarge) Error() string { return "the schema " + string(e) }

// compile compiles a schema. The API server's code expects schemas that passed its validation; if it panics for another
// one, that is an error.
func compile(of *schemaOf) (out *schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, errUnreadable
		}
	}()
	counted := newCount()
	props, s, err := parse(of.source, counted)
	if err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(s); err != nil {
		return nil, fmt.Errorf("the defaults of the schema do not satisfy the schema: %w", err)
	}
	var converted spec.Schema
	if err := validation.ConvertJSONSchemaPropsWithPostProcess(props, &converted, formatsOf(of.minor)); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	return &schema{structural: s, prunes: !of.unknown, validator: validation.NewSchemaValidatorFromOpenAPI(&converted),
		defaults: counted.defaults, choices: counted.choices, compares: counted.compares, of: of,
		rules: cel.NewValidator(s, true, celconfig.PerCallLimit)}, nil
}

// numberFormats is the minor version of Kubernetes that first checked the formats of numbers in custom resources.
const numberFormats = 36

// formatsOf returns a function that removes the formats which a version of Kubernetes does not check; 0: the newest one.
func formatsOf(minor int) validation.PostProcessFunc {
	if minor == 0 {
		minor = all().last
	}
	strip := validation.StripUnsupportedFormatsPostProcessorForVersion(version.MajorMinor(1, uint(minor)))
	return func(s *spec.Schema) error {
		if minor < numberFormats && (s.Type.Contains("integer") || s.Type.Contains("number")) {
			s.Format = ""
		}
		return strip(s)
	}
}

var errUnreadable = errors.New("the schema cannot be read")

// parse reads a schema and counts its parts.
func parse(source any, counted *count) (props *apiextensions.JSONSchemaProps, s *structural.Structural, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errUnreadable
		}
	}()
	if err := counted.walk(source, 0); err != nil {
		return nil, nil, err
	}
	data, err := json.Marshal(source)
	if err != nil {
		return nil, nil, errUnreadable
	}
	var written apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &written); err != nil {
		return nil, nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	props = &apiextensions.JSONSchemaProps{}
	convert := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps
	if err := convert(&written, props, nil); err != nil {
		return nil, nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	if s, err = structural.NewStructural(props); err != nil {
		return nil, nil, fmt.Errorf("the schema is not structural: %w", err)
	}
	if errs := structural.ValidateStructural(field.NewPath("openAPIV3Schema"), s); len(errs) > 0 {
		return nil, nil, fmt.Errorf("the schema is not structural: %w", errs[0])
	}
	return props, s, nil
}

// count counts the parts of a schema, which are limited.
type count struct {
	nodes, rules, ruleBytes, steps int
	defaults                       int             // values in all defaults
	choices                        int             // values in the largest of anyOf, oneOf and allOf
	compares                       bool            // a rule compares with the old object
	patterns                       map[string]bool // patterns that were counted, since each is compiled once
}

func newCount() *count { return &count{patterns: map[string]bool{}} }

func (c *count) walk(v any, depth int) error {
	if c.nodes++; c.nodes > maxNodes {
		return tooLarge(fmt.Sprintf("has more than %d values", maxNodes))
	}
	if depth > maxDepth {
		return tooLarge(fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	switch v := v.(type) {
	case map[string]any:
		if rule, ok := v["rule"].(string); ok {
			c.rules++
			c.compares = c.compares || strings.Contains(rule, "oldSelf")
			if c.ruleBytes += len(rule); c.rules > maxRules || c.ruleBytes > maxRuleBytes {
				return tooLarge(fmt.Sprintf("has more than %d rules, or rules of more than %d bytes", maxRules, maxRuleBytes))
			}
		}
		if pattern, ok := v["pattern"].(string); ok && !c.patterns[pattern] {
			c.patterns[pattern] = true
			if re, err := syntax.Parse(pattern, syntax.Perl); err == nil { // otherwise the schema is rejected for the pattern
				c.steps += steps(re)
			}
			if c.steps > maxPatterns {
				return tooLarge(fmt.Sprintf("has patterns of more than %d steps", maxPatterns))
			}
		}
		if d, ok := v["default"]; ok {
			c.defaults += nodes(d)
		}
		for _, of := range []string{"anyOf", "oneOf", "allOf"} {
			if list, ok := v[of].([]any); ok && len(list) > 1 {
				c.choices = max(c.choices, nodes(list))
			}
		}
		for _, child := range v {
			if err := c.walk(child, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range v {
			if err := c.walk(child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// steps estimates the size of a pattern's program, in which repeated parts are repeated.
func steps(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, part := range re.Sub {
		n += steps(part)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return n
}

// nodes counts the values in a value.
func nodes(v any) int {
	n, _ := size(v, 0)
	return n
}

// size counts the values in a value, and the bytes of all of their paths. at is the length of the value's own path.
func size(v any, at int) (n, paths int) {
	n, paths = 1, at
	add := func(child any, key int) {
		more, bytes := size(child, at+key)
		n, paths = n+more, paths+bytes
	}
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			add(child, len(key)+1)
		}
	case []any:
		for _, child := range v {
			add(child, 8)
		}
	}
	return n, paths
}
