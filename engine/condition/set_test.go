package condition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/variable"
)

func tree(t testing.TB, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

const requestText = `
request:
  operation: UPDATE
  userInfo: {username: jane, groups: [devs, ops]}
  oldObject: {spec: {replicas: 1}}
  object:
    metadata: {name: web, labels: {app: web, "corp/team": a}, annotations: {}}
    spec:
      replicas: 3
      timeout: 90s
      paused: false
      ports: [80, 8080, 443]
      containers:
      - {name: a, image: "reg.io/a:1", resources: {limits: {memory: 2Gi}}, securityContext: {privileged: true}}
      - {name: b, image: "docker.io/b:latest", resources: {limits: {memory: 512Mi}}}
      - {name: c, image: "docker.io/c:1", securityContext: {privileged: false}}
`

func scope(t testing.TB) *variable.Scope {
	t.Helper()
	root := tree(t, requestText).(map[string]any)
	sc := variable.NewScope(context.Background(), root, jmespath.Env{Now: time.Unix(0, 0)}, nil)
	sc.Set("allowed", []any{"reg.io/*"})
	sc.Lazy("limit", func(*variable.Scope) (any, error) { return int64(2), nil })
	sc.Lazy("broken", func(*variable.Scope) (any, error) { return nil, errors.New("out of reach") })
	return sc
}

func mustCompile(t testing.TB, text string) *Set {
	t.Helper()
	s, err := Compile(tree(t, text), "")
	if err != nil {
		t.Fatalf("Compile(%s): %v", text, err)
	}
	return s
}

const object = "/request/object"

func TestEvaluate(t *testing.T) {
	c := func(key, op, value string) string {
		return fmt.Sprintf(`{key: %q, operator: %s, value: %s}`, key, op, value)
	}
	yes, no, boom := c("a", "Equals", "a"), c("a", "Equals", "b"), c("{{ missing }}", "Equals", "b")
	tests := []struct {
		set   string
		met   bool
		reads []string
	}{
		// shapes
		{`null`, true, nil},
		{`{}`, true, nil},
		{`[]`, true, nil},
		{`{any: []}`, false, nil},
		{`{any: null}`, true, nil},
		{`{all: []}`, true, nil},
		{`{any: [` + yes + `]}`, true, nil},
		{`{any: [` + no + `, ` + yes + `]}`, true, nil},
		{`{any: [` + no + `]}`, false, nil},
		{`{all: [` + yes + `, ` + yes + `]}`, true, nil},
		{`{all: [` + yes + `, ` + no + `]}`, false, nil},
		{`{any: [` + yes + `], all: [` + no + `]}`, false, nil},
		{`{any: [` + no + `], all: [` + yes + `]}`, false, nil},
		{`{any: [` + yes + `], all: [` + yes + `]}`, true, nil},
		{`[` + yes + `, ` + yes + `]`, true, nil},
		{`[` + yes + `, ` + no + `]`, false, nil},
		{`[{any: [` + yes + `]}, {all: [` + yes + `]}]`, true, nil},
		{`[{any: [` + yes + `]}, {all: [` + no + `]}]`, false, nil},
		{`[{}, {any: [` + no + `]}]`, false, nil},
		// a condition that decided earlier keeps later ones from being evaluated
		{`{any: [` + yes + `, ` + boom + `]}`, true, nil},
		{`{all: [` + no + `, ` + boom + `]}`, false, nil},
		{`[` + no + `, ` + boom + `]`, false, nil},
		{`[{all: [` + no + `]}, {all: [` + boom + `]}]`, false, nil},
		// what is read
		{`{all: [` + c("{{ request.object.spec.replicas }}", "GreaterThan", "2") + `]}`, true,
			[]string{object + "/spec/replicas"}},
		{`{all: [` + c("{{ request.object.spec.replicas }}", "LessThan", "2") + `]}`, false, nil},
		{`{any: [` + c("{{ request.object.spec.replicas }}", "GreaterThan", "2") + `, ` +
			c("{{ request.object.spec.paused }}", "Equals", "false") + `]}`,
			true, []string{object + "/spec/paused", object + "/spec/replicas"}},
		{`{any: [` + c("{{ request.object.spec.replicas }}", "GreaterThan", "9") + `, ` +
			c("{{ request.object.spec.paused }}", "Equals", "false") + `]}`,
			true, []string{object + "/spec/paused"}},
		{`{any: [` + yes + `, ` + boom + `, ` + c("{{ request.object.spec.paused }}", "Equals", "false") + `]}`, true,
			[]string{object + "/spec/paused"}},
		{`{all: [` + c("{{ request.object.spec.replicas }}", "Equals", "3") + `, ` + c("{{ request.object.spec.paused }}",
			"Equals", "true") + `]}`,
			false, nil},
		{`{any: [` + c("{{ request.object.spec.replicas }}", "Equals", "4") + `], all: [` +
			c("{{ request.object.spec.paused }}", "Equals", "false") + `]}`,
			false, nil},
		{`{any: [` + c("{{ request.object.spec.replicas }}", "Equals", "3") + `], all: [` +
			c("{{ request.object.spec.paused }}", "Equals", "true") + `]}`,
			false, nil},
		{`[` + c("{{ request.object.spec.replicas }}", "Equals", "3") + `, ` + c("{{ request.object.spec.paused }}", "Equals",
			"true") + `]`,
			false, nil},
		{`{all: [` + c("{{ request.object.spec.replicas }}", "NotEquals", `"{{ request.oldObject.spec.replicas }}"`) + `]}`,
			true, []string{object + "/spec/replicas", "/request/oldObject/spec/replicas"}},
		{`{all: [` + c("{{ request.object.spec.replicas }}", "GreaterThan", `"{{ limit }}"`) + `]}`,
			true, []string{"/limit", object + "/spec/replicas"}},
		// lists: the elements that decided
		{`{all: [` + c("{{ request.object.spec.containers[].image }}", "AnyIn", `["docker.io/*"]`) + `]}`,
			true, []string{object + "/spec/containers/1/image", object + "/spec/containers/2/image"}},
		{`{all: [` + c("{{ request.object.spec.containers[].image }}", "AnyNotIn", `"{{ allowed }}"`) + `]}`,
			true, []string{"/allowed", object + "/spec/containers/1/image", object + "/spec/containers/2/image"}},
		{`{all: [` + c("{{ request.object.spec.containers[].image }}", "AllIn", `["reg.io/*"]`) + `]}`,
			false, nil},
		{`{all: [` + c("{{ request.object.spec.containers[].image }}", "AllNotIn", `["*:latest"]`) + `]}`,
			false, nil},
		{`{all: [` + c("{{ request.object.spec.containers[].image }}", "AllNotIn", `["quay.io/*"]`) + `]}`,
			true, []string{object + "/spec/containers/0/image", object + "/spec/containers/1/image",
				object + "/spec/containers/2/image"}},
		{`{all: [` + c("{{ request.object.spec.ports }}", "AnyIn", `"8000-9000"`) + `]}`, true,
			[]string{object + "/spec/ports/1"}},
		{`{all: [` + c("{{ request.object.spec.ports[] }}", "AnyIn", `"8000-9000"`) + `]}`, true,
			[]string{object + "/spec/ports/1"}},
		{`{all: [` + c("{{ request.object.spec.containers[].securityContext.privileged }}", "AnyIn", `[true]`) + `]}`,
			true, []string{object + "/spec/containers/0/securityContext/privileged"}},
		{`{all: [` + c("{{ length(request.object.spec.containers) }}", "GreaterThan", "2") + `]}`, true,
			[]string{object + "/spec/containers"}},
		// types survive
		{`{all: [` + c("{{ request.object.spec.paused }}", "Equals", "true") + `]}`, false, nil},
		{`{all: [` + c("{{ request.object.spec.timeout }}", "LessThanOrEquals", "90") + `]}`, true,
			[]string{object + "/spec/timeout"}},
		{`{all: [` + c("{{ request.operation }}", "AnyIn", "[CREATE, UPDATE]") + `]}`, true, []string{"/request/operation"}},
		{`{all: [` + c("x-{{ request.object.metadata.name }}", "Equals", "x-web") + `]}`, true,
			[]string{object + "/metadata/name"}},
		{`{all: [` + c("{{ request.object.spec.missing || 'none' }}", "Equals", "none") + `]}`, true,
			[]string{object + "/spec/missing"}},
	}
	for _, tt := range tests {
		t.Run(tt.set, func(t *testing.T) {
			s := mustCompile(t, tt.set)
			sc := scope(t)
			met, message, err := s.Holds(sc)
			if err != nil {
				t.Fatal(err)
			}
			var reads []string
			if met {
				reads = s.Reads(sc)
			}
			if met != tt.met || !slices.Equal(reads, tt.reads) {
				t.Errorf("got %v %q, want %v %q", met, reads, tt.met, tt.reads)
			}
			again, same, err := s.Holds(sc)
			if more := s.Reads(sc); err != nil || again != met || same != message || met && !slices.Equal(more, reads) {
				t.Errorf("first %v %q %q, then %v %q %q, %v", met, message, reads, again, same, more, err)
			}
		})
	}
}

func TestEvaluateErrors(t *testing.T) {
	tests := []struct {
		set, pointer string
		notFound     bool
	}{
		{`{all: [{key: "{{ missing }}", operator: Equals, value: a}]}`, "/all/0/key", true},
		{`{any: [{key: "{{ request.object.spec.nothing }}", operator: Equals, value: a}]}`, "/any/0/key", true},
		{`{any: [{key: a, operator: Equals, value: ["{{ missing }}"]}]}`, "/any/0/value", true},
		{`[{key: a, operator: Equals, value: a}, {key: a, operator: Equals, value: "{{ missing }}"}]`, "/1/value", true},
		{`{all: [{key: "{{ broken }}", operator: Equals, value: a}]}`, "/all/0/key", false},
		// on these Kyverno ends with a panic
		{`{all: [{key: [a, 1], operator: In, value: [a]}]}`, "/all/0/key", false},
		{`{any: [{key: [null], operator: NotIn, value: [a]}]}`, "/any/0/key", false},
		// all is evaluated where any has failed
		{`{any: [{key: a, operator: Equals, value: b}], all: [{key: "{{ missing }}", operator: Equals, value: a}]}`,
			"/all/0/key", true},
	}
	for _, tt := range tests {
		_, _, err := mustCompile(t, tt.set).Holds(scope(t))
		var ee *EvaluationError
		if !errors.As(err, &ee) || ee.Pointer != tt.pointer || IsNotFound(err) != tt.notFound {
			t.Errorf("%s: %v", tt.set, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "failed to substitute variables in condition ") {
			t.Errorf("%s: %v", tt.set, err)
		}
	}
	if IsNotFound(nil) {
		t.Error("no error is not a missing variable")
	}
}

func TestMessages(t *testing.T) {
	m := func(value, message string) string {
		return fmt.Sprintf(`{key: a, operator: Equals, value: %s, message: %q}`, value, message)
	}
	tests := []struct {
		set     string
		met     bool
		message string
	}{
		{`{any: [` + m("a", "one") + `, ` + m("a", "two") + `]}`, true, "one"},
		{`{all: [` + m("a", "one") + `, ` + m("a", "two") + `]}`, true, "one; two"},
		{`{any: [` + m("a", "one") + `], all: [` + m("a", "two") + `]}`, true, "one; two"},
		{`{any: [` + m("b", "one") + `, ` + m("b", "two") + `]}`, false, "one; two"},
		{`{all: [` + m("b", "one") + `, ` + m("b", "two") + `]}`, false, "one"},
		{`{any: [` + m("b", "one") + `], all: [` + m("b", "two") + `]}`, false, "one; two"},
		{`{any: [` + m("b", "one") + `, ` + m("a", "two") + `]}`, true, "two"},
		{`[` + m("a", "one") + `, ` + m("a", "two") + `]`, true, "one;two"},
		{`[` + m("a", "one") + `, ` + m("b", "two") + `]`, false, "two"},
		{`[{all: [` + m("a", "one") + `, ` + m("a", "two") + `]}, {all: [` + m("a", "three") + `]}]`, true, "one; two;three"},
		{`{all: [` + m("a", "") + `, ` + m("a", "two") + `]}`, true, "two"},
		{`{all: [{key: a, operator: Equals, value: a}]}`, true, ""},
		{`{all: [` + m("a", "for {{ request.object.metadata.name }}") + `]}`, true, "for web"},
		{`{all: [` + m("a", "{{ request.object.spec.replicas }}") + `]}`, true, "3"},
		{`{all: [` + m("a", "no {{ missing }}") + `]}`, true, "no {{ missing }}"},
	}
	for _, tt := range tests {
		met, message, err := mustCompile(t, tt.set).Holds(scope(t))
		if err != nil || met != tt.met || message != tt.message {
			t.Errorf("%s: %v %q, %v; want %q", tt.set, met, message, err, tt.message)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []struct{ set, pointer, word string }{
		{`x`, "", "conditions"},
		{`{some: []}`, "/some", "unknown field `some`"},
		{`{any: {}}`, "/any", "list"},
		{`{any: [x]}`, "/any/0", "map"},
		{`[x]`, "/0", "map"},
		{`{all: [{operator: Equals, value: a}]}`, "/all/0", "no key"},
		{`{all: [{key: a, value: a}]}`, "/all/0", "no operator"},
		{`{all: [{key: a, operator: Equals}]}`, "/all/0", "no value"},
		{`{all: [{key: null, operator: Equals, value: a}]}`, "/all/0", "no key"},
		{`{all: [{key: a, operator: Is, value: a}]}`, "/all/0/operator", "unknown operator `Is`"},
		{`{all: [{key: a, operator: equals, value: a}]}`, "/all/0/operator", "unknown operator"},
		{`{all: [{key: a, operator: 5, value: a}]}`, "/all/0/operator", "string"},
		{`{all: [{key: a, operator: Equals, values: a}]}`, "/all/0/values", "unknown field `values`"},
		{`{all: [{key: a, operator: Equals, value: a, "x/y": 1}]}`, "/all/0/x~1y", "unknown field"},
		{`{all: [{key: a, operator: Equals, value: a, message: 5}]}`, "/all/0/message", "string"},
		{`[{key: a, operator: Equals, value: a}, {any: []}]`, "/1", "not both"},
		{`[{any: []}, {key: a, operator: Equals, value: a}]`, "/1", "not both"},
		{`{all: [{key: "{{ a..b }}", operator: Equals, value: a}]}`, "/all/0/key", ""},
	}
	for _, tt := range tests {
		_, err := Compile(tree(t, tt.set), "")
		var ce *jsonpointer.Error
		if !errors.As(err, &ce) || ce.Pointer != tt.pointer || !strings.Contains(ce.Message, tt.word) {
			t.Errorf("Compile(%s) = %v, want %q at %q", tt.set, err, tt.word, tt.pointer)
		}
	}
	document := tree(t, `{spec: {rules: [{"deny/x": {conditions: {all: [{key: a, operator: Is, value: a}]}}}]}}`)
	_, err := Compile(document, "/spec/rules/0/deny~1x/conditions")
	var ce *jsonpointer.Error
	if !errors.As(err, &ce) || ce.Pointer != "/spec/rules/0/deny~1x/conditions/all/0/operator" {
		t.Errorf("%v", err)
	}
	for _, nowhere := range []string{"/nothing", "/spec/rules/7", "/spec/rules/x",
		"/spec/rules/0/deny~1x/conditions/all/0/key/a", "spec"} {
		if _, err := Compile(document, nowhere); !errors.As(err, &ce) {
			t.Errorf("%s: %v", nowhere, err)
		}
	}
}

func TestEvaluateConcurrently(t *testing.T) {
	s := mustCompile(t, `{all: [{key: "{{ request.object.spec.containers[].image }}", operator: AnyNotIn, `+
		`value: "{{ allowed }}", message: "{{ request.object.metadata.name }}"}]}`)
	first := scope(t)
	met, message, err := s.Holds(first)
	if err != nil {
		t.Fatal(err)
	}
	reads := s.Reads(first)
	var wg sync.WaitGroup
	for range 8 {
		sc := scope(t)
		wg.Go(func() {
			for range 50 {
				is, said, err := s.Holds(sc)
				if got := s.Reads(sc); err != nil || is != met || said != message || !slices.Equal(got, reads) {
					t.Errorf("got %v %q %q, %v, want %v %q %q", is, said, got, err, met, message, reads)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"any":[{"key":"{{ request.operation }}","operator":"AnyIn","value":["CREATE"]}]}`,
		`[{"key":1,"operator":"GreaterThan","value":"1h","message":"m"}]`,
		`[{"any":[]},{"all":[{"key":["a"],"operator":"AllNotIn","value":"1-10"}]}]`,
		`null`, `{"any":5}`, `[{"key":"{{","operator":"Equals","value":"$(./x)"}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var document any
		if json.Unmarshal([]byte(text), &document) != nil {
			t.Skip()
		}
		s, err := Compile(document, "")
		if err != nil {
			var ce *jsonpointer.Error
			if !errors.As(err, &ce) {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		sc := variable.NewScope(context.Background(), map[string]any{"request": map[string]any{"operation": "CREATE"}},
			jmespath.Env{}, nil)
		_, _, err = s.Holds(sc)
		if reads := s.Reads(sc); err == nil && !slices.IsSorted(reads) {
			t.Errorf("reads %q", reads)
		}
	})
}

func FuzzOperators(f *testing.F) {
	f.Add("Equals", `"1h"`, `3600`)
	f.Add("AnyNotIn", `["a",5]`, `"1-10"`)
	f.Add("GreaterThan", `"1.2.3"`, `"1.2.3-rc"`)
	f.Add("NotIn", `[1]`, `["a"]`)
	f.Fuzz(func(t *testing.T, name, keyText, valueText string) {
		prepare, ok := operators[name]
		if !ok {
			t.Skip()
		}
		var key, value any
		if json.Unmarshal([]byte(keyText), &key) != nil || json.Unmarshal([]byte(valueText), &value) != nil {
			t.Skip()
		}
		compare := prepare(value)
		if first := compare(key); first != compare(key) {
			t.Error("not the same twice")
		}
	})
}

func BenchmarkEvaluate(b *testing.B) {
	s := mustCompile(b, `{all: [{key: "{{ request.operation }}", operator: AnyIn, value: [CREATE, UPDATE]}, `+
		`{key: "{{ request.object.spec.containers[].image }}", operator: AllIn, value: ["reg.io/*", "docker.io/*"]}]}`)
	sc := scope(b)
	b.Run("holds", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.Holds(sc); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("evaluate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.Holds(sc); err != nil || len(s.Reads(sc)) == 0 {
				b.Fatal(err)
			}
		}
	})
}
