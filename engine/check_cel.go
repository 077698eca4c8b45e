package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/policy"
)

// identifier matches a valid identifier of CEL.
var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// checkCEL finds mistakes in a CEL policy or exception that the API server would refuse and that compiling its
// expressions does not find
// (https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/validating-admission-policy-v1/). Parts that
// all the kinds share are found by their path.
func checkCEL(d policy.Document) []policy.Problem {
	c := &checker{doc: d, namespaced: strings.HasPrefix(d.Kind, "Namespaced")}
	var metadata policy.Metadata
	c.problems = policy.DecodeAt(d, "/metadata", &metadata)
	c.problems = append(c.problems, checkMetadata(d, metadata)...)
	var spec policy.CELSpec
	var validations []policy.CELValidation
	for pointer, into := range map[string]any{
		"/spec/variables": &spec.Variables, "/spec/matchConditions": &spec.MatchConditions,
		"/spec/matchConstraints": &spec.MatchConstraints, "/spec/validations": &validations,
	} {
		if policy.HasErrors(policy.DecodeAt(d, pointer, into)) {
			return c.problems // reported where the document is decoded
		}
	}
	for i, v := range spec.Variables {
		if v.Name != "" && !identifier().MatchString(v.Name) {
			c.bad(fmt.Sprintf("/spec/variables/%d/name", i), "%q is not a valid name of a variable: use letters, "+
				"digits and _", v.Name)
		}
	}
	seen := map[string]bool{}
	for i, m := range spec.MatchConditions {
		at := fmt.Sprintf("/spec/matchConditions/%d", i)
		switch {
		case m.Name == "" && d.Kind != "PolicyException":
			c.bad(at, "the match condition has no name: add one")
		case m.Name != "" && seen[m.Name]:
			c.bad(at+"/name", "the match condition %q is written twice: rename one", m.Name)
		}
		seen[m.Name] = true
	}
	for i, v := range validations {
		at := fmt.Sprintf("/spec/validations/%d", i)
		if strings.TrimSpace(v.Expression) == "" {
			c.bad(at, "the validation has no expression: add one")
		}
		if strings.Contains(strings.TrimSpace(v.Message), "\n") && d.Group() == "admissionregistration.k8s.io" {
			c.bad(at+"/message", "the message has several lines: the API server accepts one")
		}
	}
	if m := spec.MatchConstraints; m != nil {
		c.resourceRules("/spec/matchConstraints/resourceRules", m.ResourceRules)
		c.resourceRules("/spec/matchConstraints/excludeResourceRules", m.ExcludeResourceRules)
	}
	return c.problems
}

func (c *checker) resourceRules(pointer string, list []policy.ResourceRule) {
	for i, r := range list {
		at := fmt.Sprintf("%s/%d", pointer, i)
		for _, f := range []struct {
			name string
			list []string
		}{{"operations", r.Operations}, {"apiGroups", r.APIGroups}, {"apiVersions", r.APIVersions},
			{"resources", r.Resources}} {
			if len(f.list) == 0 {
				c.bad(at, "the rule has no %s and matches nothing: add them, \"*\" for all", f.name)
			}
			if slices.Contains(f.list, "*") && len(f.list) > 1 {
				c.bad(at+"/"+f.name, "\"*\" stands for all %s: remove the others", f.name)
			}
		}
		for j, version := range r.APIVersions {
			if kinds.NoVersion(r.APIGroups, version) {
				c.warn(fmt.Sprintf("%s/apiVersions/%d", at, j), "%s has no version %s: the rule matches nothing in it",
					strings.Join(r.APIGroups, ", "), version)
			}
		}
		for j, g := range r.APIGroups {
			if strings.Contains(g, "/") {
				c.bad(fmt.Sprintf("%s/apiGroups/%d", at, j), "%q is not an API group: write the version under apiVersions", g)
			}
		}
		for j, v := range r.APIVersions {
			if strings.Contains(v, "/") {
				c.bad(fmt.Sprintf("%s/apiVersions/%d", at, j), "%q is not a version: write the group under apiGroups", v)
			}
		}
		for j, name := range r.Resources {
			resource, _, _ := strings.Cut(name, "/")
			if resource == "*" || resource == "" && name != "" {
				continue
			}
			if resource == "" || strings.ToLower(resource) != resource {
				c.bad(fmt.Sprintf("%s/resources/%d", at, j), "%q is not a resource: write the plural in lower case%s", name,
					policy.DidYouMean(kinds.Plural(resource)))
			}
		}
	}
}

// checkCELException finds mistakes in an exception of policies.kyverno.io, except in its expressions.
func checkCELException(d policy.Document, e policy.CELException) []policy.Problem {
	problems := checkCEL(d)
	known := slices.DeleteFunc(slices.Collect(maps.Keys(kindsOf[d.Group()])),
		func(kind string) bool { return kind == d.Kind })
	for i, r := range e.Spec.PolicyRefs {
		if r.Kind == "" || slices.Contains(known, r.Kind) {
			continue
		}
		hint := policy.DidYouMean(policy.Nearest(r.Kind, known))
		if r.Kind == "ClusterPolicy" || r.Kind == "Policy" {
			hint = ": exceptions to it are PolicyExceptions of kyverno.io/v2"
		}
		problems = append(problems, d.Problem(fmt.Sprintf("/spec/policyRefs/%d/kind", i), "unknown kind of policy %q%s",
			r.Kind, hint))
	}
	return problems
}
