package builtin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
)

// makers are the accounts that create Pods for an object of a kind, and what owns these where it is not the object itself.
var makers = map[string][2]string{
	"Deployment": {"replicaset-controller", "ReplicaSet"}, "ReplicaSet": {"replicaset-controller"},
	"ReplicationController": {"replication-controller"}, "StatefulSet": {"statefulset-controller"},
	"DaemonSet": {"daemon-set-controller"}, "Job": {"job-controller"}, "CronJob": {"job-controller", "Job"},
}

// podsDenied finds what ValidatingAdmissionPolicies deny of the Pods that an object makes, where they are not asked about the
// object itself. Policies of Kyverno say which pod controllers they are about; where they are so about creations only, they are not
// asked about an update, and deny the new Pods.
func podsDenied(ctx context.Context, f *apiFacts, s Deployed) (list []schema.Violation) {
	id := admission.IdentityOf(s.Object)
	at, by := templates[[2]string{id.Group, id.Kind}], makers[id.Kind]
	if at == "" || by[0] == "" || id.Namespace == "" || s.rules == nil || f.cluster == nil || schema.FilledIn(mapAt(s.Object, at+"/spec")) ||
		fmt.Sprint(jsonpointer.At(s.Object, "/spec/replicas")) == "0" {
		return nil
	}
	maker := admission.UserInfo{Username: "system:serviceaccount:kube-system:" + by[0],
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}}
	denies := func(r engine.Result) bool { return r.Outcome == engine.Fail && r.Enforce && !r.Unsure && !r.Mutation }
	add := func(r engine.Result, pointer string) {
		list = append(list, schema.Violation{Pointer: pointer, Message: fmt.Sprintf(
			"%s: %s: the API server takes the %s and refuses its Pods, which never start", r.Policy.FullName(), schema.ClipTo(most, r.Message), id.Kind)})
	}
	if rules := s.rules.Creations(); rules != nil && s.request.Operation == admission.Update {
		as := *s.request
		as.Operation, as.OldObject, as.UserInfo = admission.Create, nil, maker // as the Pods are made
		for _, r := range report.Kept(rules.Evaluate(ctx, &as), denies) {
			for _, field := range r.Fields {
				add(r, field)
			}
		}
	}
	rules := s.rules.Beside("Pod", id.Kind, "ValidatingAdmissionPolicy")
	if rules == nil {
		return list
	}
	ctx = declared.Cautious(ctx, s.Root)
	namespace, _ := f.cluster.Get(ctx, "", "Namespace", "", id.Namespace)
	ctx = kinds.AskFor(ctx, "") // what is at hand
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": mapAt(s.Object, at+"/spec")}
	metadata := maps.Clone(mapAt(s.Object, at+"/metadata"))
	if metadata == nil {
		metadata = map[string]any{}
	}
	pod["metadata"] = metadata
	metadata["name"], metadata["generateName"], metadata["namespace"] = id.Name+"-0", id.Name+"-", id.Namespace
	metadata["ownerReferences"] = []any{map[string]any{"apiVersion": id.APIVersion(), "kind": cmp.Or(by[1], id.Kind), "name": id.Name,
		"controller": true, "blockOwnerDeletion": true}}
	request := &admission.Request{Operation: admission.Create, Object: pod, Applied: true, Place: s.request.Place, Inherited: s.request.Inherited, UserInfo: maker}
	if request.Namespace == nil { // the reviewer looks it up only where a policy for the object needs it
		request.Namespace = namespace
	}
	denied := func() []engine.Result {
		return report.Kept(rules.Evaluate(ctx, request), denies)
	}
	if len(denied()) == 0 {
		return list
	}
	request.Object = f.plugins(ctx, pod, s.Root, true).Add(pod) // only here, since it looks for what is not rendered
	for _, r := range denied() {
		for _, field := range r.Fields {
			if !strings.HasPrefix(field, "/spec") && !strings.HasPrefix(field, "/metadata/labels") && !strings.HasPrefix(field, "/metadata/annotations") {
				field = "" // of what the controller writes
			}
			add(r, at+field)
		}
	}
	return list
}
