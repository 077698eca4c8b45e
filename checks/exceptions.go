package checks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
)

// exceptions reports the exceptions that the change proposes.
func (r *run) exceptions() {
	for _, e := range r.proposed {
		x := report.Exception{Name: exceptions.Name(e), Path: e.Path, Line: e.Line, State: r.decision.State(e), By: r.decision.By(e),
			Expires: r.decision.Ends(e), Broad: r.broad(e), Beyond: r.beyond[e]}
		if entry, err := r.headTree.Entry(e.Path); err == nil {
			x.Blob = entry.ID
		}
		i := slices.IndexFunc(r.change.Reviews, func(v report.Review) bool { return v.Path == x.Path && v.Blob == x.Blob })
		if i >= 0 {
			x.Review = &r.change.Reviews[i]
		}
		for _, f := range r.report.Findings {
			if f.Exemption != nil && f.Exemption.Path == e.Path && f.Exemption.Exception == x.Name {
				x.Lets++
			}
		}
		r.report.Exceptions = append(r.report.Exceptions, x)
	}
	slices.SortFunc(r.report.Exceptions, func(a, b report.Exception) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
}

// sameRule says whether two results are of the same rule. A policy of policies.kyverno.io is one rule, whatever its
// result is called: an exception for all of it has a name of its own.
func sameRule(a, b engine.Result) bool {
	return a.Policy == b.Policy && (a.Rule == b.Rule || a.Rule == "" || b.Rule == "")
}

// exceptionBody is an exception as it is written; one of the two is set.
type exceptionBody struct {
	kyverno *policy.PolicyException
	cel     *policy.CELException
}

// body reads an exception from the head, or from where the rules are.
func (r *run) body(e *engine.Exception) (exceptionBody, bool) {
	from := r.rulesTree
	if slices.Contains(r.proposed, e) {
		from = r.headTree
	}
	data, _, err := from.ReadFile(e.Path)
	if err != nil {
		return exceptionBody{}, false
	}
	documents, _ := policy.Documents(policy.Source{Path: e.Path, Data: data})
	for _, d := range documents {
		if d.Line != e.Line || d.Name != e.Name || d.Kind != "PolicyException" {
			continue
		}
		var b exceptionBody
		if d.Group() == "policies.kyverno.io" {
			b.cel = &policy.CELException{}
			policy.Decode(d, b.cel) // its problems were reported when it was compiled
		} else {
			b.kyverno = &policy.PolicyException{}
			policy.Decode(d, b.kyverno)
		}
		return b, true
	}
	return exceptionBody{}, false
}

// policies are the names of those an exception is about, as results have them.
func (b exceptionBody) policies() (names []string) {
	if b.kyverno != nil {
		for _, ref := range b.kyverno.Spec.Exceptions {
			names = append(names, ref.PolicyName)
		}
	}
	if b.cel != nil {
		for _, ref := range b.cel.Spec.PolicyRefs {
			names = append(names, ref.Name)
		}
	}
	return names
}

// clusterPolicy reads a ClusterPolicy or Policy again; it is empty for another kind.
func (r *run) clusterPolicy(path string, line int) (policy.Document, *policy.ClusterPolicy) {
	p := &policy.ClusterPolicy{}
	d, ok := r.policyDocument(path, line)
	if !ok || d.Group() != "kyverno.io" {
		return d, p
	}
	key := fmt.Sprintf("%s:%d", path, line)
	if known := r.clusterPolicies[key]; known != nil {
		return d, known
	}
	policy.Decode(d, p) // its problems were reported when it was compiled
	if r.clusterPolicies == nil {
		r.clusterPolicies = map[string]*policy.ClusterPolicy{}
	}
	r.clusterPolicies[key] = p
	return d, p
}

// policyDocument finds the file of a policy again, to see what is written there. ok is false for one that the
// rules' commit does not have.
func (r *run) policyDocument(path string, line int) (policy.Document, bool) {
	if r.policyFiles == nil {
		r.policyFiles = map[string][]policy.Document{}
	}
	documents, known := r.policyFiles[path]
	if !known {
		if data, _, err := r.rulesTree.ReadFile(path); err == nil {
			documents, _ = policy.Documents(policy.Source{Path: path, Data: data})
		}
		r.policyFiles[path] = documents
	}
	for _, d := range documents {
		if d.Line == line {
			return d, true
		}
	}
	return policy.Document{}, false
}
