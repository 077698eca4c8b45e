package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func read(t testing.TB, text string) (o map[string]any) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const definitionOf = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          status: {type: object, properties: {ready: {type: boolean}}}
          spec:
            type: object
            required: [size]
            x-kubernetes-validations:
            - {rule: "self.size >= self.least", message: "is smaller than the least"}
            - {rule: "self.size >= oldSelf.size", message: "cannot shrink"}
            properties:
              size: {type: integer, minimum: 1}
              least: {type: integer, default: 0}
              mode: {type: string, enum: [fast, slow]}
              name: {type: string, pattern: "^[a-z]+$", maxLength: 8}
              port: {x-kubernetes-int-or-string: true}
              when: {type: string, format: date-time}
              labels: {type: object, additionalProperties: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              maybe: {type: string, nullable: true}
              list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object,
                required: [name], properties: {name: {type: string}, value: {type: string}}}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`

// declaring is a repository that declares some objects.
func declaring(list ...map[string]any) Declared {
	return func(_ context.Context, _, kind, _ string) []map[string]any {
		return slices.DeleteFunc(slices.Clone(list), func(o map[string]any) bool { return o["kind"] != kind })
	}
}

func words(a Answer) string {
	var lines []string
	for _, v := range a.Violations {
		lines = append(lines, v.Pointer+" "+v.Message)
	}
	if a.State != Known {
		lines = append(lines, fmt.Sprint("state ", a.State, " ", a.Reason))
	}
	return strings.Join(lines, "\n")
}

const (
	isRefused = ": the API server refuses the object"
	isDropped = "kubectl apply and server-side apply refuse it, and other clients drop it with a warning"
)

func TestCustomResources(t *testing.T) {
	thing := func(spec string) string {
		return "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {" + spec + "}\n"
	}
	s := Compile("1.33", declaring(read(t, definitionOf)))
	for _, c := range []struct{ name, old, object, want string }{
		{"right", "", thing("size: 2, mode: fast, name: a, port: http, when: '2020-01-01T00:00:00Z', labels: {a.b/c: d}, " +
			"free: {a: {b: 1}}, maybe: null, list: [{name: a}, {name: b}]"), ""},
		{"null is pruned", "", thing("size: 2, mode: null"), ""},
		{"unknown", "", thing("size: 2, sise: 3"), `/spec/sise "sise" is not a field in the definition of Thing: did ` +
			`you mean "size"? (` + isDropped + ")"},
		{"unknown in a list", "", thing("size: 2, list: [{name: a, valu: b}]"), `/spec/list/0/valu "valu" is not a ` +
			`field in the definition of Thing: did you mean "value"? (` + isDropped + ")"},
		{"unknown at the root", "", thing("size: 2") + "specs: {}\n", `/specs "specs" is not a field in the ` +
			`definition of Thing: did you mean "spec"? (` + isDropped + ")"},
		{"type", "", thing("size: '2'"), "/spec/size must be of type integer, not string" + isRefused},
		{"key with dots", "", thing("size: 2, labels: {a.b/c: 1}"), "/spec/labels/a.b~1c must be of type string, not integer" + isRefused},
		{"missing", "", thing("mode: fast"), "/spec/size is missing: the definition of Thing requires it"},
		{"missing spec", "", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n", "/spec is missing: " +
			"the definition of Thing requires it"},
		{"enum", "", thing("size: 1, mode: quick"), `/spec/mode has a value that is not one of the supported values: ` +
			`"fast", "slow"` + isRefused},
		{"placeholder", "", thing("size: '${SIZE}', mode: '${MODE}'"), ""},
		{"minimum", "", thing("size: 0"), "/spec/size should be greater than or equal to 1" + isRefused},
		{"pattern", "", thing("size: 1, name: A"), "/spec/name should match '^[a-z]+$'" + isRefused},
		{"format", "", thing("size: 1, when: now"), `/spec/when must be of type date-time, not now` + isRefused},
		{"list keys", "", thing("size: 1, list: [{name: a}, {name: a}]"), "/spec/list/1 is there twice" + isRefused},
		{"embedded", "", thing("size: 1, template: {metadata: {name: a}, spec: {b: c}}"),
			"/spec/template/apiVersion is missing: the definition of Thing requires it\n" +
				"/spec/template/kind is missing: the definition of Thing requires it"},
		{"rule", "", thing("size: 1, least: 2"), "/spec is smaller than the least" + isRefused},
		{"rule with the old object", thing("size: 3"), thing("size: 2"), "/spec cannot shrink" + isRefused},
		{"old object of another kind", "apiVersion: v1\nkind: Thing\n", thing("size: 2"), ""},
		{"status", "", thing("size: 2") + "status: {ready: maybe, other: 1}\n", `/status/other "other" is not a field in the ` +
			`definition of Thing: ` + isDropped + "\n/status/ready must be of type boolean, not string" + isRefused},
		{"metadata", "", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {nam: a, labels: {a: 1}}\nspec: {size: 1}\n",
			"/metadata/labels/a must be a string, not a number: write it in quotes (the API server refuses the object)\n" +
				`/metadata/nam "nam" is not a field of ObjectMeta in Kubernetes 1.33: did you mean "name"? ` +
				`(` + isDropped + ")"},
		{"encrypted", "", thing("size: ENC") + "sops: {mac: a}\n", ""},
		{"version", "", strings.Replace(thing("size: 1"), "/v1", "/v2", 1),
			`/apiVersion Thing has no version "v2" in its definition, but v1: the API server refuses the object`},
		{"version that is not served", "", strings.Replace(thing("size: 1"), "/v1", "/v1alpha1", 1),
			`/apiVersion Thing has no version "v1alpha1" in its definition, but v1: the API server refuses the object`},
		{"undeclared", "", "apiVersion: example.com/v1\nkind: Other\n", "state 1 "},
		{"undeclared of Kubernetes", "", "apiVersion: apps/v1\nkind: Deploymint\n",
			`/kind Kubernetes has no kind "Deploymint" in apps/v1: did you mean "Deployment"?`},
		{"a list", "", "apiVersion: v1\nkind: ConfigMapList\nitems: null\n", ""},
		{"of another program", "", "apiVersion: 0.1.0\nkind: example.com/app\n", "state 1 "},
		{"of OpenShift", "", "apiVersion: v1\nkind: Template\n", "state 1 "},
		{"key with a dot in front", "", thing("size: 2, name: {.a: {}}"), "/spec/name must be of type string, not object" +
			isRefused + "\n" + `/spec/name/.a ".a" is not a field in the definition of Thing: ` + isDropped},
		{"elsewhere in Kubernetes", "", "apiVersion: v1\nkind: Deployment\n",
			`/kind Kubernetes has no kind "Deployment" in v1: it is in apps/v1`},
		{"of another version of Kubernetes", "", "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\nspec: {a: b}\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old map[string]any
			if c.old != "" {
				old = read(t, c.old)
			}
			object := read(t, c.object)
			before := fmt.Sprint(object)
			if got := words(s.Validate(t.Context(), object, old)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if fmt.Sprint(object) != before {
				t.Error("the object was changed")
			}
		})
	}
}

// What depends on more than the schema of a version.
func TestDefinitions(t *testing.T) {
	with := func(changes ...string) map[string]any {
		return read(t, strings.NewReplacer(changes...).Replace(definitionOf))
	}
	both := []string{"served: false", "served: true", "openAPIV3Schema: {type: object}}", `openAPIV3Schema: {type: object, properties: {spec: {type: object,
      properties: {size: {type: integer}, least: {type: integer}}, x-kubernetes-validations: [{rule: "self.size >= oldSelf.size", message: "cannot shrink"}]}}}}`}
	thing := func(version, rest string) string {
		return "apiVersion: example.com/" + version + "\nkind: Thing\nmetadata: {name: a}\n" + rest + "\n"
	}
	status, scale := []string{"served: true", "served: true\n    subresources: {status: {}}"}, []string{"served: true", "served: true\n    subresources: {scale: {specReplicasPath: .spec.least}}"}
	int32s := []string{"{type: integer, default: 0}", "{type: integer, format: int32}"}
	for _, c := range []struct {
		name, version string
		definition    map[string]any
		old, object   string
		want          string
	}{
		{"the status is a subresource", "", with(status...), "", thing("v1", "spec: {size: 2}\nstatus: {ready: maybe, other: 1}"), ""},
		{"a number of replicas below zero", "", with(scale...), "", thing("v1", "spec: {size: 2, least: -1}"),
			"/spec/least should be a non-negative integer" + isRefused},
		{"a number of replicas", "", with(scale...), "", thing("v1", "spec: {size: 2, least: 1}"), ""},
		{"no number of replicas", "", with(scale...), "", thing("v1", "spec: {size: 2}"), ""},
		{"more than 32 bits", "1.36", with(int32s...), "", thing("v1", "spec: {size: 2147483648, least: 2147483648}"),
			"/spec/least Checked value must be of type integer with format int32" + isRefused},
		{"more than 32 bits in the newest version", "", with(int32s...), "", thing("v1", "spec: {size: 2147483648, least: 2147483648}"),
			"/spec/least Checked value must be of type integer with format int32" + isRefused},
		{"more than 32 bits, which nothing checks yet", "1.35", with(int32s...), "", thing("v1", "spec: {size: 2147483648, least: 2147483648}"), ""},
		{"smaller in another version", "", with(both...), thing("v1", "spec: {size: 3}"), thing("v1alpha1", "spec: {size: 2}"), "/spec cannot shrink" + isRefused},
		{"as large in another version", "", with(both...), thing("v1", "spec: {size: 3}"), thing("v1alpha1", "spec: {size: 3}"), ""},
		{"a webhook converts", "", with(append(both, "scope: Namespaced", "scope: Namespaced\n  conversion: {strategy: Webhook}")...),
			thing("v1", "spec: {size: 3}"), thing("v1alpha1", "spec: {size: 2}"),
			"state 2 its rules compare with the old object, which a webhook converts from example.com/v1"},
		{"no webhook is asked", "", with(append(both, "scope: Namespaced", "scope: Namespaced\n  conversion: {strategy: Webhook}")...),
			thing("v1alpha1", "spec: {size: 3}"), thing("v1alpha1", "spec: {size: 2}"), "/spec cannot shrink" + isRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old map[string]any
			if c.old != "" {
				old = read(t, c.old)
			}
			if got := words(Compile(c.version, declaring(c.definition)).Validate(t.Context(), read(t, c.object), old)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// If a kind has several definitions, an object is correct if one of them accepts it. A definition that cannot be used
// is reported.
func TestOneOfSeveralDefinitionsMustAcceptTheObject(t *testing.T) {
	object := read(t, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1, surplus: 2}\n")
	with := func(old, new string) map[string]any { return read(t, strings.Replace(definitionOf, old, new, 1)) }
	var many []map[string]any
	for i := range 9 {
		many = append(many, with("minimum: 1", fmt.Sprintf("minimum: 1, maximum: %d", 10+i)))
	}
	for _, c := range []struct {
		name string
		list []map[string]any
		want string
	}{
		{"no definition", nil, "state 1 "},
		{"one definition", []map[string]any{read(t, definitionOf)}, `/spec/surplus "surplus" is not a field in the definition ` +
			`of Thing: ` + isDropped},
		{"two that reject the field", []map[string]any{read(t, definitionOf), with("mode: {", "other: {type: integer}\n              mode: {")},
			`/spec/surplus "surplus" is not a field in the definition of Thing: ` + isDropped},
		{"a newer one that has the field", []map[string]any{read(t, definitionOf), with("least: {type", "surplus: {type: integer}\n              least: {type")}, ""},
		{"a definition of v1beta1", []map[string]any{with("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")},
			"state 2 it has the version apiextensions.k8s.io/v1beta1, which no supported version of Kubernetes serves"},
		{"one cannot be used", []map[string]any{read(t, definitionOf), with("least: {type: integer,", "least: {")}, "state 2"},
		{"one cannot be used, another takes it", []map[string]any{with("least: {type: integer,", "least: {"),
			with("least: {type", "surplus: {type: integer}\n              least: {type")}, ""},
		{"too many", many, "state 2 there are more than 8 that differ"},
		{"not structural", []map[string]any{with("least: {type: integer,", "least: {")},
			"state 2 the schema is not structural: openAPIV3Schema.properties[spec].properties[least].type: Required value: must not be empty for specified object fields"},
		{"unusable rule", []map[string]any{with("self.size >= self.least", "self.nothing")},
			`/spec/surplus "surplus" is not a field in the definition of Thing: ` + isDropped + "\nstate 2 a rule of " +
				"it cannot be used: " +
				"rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'nothing'"},
		{"unknown fields are preserved", []map[string]any{with("group:", "preserveUnknownFields: true\n  group:")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := words(Compile("", declaring(c.list...)).Validate(t.Context(), object, nil))
			if got != c.want && !(c.want == "state 2" && strings.HasPrefix(got, c.want)) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	crd := with("least: {type: integer,", "least: {")
	if got := words(Compile("1.33", declaring()).Validate(t.Context(), crd, nil)); !strings.HasPrefix(got,
		"/spec/versions/0/schema/openAPIV3Schema the schema is not structural") {
		t.Errorf("of the definition itself: %s", got)
	}
}

// The cost of a definition is bounded, whatever its content.
func TestHostileDefinitionsAreBounded(t *testing.T) {
	with := func(spec string) map[string]any {
		return read(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: e.com, names: {kind: A},
			versions: [{name: v1, schema: {openAPIV3Schema: {type: object, properties: {spec: `+spec+`}}}}]}}`)
	}
	object := func(spec string) map[string]any {
		return read(t, "apiVersion: e.com/v1\nkind: A\nspec: "+spec)
	}
	var patterns strings.Builder
	for i := range 10 {
		fmt.Fprintf(&patterns, "p%d: {type: string, pattern: '%s%[1]d'},", i, strings.Repeat("(abc){1000}", 50))
	}
	beyond := map[string]bool{"deep": true, "wide": true, "rules": true, "long rule": true, "large pattern": true,
		"large patterns": true}
	long := object("[" + strings.Repeat("1,", 10_000) + "]")
	long["spec"] = map[string]any{strings.Repeat("k", 1<<20): long["spec"]}
	for _, c := range []struct {
		name       string
		definition map[string]any
		object     map[string]any
		want       string
	}{
		{"deep", with(strings.Repeat("{type: array, items: ", 200) + "{}" + strings.Repeat("}", 200)), object("{}"), "levels deep"},
		{"wide", with("{type: string, enum: [" + strings.Repeat("a,", 250_000) + "]}"), object("{}"), "values"},
		{"rules", with("{type: object, x-kubernetes-validations: [" + strings.Repeat("{rule: 'true'},", 1001) + "]}"), object("{}"), "rules"},
		{"long rule", with("{type: object, x-kubernetes-validations: [{rule: '" + strings.Repeat("true && ", 100_000) + "true'}]}"), object("{}"), "rules"},
		{"cost", with(`{type: array, items: {type: string}, x-kubernetes-validations: [{rule: "self.all(a, self.all(b, self.all(c, ` +
			`self.all(d, a + b + c + d != 'x'))))"}]}`), object("[" + strings.Repeat("a,", 2000) + "]"), "cost"},
		{"defaults", with(`{type: array, items: {type: object, default: {}, properties: {a: {type: array, items: {type: string}, default: [` +
			strings.Repeat("a,", 10_000) + `]}}}}`), object("[" + strings.Repeat("{},", 10_000) + "]"), "too large"},
		{"pattern", with(`{type: string, pattern: "((a{1,1000}){1,1000}){1,1000}"}`), object(strings.Repeat("a", 1000)),
			"valid regular expression"},
		{"strange pattern", with(`{type: string, pattern: "("}`), object("a"), "valid regular expression"},
		{"large pattern", with(`{type: string, pattern: "` + strings.Repeat("(abc){1000}", 300) + `"}`), object("a"), "steps"},
		{"large patterns", with(`{type: object, properties: {` + patterns.String() + `}}`), object("{}"), "steps"},
		{"wrong values", with("{type: array, items: {type: string}}"), object("[" + strings.Repeat("1,", 20_000) + "]"), "too large"},
		{"long paths", with("{type: object, additionalProperties: {type: array, items: {type: string}}}"),
			long, "too large"},
		{"choices", with(`{type: array, items: {type: string, anyOf: [` + strings.Repeat("{enum: [b]},", 5000) + "]}}"),
			object("[" + strings.Repeat("a,", 2000) + "]"), "too large"},
		{"long words", with(`{type: string, enum: [` + strings.Repeat("abcdefgh,", 1000) + "]}"), object("a"), "...: the API server"},
		{"reference", with(`{$ref: "#/definitions/a"}`), object("a"), "ref"},
		{"no schema", with(`{type: 7}`), object("a"), "cannot be read"},
		{"null", with(`null`), object("a"), "must not be empty"},
		{"all of itself", with(`{type: object, allOf: [{anyOf: [{not: {oneOf: [{}]}}]}]}`), object("{}"), "must not validate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := words(Compile("", declaring(c.definition)).Validate(t.Context(), c.object, nil))
			if !strings.Contains(got, c.want) || len(got) > 1000 {
				t.Errorf("got %.1000q, want %q", got, c.want)
			}
			said := words(Compile("1.33", declaring()).Validate(t.Context(), c.definition, nil))
			if beyond[c.name] && strings.Contains(said, "/openAPIV3Schema") {
				t.Errorf("the API server may take what is beyond our limits: %.1000q", said)
			}
		})
	}
}

// The violations of an object with many errors are the same each time.
func TestManyViolationsAreDeterministic(t *testing.T) {
	var fields strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&fields, "f%03d: {}, ", i)
	}
	for _, text := range []string{
		"{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {size: 1, " + fields.String() + "}}",
		"{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {size: 1, labels: {" + fields.String() + "}}}",
		"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [], " + fields.String() + "}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {" + fields.String() + "}}",
	} {
		object := read(t, text)
		a := Compile("1.33", declaring(read(t, definitionOf))).Validate(t.Context(), object, nil)
		if n := len(a.Violations); n != 50 || !strings.HasSuffix(a.Violations[0].Pointer, "/f000") ||
			!strings.HasSuffix(a.Violations[49].Pointer, "/f049") {
			t.Errorf("%.80s: %d, from %s to %s", text, n, a.Violations[0].Pointer, a.Violations[n-1].Pointer)
		}
	}
	lacking := read(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: ["+strings.Repeat("{},", 60)+"]}}")
	for _, v := range Compile("1.33", declaring()).Validate(t.Context(), lacking, nil).Violations {
		if !v.Missing {
			t.Errorf("%s is not missing", v.Pointer)
		}
	}
}

// Validate may be called concurrently.
func TestConcurrentValidation(t *testing.T) {
	s := Compile("1.33", declaring(read(t, definitionOf)))
	object := read(t, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1, least: 2}\n")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if a := s.Validate(context.Background(), object, nil); len(a.Violations) != 1 {
				t.Errorf("%+v", a)
			}
		})
	}
	all.Wait()
}

func BenchmarkCustom(b *testing.B) {
	s := Compile("1.33", declaring(read(b, definitionOf)))
	object := read(b, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1, least: 0, mode: fast, list: [{name: a}]}\n")
	s.Validate(b.Context(), object, nil)
	b.ReportAllocs()
	for b.Loop() {
		s.Validate(b.Context(), object, nil)
	}
}

// A validation ends without a panic for any definition and any object.
func FuzzDefinition(f *testing.F) {
	f.Add("{type: object, properties: {a: {type: integer, default: 1}}, x-kubernetes-validations: [{rule: self.a > 0}]}", "{a: 0}")
	f.Add("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], items: {type: object}}", "[{a: {}}, 1]")
	f.Add("{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}", "[1]")
	f.Add("{type: object, x-kubernetes-embedded-resource: true}", "{metadata: [], kind: 1}")
	f.Fuzz(func(t *testing.T, schema, spec string) {
		text := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: e.com, names: {kind: A}," +
			"versions: [{name: v1, schema: {openAPIV3Schema: {type: object, properties: {spec: " + schema + "}}}}]}}"
		var crd, object map[string]any
		for _, p := range []struct {
			text string
			into *map[string]any
		}{{text, &crd}, {"apiVersion: e.com/v1\nkind: A\nspec: " + spec, &object}} {
			data, err := yaml.YAMLToJSON([]byte(p.text))
			if err != nil || kjson.UnmarshalCaseSensitivePreserveInts(data, p.into) != nil {
				return
			}
		}
		s := Compile("1.33", declaring(crd))
		s.Validate(t.Context(), object, object)
		s.Validate(t.Context(), crd, nil)
	})
}
