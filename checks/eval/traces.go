package eval

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// maxValue limits the bytes of a value in a trace. Longer values are left out, since a cut value of a Secret would not
// be recognized.
const maxValue = 64 << 10

// trace adds the explanations of the rules for an object.
func (r *recorder) trace(v *Review, traces []engine.Trace) {
	secret := secretsOf(v.Object, v.Old)
	resource := review.Named(v.Object)
	for _, t := range traces {
		out := report.EvaluationTrace{Policy: t.Policy.FullName(), Rule: t.Rule, More: t.More,
			Resource: resource, PolicyPath: t.Policy.Path, PolicyLine: t.Line, Steps: make([]report.TraceStep, len(t.Steps))}
		if t.Outcome != "" {
			out.Result = report.ResultOf(t.Outcome, t.Enforce)
		}
		for i, s := range t.Steps {
			step := report.TraceStep{Part: report.TracePart(s.Part), At: s.At, Line: s.Line, Holds: report.HoldsNot,
				What: secret.hide(s.Words), Values: report.Mapped(s.Values, func(one explain.Value) report.TraceValue {
					return report.TraceValue{Of: one.Name, Is: secret.text(one)}
				})}
			switch {
			case s.Err != nil:
				step.Holds, step.Error = report.Undecided, secret.hide(s.Err.Error())
			case s.Holds:
				step.Holds = report.Holds
			}
			out.Steps[i] = step
		}
		r.Trace = append(r.Trace, out)
	}
}

// hidden are the values of the Secrets that a review is about. They are masked even if they are short.
type hidden struct {
	is         bool   // the review is about a Secret
	apiVersion string // its API version
	exact      map[string]bool
	parts      []string
}

// minPart is the minimum number of bytes of a value that is masked as a part of a text, too.
const minPart = 3

func secretsOf(objects ...admission.Object) hidden {
	h := hidden{exact: map[string]bool{}}
	for _, o := range objects {
		if !mask.IsSecret(o) {
			continue
		}
		h.is, h.apiVersion = true, review.Named(o).APIVersion
		h.takeFields("", o)
	}
	// A value that is part of another one is masked after it, or the rest of that would be seen.
	slices.SortFunc(h.parts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return h
}

// takeFields adds the values of a Secret below a pointer.
func (h *hidden) takeFields(at string, fields map[string]any) {
	for key, v := range fields {
		at := at + jsonpointer.Join(key)
		inner, _ := v.(map[string]any)
		if mask.InData(h.apiVersion, at) {
			h.take(v)
		} else {
			h.takeFields(at, inner)
		}
	}
}

// take adds all scalars of a value.
func (h *hidden) take(v any) {
	jsonpointer.Walk(v, "", func(_ string, v any) {
		switch v.(type) {
		case nil, map[string]any, []any:
			return
		}
		text := fmt.Sprint(v)
		h.add(text)
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
			h.add(string(plain))
		}
	})
}

func (h *hidden) add(text string) {
	for _, spelled := range []string{text, strings.ToLower(text), strings.ToUpper(text)} { // policies change the case
		if !h.exact[spelled] && len(spelled) >= minPart {
			h.parts = append(h.parts, spelled)
		}
		h.exact[spelled] = true
	}
}

// hide masks the values in a text.
func (h *hidden) hide(text string) string {
	if h.exact[text] && text != "" {
		return report.Hidden
	}
	for _, p := range h.parts {
		text = strings.ReplaceAll(text, p, report.Hidden)
	}
	return text
}

// text returns a value as JSON, masked.
func (h *hidden) text(v explain.Value) string {
	if h.is && mask.InData(h.apiVersion, v.Name) {
		return report.Hidden
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(h.without(v.Value)); err != nil {
		return "(a value that is not JSON)"
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if len(text) > maxValue {
		return fmt.Sprintf("(a value of %d bytes)", len(text))
	}
	return text
}

// without returns a value in which all scalars with values of Secrets are masked, including all values of a Secret in
// it.
func (h *hidden) without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if !h.is && !mask.IsSecret(v) {
			return v
		}
		_, v = mask.Objects(nil, v)
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = h.without(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = h.without(e)
		}
		return out
	case string:
		return h.hide(v)
	case nil, bool:
		return v
	}
	if h.exact[fmt.Sprint(v)] {
		return report.Hidden
	}
	return v
}
