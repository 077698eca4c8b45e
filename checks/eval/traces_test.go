package eval

import (
	"errors"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
)

// The trace of a review of a Secret contains none of its values: neither short, nor decoded, nor as parts of texts and
// errors.
func TestTraceHidesSecrets(t *testing.T) {
	secret := admission.Object{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "n"},
		"data":       map[string]any{"password": "aHVudGVyMg==", "short": "YWI="},
		"stringData": map[string]any{"pin": "1234", "text": "line one\nline two", "number": int64(77)}}
	values := []any{"hunter2", "aHVudGVyMg==", "xx hunter2 yy", "HUNTER2", "ab", "1234", int64(77), secret,
		map[string]any{"deep": []any{"pin 1234", "line one\nline two"}}, secret["data"]}
	steps := []explain.Step{{Part: explain.Deny, Words: "it is hunter2", Err: errors.New("cannot read 1234")}}
	for _, v := range values {
		steps = append(steps, explain.Step{Part: explain.Deny, Values: []explain.Value{{Name: "key", Value: v}}})
	}
	steps = append(steps, explain.Step{Values: []explain.Value{{Name: "/data/password", Value: "anything"}}})
	r := &recorder{}
	r.trace(&Review{Object: secret}, []engine.Trace{{Outcome: engine.Fail, Steps: steps}})
	r.trace(&Review{Object: admission.Object{"kind": "ConfigMap"}, Old: secret}, []engine.Trace{{Steps: steps}})
	for _, tr := range r.Trace {
		for i, s := range tr.Steps {
			text := s.What + s.Error
			for _, v := range s.Values {
				text += v.Is
			}
			for _, hidden := range []string{"hunter", "HUNTER", "aHVu", `"ab"`, "1234", "77", "line one", "YWI", "anything"} {
				if strings.Contains(text, hidden) {
					t.Errorf("step %d holds %q: %s", i, hidden, text)
				}
			}
		}
	}
	// A Secret that a look-up returns is masked, too.
	r = &recorder{}
	r.trace(&Review{Object: admission.Object{"kind": "ConfigMap"}}, []engine.Trace{{Steps: []explain.Step{
		{Values: []explain.Value{{Name: "key", Value: secret}, {Name: "value", Value: "plain"}}}}}})
	if got := r.Trace[0].Steps[0].Values; strings.Contains(got[0].Is, "1234") || got[1].Is != `"plain"` {
		t.Errorf("%+v", got)
	}
}

// A value is never cut, since a cut value of a Secret would not be recognized; a large one is left out.
func TestTraceLargeValues(t *testing.T) {
	h := hidden{}
	if got := h.text(explain.Value{Value: strings.Repeat("a", maxValue)}); got != "(a value of 65538 bytes)" {
		t.Errorf("%.60s", got)
	}
	if got := h.text(explain.Value{Value: strings.Repeat("a", 1000)}); len(got) != 1002 {
		t.Errorf("%d", len(got))
	}
}

// The trace says of every rule whether it applies to each object, also with variables of values files.
func TestRunTraces(t *testing.T) {
	in := Input{Policies: seen("request.operation"), Resources: file("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"), Trace: true,
		Values: &Values{GlobalValues: map[string]any{"request.operation": "UPDATE"}}}
	r := run(t, in)
	if len(r.Trace) != 1 || r.Trace[0].Result != r.Results[0].Result || r.Trace[0].Resource.Name != "p" || len(r.Trace[0].Steps) < 2 {
		t.Errorf("%+v", r.Trace)
	}
	if got := r.Trace[0].Steps[0]; got.Holds != report.Holds || got.What != "kind *; operation UPDATE" {
		t.Errorf("%+v", got)
	}
	in.Trace = false
	if r := run(t, in); r.Trace != nil {
		t.Errorf("a trace that nobody asked for: %+v", r.Trace)
	}
}

// The longer of two values, of which one is part of the other, is masked first.
func TestValuesWithinValuesAreMasked(t *testing.T) {
	for range 50 { // the order of the fields must not matter
		secret := secretsOf(admission.Object{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"},
			"stringData": map[string]any{"a": "swordfish", "b": "swordfish-2024", "c": "a-swordfish-2024"}})
		if got := secret.hide("it is swordfish-2024 today"); got != "it is "+report.Hidden+" today" {
			t.Fatalf("got %q", got)
		}
	}
}
