package variable

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

func decode(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func testRoot(t testing.TB, operation string) map[string]any {
	t.Helper()
	root := decode(t, `{
		"request": {
			"operation": "`+operation+`",
			"object": {
				"metadata": {"name": "web", "labels": {"app": "x"}, "annotations": {"tpl": "{{ request.object.metadata.name }}", "hcl": "{{ not a variable }}"}},
				"spec": {"replicas": 3, "paused": false, "nothing": null, "containers": [{"name": "a", "image": "nginx"}, {"name": "b", "image": "busybox"}]}
			},
			"oldObject": {"metadata": {"name": "old"}, "spec": {"replicas": 1}}
		},
		"serviceAccountName": "robot"
	}`).(map[string]any)
	if operation == "DELETE" {
		root["request"].(map[string]any)["object"] = nil
	}
	return root
}

func testScope(t testing.TB, operation string) *Scope {
	t.Helper()
	s := NewScope(context.Background(), testRoot(t, operation), jmespath.Env{Now: time.Unix(0, 0).UTC(), Seed: 1}, nil)
	s.Set("key", "app")
	s.Set("cm", map[string]any{"data": map[string]any{"x": "from-cm", "loop": "{{ cm.data.loop }}!",
		"deep": "<{{ key }}>"}})
	s.Set("element", map[string]any{"name": "a", "n": int64(7)})
	return s
}

func TestResolve(t *testing.T) {
	for name, c := range map[string]struct{ document, want string }{
		"plain": {`{"a": ["b", 1, 2.5, true, null]}`, `{"a": ["b", 1, 2.5, true, null]}`},
		"whole string keeps type": {`["{{ request.object.spec.replicas }}", "{{request.object.spec.paused}}", ` +
			`"{{ request.object.spec.nothing }}"]`, `[3, false, null]`},
		"whole object": {`"{{ request.object.metadata.labels }}"`, `{"app": "x"}`},
		"within text": {`"a-{{ request.object.spec.replicas }}-{{ request.object.metadata.labels }}-{{ ` +
			`serviceAccountName }}"`, `"a-3-{\"app\":\"x\"}-robot"`},
		"null and bool in text":  {`"{{ request.object.spec.nothing }} {{ request.object.spec.paused }}"`, `"null false"`},
		"next to each other":     {`"{{ key }}{{ key }}{{ serviceAccountName }}"`, `"appapprobot"`},
		"nested":                 {`"{{ request.object.metadata.labels.{{ key }} }}"`, `"x"`},
		"nested twice":           {`"{{ cm.data.{{ request.object.metadata.labels.{{ key }} }} }}"`, `"from-cm"`},
		"nested in quotes":       {`"{{ to_upper('{{ serviceAccountName }}') }}!"`, `"ROBOT!"`},
		"nested in backticks":    {"\"{{ length(`{{ request.object.metadata.labels }}`) }}\"", `1`},
		"nested keeps type":      {`"{{ element.{{ 'n' }} }}"`, `7`},
		"hash in a variable":     {`"{{ request.object.spec.containers[0].{n: name} }}"`, `{"n": "a"}`},
		"empty object literal":   {"\"{{ nothing || `{}` }}\"", `{}`},
		"value holds a variable": {`"[{{ cm.data.deep }}]"`, `"[<app>]"`},
		"whole string value":     {`"{{ cm.data.deep }}"`, `"<{{ key }}>"`},
		"whole object value":     {`"{{ {d: cm.data.deep} }}"`, `{"d": "<app>"}`},
		"shallow in text":        {`"[{{- request.object.metadata.annotations.hcl }}]"`, `"[{{ not a variable }}]"`},
		"shallow whole": {`"{{- request.object.metadata.annotations }}"`,
			`{"tpl": "{{ request.object.metadata.name }}", "hcl": "{{ not a variable }}"}`},
		"escaped":         {`"\\{{ request.object.x }}"`, `"{{ request.object.x }}"`},
		"escaped and not": {`"\\{{ a }} {{ key }}"`, `"{{ a }} app"`},
		"unclosed":        {`"{{ key"`, `"{{ key"`},
		"key": {`{"x-{{ key }}": 1, "{{ serviceAccountName }}": "{{ key }}"}`,
			`{"x-app": 1, "robot": "app"}`},
		"current value": {`{"spec": {"containers": [{"(name)": "*", "image": "{{ regex_replace_all('^', '{{@}}', ` +
			`'my/') }}"}], "replicas": "{{ @ }}"}}`,
			`{"spec": {"containers": [{"(name)": "*", "image": "my/nginx"}], "replicas": 3}}`},
		"current value in anchors": {`{"spec": {"^(containers)": [{"+(image)": "{{@}}"}]}}`,
			`{"spec": {"^(containers)": [{"+(image)": "nginx"}]}}`},
		"reference": {`{"a": {"b": "$(./../../c/d)"}, "c": {"d": "3000"}}`,
			`{"a": {"b": "3000"}, "c": {"d": "3000"}}`},
		"reference in a list": {`{"^(list)": [{"a": "$(./../b)", "b": "1"}, {"a": "$(./../../0/b)"}]}`,
			`{"^(list)": [{"a": "1", "b": "1"}, {"a": "1"}]}`},
		"reference with operator": {`{"a": "$(<./../c)", "b": "$(>=./../c)", "c": "10"}`,
			`{"a": "<10", "b": ">=10", "c": "10"}`},
		"reference to a number": {`{"a": "$(./../c)", "b": "$(<./../c)", "d": "x$(./../c)", "c": 10}`,
			`{"a": 10, "b": "<10", "d": "x10", "c": 10}`},
		"reference past an anchor": {`{"a": "$(./../b/c)", "=(b)": {"(c)": "1"}}`, `{"a": "1", "=(b)": {"(c)": "1"}}`},
		"reference is absolute":    {`{"a": {"b": "$(/c/d)!"}, "c": {"d": "3"}}`, `{"a": {"b": "3!"}, "c": {"d": "3"}}`},
		"reference to a variable":  {`{"a": "$(./../b)", "b": "{{ key }}"}`, `{"a": "app", "b": "app"}`},
		"reference to a reference": {`{"a": "$(./../b)", "b": "$(./../c)", "c": "1"}`, `{"a": "1", "b": "1", "c": "1"}`},
		"reference is escaped": {`{"a": "n=\\$(POD), m=\\$(./x), v=$(./../b)", "b": "1"}`,
			`{"a": "n=$(POD), m=$(./x), v=1", "b": "1"}`},
		"shell is no reference": {`"$(date +%s)"`, `"$(date +%s)"`},
		"deep literal":          {"\"{{ lookup(`{{ request.object.metadata.labels }}`, join('', ['a', 'pp'])) }}\"", `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			document := decode(t, c.document)
			tree, err := Parse(document, "")
			if err != nil {
				t.Fatal(err)
			}
			scope := testScope(t, "CREATE")
			got, err := tree.Resolve(scope)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, c.want), decode(t, string(text))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			again, err := tree.Resolve(scope)
			if err != nil || !reflect.DeepEqual(got, again) {
				t.Errorf("resolving again gives %v, %v", again, err)
			}
			if !reflect.DeepEqual(document, decode(t, c.document)) {
				t.Error("the document was changed")
			}
			if !reflect.DeepEqual(scope.shared.root, testRoot(t, "CREATE")) {
				t.Error("the scope was changed")
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	for document, want := range map[string]string{
		`"{{ imageData.registry }}"`: `failed to resolve imageData.registry at path : JMESPath ` +
			`query failed: Unknown key "imageData" in path`,
		`{"spec": {"x": "{{request.object.spec.absent}}"}}`: `failed to resolve request.object.spec.absent at path /spec/x: JMESPath query failed: Unknown key "absent" in path`,
		`["a {{ add(key, element) }}"]`:                     `failed to resolve add(key, element) at path /0: JMESPath query failed: JMESPath function 'add': invalid operands`,
		`"{{ cm.data.{{ key }} }}"`: `failed to resolve cm.data.app at path : JMESPath query ` +
			`failed: Unknown key "app" in path`,
		`"{{ cm.{{ 'a b' }} }}"`:                            `failed to resolve cm.{{ 'a b' }} at path`,
		`"[{{ request.object.metadata.annotations.hcl }}]"`: `failed to resolve`,
		`"[{{ cm.data.loop }}]"`:                            `are replaced by further variables more than 16 times`,
		`{"{{ element }}": 1}`:                              `is not a string`,
		`{"{{ key }}": 1, "app": 2}`:                        `two keys become "app"`,
	} {
		tree, err := Parse(decode(t, document), "")
		if err != nil {
			t.Errorf("Parse(%s): %v", document, err)
			continue
		}
		_, err = tree.Resolve(testScope(t, "CREATE"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", document, err, want)
		}
	}
}

func TestResolveErrorTypes(t *testing.T) {
	tree, err := Parse("{{ absent }}", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tree.Resolve(testScope(t, "CREATE"))
	if missing, ok := errors.AsType[*jmespath.NotFoundError](err); !ok || missing.Path != "absent" {
		t.Errorf("got %v, want a *NotFoundError", err)
	}
	if resolve, ok := errors.AsType[*ResolveError](err); !ok || resolve.Variable != "absent" {
		t.Errorf("got %v, want a *ResolveError", err)
	}
	s := testScope(t, "CREATE")
	s.Lazy("absent", func(*Scope) (any, error) { return nil, &admission.NeedsClusterError{What: "ConfigMap a/b"} })
	_, err = tree.Resolve(s)
	if needs, ok := errors.AsType[*admission.NeedsClusterError](err); !ok || needs.What != "ConfigMap a/b" {
		t.Errorf("got %v, want a *NeedsClusterError", err)
	}
}

func TestDelete(t *testing.T) {
	for document, want := range map[string]any{
		"{{ request.object.metadata.name }}":               "old",
		"{{ request.oldObject.metadata.name }}":            "old",
		"n={{ request.object.metadata.name }}":             "n=old",
		"{{ request.object.spec.{{ 'replicas' }} }}":       float64(1),
		"{{ request.{{ 'operation' }} }}":                  "DELETE",
		"{{ request.object.metadata.labels.app || 'no' }}": "no",
	} {
		tree, err := Parse(document, "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := tree.Resolve(testScope(t, "DELETE"))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, %v, want %v", document, got, err, want)
		}
	}
}

func TestTarget(t *testing.T) {
	tree, err := Parse(map[string]any{"spec": map[string]any{"replicas": "{{ @ }}"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	s := testScope(t, "UPDATE")
	s.Set("target", map[string]any{"spec": map[string]any{"replicas": int64(9)}})
	got, err := tree.Resolve(s)
	if want := (map[string]any{"spec": map[string]any{"replicas": int64(9)}}); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestParseErrors(t *testing.T) {
	cycle := map[string]any{}
	inner := cycle
	for range maxDepth + 1 {
		next := map[string]any{}
		inner["a"] = next
		inner = next
	}
	for name, c := range map[string]struct {
		document      any
		pointer       string
		where, reason string
	}{
		"syntax":             {decode(t, `{"a/b": ["{{ a b }}"]}`), "", "/a~1b/0", "end of the expression"},
		"empty":              {decode(t, `["{{ }}"]`), "", "/0", "Incomplete"},
		"unknown function":   {decode(t, `"{{ nope(@) }}"`), "", "", "unknown function: nope"},
		"key":                {decode(t, `{"{{ a b }}": 1}`), "", "/{{ a b }}", "end of the expression"},
		"pointer":            {decode(t, `{"a": 1}`), "/b", "/b", "no such field"},
		"pointer form":       {decode(t, `{"a": 1}`), "a", "a", "starts with /"},
		"part":               {decode(t, `{"rule": {"a": "{{ a b }}"}}`), "/rule", "/rule/a", "end of the expression"},
		"reference":          {decode(t, `{"a": "$(./../zz)"}`), "", "/a", "reference $(./../zz) not resolved"},
		"environment":        {decode(t, `{"a": "$(POD_NAME)"}`), "", "/a", "reference $(POD_NAME) not resolved"},
		"reference to list":  {decode(t, `{"a": "$(./../b)", "b": []}`), "", "/a", "single value"},
		"reference cycle":    {decode(t, `{"a": "$(./../b)", "b": "$(./../a)"}`), "", "/a", "references are nested more than"},
		"reference is empty": {decode(t, `{"a": "$(<)"}`), "", "/a", "empty reference"},
		"depth":              {cycle, "", strings.Repeat("/a", maxDepth+1), "nested deeper"},
		"nesting": {strings.Repeat("{{ a", maxRounds+2) + strings.Repeat(" }}", maxRounds+2), "", "",
			"variables are nested more than"},
		"zero byte": {"{{ a }} \x00", "", "", "zero byte"},
	} {
		_, err := Parse(c.document, c.pointer)
		parse, ok := errors.AsType[*jsonpointer.Error](err)
		if !ok {
			t.Errorf("%s: got %v, want a *jsonpointer.Error", name, err)
			continue
		}
		if parse.Pointer != c.where || !strings.Contains(parse.Message, c.reason) {
			t.Errorf("%s: got %q %q, want %q %q", name, parse.Pointer, parse.Message, c.where, c.reason)
		}
	}
}

// TestParsePart: references of a part lead anywhere in the document, paths of messages start at the part.
func TestParsePart(t *testing.T) {
	document := decode(t, `{"name": "rule-a", "validate": {"pattern": {"spec": {"a": "$(/name)", `+
		`"b": "$(./../../../../name)", "c": "$(/spec/d)", "d": "D", "e": "{{ zz }}"}}}}`)
	tree, err := Parse(document, "/validate/pattern/spec/a")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := tree.Constant(); !ok || v != "rule-a" {
		t.Errorf("got %v, %v", v, ok)
	}
	tree, err = Parse(document, "/validate/pattern")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tree.Constant(); ok {
		t.Error("the tree has a variable and is no constant")
	}
	s := testScope(t, "CREATE")
	if _, err = tree.Resolve(s); err == nil || !strings.Contains(err.Error(), "at path /spec/e:") {
		t.Errorf("got %v", err)
	}
	s.Set("zz", "E")
	got, err := tree.Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, `{"spec": {"a": "rule-a", "b": "rule-a", "c": "D", "d": "D", "e": "E"}}`),
		got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTreeReads(t *testing.T) {
	tree, err := Parse(decode(t, `{"a": "{{ request.object.spec.replicas }}", `+
		`"b": ["x {{ element.{{ request.object.metadata.name }} || key }}"], "spec": {"x": "{{@}}"}, `+
		`"c": "{{ a.{{ absent }} }}", "d": "\\{{ six }}"}`), "")
	if err != nil {
		t.Fatal(err)
	}
	for operation, want := range map[string][]string{
		"UPDATE": {"/element/web", "/key", "/request/object/spec/replicas",
			"/request/object/spec/x"},
		"DELETE": {"/element/old", "/key", "/request/oldObject/spec/replicas",
			"/request/oldObject/spec/x"},
	} {
		got := tree.Reads(testScope(t, operation))
		got = slices.DeleteFunc(got, func(p string) bool { return p == "/absent" })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %v\nwant %v", operation, got, want)
		}
	}
}

func TestConcurrentResolve(t *testing.T) {
	tree, err := Parse(decode(t, `{"a": "{{ request.object.metadata.labels.{{ key }} }}", `+
		`"b": ["{{ request.object.spec.containers[0] }}", "{{ length(request.object.spec.containers) }}"]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	root := testRoot(t, "CREATE")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				s := NewScope(context.Background(), root, jmespath.Env{}, nil)
				s.Set("key", "app")
				if _, err := tree.Resolve(s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		`"{{ key }}"`, `{"a": "$(./../b)", "b": "c"}`, `["\\{{ a }}", "{{- cm }}"]`, `"{{ a.{{ b }} }}"`, `"{{{a: b}}}"`,
		`{"{{ key }}": "{{@}}"}`,
		`"{{ cm.data.deep }}x{{ cm.data.loop }}"`, `"\\$(a) $(>=/a)"`, `{"=(a)": "$(/a)"}`, `"{{}}"`, `"{{ '{{ key }}' }}"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var document any
		if json.Unmarshal([]byte(text), &document) != nil {
			document = text
		}
		before, _ := json.Marshal(document)
		tree, err := Parse(document, "")
		if err != nil {
			if _, ok := errors.AsType[*jsonpointer.Error](err); !ok {
				t.Fatalf("%T is not a *jsonpointer.Error", err)
			}
			return
		}
		scope := testScope(t, "UPDATE")
		first, err1 := tree.Resolve(scope)
		second, err2 := tree.Resolve(scope)
		if (err1 == nil) != (err2 == nil) || !cmp.Equal(first, second) {
			t.Fatalf("%v, %v, then %v, %v", first, err1, second, err2)
		}
		if constant, ok := tree.Constant(); ok && !cmp.Equal(constant, first) {
			t.Fatalf("the constant %v resolves to %v", constant, first)
		}
		if after, _ := json.Marshal(document); string(after) != string(before) {
			t.Fatalf("the document became %s", after)
		}
		if !reflect.DeepEqual(scope.shared.root, testRoot(t, "UPDATE")) {
			t.Fatal("the scope was changed")
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	document := decode(b, `{"metadata": {"labels": {"app": "{{ request.object.metadata.name }}"}}, `+
		`"spec": {"x": "a-{{ serviceAccountName }}", "y": [1, 2, {"z": true}]}}`)
	tree, err := Parse(document, "")
	if err != nil {
		b.Fatal(err)
	}
	root := testRoot(b, "CREATE")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tree.Resolve(NewScope(context.Background(), root, jmespath.Env{}, nil)); err != nil {
			b.Fatal(err)
		}
	}
}
