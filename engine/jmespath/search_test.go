package jmespath

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/engine/admission"
)

// testEnv is the environment of all tests.
var testEnv = Env{Now: time.Date(2024, 5, 6, 7, 8, 9, 0, time.FixedZone("", 2*3600)), Seed: 7}

// testData is a scope with a Pod, in the numbers of Kubernetes.
func testData(t testing.TB) map[string]any {
	t.Helper()
	v, err := decodeJSON([]byte(`{
		"request": {
			"operation": "CREATE",
			"object": {
				"metadata": {"name": "web", "labels": {"app": "x", "a/b~c": "y"}, "annotations": null, "generation": 3},
				"spec": {
					"replicas": 3, "ratio": 2.5, "paused": false, "hostNetwork": true, "empty": [], "none": {},
					"containers": [
						{"name": "a", "image": "nginx", "ports": [{"port": 80}, {"port": 443}], "securityContext": {"privileged": true}},
						{"name": "b", "image": "busybox:1.28", "args": ["x", "y"]}
					]
				}
			}
		},
		"images": {"containers": {"b": {"name": "busybox", "tag": "1.28"}, "a": {"name": "nginx", "tag": "latest"}}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// row is an expression and the JSON of its value, or "error: " and a part of the message.
type row struct{ expression, want string }

func runRows(t *testing.T, rows []row) {
	t.Helper()
	data := testData(t)
	for _, r := range rows {
		t.Run(r.expression, func(t *testing.T) {
			got := evaluate(r.expression, data)
			if part, ok := strings.CutPrefix(r.want, "error: "); ok {
				if !strings.HasPrefix(got, "error: ") || !strings.Contains(got, part) {
					t.Errorf("%s\n got %s\nwant an error with %q", r.expression, got, part)
				}
				return
			}
			if got != r.want {
				t.Errorf("%s\n got %s\nwant %s", r.expression, got, r.want)
			}
		})
	}
}

func evaluate(expression string, data any) string {
	e, err := Compile(expression)
	if err != nil {
		return "error: " + err.Error()
	}
	v, err := e.Search(context.Background(), data, testEnv)
	if err != nil {
		return "error: " + err.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(text)
}

func TestSearch(t *testing.T) {
	runRows(t, []row{
		// Fields and the rule that an unknown key is an error.
		{"request.operation", `"CREATE"`},
		{"request.object.metadata.name", `"web"`},
		{"request.object.metadata.labels.app", `"x"`},
		{`request.object.metadata.labels."a/b~c"`, `"y"`},
		{"request.object.metadata.labels.missing", `error: Unknown key "missing" in path`},
		{"request.object.missing.deeper", `error: Unknown key "missing" in path`},
		{"nothing", `error: Unknown key "nothing" in path`},
		{"request.object.metadata.annotations", "null"},
		{"request.object.metadata.annotations.role", "null"},
		{"request.object.metadata.name.first", "null"},
		{"request.object.spec.containers.name", "null"},
		// What catches it.
		{"nothing || 'x'", `"x"`},
		{"nothing || nothing", "null"},
		{"request.object.metadata.labels.missing || ''", `""`},
		{"request.object.missing.deeper || `[]`", "[]"},
		{"(nothing || also) && 'x'", "null"},
		{"nothing && 'x'", "null"},
		{"'x' && nothing", `error: Unknown key "nothing"`},
		{"!nothing", "true"},
		{"nothing == null_too", "true"},
		{"nothing == `null`", "true"},
		{"nothing != 'x'", "true"},
		{"nothing > `1`", "null"},
		{"nothing | 'x'", `"x"`},
		{"nothing | @", "null"},
		{"nothing | length(@)", "error: 'length': argument #1"},
		{"nothing || `[]` | length(@)", "0"},
		{"length(nothing)", "error: 'length': argument #1 is not of type String or Array or Object"},
		{"to_string(nothing)", `"null"`},
		{"type(nothing)", `"null"`},
		{"not_null(nothing, also, 'x')", `"x"`},
		{"nothing[]", "null"},
		{"nothing[0]", `error: Unknown key "nothing"`},
		{"nothing[*]", "null"},
		{"nothing[?a]", "null"},
		{"nothing.*", "null"},
		{"nothing[] || 'x'", `"x"`},
		{"[nothing, request.operation]", `[null,"CREATE"]`},
		{"{a: nothing, b: request.operation}", `{"a":null,"b":"CREATE"}`},
		// Projections.
		{"request.object.spec.containers[].name", `["a","b"]`},
		{"request.object.spec.containers[*].name", `["a","b"]`},
		{"request.object.spec.containers[].args", `[["x","y"]]`},
		{"request.object.spec.containers[].args[]", `["x","y"]`},
		{"request.object.spec.containers[].missing", "[]"},
		{"request.object.spec.containers[].ports[].port", "[80,443]"},
		{"request.object.spec.[initContainers, containers][].image", `["nginx","busybox:1.28"]`},
		{"request.object.spec.[initContainers, containers][]",
			`[{"image":"nginx","name":"a","ports":[{"port":80},{"port":443}],"securityContext":{"privileged":true}},{"args":["x","y"],"image":"busybox:1.28","name":"b"}]`},
		{"images.containers.*.name", `["nginx","busybox"]`},
		{"images.*.*.tag", `[["latest","1.28"]]`},
		{"request.object.spec.containers[?name == 'b'].image", `["busybox:1.28"]`},
		{"request.object.spec.containers[?securityContext.privileged].name", `["a"]`},
		{"request.object.spec.containers[?!(securityContext.privileged)].name", `["b"]`},
		{"request.object.spec.containers[?!securityContext.privileged].name", "[]"}, // ! binds tighter than the dot
		{"request.object.spec.containers[?securityContext.privileged == `true`].name", `["a"]`},
		{"request.object.spec.containers[?securityContext.privileged != `true`].name", `["b"]`},
		{"request.object.spec.containers[?contains(image, ':')].name", `["b"]`},
		{"request.object.spec.containers[?length(args) > `1`].name", "error: 'length'"},
		{"request.object.spec.containers[?length(args || `[]`) > `1`].name", `["b"]`},
		{"request.object.spec.containers[?ports[?port == `443`]].name", `["a"]`},
		{"request.object.spec.empty[].x", "[]"},
		{"request.object.spec.none.*", "[]"},
		{"request.object.spec.replicas[]", "null"},
		{"split(nothing, ',')[]", "null"},
		// Index and slice.
		{"request.object.spec.containers[0].name", `"a"`},
		{"request.object.spec.containers[-1].name", `"b"`},
		{"request.object.spec.containers[2]", "null"},
		{"request.object.spec.containers[-3]", "null"},
		{"request.object.spec.replicas[0]", "null"},
		{"`[0,1,2,3,4]`[1:3]", "[1,2]"},
		{"`[0,1,2,3,4]`[:2]", "[0,1]"},
		{"`[0,1,2,3,4]`[-2:]", "[3,4]"},
		{"`[0,1,2,3,4]`[::2]", "[0,2,4]"},
		{"`[0,1,2,3,4]`[::-1]", "[4,3,2,1,0]"},
		{"`[0,1,2,3,4]`[3:0:-2]", "[3,1]"},
		{"`[0,1]`[5:9]", "[]"},
		{"`[0,1]`[::9223372036854775807]", "[0]"},
		{"`[0,1]`[::0]", "error: step"},
		{"'text'[0:1]", "null"},
		// Multi-selects and pipes.
		{"request.object.metadata.{n: name, g: generation}", `{"g":3,"n":"web"}`},
		{"request.object.spec.containers[].{n: name, p: ports[0].port}", `[{"n":"a","p":80},{"n":"b","p":null}]`},
		{"request.object.metadata.annotations.[a, b]", "null"},
		{"request.object.spec.containers[].name | [0]", `"a"`},
		{"request.object.spec.containers[].name | sort(@) | [-1]", `"b"`},
		{"@.request.operation", `"CREATE"`},
		{"@ | request.operation", `"CREATE"`},
		// Truth.
		{"`0` || 'x'", "0"},
		{"`false` || 'x'", `"x"`},
		{"'' || 'x'", `"x"`},
		{"`[]` || 'x'", `"x"`},
		{"`{}` || 'x'", `"x"`},
		{"request.object.spec.paused || 'x'", `"x"`},
		{"request.object.spec.hostNetwork && 'x'", `"x"`},
		{"!''", "true"},
		{"!'a'", "false"},
		// Comparison, across int64 and float64.
		{"request.object.spec.replicas == `3`", "true"},
		{"request.object.spec.replicas == `3.0`", "true"},
		{"request.object.spec.ratio == `2.5`", "true"},
		{"request.object.spec.replicas == '3'", "false"},
		{"request.object.spec.replicas > `2.5`", "true"},
		{"request.object.spec.replicas >= `3`", "true"},
		{"request.object.spec.replicas < `3`", "false"},
		{"request.object.spec.replicas <= `3`", "true"},
		{"'a' < 'b'", "null"},
		{"`[1,{\"a\":2.0}]` == `[1.0,{\"a\":2}]`", "true"},
		{"`[1,2]` == `[1]`", "false"},
		{"`{\"a\":1}` == `{\"b\":1}`", "false"},
		{"`{\"a\":1}` == `[1]`", "false"},
		{"`true` == `true`", "true"},
		{"`null` == `false`", "false"},
		// Literals: whole numbers stay whole.
		{"`1`", "1"},
		{"`1.0`", "1"},
		{"`1.5`", "1.5"},
		{"request.object.spec.replicas", "3"},
		{"'it\\'s'", `"it's"`},
		{`'a\\b'`, `"a\\\\b"`},
		{`'a\.b'`, `"a\\.b"`},
		{"`\"a\\`b\"`", "\"a`b\""},
	})
}

func TestCompileErrors(t *testing.T) {
	for _, r := range []row{
		{"", "Incomplete"},
		{"a.", "Expected identifier"},
		{"a b", "end of the expression"},
		{"a[", "Expected"},
		{"a[?b", "Expected"},
		{"'open", "does not end"},
		{`"open`, "Unclosed"},
		{"`open", "Unclosed"},
		{"`not json`", "not JSON"},
		{"a#b", "Unknown char"},
		{"{a: }", "Invalid token"},
		{"{}", "Expected"},
		{"foo(", "Incomplete"},
		{"unknown_function(@)", "unknown function: unknown_function"},
		{"length()", "takes 1 arguments, not 0"},
		{"length(a, b)", "takes 1 arguments, not 2"},
		{"not_null()", "takes 1 arguments, not 0"},
		{"merge()", "takes 1 arguments, not 0"},
		{"time_now(@)", "takes 0 arguments, not 1"},
		{"map(a, b)", "argument 1 must be an expression reference"},
		{"sort_by(a, b)", "argument 2 must be an expression reference"},
		{"length(&a)", "argument 1 cannot be an expression reference"},
		{"a || &b", "only allowed as an argument"},
		{"a + b", "Kyverno has no arithmetic operators"},
		{"a - b", "Kyverno has no arithmetic operators"},
		{"-a", "Kyverno has no arithmetic operators"},
		{"$.a", "not part of Kyverno"},
		{"let $a = b in $a", "not part of Kyverno"},
		{strings.Repeat("!", maxDepth+2) + "a", "nested deeper"},
		{strings.Repeat(" ", maxSource) + "a", "longer than"},
	} {
		_, err := Compile(r.expression)
		syntax, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Errorf("Compile(%.40q) = %v, want a *SyntaxError", r.expression, err)
			continue
		}
		if !strings.Contains(err.Error(), r.want) {
			t.Errorf("Compile(%.40q) = %q, want %q", r.expression, err, r.want)
		}
		if syntax.Offset < 0 || syntax.Offset > len(r.expression) {
			t.Errorf("Compile(%.40q): offset %d is outside", r.expression, syntax.Offset)
		}
	}
}

func TestSyntaxErrorOffset(t *testing.T) {
	// The backslashes are doubled for the parser; the offset is still that of the source.
	_, err := Compile(`regex_match('\d\d\d', a) #`)
	syntax, ok := errors.AsType[*SyntaxError](err)
	if !ok || syntax.Offset != 25 {
		t.Errorf("got %v, want offset 25", err)
	}
}

func TestRoots(t *testing.T) {
	for expression, want := range map[string][]string{
		"request.object.metadata.name":   {"request"},
		"a.b || c.d":                     {"a", "c"},
		"length(list[?x == 'y'])":        {"list"},
		"@":                              {"@"},
		"to_string(@)":                   {"@"},
		"@.a":                            {"a"},
		"@ | a":                          {"a"},
		"a | b":                          {"a"},
		"[0]":                            {"@"},
		"*":                              {"@"},
		"'x'":                            {},
		"{a: b, c: d.e}":                 {"b", "d"},
		"map(&x, list)":                  {"list"},
		"a[].to_number(@)":               {"a"},
		"lookup(a, join('/', [b, 'c']))": {"a", "b"},
		"!a && b == c":                   {"a", "b", "c"},
		"request.object.spec.[containers, x][].image": {"request"},
	} {
		e, err := Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Roots(); !reflect.DeepEqual(got, want) {
			t.Errorf("Roots(%s) = %v, want %v", expression, got, want)
		}
	}
}

func TestReads(t *testing.T) {
	const spec, containers = "/request/object/spec", "/request/object/spec/containers"
	for expression, want := range map[string][]string{
		"request.object.spec.replicas":                                {spec + "/replicas"},
		"request.object.spec.missing.deeper":                          {spec + "/missing/deeper"},
		"request.object.spec.missing || `1`":                          {spec + "/missing"},
		"request.object.spec.replicas || request.operation":           {spec + "/replicas"},
		"request.object.spec.missing || request.operation":            {spec + "/missing", "/request/operation"},
		"request.object.metadata.labels.\"a/b~c\"":                    {"/request/object/metadata/labels/a~1b~0c"},
		"request.object.spec.containers[].image":                      {containers + "/0/image", containers + "/1/image"},
		"request.object.spec.containers[*].image | length(@)":         {containers + "/0/image", containers + "/1/image"},
		"request.object.spec.containers[?name == 'b'].image":          {containers + "/1/image", containers + "/1/name"},
		"request.object.spec.containers[?name == 'zz'].image":         {containers},
		"request.object.spec.containers[].securityContext.privileged": {containers + "/0/securityContext/privileged"},
		"request.object.spec.containers[].missing":                    {containers + "/0/missing", containers + "/1/missing"},
		"request.object.spec.containers[0].name":                      {containers + "/0/name"},
		"request.object.spec.containers[-1].name":                     {containers + "/1/name"},
		"request.object.spec.containers[7].name":                      {containers + "/7/name"},
		"request.object.spec.containers[1:].name":                     {containers + "/1/name"},
		"request.object.spec.containers[].ports[].port": {containers + "/0/ports/0/port",
			containers + "/0/ports/1/port"},
		"request.object.spec.[initContainers, containers][].image": {containers + "/0/image", containers + "/1/image"},
		"request.object.spec.initContainers[].image":               {spec + "/initContainers"},
		"images.containers.*.tag":                                  {"/images/containers/a/tag", "/images/containers/b/tag"},
		"request.object.spec.{r: replicas, q: ratio}":              {spec + "/ratio", spec + "/replicas"},
		"request.object.spec.{r: replicas, q: ratio}.r":            {spec + "/replicas"},
		"length(request.object.spec.containers)":                   {containers},
		"request.object.spec.replicas == `3`":                      {spec + "/replicas"},
		"!(request.object.spec.hostNetwork)":                       {spec + "/hostNetwork"},
		"request.object.spec.hostNetwork && request.operation":     {spec + "/hostNetwork", "/request/operation"},
		"request.object.spec.paused && request.operation":          {spec + "/paused"},
		"lookup(request.object.metadata.labels, 'app')":            {"/request/object/metadata/labels/app"},
		"lookup(request.object.spec.containers, `1`).name":         {containers + "/1/name"},
		"not_null(request.object.spec.missing, request.operation)": {spec + "/missing", "/request/operation"},
		"map(&name, request.object.spec.containers)":               {containers + "/0/name", containers + "/1/name"},
		"sort_by(request.object.spec.containers, &name)[].image":   {containers + "/0/name", containers + "/1/name"},
		"'constant'": {},
	} {
		e, err := Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Reads(testData(t)); !reflect.DeepEqual(got, want) {
			t.Errorf("Reads(%s)\n got %v\nwant %v", expression, got, want)
		}
	}
}

// TestLimits: expressions that make much of little end with an error, not with the machine.
func TestLimits(t *testing.T) {
	double := func(step string, times int) string { return "'xxxxxxxx'" + strings.Repeat(" | "+step, times) }
	for name, expression := range map[string]string{
		"join":              double("join('', [@, @])", 40),
		"replace_all":       double("replace_all(@, 'x', 'xxxxxxxxxxxxxxxx')", 20),
		"replace_all empty": double("replace_all(@, '', @)", 10),
		"regex_replace_all": double("regex_replace_all('x', @, 'xxxxxxxxxxxxxxxx')", 20),
		"shared lists":      double("[@, @]", 60),
		"shared objects":    double("{a: @, b: @}", 60),
		"to_string":         double("[@, @]", 60) + " | to_string(@)",
		"comparison":        "[" + double("[@, @]", 60) + "," + double("[@, @]", 60) + "] | [0] == [1]",
		"flatten":           double("[@, @][]", 60),
		"base64":            double("base64_encode(@)", 60),
		"yaml": "parse_yaml('{a: &a [x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a,*a], c: &c " +
			"[*b,*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c,*c], e: &e [*d,*d,*d,*d,*d,*d,*d,*d], f: &f " +
			"[*e,*e,*e,*e,*e,*e,*e,*e], g: [*f,*f,*f,*f,*f,*f,*f,*f]}')",
		"random": "random('" + strings.Repeat("[a-z]{1000}", 5) + "')",
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Compile(expression)
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Search(context.Background(), "", testEnv)
			if limit, ok := errors.AsType[*LimitError](err); !ok {
				t.Errorf("got %v, want a *LimitError (%v)", err, limit)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	list := make([]any, 5000)
	e, err := Compile("[].a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(ctx, list, testEnv); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestNeedsCluster: nothing in an expression catches that an answer is not known.
func TestNeedsCluster(t *testing.T) {
	for _, expression := range []string{
		"is_external_url(@)",
		"is_external_url(@) || 'x'",
		"!is_external_url(@)",
		"is_external_url(@)[]",
		"is_external_url(@).*",
		"[@][?is_external_url(@)]",
		"[is_external_url(@)]",
		"to_string(is_external_url(@))",
		"is_external_url(@) | 'x'",
	} {
		e, err := Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Search(context.Background(), "https://example.com:8080/a", testEnv)
		if _, ok := errors.AsType[*admission.NeedsClusterError](err); !ok {
			t.Errorf("%s: got %v, want a *NeedsClusterError", expression, err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	data := testData(t)
	e, err := Compile("request.object.spec.containers[?regex_match('^[a-z]$', name)].{n: name, r: random('[a-z]{4}')} | " +
		"sort_by(@, &n)")
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.Search(context.Background(), data, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := e.Search(context.Background(), data, testEnv)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, %v", got, err)
				}
				e.Reads(data)
			}
		})
	}
	group.Wait()
	if !reflect.DeepEqual(data, testData(t)) {
		t.Error("the data was changed")
	}
}
