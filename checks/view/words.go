package view

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// RuleName returns the name of a rule as its author wrote it, without the prefixes that Kyverno generates for pod
// controllers.
func RuleName(rule string) string {
	for _, prefix := range []string{"autogen-cronjob-", "autogen-"} {
		if name, ok := strings.CutPrefix(rule, prefix); ok && name != "" {
			return name
		}
	}
	return rule
}

// FieldName converts an RFC 6901 pointer to the form that people write: spec.containers[0].image, or
// metadata.labels["app.kubernetes.io/name"].
func FieldName(pointer string) string {
	return jsonpointer.Dotted("/" + strings.TrimPrefix(pointer, "/"))
}

// Reason returns the message of a rule without what Kyverno repeats in it: that a validation failed, the name of the
// rule, and the path.
func Reason(rule, message string) string {
	text := strings.TrimPrefix(strings.TrimPrefix(message, "validation failure: "), "validation error: ")
	if rule == "" {
		return text
	}
	text = strings.TrimPrefix(text, "Validation rule '"+rule+"' failed. ")
	name := "rule " + rule
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return text
		}
		i += at
		if boilerplate.MatchString(text[i+len(name):]) && (i == 0 || text[i-1] == ' ') {
			if text = strings.TrimSpace(text[:i]); text == "" {
				return "The object violates the rule " + RuleName(rule) + "."
			}
			return text
		}
		at = i + len(name)
	}
}

// boilerplate matches the text after the name of a rule with which Kyverno ends its messages.
var boilerplate = regexp.MustCompile(`^(\[\d+\])?( failed$| failed at path | failed: | skipped: )`)

// Title is "policy / rule", or the policy only if the rule has no name or the same name.
func Title(policy, rule string) string {
	if rule = RuleName(rule); rule == "" || rule == policy {
		return policy
	}
	return policy + " / " + rule
}

// Weight is severity and action: "high/enforce".
func Weight(f *report.Finding) string {
	if f.Severity == "" {
		return string(f.Action)
	}
	return f.Severity + "/" + string(f.Action)
}

// Exemption is "security/allow-web (exceptions/web.yaml): pending".
func Exemption(e *report.Exemption) string {
	words := e.Exception
	if e.Path != "" {
		words += " (" + ShortPath(e.Path) + ")"
	}
	words += ": " + string(e.State)
	if e.By != "" {
		words += " by " + e.By
	}
	return words
}

// Place is "path:line:column" with the known parts.
func Place(path string, line, column int) string {
	path = ShortPath(path)
	switch {
	case path == "":
		return "(no place in the sources)"
	case line <= 0:
		return path
	case column <= 0:
		return fmt.Sprintf("%s:%d", path, line)
	}
	return fmt.Sprintf("%s:%d:%d", path, line, column)
}

// KnownPlace is Place, or empty if the path is unknown.
func KnownPlace(path string, line, column int) string {
	if path == "" {
		return ""
	}
	return Place(path, line, column)
}

// PlaceOf returns the place of an origin, which may be nil.
func PlaceOf(o *report.Origin) string {
	o = cmp.Or(o, &report.Origin{})
	return Place(o.Path, o.StartLine, o.StartColumn)
}

// revision matches the commit in the address of a file of another git repository.
var revision = regexp.MustCompile(`^([^@]*://[^@]*@[0-9a-f]{10})[0-9a-f]{30}//`)

// ShortPath shortens such a commit in a path.
func ShortPath(path string) string { return revision.ReplaceAllString(path, "$1//") }
