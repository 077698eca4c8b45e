package cel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// FuzzExceptionExpressions holds for every expression that compiles: it evaluates without a panic with and
// without an exception, the object stays as it was, has() of an index is what `in` says of a map, and what
// no exception gives is empty.
func FuzzExceptionExpressions(f *testing.F) {
	for _, seed := range []string{
		"object.spec.volumes.all(vol, kyverno.allowedValues.volumeTypes.exists(type, has(vol[type])) || has(vol.emptyDir))",
		"object.spec.containers.all(c, c.image in kyverno.excludedImages || c.?securityContext.?privileged.orValue(false) " +
			"== false)",
		"object.spec.containers.all(c, c.image in exceptions.allowedImages && 'x' in exceptions.allowedValues)",
		"has(object.spec['volumes']) && !has(object.spec.containers[7])",
		"has(kyverno.allowedValues.a) || has(kyverno['allowedValues']['a'])",
		"kyverno.allowedValues.a + kyverno.allowedValues.b == []",
		"size(exceptions.allowedValues) == 0 && exceptions.allowedValues.all(v, v != '')",
		"has(has(object.a))", "has(object[has(object.a)])", "object.spec.volumes[0][object.metadata.name] == 1",
		"variables.x", "image('a@b').tag() == ''", "random('[0-9') == time_now()",
	} {
		f.Add(seed)
	}
	pod := object(f, twoContainers)
	before, _ := json.Marshal(pod)
	exception := &Exception{refs: []policy.CELPolicyRef{{Kind: "ValidatingPolicy", Name: "p"}},
		images: []string{"nginx:1.25"}, values: allowance{values: []string{"x"},
			named: map[string][]string{"volumeTypes": {"hostPath"}}}}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 2000 || strings.ContainsRune(source, 0xFFFD) {
			return
		}
		c, err := newCompiler(policy.Document{Path: "p"})
		if err != nil {
			t.Fatal(err)
		}
		checked, issues := c.lang.env.Compile(source)
		if issues.Err() != nil {
			return
		}
		x, err := c.lang.plan(source, checked.NativeRep(), 0)
		if err != nil {
			return
		}
		for _, exceptions := range [][]*Exception{nil, {exception}} {
			r := &admission.Request{Operation: admission.Create, Object: pod}
			state := &evaluation{lang: c.lang, request: r, object: pod}
			state.images, state.values = aggregate(exceptions)
			a := &activation{ctx: t.Context(), state: state}
			_, _ = x.truth(a)
			if fields, _ := fieldsOf(a, x); len(fields) == 0 {
				t.Errorf("%q: a failure has no field", source)
			}
		}
		if after, _ := json.Marshal(pod); string(after) != string(before) {
			t.Fatalf("%q changed the object", source)
		}
	})
}

// TestHasIndex holds that has(m[k]) of a map is what k in m says, and of a list whether the index is there.
func TestHasIndex(t *testing.T) {
	for _, e := range []string{
		"['hostPath', 'emptyDir', 'name', '', 'x'].all(k, object.spec.volumes.all(v, has(v[k]) == (k in v)))",
		"has(object.spec.containers[0]) && has(object.spec.containers[1]) && !has(object.spec.containers[2]) && " +
			"!has(object.spec.containers[-1])",
		"!has(kyverno.allowedValues.x) && kyverno.allowedValues.x == [] && !('a' in kyverno.allowedValues.x) && " +
			"kyverno.allowedValues.x.size() == 0",
		"kyverno.excludedImages == [] && exceptions.allowedImages.size() == 0 && !('x' in exceptions.allowedValues)",
	} {
		got := mustVP(t, podPolicy(validates(e))).Evaluate(t.Context(), &admission.Request{Operation: admission.Create,
			Object: object(t, twoContainers)}, Env{})
		if len(got) != 1 || got[0].Outcome != Pass {
			t.Errorf("%s: %+v", e, got)
		}
	}
}

// FuzzImage holds that a reference that parses has all its parts, and that its parts make it up again.
func FuzzImage(f *testing.F) {
	for _, s := range []string{"nginx", "a/b:c", "localhost:5000/x", "ghcr.io/a/b@sha256:" + strings.Repeat("0", 64),
		"a:b:c", "", "@", "[::1]:80/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		img, err := parseImage(s)
		if err != nil {
			return
		}
		if img.registry == "" || img.repository == "" || img.identifier() == "" {
			t.Fatalf("%q: %+v", s, img)
		}
		joint := ":"
		if img.digest != "" {
			joint = "@"
		}
		again, err := parseImage(img.registry + "/" + img.repository + joint + img.identifier())
		again.text = img.text
		if err != nil || again != img {
			t.Fatalf("%q: %+v, again %+v, %v", s, img, again, err)
		}
	})
}

// BenchmarkPolicies evaluates 16 policies on 1,000 pods; one operation is one policy on one pod.
func BenchmarkPolicies(b *testing.B) {
	var policies []*Policy
	for i := range 16 {
		policies = append(policies, mustVP(b, podPolicy("  variables:\n"+
			"  - {name: cs, expression: 'object.spec.containers + object.spec.?initContainers.orValue([])'}\n"+
			validates(fmt.Sprintf("variables.cs.all(c, c.?securityContext.?privileged.orValue(false) == false && c.image != "+
				"'bad%d')", i)))))
	}
	pods := make([]*admission.Request, 1000)
	for i := range pods {
		o := object(b, twoContainers)
		if i%10 != 0 { // every tenth pod violates
			for _, list := range []string{"containers", "initContainers"} {
				for _, c := range o["spec"].(map[string]any)[list].([]any) {
					delete(c.(map[string]any), "securityContext")
				}
			}
		}
		pods[i] = &admission.Request{Operation: admission.Create, Object: o}
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		policies[n%16].Evaluate(b.Context(), pods[n/16%1000], Env{})
		n++
	}
}

// References are read as by the library that Kyverno uses.
func TestParseImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for s, want := range map[string]string{
		"nginx":                          "index.docker.io library/nginx latest ",
		"docker.io/nginx:1":              "index.docker.io library/nginx 1 ",
		"localhost/a/b":                  "localhost a/b latest ",
		"my_host.local:5000/a.b--c:.x":   "my_host.local:5000 a.b--c .x ",
		"ghcr.io/a/b:1@" + digest:        "ghcr.io a/b  " + digest,
		"ghcr.io/a/b@sha512:" + digest:   "error",
		"a@sha256:00":                    "error",
		"x":                              "error", // a repository has two characters
		"A/b":                            "error",
		"nginx:":                         "error",
		"nginx@" + digest + "@" + digest: "error",
	} {
		img, err := parseImage(s)
		got := img.registry + " " + img.repository + " " + img.tag + " " + img.digest
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", s, got, want)
		}
	}
}
