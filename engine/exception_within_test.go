package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/podsecurity"
	"github.com/lintel-bot/lintel/engine/policy"
)

// some returns a part of the values, often none of them.
func some[T any](r *rand.Rand, values ...T) []T {
	list := []T{}
	for range r.IntN(3) {
		list = append(list, values[r.IntN(len(values))])
	}
	return list
}

func patterns(r *rand.Rand) []string {
	return some(r, "a", "ab", "b", "a*", "*b", "*", "?", "a?", "?*", "*a*")
}

func selector(r *rand.Rand) map[string]any {
	labels := map[string]string{}
	for _, key := range some(r, "a", "b", "?", "*") {
		labels[key] = []string{"a", "b", "*", "?", "a*"}[r.IntN(5)]
	}
	requirements := []any{}
	for _, operator := range some(r, "In", "NotIn", "Exists", "DoesNotExist", "Is") {
		one := map[string]any{"key": []string{"a", "b"}[r.IntN(2)], "operator": operator}
		if operator == "In" || operator == "NotIn" {
			one["values"] = some(r, "a", "b", "ab")
		}
		requirements = append(requirements, one)
	}
	return map[string]any{"matchLabels": labels, "matchExpressions": requirements}
}

// filter gives a filter of a match block other values for one of its fields.
func filter(r *rand.Rand, f map[string]any) {
	resources, _ := f["resources"].(map[string]any)
	switch r.IntN(10) {
	case 0:
		resources["kinds"] = some(r, "Pod", "v1/Pod", "Deployment", "apps/v1/Deployment", "apps/*/Deployment", "*", "*/*", "Pod/exec", "D*")
	case 1:
		resources["names"] = patterns(r)
	case 2:
		resources["name"] = append(patterns(r), "")[0]
	case 3:
		resources["namespaces"] = patterns(r)
	case 4:
		resources["operations"] = some(r, "CREATE", "UPDATE")
	case 5:
		resources["annotations"] = selector(r)["matchLabels"]
	case 6:
		resources["selector"] = selector(r)
	case 7:
		resources["namespaceSelector"] = selector(r)
	case 8:
		f["subjects"] = some(r, map[string]string{"kind": "User", "name": "a"}, map[string]string{"kind": "Group", "name": "b"})
	case 9:
		for key := range resources {
			delete(resources, key)
			break
		}
	}
}

// copied returns a deep copy of a JSON value.
func copied(v map[string]any) (out map[string]any) {
	data, _ := json.Marshal(v)
	_ = json.Unmarshal(data, &out)
	return out
}

// edit makes one edit of the spec of an exception.
func edit(r *rand.Rand, spec map[string]any) {
	block, _ := spec["match"].(map[string]any)
	for key, list := range block {
		filters, _ := list.([]any)
		switch n := r.IntN(8); {
		case n == 0:
			block["any"], block["all"] = block["all"], block["any"]
			for k := range block {
				if block[k] == nil {
					delete(block, k)
				}
			}
		case n == 1 || len(filters) == 0:
			one := map[string]any{"resources": map[string]any{}}
			filter(r, one)
			block[key] = append(filters, one)
		case n == 2:
			block[key] = slices.Delete(filters, 0, 1)
		default:
			one, _ := filters[r.IntN(len(filters))].(map[string]any)
			filter(r, one)
		}
		break
	}
}

func exceptionWith(t *testing.T, spec map[string]any) (engine.RuleDocument, *policy.ExceptionSpec) {
	t.Helper()
	spec["exceptions"] = []any{map[string]any{"policyName": "p", "ruleNames": []string{"r"}}}
	data, err := json.Marshal(map[string]any{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "spec": spec,
		"metadata": map[string]any{"name": "x", "namespace": "ns"}})
	if err != nil {
		t.Fatal(err)
	}
	sources := []policy.Source{{Path: "x.yaml", Documents: yamltest.Documents(data)}}
	list, _ := engine.CompileExceptions(sources, engine.Options{})
	if len(list) == 0 {
		return engine.RuleDocuments(sources)[0], nil // it has errors, and covers nothing
	}
	compiled, _ := list[0].Spec()
	return engine.RuleDocuments(sources)[0], compiled
}

// What an exception within an earlier one covers, the earlier one covered, too.
func TestWithinCoversNoMore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	labels := func() map[string]string {
		out := map[string]string{}
		for _, key := range some(r, "a", "b", "c") {
			out[key] = pick("a", "b", "ab")
		}
		return out
	}
	var targets []*match.Target
	for range 200 {
		id := admission.Identity{Version: "v1", Kind: "Pod", Name: pick("a", "b", "ab", "ba", ""), Namespace: pick("a", "b", "ab", "c")}
		if r.IntN(2) == 0 {
			id.Kind, id.Group, id.Version = "Deployment", "apps", pick("v1", "v2")
		}
		targets = append(targets, &match.Target{Identity: id, Labels: labels(), Annotations: labels(), NamespaceLabels: labels(),
			NamespaceKnown: true, Request: admission.Request{SubResource: pick("", "", "exec", "ephemeralcontainers"),
				Operation: admission.Operation(pick("CREATE", "UPDATE")),
				UserInfo:  admission.UserInfo{Username: pick("a", "b"), Groups: []string{pick("a", "b")}}}})
	}
	covers := func(spec *policy.ExceptionSpec) []bool {
		out := make([]bool, len(targets))
		if spec == nil {
			return out
		}
		b, _ := match.Compile(spec.Match)
		for i, target := range targets {
			out[i], _ = b.Covers(target)
		}
		return out
	}
	within, narrower := 0, 0
	for range 2500 {
		old := map[string]any{"match": map[string]any{pick("any", "all"): []any{}}}
		for range 1 + r.IntN(8) {
			edit(r, old)
		}
		now := copied(old)
		for range 1 + r.IntN(2) {
			edit(r, now)
		}
		before, was := exceptionWith(t, old)
		after, is := exceptionWith(t, now)
		if after.SameTerms(before) || !after.Within(before) {
			continue
		}
		within++
		a, b := covers(was), covers(is)
		for i, target := range targets {
			if b[i] && !a[i] {
				t.Fatalf("%s\nis not within\n%s:\nit covers %+v", after.Terms, before.Terms, target)
			}
		}
		if !slices.Equal(a, b) {
			narrower++
		}
	}
	if within < 200 || narrower < 100 {
		t.Errorf("only %d are within, %d cover less", within, narrower)
	}
}

// Controls within earlier ones let no more pods through.
func TestWithinExcludesNoMoreControls(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	check, err := podsecurity.Compile("restricted", "latest", nil)
	if err != nil {
		t.Fatal(err)
	}
	var pods []admission.Object
	for range 80 {
		context := func() map[string]any {
			out := map[string]any{"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": map[string]any{"drop": []any{"ALL"}},
				"seccompProfile": map[string]any{"type": "RuntimeDefault"}}
			for range r.IntN(3) {
				switch r.IntN(4) {
				case 0:
					delete(out, "runAsNonRoot")
				case 1:
					out["runAsNonRoot"] = false
				case 2:
					delete(out, "seccompProfile")
				case 3:
					out["seccompProfile"] = map[string]any{"type": "Unconfined"}
				}
			}
			return out
		}
		var containers []any
		for i := range 1 + r.IntN(2) {
			containers = append(containers, map[string]any{"name": fmt.Sprint("c", i), "image": pick("a", "b"), "securityContext": context()})
		}
		pods = append(pods, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"},
			"spec": map[string]any{"containers": containers, "hostNetwork": r.IntN(4) == 0}})
	}
	control := func() map[string]any {
		name := pick("Running as Non-root", "Seccomp", "Host Namespaces")
		out := map[string]any{"controlName": name}
		if name != "Host Namespaces" && r.IntN(2) == 0 {
			out["images"] = append(some(r, "a", "b", "*"), "?")
		}
		field := map[string]string{"Running as Non-root": "runAsNonRoot", "Seccomp": "seccompProfile.type"}[name]
		if field != "" && r.IntN(3) == 0 {
			if out["images"] != nil {
				field = "containers[*].securityContext." + field
			} else {
				field = "securityContext." + field
			}
			out["restrictedField"], out["values"] = "spec."+field, some(r, "false", "Unconfined", "*")
		}
		return out
	}
	controls := func() (list []any) {
		for range r.IntN(4) {
			list = append(list, control())
		}
		return list
	}
	within, narrower := 0, 0
	block := map[string]any{"any": []any{map[string]any{"resources": map[string]any{"kinds": []string{"Pod"}}}}}
	for range 1200 {
		old := map[string]any{"match": block, "podSecurity": controls()}
		list := copied(old)["podSecurity"]
		now := map[string]any{"match": block, "podSecurity": list}
		if few, _ := list.([]any); len(few) > 0 {
			switch i := r.IntN(len(few)); r.IntN(4) {
			case 0:
				now["podSecurity"] = slices.Delete(few, i, i+1)
			case 1:
				few[0], few[i] = few[i], few[0]
			case 2:
				few[i] = control()
			default:
				one, _ := few[i].(map[string]any)
				one["images"] = some(r, "a", "b", "*")
			}
		}
		before, was := exceptionWith(t, old)
		after, is := exceptionWith(t, now)
		if is == nil || after.SameTerms(before) || !after.Within(before) {
			continue
		}
		within++
		for _, pod := range pods {
			lets := func(spec *policy.ExceptionSpec) bool {
				return spec != nil && (len(spec.PodSecurity) == 0 || check.Evaluate(pod, spec.PodSecurity).Allowed)
			}
			a, b := lets(was), lets(is)
			if b && !a {
				t.Fatalf("%s\nis not within\n%s:\nit lets through %v", after.Terms, before.Terms, pod)
			}
			if a && !b {
				narrower++
				break
			}
		}
	}
	if within < 40 || narrower < 20 {
		t.Errorf("only %d are within, %d let less through", within, narrower)
	}
}
