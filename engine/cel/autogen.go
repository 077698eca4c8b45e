package cel

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/policy"
)

// controllers are the targets that Kyverno adds to a policy on Pods: the controllers that make them
// (https://kyverno.io/docs/policy-types/validating-policy/#autogen), in the namespaces that the policy selects. A
// policy that selects anything else besides the kind Pod is left as it is. compile compiles the policy for controllers
// with the pod template at a path.
func (c *compiler) controllers(m *policy.MatchResources, a *policy.CELAutogen, pods *matcher,
	compile func(template string) target) []target {
	if m == nil || len(m.ResourceRules) != 1 || len(m.ExcludeResourceRules) > 0 || selects(m.ObjectSelector) {
		return nil
	}
	rule := m.ResourceRules[0]
	if len(rule.ResourceNames) > 0 || !slices.Equal(rule.APIGroups, []string{""}) ||
		!slices.Equal(rule.APIVersions, []string{"v1"}) || !slices.Equal(rule.Resources, []string{"pods"}) {
		return nil
	}
	const workload, scheduled = "spec.template", "spec.jobTemplate.spec.template"
	type controller struct{ group, plural, template string }
	known := []controller{
		{"apps", "daemonsets", workload}, {"apps", "deployments", workload}, {"apps", "replicasets", workload},
		{"apps", "statefulsets", workload}, {"batch", "jobs", workload}, {"batch", "cronjobs", scheduled},
	}
	if a != nil && a.PodControllers != nil && a.PodControllers.Controllers != nil {
		wanted := a.PodControllers.Controllers
		for i, w := range wanted {
			if !slices.ContainsFunc(known, func(k controller) bool { return k.plural == w }) {
				c.problem("/spec/autogen/podControllers/controllers/"+itoa(i),
					"%q is not a pod controller: use daemonsets, deployments, replicasets, statefulsets, jobs or cronjobs", w)
			}
		}
		known = slices.DeleteFunc(known, func(k controller) bool { return !slices.Contains(wanted, k.plural) })
	}
	var out []target
	compiled := map[string]target{}
	c.generated = true
	for _, k := range known {
		if policy.HasErrors(c.problems) {
			return nil
		}
		t, ok := compiled[k.template]
		if !ok {
			t = compile(k.template)
			compiled[k.template] = t
		}
		t.match = &matcher{rules: []policy.ResourceRule{{
			Operations: rule.Operations, APIGroups: []string{k.group}, APIVersions: []string{"v1"},
			Resources: []string{k.plural},
		}}, namespaces: pods.namespaces, namespaceNameOnly: pods.namespaceNameOnly}
		out = append(out, t)
	}
	return out
}

func selects(s *policy.Selector) bool {
	return s != nil && (len(s.MatchLabels) > 0 || len(s.MatchExpressions) > 0)
}

// Kyverno replaces text, whatever it means: object.spec and object.metadata become those of the pod template, and
// object["spec"] or object.?spec stays. The namespace stays that of the controller, which templates rarely have.
var (
	podFields = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:object|oldObject)(\.(?:spec|metadata)(?:\.namespace\b)?)`)
	})
	mutatedPodFields = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(object|oldObject|Object)\.(spec|metadata\.labels|metadata\.annotations)`)
	})
)

// validatingTemplates returns the spec of a policy on Pods for the controllers with the pod template at a path, its messages
// included.
func validatingTemplates(spec policy.ValidatingPolicySpec, template string) (out policy.ValidatingPolicySpec, err error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return out, err
	}
	text = podFields().ReplaceAllFunc(text, func(field []byte) []byte {
		object, path, _ := strings.Cut(string(field), ".")
		if strings.HasSuffix(path, ".namespace") {
			return field
		}
		return []byte(object + "." + template + "." + path)
	})
	return out, json.Unmarshal(text, &out)
}

// mutatingTemplates returns the spec of a policy on Pods for the controllers with the pod template at a path. Variables and
// JSON patches stay as they are.
func mutatingTemplates(spec policy.MutatingPolicySpec, template string) policy.MutatingPolicySpec {
	spec.MatchConditions, spec.Mutations = slices.Clone(spec.MatchConditions), slices.Clone(spec.Mutations)
	for i := range spec.MatchConditions {
		spec.MatchConditions[i].Expression = mutatingTemplate(spec.MatchConditions[i].Expression, template)
	}
	for i, m := range spec.Mutations {
		if m.ApplyConfiguration != nil {
			spec.Mutations[i].ApplyConfiguration = &policy.CELExpression{
				Expression: mutatingTemplate(m.ApplyConfiguration.Expression, template),
			}
		}
	}
	return spec
}

func mutatingTemplate(expression, template string) string {
	expression = mutatedPodFields().ReplaceAllString(expression, "${1}."+template+".${2}")
	rest, ok := strings.CutPrefix(strings.TrimSpace(expression), objectTypeName)
	content, literal := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "{")
	if !ok || !literal {
		return expression
	}
	// Braces in texts count, too, as in Kyverno.
	depth := 1
	end := strings.IndexFunc(content, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return depth == 0
	})
	if end <= 0 {
		return expression
	}
	before, at, after := objectTypeName+"{", objectTypeName, "}"
	for part := range strings.SplitSeq(template, ".") {
		at += "." + part
		before += part + ": " + at + "{"
		after += "}"
	}
	return before + content[:end] + after + content[end+1:]
}
