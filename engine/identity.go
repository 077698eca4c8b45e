package engine

import (
	"slices"
	"strings"
)

// fullName returns namespace/name, or only the name if there is no namespace.
func fullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// FullName returns the policy's namespace/name, or only its name if it has no namespace.
func (p PolicyRef) FullName() string { return fullName(p.Namespace, p.Name) }

// RuleID identifies a rule in a set of policies, and can be compared. Rule is empty for a policy in CEL, and for a
// result of the match conditions of a policy's webhook.
type RuleID struct {
	Policy PolicyRef
	Rule   string
}

// ID returns the identity of the rule that gave the result. A policy in CEL is one rule, whatever name the result has:
// an exception for the whole policy gives the result a name of its own.
func (r Result) ID() RuleID {
	if !r.Policy.hasRules() {
		return RuleID{Policy: r.Policy}
	}
	return RuleID{r.Policy, r.Rule}
}

// hasRules reports whether the kind of the policy has named rules.
func (p PolicyRef) hasRules() bool {
	group, _, _ := strings.Cut(p.APIVersion, "/")
	return group != "policies.kyverno.io" && group != admissionGroup
}

// FullName returns the exception's namespace/name, or only its name if it has no namespace.
func (x *Exception) FullName() string { return fullName(x.Namespace, x.Name) }

// ID identifies the exception among all documents of rules, like [RuleDocument.ID].
func (x *Exception) ID() string { return documentID(x.APIVersion, "PolicyException", x.FullName()) }

func documentID(apiVersion, kind, name string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group + " " + kind + " " + name
}

// ExceptionNames returns the full names of exceptions, sorted.
func ExceptionNames(list []*Exception) []string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = x.FullName()
	}
	slices.Sort(names)
	return names
}
