package cel

import (
	"slices"

	"github.com/lintel-bot/lintel/engine/policy"
)

// controllers are the targets that Kyverno adds to a policy on Pods: the controllers that make them
// (https://kyverno.io/docs/policy-types/validating-policy/#autogen), in the namespaces that the policy selects. A
// policy that selects anything else besides the kind Pod is left as it is.
func (c *compiler) controllers(m *policy.MatchResources, a *policy.CELAutogen, pods *matcher) []target {
	if m == nil || len(m.ResourceRules) != 1 || len(m.ExcludeResourceRules) > 0 || selects(m.ObjectSelector) {
		return nil
	}
	rule := m.ResourceRules[0]
	if len(rule.ResourceNames) > 0 || !slices.Equal(rule.APIGroups, []string{""}) ||
		!slices.Equal(rule.APIVersions, []string{"v1"}) || !slices.Equal(rule.Resources, []string{"pods"}) {
		return nil
	}
	type controller struct {
		group, plural string
		view          view
	}
	known := []controller{
		{"apps", "daemonsets", workload}, {"apps", "deployments", workload}, {"apps", "replicasets", workload},
		{"apps", "statefulsets", workload}, {"batch", "jobs", workload}, {"batch", "cronjobs", scheduled},
	}
	var wanted []string
	all := a == nil || a.PodControllers == nil || a.PodControllers.Controllers == nil
	if !all {
		wanted = a.PodControllers.Controllers
		for i, w := range wanted {
			if !slices.ContainsFunc(known, func(k controller) bool { return k.plural == w }) {
				c.problem("/spec/autogen/podControllers/controllers/"+itoa(i),
					"%q is not a pod controller: use daemonsets, deployments, replicasets, statefulsets, jobs or cronjobs", w)
			}
		}
	}
	var out []target
	for _, k := range known {
		if !all && !slices.Contains(wanted, k.plural) {
			continue
		}
		out = append(out, target{&matcher{rules: []policy.ResourceRule{{
			Operations: rule.Operations, APIGroups: []string{k.group}, APIVersions: []string{"v1"},
			Resources: []string{k.plural},
		}}, namespaces: pods.namespaces, namespaceNameOnly: pods.namespaceNameOnly}, k.view})
	}
	return out
}

func selects(s *policy.Selector) bool {
	return s != nil && (len(s.MatchLabels) > 0 || len(s.MatchExpressions) > 0)
}
