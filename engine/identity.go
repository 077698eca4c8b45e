package engine

import (
	"slices"
	"strings"
)

// fullName is namespace/name, or the name alone of what is in no namespace.
func fullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// FullName returns the policy's namespace/name, or its name where it is in no namespace.
func (p PolicyRef) FullName() string { return fullName(p.Namespace, p.Name) }

// RuleID names a rule of a set of policies; two are equal when they are of the same rule. Rule is empty for a policy
// that is CEL as a whole, and for what the match conditions of a policy's webhook said.
type RuleID struct {
	Policy PolicyRef
	Rule   string
}

// ID returns which rule the result is of. A policy that is CEL as a whole is one rule, whatever its result is
// called: an exception for all of it gives the result a name of its own.
func (r Result) ID() RuleID {
	if !r.Policy.hasRules() {
		return RuleID{Policy: r.Policy}
	}
	return RuleID{r.Policy, r.Rule}
}

// hasRules reports whether the policy is of a kind that holds rules with names.
func (p PolicyRef) hasRules() bool {
	group, _, _ := strings.Cut(p.APIVersion, "/")
	return group != "policies.kyverno.io" && group != admissionGroup
}

// FullName returns the exception's namespace/name, or its name where it is in no namespace.
func (x *Exception) FullName() string { return fullName(x.Namespace, x.Name) }

// ID returns what names the exception among all documents of rules, as [RuleDocument.ID] does.
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
