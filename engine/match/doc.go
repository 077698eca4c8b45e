// Package match decides whether a rule or an exception applies to a request. It has the compiled match and exclude
// blocks (https://kyverno.io/docs/policy-types/cluster-policy/match-exclude/), and generates the rules for pod
// controllers from those for Pods.
package match
