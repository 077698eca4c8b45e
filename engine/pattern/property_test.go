package pattern

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// random makes a random JSON tree of a pattern or a resource from a small vocabulary, so that the two meet often.
func random(r *rand.Rand, depth int, isPattern bool) any {
	names := []string{"a", "b", "metadata", "labels", "a/b"}
	anchors := []string{"(%)", "=(%)", "X(%)", "<(%)", "^(%)"}
	leaves := []any{"x", "y", "", nil, true, int64(1), int64(5), 2.5, "1Gi", "10m"}
	if isPattern {
		leaves = append(leaves, "*", "?*", "!x", ">2", "1-3", "x|y", "<1h", "x*")
		names = append(names, "a*")
	}
	switch n := r.IntN(10); {
	case depth == 0 || n < 3:
		return leaves[r.IntN(len(leaves))]
	case n < 8:
		m := map[string]any{}
		for range r.IntN(4) {
			name := names[r.IntN(len(names))]
			if isPattern && r.IntN(2) == 0 {
				anchor := anchors[r.IntN(len(anchors))]
				name = strings.ReplaceAll(anchor, "%", name)
				if anchor[0] == '^' {
					m[name] = []any{random(r, depth-1, isPattern)}
					continue
				}
			}
			m[name] = random(r, depth-1, isPattern)
		}
		return m
	}
	list := []any{}
	for range r.IntN(4) {
		list = append(list, random(r, depth-1, isPattern))
	}
	return list
}

// fieldOf reports whether a pointer leads to a value or to a missing key right below one.
func fieldOf(resource any, pointer string) bool {
	if pointer == "" {
		return true
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		switch typed := resource.(type) {
		case map[string]any:
			next, ok := typed[jsonpointer.Unescape(token)]
			if !ok {
				return i == len(tokens)-1
			}
			resource = next
		case []any:
			n, err := json.Number(token).Int64()
			if err != nil || int(n) >= len(typed) {
				return false
			}
			resource = typed[n]
		default:
			return false
		}
	}
	return true
}

// checkOutcome holds an outcome against what every outcome promises.
func checkOutcome(t *testing.T, got Outcome, resource any) {
	t.Helper()
	if (got.Verdict == Fail) != (len(got.Fields) > 0) {
		t.Errorf("%v with fields %q", got.Verdict, got.Fields)
	}
	if (got.Verdict == Pass) != (got.Message == "") {
		t.Errorf("%v with message %q", got.Verdict, got.Message)
	}
	if got.Verdict != Fail && got.Path != "" {
		t.Errorf("%v with path %q", got.Verdict, got.Path)
	}
	if !slices.IsSorted(got.Fields) || len(slices.Compact(slices.Clone(got.Fields))) != len(got.Fields) {
		t.Errorf("fields are not sorted and unique: %q", got.Fields)
	}
	for _, f := range got.Fields {
		if !fieldOf(resource, f) {
			t.Errorf("%q is no field of %v", f, resource)
		}
	}
}

func TestMatchProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	verdicts := map[Verdict]int{}
	for range 30000 {
		raw, resource := random(r, 4, true), random(r, 4, false)
		rawBefore, resourceBefore := clone(t, raw), clone(t, resource)
		p, err := Compile(raw)
		if err != nil {
			t.Fatalf("Compile(%v): %v", raw, err)
		}
		got := p.Match(resource)
		verdicts[got.Verdict]++
		checkOutcome(t, got, resource)
		if again := p.Match(resource); !reflect.DeepEqual(got, again) {
			t.Fatalf("%v / %v: first %v, then %v", raw, resource, got, again)
		}
		if !reflect.DeepEqual(raw, rawBefore) || !reflect.DeepEqual(resource, resourceBefore) {
			t.Fatalf("changed its input: %v / %v", rawBefore, resourceBefore)
		}
		// With and without the recorder the verdict is the same.
		fast, slow := p.root.match(resource, nil), p.root.match(resource, newRecorder())
		if min(fast, skip) != min(slow, skip) {
			t.Fatalf("%v / %v: decides %v, explains %v", raw, resource, fast, slow)
		}
		if t.Failed() {
			t.Fatalf("pattern %v, resource %v", raw, resource)
		}
	}
	for _, v := range []Verdict{Pass, Fail, Skip} {
		if verdicts[v] < 500 {
			t.Errorf("only %d times %v: %v", verdicts[v], v, verdicts)
		}
	}
}

// TestFieldsAreComplete repairs what Fields names and expects the reported failures to be gone.
func TestFieldsAreComplete(t *testing.T) {
	p := compile(t, `{metadata: {labels: {app: "?*", team: "?*"}}, spec: {containers: [{image: "!*:latest", `+
		`"=(privileged)": "false", "X(ports)": "null"}]}}`)
	bad := tree(t, `{metadata: {labels: {}}, spec: {containers: [{image: a:latest, privileged: true, ports: []}, `+
		`{image: a:1}, {image: b:latest}]}}`)
	want := []string{"/metadata/labels/app", "/metadata/labels/team", "/spec/containers/0/image",
		"/spec/containers/0/ports", "/spec/containers/0/privileged", "/spec/containers/2/image"}
	if got := p.Match(bad); !slices.Equal(got.Fields, want) {
		t.Errorf("fields %q, want %q", got.Fields, want)
	}
	good := tree(t, `{metadata: {labels: {app: a, team: b}}, spec: {containers: [{image: a:2, privileged: false}, `+
		`{image: a:1}, {image: b:2}]}}`)
	if got := p.Match(good); got.Verdict != Pass {
		t.Errorf("repaired: %+v", got)
	}
}

func TestMatchConcurrently(t *testing.T) {
	p := compile(t, `{spec: {containers: [{"(name)": "a*", image: "reg/*", resources: {limits: {memory: "<=1Gi"}}}]}}`)
	resource := tree(t, `{spec: {containers: [{name: a1, image: x, resources: {limits: {memory: 2Gi}}}, {name: b}, `+
		`{name: a2, image: reg/a}]}}`)
	want := p.Match(resource)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if got := p.Match(resource); !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func clone(t testing.TB, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := kjson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":"x"}`, `{"a":"x"}`},
		{`{"(a)":"x|y","=(b)":{"X(c)":null},"^(d)":[{"e":">=1"}]}`, `{"a":"y","b":{},"d":[{"e":2}]}`},
		{`{"<(a)":"1-3","l":[{"(n)":"?*"}]}`, `{"a":7,"l":[{"n":""},1]}`},
		{`{"metadata":{"labels":{"a*":"?"}}}`, `{"metadata":{"labels":{"ab":"c"}}}`},
		{`[[1],[2.5]]`, `[[1],["2.5"]]`},
		{`"!*:latest & ?*:?*"`, `"nginx:1"`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rawPattern, rawResource string) {
		var raw, resource any
		if kjson.Unmarshal([]byte(rawPattern), &raw) != nil || kjson.Unmarshal([]byte(rawResource), &resource) != nil {
			t.Skip()
		}
		p, err := Compile(raw)
		if err != nil {
			return
		}
		got := p.Match(resource)
		checkOutcome(t, got, resource)
		if !reflect.DeepEqual(got, p.Match(resource)) {
			t.Error("not the same twice")
		}
	})
}

func FuzzScalar(f *testing.F) {
	for _, seed := range [][2]string{{">=1Gi", "2Gi"}, {"1-10", "5"}, {"a!-b", "x"}, {"-1e9--1e3", "-5"},
		{"a*|!b&?", "ab"}, {"1h!-2h", "90m"}, {"<1e99", "1e-99"}, {"*a*a*a*b", "aaaaaaaaaa"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, value string) {
		got := matches(value, pattern)
		if s, ok := CompileScalar(pattern); !ok || s.Matches(value) != got {
			t.Errorf("as a leaf %v, as a pattern %v", !got, got)
		}
		if value == pattern && !got {
			t.Errorf("%q does not match itself", pattern)
		}
		matches(int64(len(value)), pattern)
		matches(float64(len(value))/3, pattern)
	})
}

func BenchmarkMatch(b *testing.B) {
	p := compile(b, `{metadata: {labels: {app: "?*", "team/*": "?*"}}, `+
		`spec: {"=(securityContext)": {"=(runAsNonRoot)": "true"}, "=(volumes)": [{"X(hostPath)": "null"}], `+
		`containers: [{"(name)": "*", image: "registry.io/* | mirror.io/*", resources: {limits: {memory: "<=4Gi", `+
		`cpu: "<2"}, requests: {memory: "?*"}}, "=(ports)": [{"=(hostPort)": "0"}], "=(replicas)": "1-10", `+
		`"=(timeout)": "<1h"}]}}`)
	resource := tree(b, `{metadata: {labels: {app: web, team/name: ops}}, spec: {securityContext: {runAsNonRoot: true}, volumes: [{emptyDir: {}}], containers: [
		{name: a, image: registry.io/a, resources: {limits: {memory: 512Mi, cpu: 500m}, requests: {memory: 1Mi}}, ports: [{containerPort: 80}], replicas: 3, timeout: 30s},
		{name: b, image: mirror.io/b, resources: {limits: {memory: 1Gi, cpu: 1}, requests: {memory: 1Mi}}}]}}`)
	failing := tree(b, `{metadata: {labels: {}}, spec: {containers: [{name: a, image: x}, {name: b, image: y}]}}`)
	if got := p.Match(resource); got.Verdict != Pass {
		b.Fatalf("%+v", got)
	}
	b.Run("pass", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Match(resource)
		}
	})
	b.Run("fail", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Match(failing)
		}
	})
}

func TestPassingMatchAllocatesNothing(t *testing.T) {
	p := compile(t, `{spec: {"=(a)": "!x", replicas: "1-10 | 20", containers: [{"(name)": "*", image: "reg/*", `+
		`limits: {memory: "<=4Gi", cpu: "<2"}, timeout: "<1h"}]}}`)
	resource := tree(t, `{spec: {a: y, replicas: 3, containers: [{name: a, image: reg/a, limits: {memory: 512Mi, `+
		`cpu: 500m}, timeout: 30s}, {name: b, image: reg/b, limits: {memory: 1Gi, cpu: 1}, timeout: 5m}]}}`)
	if got := p.Match(resource); got.Verdict != Pass {
		t.Fatalf("%+v", got)
	}
	if n := testing.AllocsPerRun(100, func() { p.Match(resource) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
