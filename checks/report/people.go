package report

import (
	"fmt"
	"strconv"
	"strings"
)

// RuleName returns the name of a rule as its author wrote it: without what Kyverno puts before the names of the rules
// that it makes for pod controllers.
func RuleName(rule string) string {
	for _, prefix := range []string{"autogen-cronjob-", "autogen-"} {
		if name, ok := strings.CutPrefix(rule, prefix); ok && name != "" {
			return name
		}
	}
	return rule
}

// FieldName returns an RFC 6901 pointer as people write a field: spec.containers[0].image, or
// metadata.labels["app.kubernetes.io/name"].
func FieldName(pointer string) string {
	var b strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if strings.Contains(token, "~") {
			token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		}
		_, err := strconv.ParseUint(token, 10, 31)
		switch {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0 && strings.ContainsAny(token, "./[]\" \n"):
			fmt.Fprintf(&b, "[%q]", token)
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

// Reason returns the message of the finding without what Kyverno repeats in it: that a validation failed, the name of
// the rule, and the path.
func (f *Finding) Reason() string { return Reason(f.Rule, f.Message) }

// Reason is the message of a rule without what Kyverno repeats in it.
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
		if boilerplate(text[i+len(name):]) && (i == 0 || text[i-1] == ' ') {
			if text = strings.TrimSpace(text[:i]); text == "" {
				return "The object is not as the rule " + RuleName(rule) + " wants it."
			}
			return text
		}
		at = i + len(name)
	}
}

// boilerplate reports whether what stands behind the name of a rule is how Kyverno ends its messages.
func boilerplate(rest string) bool {
	if index, after, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(index, "[") {
		if _, err := strconv.Atoi(index[1:]); err == nil {
			rest = after
		}
	}
	return rest == " failed" || strings.HasPrefix(rest, " failed at path ") || strings.HasPrefix(rest, " failed: ") ||
		strings.HasPrefix(rest, " skipped: ")
}

// Advice returns the sentence that says what the rule asks of the field, "" where nothing is known.
func (f *Finding) Advice() string {
	s := f.Suggestion
	switch {
	case s == nil:
		return ""
	case s.Remove:
		return "remove " + FieldName(s.Field)
	case strings.Contains(s.YAML, "\n"):
		return "write " + FieldName(s.Field)
	}
	return "write " + FieldName(s.Field) + ": " + s.YAML
}

// Write returns what to write as lines: the edit of the source file as a difference where its lines are known, else
// the YAML at its place in the object. It is nil where nothing is known.
func (f *Finding) Write() []string {
	s := f.Suggestion
	switch {
	case s == nil:
		return nil
	case s.Diff != nil:
		return s.Diff.Lines()
	}
	return s.yaml()
}

// yaml is the value below the keys that lead to it, as much as people need to find the place.
func (s *Suggestion) yaml() []string {
	sign := "+"
	if s.Remove {
		sign = "-"
	}
	var out []string
	indent := ""
	tokens := strings.Split(strings.TrimPrefix(s.Field, "/"), "/")
	for i, token := range tokens {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if _, err := strconv.ParseUint(token, 10, 31); err == nil {
			if i == len(tokens)-1 {
				return append(out, s.lines(sign+indent+"- ", sign+indent+"  ")...)
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
			if strings.Contains(s.YAML, "\n") || strings.HasPrefix(s.YAML, "- ") || mapping(s.YAML) {
				out = append(out, strings.TrimSuffix(first, " "))
				return append(out, s.lines(sign+indent+"  ", sign+indent+"  ")...)
			}
			return append(out, s.lines(first, sign+indent+"  ")...)
		}
		out = append(out, " "+indent+token+":")
		indent += "  "
	}
	return out
}

// mapping reports whether YAML of one line is a key with a value.
func mapping(text string) bool {
	return strings.Contains(text, ": ") && !strings.HasPrefix(text, "\"") && !strings.HasPrefix(text, "'") &&
		!strings.HasPrefix(text, "{")
}

func (s *Suggestion) lines(first, rest string) (out []string) {
	if s.Remove {
		return []string{strings.TrimRight(first, " ")}
	}
	for i, row := range strings.Split(s.YAML, "\n") {
		if i == 0 {
			out = append(out, first+row)
		} else {
			out = append(out, rest+row)
		}
	}
	return out
}
