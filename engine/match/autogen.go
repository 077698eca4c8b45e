package match

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// From a rule on Pods, rules for pod controllers are generated
// (https://kyverno.io/docs/policy-types/cluster-policy/autogen/).

// AutogenAnnotation is the annotation of a policy that lists the controllers to generate rules for, or "none".
const AutogenAnnotation = "pod-policies.kyverno.io/autogen-controllers"

const cronJob = "CronJob"

// maxName is the length that names of generated rules are cut to.
const maxName = 63

// selectors are the kinds of the controllers as written in generated rules.
var selectors = map[string]string{
	"DaemonSet":             "apps/v1/DaemonSet",
	"Deployment":            "apps/v1/Deployment",
	"Job":                   "batch/v1/Job",
	"ReplicaSet":            "apps/v1/ReplicaSet",
	"ReplicationController": "v1/ReplicationController",
	"StatefulSet":           "apps/v1/StatefulSet",
	cronJob:                 "batch/v1/CronJob",
}

// IsController reports whether a kind is a pod controller that rules are generated for.
func IsController(kind string) bool { return selectors[kind] != "" }

// AutogenRule is a generated rule as JSON, with the index of the rule it was generated from.
type AutogenRule struct {
	Index int
	Tree  map[string]any
}

// AutogenControllers lists the controllers that rules are generated for, sorted, empty for none. Kyverno decides for
// the whole policy: a single rule that filters by name, selector or annotations, mixes Pod with other kinds, generates,
// or patches with JSON 6902 turns generation off for all rules.
func AutogenControllers(p *policy.ClusterPolicy) []string {
	needed := false
	for i := range p.Spec.Rules {
		if !possible(&p.Spec.Rules[i], &needed) {
			return nil
		}
	}
	if !needed {
		return nil
	}
	all := slices.Sorted(maps.Keys(selectors))
	value, ok := p.Metadata.Annotations[AutogenAnnotation]
	if !ok || strings.TrimSpace(value) == "all" {
		return all
	}
	listed := strings.Split(value, ",") // with spaces: Kyverno does not trim them
	return slices.DeleteFunc(all, func(kind string) bool { return !slices.Contains(listed, kind) })
}

func possible(r *policy.Rule, needed *bool) bool {
	if r.Generate != nil {
		return false
	}
	if m := r.Mutate; m != nil {
		if m.PatchesJSON6902 != "" || slices.ContainsFunc(m.ForEach,
			func(f policy.ForEachMutation) bool { return f.PatchesJSON6902 != "" }) {
			return false
		}
	}
	filters := r.Match.Filters()
	if r.Exclude != nil {
		filters = append(filters, r.Exclude.Filters()...)
	}
	for _, f := range filters {
		d := f.Resources
		if d.Name != "" || len(d.Names) > 0 || d.Selector != nil || d.Annotations != nil ||
			len(d.Kinds) > 1 && containsPod(d.Kinds) {
			return false
		}
		*needed = *needed || slices.ContainsFunc(d.Kinds, func(k string) bool { return k == "Pod" || selectors[k] != "" })
	}
	return true
}

func containsPod(kinds []string) bool {
	return slices.ContainsFunc(kinds, func(s string) bool {
		k, ok := ParseKind(s)
		return ok && k.IsPod()
	})
}

// AutogenRules generates the rules of a policy from its rules as JSON trees. They are in the order in which Kyverno
// evaluates them. The trees are not changed, and the result shares nothing with them.
func AutogenRules(p *policy.ClusterPolicy, trees []any) []AutogenRule {
	controllers := AutogenControllers(p)
	if len(controllers) == 0 {
		return nil
	}
	hasCron := slices.Contains(controllers, cronJob)
	others := slices.DeleteFunc(slices.Clone(controllers), func(k string) bool { return k == cronJob })
	var out []AutogenRule
	for i := range p.Spec.Rules {
		r := &p.Spec.Rules[i]
		tree, ok := trees[i].(map[string]any)
		if !ok || IsGenerated(r.Name) || !aboutPods(r) {
			continue
		}
		add := func(prefix string, kinds []string) {
			if generated := generate(tree, r, kinds); generated != nil {
				name := prefix + r.Name
				generated["name"] = name[:min(len(name), maxName)]
				out = append(out, AutogenRule{i, generated})
			}
		}
		if len(others) > 0 {
			add("autogen-", others)
		}
		if hasCron {
			add("autogen-cronjob-", []string{cronJob})
		}
	}
	return out
}

// IsGenerated reports whether a name is that of a generated rule. Rules written with such a name come from an export:
// they are ignored if rules are generated.
func IsGenerated(name string) bool { return strings.HasPrefix(name, "autogen-") }

func aboutPods(r *policy.Rule) bool {
	kinds := func(m policy.Match) (out []string) {
		for _, f := range m.Filters() {
			out = append(out, f.Resources.Kinds...)
		}
		return out
	}
	if !containsPod(kinds(r.Match)) {
		return false
	}
	if r.Exclude == nil {
		return true
	}
	excluded := kinds(*r.Exclude)
	return len(excluded) == 0 || containsPod(excluded)
}

var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\([^)]*\)`) })

// generate generates one rule for controllers with the pod template at the same path. It returns nil if rules like this
// one are not generated.
func generate(tree map[string]any, r *policy.Rule, kinds []string) map[string]any {
	cron := kinds[0] == cronJob
	path := []string{"spec", "template"}
	if cron {
		path = []string{"spec", "jobTemplate", "spec", "template"}
	}
	isCEL := r.Validate != nil && r.Validate.CEL != nil
	out := jsonpointer.Copy(tree, replacer(path, isCEL)).(map[string]any)
	retarget(out, "match", kinds, cron)
	if out["exclude"] != nil {
		retarget(out, "exclude", kinds, cron)
	}
	switch {
	case r.Mutate != nil:
		if !mutate(out, path) {
			return nil
		}
		return out
	case r.Validate != nil:
		v, _ := out["validate"].(map[string]any)
		pivot, ok := wrapValidate(v, path)
		if !ok {
			return nil
		}
		if m, ok := v["message"].(string); ok && pivot != "" {
			v["message"] = reference().ReplaceAllStringFunc(m, func(ref string) string {
				return strings.Replace(ref, pivot, pivot+"/"+strings.Join(path, "/"), 1)
			})
		}
		return out
	}
	return nil
}

// wrapValidate moves the patterns of a validate block below path. pivot is the part of a reference after which the path
// has to be inserted.
func wrapValidate(v map[string]any, path []string) (pivot string, ok bool) {
	switch {
	case v["pattern"] != nil:
		v["pattern"] = wrap(v["pattern"], path)
		return "pattern", true
	case v["deny"] != nil, v["podSecurity"] != nil:
		return "", true
	case v["anyPattern"] != nil:
		list, _ := v["anyPattern"].([]any)
		for i := range list {
			list[i] = wrap(list[i], path)
		}
		return "", true
	case v["assert"] != nil:
		v["assert"] = wrapAssertion(v["assert"], path)
		return "", true
	}
	return "", v["foreach"] != nil || v["cel"] != nil
}

// wrapAssertion moves the parts of an assertion tree about the objects of a request below path. Everything else stays:
// other parts of the request, and expressions, even those about the objects.
func wrapAssertion(tree any, path []string) any {
	m, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	out := maps.Clone(m)
	for _, key := range []string{"object", "oldObject"} {
		if below, ok := m[key].(map[string]any); ok {
			out[key] = wrap(below, path)
		}
	}
	return out
}

func mutate(rule map[string]any, path []string) bool {
	m, _ := rule["mutate"].(map[string]any)
	if m["patchStrategicMerge"] != nil {
		rule["mutate"] = map[string]any{"patchStrategicMerge": wrap(m["patchStrategicMerge"], path)}
		return true
	}
	list, _ := m["foreach"].([]any)
	if len(list) == 0 {
		return false
	}
	var entries []any
	for _, e := range list {
		entry, _ := e.(map[string]any)
		kept := map[string]any{"patchStrategicMerge": wrap(entry["patchStrategicMerge"], path)}
		for _, key := range []string{"list", "context", "preconditions"} {
			if entry[key] != nil {
				kept[key] = entry[key]
			}
		}
		entries = append(entries, kept)
	}
	rule["mutate"] = map[string]any{"foreach": entries}
	return true
}

func wrap(v any, path []string) any {
	for _, key := range slices.Backward(path) {
		v = map[string]any{key: v}
	}
	return v
}

// retarget replaces the kinds of a match or exclude block: in the filters on pods, and for CronJobs in all.
func retarget(rule map[string]any, block string, kinds []string, cron bool) {
	var gvks []any
	for _, k := range kinds {
		gvks = append(gvks, selectors[k])
	}
	m, _ := rule[block].(map[string]any)
	for _, list := range []string{"any", "all"} {
		filters, _ := m[list].([]any)
		for _, f := range filters {
			filter, _ := f.(map[string]any)
			r, _ := filter["resources"].(map[string]any)
			if hasPod(r) || cron && filter != nil {
				if r == nil {
					r = map[string]any{}
					filter["resources"] = r
				}
				r["kinds"] = gvks
			}
		}
		if len(filters) > 0 {
			return
		}
	}
	r, _ := m["resources"].(map[string]any)
	if old, _ := r["kinds"].([]any); r != nil && (block == "match" || len(old) > 0) {
		r["kinds"] = gvks
	}
}

func hasPod(resources map[string]any) bool {
	list, _ := resources["kinds"].([]any)
	return slices.ContainsFunc(list, func(k any) bool {
		s, ok := k.(string)
		return ok && containsPod([]string{s})
	})
}

// replacer makes expressions read from the pod template at path instead of the pod.
func replacer(path []string, isCEL bool) func(any) any {
	prefix := "request."
	if isCEL {
		prefix = "" // there, the object is also a variable of its own
	}
	at := strings.Join(path, ".")
	var pairs []string
	for _, part := range []string{"spec", "metadata"} {
		for _, object := range []string{"object", "oldObject"} {
			old := prefix + object + "." + part
			pairs = append(pairs, old, prefix+object+"."+at+"."+part)
		}
	}
	replace := strings.NewReplacer(pairs...)
	return func(v any) any {
		if s, ok := v.(string); ok {
			if changed := replace.Replace(s); changed != s {
				return changed
			}
		}
		return v
	}
}
