package helm

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/lintel-bot/lintel/render/env"
)

// schemas caches the compiled schemas of a chart and of its subcharts, by their first byte.
type schemas struct{ kept env.Memo[*byte, *schema] }

type schema struct {
	compiled *jsonschema.Schema
	outside  bool // refers to other documents
}

// validate checks the values against the schemas of a chart and of its subcharts, like Helm, which compiles them each
// time. Schemas that refer to other documents are removed from the chart and returned: Helm would fetch these, or read
// local files.
func (s *schemas) validate(c *chart.Chart, values map[string]any) (skipped []string, _ error) {
	skipped = s.leaveOut(c)
	if refused := s.refused(c, values, nil, ""); refused != nil {
		return nil, refused
	}
	return skipped, nil
}

func (s *schemas) leaveOut(c *chart.Chart) (skipped []string) {
	if c.Schema != nil && s.of(c.Schema).outside {
		c.Schema = nil
		skipped = append(skipped, c.ChartFullPath())
	}
	for _, d := range c.Dependencies() {
		skipped = append(skipped, s.leaveOut(d)...)
	}
	return skipped
}

func (s *schemas) of(text []byte) *schema {
	if len(text) == 0 {
		return &schema{}
	}
	return s.kept.Get(&text[0], func() *schema { return compileSchema(text) })
}

// compileSchema compiles a schema like Helm, but without access to other documents.
func compileSchema(text []byte) *schema {
	s := &schema{}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return s
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{"file": denied{s}, "http": denied{s}, "https": denied{s},
		"urn": anything{}})
	const name = "file:///values.schema.json"
	if err := compiler.AddResource(name, document); err == nil {
		s.compiled, _ = compiler.Compile(name)
	}
	return s
}

// denied loads nothing, and records the attempt.
type denied struct{ schema *schema }

// Load implements jsonschema.URLLoader.
func (d denied) Load(string) (any, error) {
	d.schema.outside = true
	return nil, errors.New("nothing is fetched")
}

// anything is the schema that Helm uses for a urn.
type anything struct{}

// Load implements jsonschema.URLLoader.
func (anything) Load(string) (any, error) { return true, nil }

// refused returns what the schemas reject, without values; nil: nothing.
func (s *schemas) refused(c *chart.Chart, values map[string]any, at []string, folder string) *Error {
	if c.Schema != nil {
		if e := s.of(c.Schema).refused(values, at); e != nil {
			e.Cause, e.File = CauseSchema, path.Join(folder, "values.schema.json")
			return e
		}
	}
	for _, d := range c.Dependencies() {
		switch below := values[d.Name()].(type) {
		case nil:
		case map[string]any:
			e := s.refused(d, below, append(slices.Clone(at), d.Name()), path.Join(folder, "charts", d.Name()))
			if e != nil {
				return e
			}
		default:
			return &Error{Cause: CauseValues, Message: "has values for the subchart " + d.Name() + " that are not a mapping",
				Paths: [][]string{append(slices.Clone(at), d.Name())}}
		}
	}
	return nil
}

func (s *schema) refused(values map[string]any, at []string) (e *Error) {
	if s.compiled == nil {
		return &Error{Message: "is not a JSON schema"}
	}
	const message = "does not allow the values"
	defer func() {
		if recover() != nil { // as in Helm
			e = &Error{Message: message}
		}
	}()
	err := s.compiled.Validate(values)
	if err == nil {
		return nil
	}
	e = &Error{Message: message}
	refused, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return e
	}
	var words []string
	for _, leaf := range leaves(refused, nil) {
		where := slices.Concat(at, leaf.InstanceLocation)
		e.Paths = append(e.Paths, append(slices.Clone(where), named(leaf.ErrorKind)...))
		if len(words) < 5 {
			words = append(words, strings.TrimSpace(strings.Join(where, ".")+" "+wish(leaf.ErrorKind)))
		}
	}
	e.Message = message + ": " + sentence(strings.Join(words, "; "))
	return e
}

// leaves returns the innermost errors, with those of all alternatives.
func leaves(e *jsonschema.ValidationError, into []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return append(into, e)
	}
	for _, cause := range e.Causes {
		into = leaves(cause, into)
	}
	return into
}

// named returns the key below a refused map that it lacks, or does not take.
func named(of jsonschema.ErrorKind) []string {
	switch k := of.(type) {
	case *kind.Required:
		return k.Missing[:1]
	case *kind.AdditionalProperties:
		return k.Properties[:1]
	}
	return nil
}

// wish describes what a schema requires, without the value.
func wish(of jsonschema.ErrorKind) string {
	switch k := of.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s and is %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Required:
		return "lacks " + strings.Join(k.Missing, ", ")
	case *kind.AdditionalProperties:
		return "does not take " + strings.Join(k.Properties, ", ")
	case *kind.Enum:
		return fmt.Sprintf("must be one of %v", k.Want)
	case *kind.Const:
		return fmt.Sprintf("must be %v", k.Want)
	case *kind.Pattern:
		return "must match " + k.Want
	case *kind.Format:
		return "must have the format " + k.Want
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.FalseSchema:
		return "is not allowed"
	}
	return "violates " + strings.Join(of.KeywordPath(), "/")
}
