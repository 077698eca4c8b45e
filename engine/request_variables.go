package engine

import (
	"hash/fnv"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
)

// rootOf builds the variables that every rule has
// (https://kyverno.io/docs/policy-types/cluster-policy/variables/#pre-defined-variables). Objects are
// shared with the request: nothing changes them.
func rootOf(r *admission.Request) map[string]any {
	subject := r.CurrentObject()
	id := admission.IdentityOf(subject)
	gvk := map[string]any{"group": id.Group, "version": id.Version, "kind": id.Kind}
	of := r.Identity()
	gvr := map[string]any{"group": of.Group, "version": of.Version, "resource": kinds.PluralOf(of.Group, of.Kind)}
	user := map[string]any{}
	if r.UserInfo.Username != "" {
		user["username"] = r.UserInfo.Username
	}
	if r.UserInfo.UID != "" {
		user["uid"] = r.UserInfo.UID
	}
	if len(r.UserInfo.Groups) > 0 {
		user["groups"] = list(r.UserInfo.Groups)
	}
	if len(r.UserInfo.Extra) > 0 {
		extra := map[string]any{}
		for k, v := range r.UserInfo.Extra {
			extra[k] = list(v)
		}
		user["extra"] = extra
	}
	request := map[string]any{
		"kind": gvk, "requestKind": gvk, "resource": gvr, "requestResource": gvr,
		"name": id.Name, "namespace": id.Namespace, "operation": string(r.Operation), "dryRun": false,
		"userInfo": user, "roles": list(r.Roles), "clusterRoles": list(r.ClusterRoles),
		"object": object(r.Object), "oldObject": object(r.OldObject),
	}
	if id.Kind == "Namespace" {
		// The API server sets the namespace of a request about a Namespace to that namespace.
		request["namespace"] = id.Name
	}
	if r.SubResource != "" {
		request["subResource"], request["requestSubResource"] = r.SubResource, r.SubResource
	}
	root := map[string]any{"request": request, "serviceAccountName": "", "serviceAccountNamespace": ""}
	if account, ok := strings.CutPrefix(r.UserInfo.Username, "system:serviceaccount:"); ok {
		if namespace, name, ok := strings.Cut(account, ":"); ok {
			root["serviceAccountNamespace"], root["serviceAccountName"] = namespace, name
		}
	}
	return root
}

// object keeps a missing object from becoming a map without entries.
func object(o admission.Object) any {
	if o == nil {
		return nil
	}
	return o
}

func list(in []string) any {
	if in == nil {
		return nil
	}
	return jsonpointer.List(in)
}

// seedOf makes random values of policies the same for the same object.
func seedOf(id admission.Identity) uint64 {
	h := fnv.New64a()
	for _, s := range []string{id.Group, id.Kind, id.Namespace, id.Name} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return h.Sum64()
}
