package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
)

// fixRefused returns a change after which the API server has nothing against a field any more, and nothing new against
// another one. Of what it does not let change, it is the value that the object has: nobody is made to go back to it.
func (f *apiFacts) fixRefused(ctx context.Context, s Deployed, pointer string) (out engine.SuggestedFix) {
	said := f.asked(ctx, s)
	if slices.ContainsFunc(said.Fixed, func(v schema.Violation) bool { return v.Pointer == pointer }) {
		if was := scalar(jsonpointer.At(s.Old.Object, pointer)); was != "" && s.Object["kind"] != "Secret" {
			out.Requirement = was + ", as the existing object has it"
		}
		return out
	}
	if !slices.ContainsFunc(said.Refused, func(v schema.Violation) bool { return v.Pointer == pointer }) {
		return out // a declared object has something against it, which no change is tried against
	}
	was := slices.DeleteFunc(slices.Concat(said.Refused, said.Fixed), func(v schema.Violation) bool { return v.Pointer == pointer })
	for _, change := range candidates(s, pointer) {
		if f.takes(ctx, s, change, was) {
			out.Change = &change
			return out
		}
	}
	return out
}

// takes reports whether a change can be made, and the API server then has nothing against the object but what it had before.
func (f *apiFacts) takes(ctx context.Context, s Deployed, change engine.Change, was []schema.Violation) bool {
	fixed, ok := change.Apply(s.applied(s.Resource))
	if !ok {
		return false
	}
	s.Resource, s.said = render.NewResource(fixed, nil), nil
	now := f.asked(ctx, s)
	return !slices.ContainsFunc(slices.Concat(now.Refused, now.Fixed), func(v schema.Violation) bool {
		return !slices.ContainsFunc(was, func(w schema.Violation) bool { return w.Pointer == v.Pointer })
	})
}

// Takes returns a function that reports whether the API server takes a change of an object, or a person has to choose a value in
// it. It is nil without the check that asks the API server.
func Takes(ctx context.Context, checks []Check, s Deployed) func(engine.Change) bool {
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == Refused })
	if i < 0 {
		return nil
	}
	f := checks[i].apis
	s.said = new(answer)
	return func(change engine.Change) bool {
		if strings.Contains(fmt.Sprint(change.Value), explain.Placeholder) {
			return true
		}
		said := f.asked(ctx, s)
		return f.takes(ctx, s, change, slices.Concat(said.Refused, said.Fixed))
	}
}

// scalar is a value that fits into a line, "" for others.
func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return schema.Clip(v)
	case bool, int64, float64:
		return fmt.Sprint(v)
	}
	return ""
}

// candidates are the changes of a field that may help, the surest first: the text in other letters, what kinds that make Pods
// take, and the label that a selector asks for.
func candidates(s Deployed, pointer string) (list []engine.Change) {
	value := jsonpointer.At(s.Object, pointer)
	if text, ok := value.(string); ok && text != "" {
		for _, other := range []string{strings.ToUpper(text), strings.ToUpper(text[:1]) + text[1:]} {
			list = append(list, engine.Change{Field: pointer, Value: other})
		}
	}
	if strings.HasSuffix(pointer, "/restartPolicy") {
		list = append(list, engine.Change{Field: pointer, Value: "Always"}, engine.Change{Field: pointer, Value: "Never", Example: true})
	}
	if above, key, ok := strings.Cut(pointer, "/template/metadata/labels/"); ok {
		if want, ok := admission.TextsAt(s.Object, above+"/selector/matchLabels")[jsonpointer.Unescape(key)]; ok {
			list = append(list, engine.Change{Field: pointer, Value: want})
		}
	}
	return list
}
