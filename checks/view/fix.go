package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Fix is a suggested fix: the edit of the source file as a difference if its lines are known, otherwise the YAML to
// write below its keys.
type Fix struct {
	Rows    []string // each after a space, a minus or a plus
	Example bool     // other values are allowed, too
	Shared  string   // a warning that the edit may change other roots; empty where it changes none
	Path    string   // with Line, if the lines of the source are known
	Line    int
}

// Words is the line above a fix, beginning with the verb.
func (x *Fix) Words(verb string) string {
	if x.Example {
		verb += ", for example"
	}
	if x.Shared != "" {
		verb += ", " + x.Shared
	}
	return verb
}

func sharedWords(s *report.Suggestion) string {
	const few = 3
	names := strings.Join(s.SharedWith[:min(len(s.SharedWith), few)], ", ")
	if s.Shared > few {
		names += fmt.Sprintf(" and %d more", s.Shared-few)
	}
	return "in a file that is also part of " + names
}

// FixOf returns the suggested fix of a finding. It is nil if none is known, or if an exception covers the finding or
// may do so.
func FixOf(f *report.Finding) *Fix {
	s := f.Suggestion
	if state := StateOf(f); s == nil || state == Pending || state == Excepted {
		return nil
	}
	x := &Fix{Example: s.Example}
	if s.Shared > 0 {
		x.Shared = sharedWords(s)
	}
	switch {
	case s.Diff != nil && f.Origin != nil:
		x.Rows, x.Path, x.Line = s.Diff.Lines(), f.Origin.Path, s.Diff.Line
	case f.Origin != nil && f.Origin.Set != nil:
		// No fix if the value of the chart does not follow from the field.
		if keys, text, ok := ChartValue(f); ok {
			x.Rows = yamlRows(keys, text, false)
		}
	case renderedElsewhere(f):
	default:
		x.Rows = yamlRows(slices.Collect(jsonpointer.Tokens(s.Field)), s.YAML, s.Remove)
		if n := len(x.Rows) - 1; n >= 0 && written(f.Origin, s.Was) { // the new value takes the place of the old one
			if key, ok := strings.CutSuffix(x.Rows[n], s.YAML); ok && strings.HasPrefix(key, "+") && !strings.Contains(s.Was, "\n") {
				x.Rows = slices.Insert(x.Rows, n, "-"+key[1:]+s.Was)
			}
		}
	}
	if x.Rows == nil {
		return nil
	}
	return x
}

// ChartValue converts a suggestion to the values of a chart, if one value sets the field and no file sets it. It
// returns the keys of the value and its YAML, and false if the value does not follow from the field.
func ChartValue(f *report.Finding) (keys []string, yaml string, ok bool) {
	s, o := f.Suggestion, f.Origin
	if s == nil || o == nil || len(o.Set) == 0 || s.Remove {
		return nil, "", false
	}
	if o.Switch != nil {
		return slices.Clone(o.Set), strconv.FormatBool(*o.Switch), true
	}
	// The value has the name of the field or of one of its parents, as args for the first of args.
	rest, last := slices.Collect(jsonpointer.Tokens(s.Field)), o.Set[len(o.Set)-1]
	if !slices.Contains(rest, last) {
		below, inside := jsonpointer.Below(s.Field, f.Field)
		if !inside {
			return nil, "", false
		}
		rest = slices.Collect(jsonpointer.Tokens(below))
	}
	for i := slices.Index(rest, last); i >= 0; i = slices.Index(rest, last) {
		rest = rest[i+1:]
	}
	for _, token := range rest {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil && token != "0" {
			return nil, "", false // a list is set as a whole
		}
	}
	return slices.Concat(o.Set, rest), s.YAML, true
}

// written reports whether a value is written at a place, quoted or not, and is not a default, an alias or another
// spelling of what is written.
func written(o *report.Origin, value string) bool {
	if value == "" || o == nil {
		return value != ""
	}
	width, length := o.EndColumn-o.StartColumn, utf8.RuneCountInString(value)
	return o.Missing == "" && o.StartLine == o.EndLine && (width == length || width == length+2)
}

// FixWords returns the fix of the field itself and the advice in one line; "" if neither is known.
func FixWords(f *report.Finding) string {
	s, advice := f.Suggestion, FixInstruction(f)
	if FixOf(f) == nil || f.Origin != nil && f.Origin.Set != nil {
		return advice
	}
	words := "write " + FieldName(s.Field)
	switch {
	case s.Remove:
		words = "remove " + FieldName(s.Field)
	case !strings.Contains(s.YAML, "\n"):
		words += ": " + s.YAML
	}
	if advice != "" {
		words += "; " + advice
	}
	return words
}

// renderedElsewhere reports whether a suggestion is for the output of a template, while the place is the value that the
// template prints. If the lines to edit are unknown, the YAML of the rendered object does not fit there.
func renderedElsewhere(f *report.Finding) bool {
	o := f.Origin
	return f.Suggestion != nil && f.Suggestion.Diff == nil && o != nil && o.Set == nil && o.Advice == "" &&
		(o.How == report.Identity || o.How == report.Writer) &&
		slices.ContainsFunc(o.Chain, func(p report.Place) bool { return p.Role == "template" && p.Path != o.Path })
}

// yamlRows returns a value below its keys, with as many keys as people need to find the place.
func yamlRows(tokens []string, text string, remove bool) []string {
	sign := "+"
	if remove {
		sign = "-"
	}
	lines := func(first, rest string) (out []string) {
		if remove {
			return []string{strings.TrimRight(first, " ")}
		}
		for i, row := range strings.Split(text, "\n") {
			if i > 0 {
				first = rest
			}
			out = append(out, first+row)
		}
		return out
	}
	var out []string
	indent := ""
	for i, token := range tokens {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil {
			if i == len(tokens)-1 {
				return append(out, lines(sign+indent+"- ", sign+indent+"  ")...)
			}
			out = append(out, " "+indent+"- # element "+token)
			indent += "  "
			continue
		}
		if strings.ContainsAny(token, ": #{}[]\"'\n") {
			token = strconv.Quote(token)
		}
		if i == len(tokens)-1 {
			first := sign + indent + token + ": "
			if strings.Contains(text, "\n") || strings.HasPrefix(text, "- ") || mapping(text) {
				out = append(out, strings.TrimSuffix(first, " "))
				return append(out, lines(sign+indent+"  ", sign+indent+"  ")...)
			}
			return append(out, lines(first, sign+indent+"  ")...)
		}
		out = append(out, " "+indent+token+":")
		indent += "  "
	}
	return out
}

// mapping reports whether a line of YAML is a key with a value.
func mapping(text string) bool {
	return strings.Contains(text, ": ") && !strings.HasPrefix(text, "\"") && !strings.HasPrefix(text, "'") &&
		!strings.HasPrefix(text, "{")
}
