package render

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/trial"
)

// otherTexts replace the placeholder of an unknown value in a second rendering. The first is a number, so that the
// result of the function int differs, too. The others are for charts that reject a number, or a short text.
var otherTexts = []string{"30711", "another", "another-text-that-is-as-long-as-passwords-are-0123456789"}

// unsure adds an issue to fields that depend on unknown values. These are the fields with a placeholder, and those that
// differ when another text replaces the placeholder, like encoded texts, checksums and numbers.
func (s *release) unsure(ctx context.Context, list []*Resource) []doc.Error {
	if !slices.ContainsFunc(s.values.Unknown, func(u gitops.Unknown) bool { return u.Path != nil }) {
		return nil
	}
	message := "depends on a value that only the cluster has" + s.reason()
	for _, res := range list {
		for _, f := range res.Fields() {
			if f.Scalar() && strings.Contains(f.Node.Value, gitops.PlaceholderPrefix) {
				res.unknown(f.Pointer, message)
			}
		}
	}
	var again *Rendering
	for _, text := range otherTexts {
		values, _ := replaced(s.options.Values, text).(map[string]any)
		out, err := s.trial.Try(ctx, trial.Edit{Values: values, AnyValues: true}) // validation is off: only the effect of the text matters
		if err != nil {
			continue
		}
		other := *s
		other.output = out
		one := &Rendering{}
		if problems, err := other.resources(one); err == nil && (len(problems) == 0 || one.Resources != nil) {
			again = one
			break
		}
	}
	at := s.spec.Chart.Where
	said := func(message string) []doc.Error {
		return []doc.Error{{Path: at.Path, Line: at.Line, Column: at.Column, Unknown: true, Message: message}}
	}
	switch {
	case again == nil && len(list) == 0:
		return nil // the problems of the first rendering are reported
	case again == nil:
		return said("the chart does not render with another text for a value that only the cluster has" + s.reason() + ". " +
			"What depends on it is checked as if it were known")
	case len(again.Resources) != len(list):
		return said("which resources the chart prints " + message)
	}
	for i, res := range list {
		differences(res.Object, again.Resources[i].Object, "", func(pointer string) { res.unknown(pointer, message) })
	}
	return nil
}

// reason returns why the values are unknown, if there is only one reason.
func (s *release) reason() string {
	reason := ""
	for _, u := range s.values.Unknown {
		if reason != "" && u.Reason != reason {
			return ""
		}
		reason = u.Reason
	}
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// unknown adds an issue for an unknown value of a field, once.
func (r *Resource) unknown(pointer, message string) {
	if !slices.ContainsFunc(r.Issues, func(i Issue) bool { return i.Value && i.Pointer == pointer }) {
		r.Issues = append(r.Issues, Issue{Check: ControllerUnknown, Pointer: pointer, Message: message, Value: true})
	}
}

// placeholders matches what stands for unknown values.
var placeholders = regexp.MustCompile(gitops.PlaceholderPrefix + "[-a-z0-9]*")

// replaced returns values in which a text replaces each placeholder.
func replaced(v any, text string) any {
	return doc.MapLeaves(v, func(v any) any {
		if s, ok := v.(string); ok {
			return placeholders.ReplaceAllLiteralString(s, text)
		}
		return v
	})
}

// differences calls found for each field in which two values differ. Where maps or lists have different keys or
// lengths, it is the map or list.
func differences(a, b any, pointer string, found func(pointer string)) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || !slices.Equal(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y))) {
			found(pointer)
			return
		}
		for k, value := range x {
			differences(value, y[k], fmt.Sprint(pointer, "/", jsonpointer.Escape(k)), found)
		}
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			found(pointer)
			return
		}
		for i, value := range x {
			differences(value, y[i], pointer+"/"+strconv.Itoa(i), found)
		}
	default:
		if !reflect.DeepEqual(a, b) {
			found(pointer)
		}
	}
}
