// Package match decides whether a request is one that a rule or an exception is about: compiled match and
// exclude blocks (https://kyverno.io/docs/policy-types/cluster-policy/match-exclude/), and the rules for controllers that
// follow from those for Pods.
package match
