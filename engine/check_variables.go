package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// placeholder replaces a variable inside another one, since its value is not known yet.
const placeholder = "lintelvalue"

// innermost matches a variable that contains no other and is not escaped by a backslash; the second group is the
// expression.
var innermost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[^\\])\{\{-?((?:\{[^{}]*\}|[^{}])*)\}\}`) })

// ofUser matches a part of a request that only an admission review has: a background scan has no user
// (https://kyverno.io/docs/policy-types/cluster-policy/policy-settings/, "background").
var ofUser = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^.\w])(serviceAccountName|serviceAccountNamespace|request\.(?:userInfo|roles|clusterRoles))\b`)
})

// names are the variables that are defined at some point of a rule.
type names map[string]bool

var predefined = names{"request": true, "images": true, "serviceAccountName": true, "serviceAccountNamespace": true}

func (n names) with(more ...string) names {
	out := maps.Clone(n)
	for _, name := range more {
		out[name] = true
	}
	return out
}

// variables reports the variables of a rule that are neither predefined nor defined earlier by its context
// (https://kyverno.io/docs/policy-types/cluster-policy/variables/), and, in a policy for background scans, variables
// about the user.
func (c *checker) variables(at string, r *policy.Rule) {
	c.userless = c.background && (r.Mutate == nil || r.Mutate.Targets == nil)
	known := predefined.with()
	if r.Mutate != nil && r.Mutate.Targets != nil {
		known["target"] = true
	}
	known = c.context(at+"/context", r.Context, known)
	c.strings(at+"/preconditions", known)
	if v := r.Validate; v != nil {
		// It may use the context of each foreach. Kyverno refuses an element in it (variables.ValidateElementInForEach).
		message := known.with()
		for depth, list := 0, v.ForEach; len(list) > 0 && depth <= maxForEach; depth++ {
			var next []policy.ForEach
			for _, f := range list {
				for _, e := range f.Context {
					message[root(e.Name)] = true
				}
				next = append(next, f.ForEach...)
			}
			list = next
		}
		c.strings(at+"/validate/message", message)
		for _, part := range []string{"pattern", "anyPattern", "deny"} {
			c.strings(at+"/validate/"+part, known)
		}
		c.validations(at+"/validate", v.ForEach, known, 0)
	}
	if m := r.Mutate; m != nil {
		// Targets may have a context of their own, whose entries the patches can use.
		targets, _ := m.Targets.([]any)
		for _, t := range targets {
			t, _ := t.(map[string]any)
			list, _ := t["context"].([]any)
			for _, e := range list {
				e, _ := e.(map[string]any)
				if name, ok := e["name"].(string); ok {
					known = known.with(root(name))
				}
			}
		}
		c.strings(at+"/mutate/patchStrategicMerge", known)
		c.strings(at+"/mutate/patchesJson6902", known)
		c.mutations(at+"/mutate", m.ForEach, known, 0)
	}
}

func root(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return strings.Trim(name, `"`)
}

// inElement returns the names with those that a foreach at a depth (from 0) defines.
func (c *checker) inElement(known names, depth int) names {
	out := known.with("element", "elementIndex")
	for i := range depth + 1 {
		out["element"+strconv.Itoa(i)] = true
		out["elementIndex"+strconv.Itoa(i)] = true
	}
	return out
}

// forEach checks an entry of a foreach, whose own variables the parts of it may use, and returns the names in them.
func (c *checker) forEach(at, list string, entries []policy.ContextEntry, known names, depth int, parts ...string) names {
	c.expression(at+"/list", list, known)
	known = c.context(at+"/context", entries, c.inElement(known, depth))
	for _, part := range parts {
		c.strings(at+"/"+part, known)
	}
	return known
}

func (c *checker) validations(at string, list []policy.ForEach, known names, depth int) {
	for i, f := range list {
		if here := fmt.Sprintf("%s/foreach/%d", at, i); depth <= maxForEach {
			inside := c.forEach(here, f.List, f.Context, known, depth, "preconditions", "pattern", "anyPattern", "deny")
			c.validations(here, f.ForEach, inside, depth+1)
		}
	}
}

func (c *checker) mutations(at string, list []policy.ForEachMutation, known names, depth int) {
	for i, f := range list {
		if here := fmt.Sprintf("%s/foreach/%d", at, i); depth <= maxForEach {
			inside := c.forEach(here, f.List, f.Context, known, depth, "preconditions", "patchStrategicMerge", "patchesJson6902")
			c.mutations(here, f.ForEach, inside, depth+1)
		}
	}
}

// reserved are the names that context entries cannot have
// (https://kyverno.io/docs/policy-types/cluster-policy/external-data-sources/).
var reserved = []string{"images", "request", "serviceAccountName", "serviceAccountNamespace", "element", "elementIndex"}

// context checks the entries in their order: each may use those before it.
func (c *checker) context(at string, list []policy.ContextEntry, known names) names {
	for i, e := range list {
		here := fmt.Sprintf("%s/%d", at, i)
		if slices.Contains(reserved, root(e.Name)) {
			c.bad(here+"/name", "the context entry cannot be called %q, which is predefined: rename it", e.Name)
		}
		for _, part := range []string{"variable", "configMap", "apiCall", "globalReference", "imageRegistry"} {
			c.strings(here+"/"+part, known)
		}
		c.source(here, e)
		if v := e.Variable; v != nil && v.Value == nil {
			c.expression(here+"/variable/jmesPath", v.JMESPath, known)
		}
		known = known.with(root(e.Name))
	}
	return known
}

// source checks the source of an entry.
func (c *checker) source(at string, e policy.ContextEntry) {
	if v := e.Variable; v != nil && v.Default != nil && v.JMESPath == "" {
		c.bad(at+"/variable/default", "the default of %q is never used: it replaces only the result of a jmesPath "+
			"that finds nothing",
			e.Name)
	}
	if m := e.ConfigMap; m != nil && m.Name != "" && m.Namespace == "" {
		c.bad(at+"/configMap", "the configMap of %q has no namespace: add it", e.Name)
	}
	if a := e.APICall; a != nil && a.URLPath != "" && a.Service != nil {
		c.bad(at+"/apiCall/urlPath", "the apiCall of %q has both urlPath and service: keep one", e.Name)
	}
}

// expression checks a field that is an expression as a whole. The variables in it are checked by strings.
func (c *checker) expression(at, source string, known names) {
	if source == "" || strings.Contains(source, "{{") {
		return
	}
	line, column := c.doc.TextPosition(at, 1, 1)
	c.reads(source, line, column, known, false)
}

// strings checks all variables in a part of the rule.
func (c *checker) strings(at string, known names) {
	walkStrings(jsonpointer.At(c.tree, at), at, func(pointer, s string) {
		if strings.Contains(s, "{{") {
			c.templates(pointer, s, known)
		}
	})
}

// templates checks the variables of one string, the innermost first.
func (c *checker) templates(pointer, s string, known names) {
	text, at := s, 0
	for range 1000 {
		m := innermost().FindStringSubmatchIndex(text[at:])
		if m == nil {
			if at == 0 {
				return
			}
			at = 0 // what stood inside is known now: look for what it stood in
			if !innermost().MatchString(text) {
				return
			}
			continue
		}
		source := strings.TrimSpace(text[at+m[4] : at+m[5]])
		// The position is that in the string as written, which may differ after the first variable.
		offset := strings.Index(s, text[at+m[3]:at+m[1]])
		before := s[:max(offset, 0)]
		line, column := c.doc.TextPosition(pointer, 1+strings.Count(before, "\n"),
			1+len(before)-(strings.LastIndexByte(before, '\n')+1))
		c.reads(source, line, column, known, strings.Contains(source, placeholder))
		text = text[:at+m[3]] + placeholder + text[at+m[1]:]
		at += m[3]
	}
}

// reads checks which variables one expression reads. A dynamic one contains the values of other variables, so its text
// may be no valid expression yet.
func (c *checker) reads(source string, line, column int, known names, dynamic bool) {
	report := func(warning bool, format string, args ...any) {
		c.problems = append(c.problems, policy.Problem{Path: c.doc.Path, Line: line, Column: column, Warning: warning,
			Message: fmt.Sprintf(format, args...)})
	}
	if c.userless {
		if m := ofUser().FindStringSubmatch(source); m != nil {
			report(false, "%s is not available in a background scan, which this policy allows: set spec.background "+
				"to false", m[1])
		}
	}
	e, err := jmespath.Compile(source)
	if err != nil {
		return // reported where it is compiled, or not known yet
	}
	for _, name := range e.Roots() {
		if name == "@" || name == placeholder || known[name] || dynamic && strings.Contains(name, placeholder) {
			continue
		}
		message := fmt.Sprintf("the variable %q is not defined here", name)
		if name == "" {
			report(true, "in an expression \"\" is a field without a name: write '' for empty text")
			continue
		}
		switch near := policy.Nearest(name, slices.Collect(maps.Keys(known))); {
		case near != "":
			message += fmt.Sprintf(": did you mean %q?", near)
		case strings.HasPrefix(name, "element"):
			message += ": it exists inside of foreach only"
		default:
			message += ": add it to the context, before its first use"
		}
		// With || an expression continues if a name is missing, so the rule can still be evaluated.
		report(strings.Contains(source, "||"), "%s", message)
	}
}
