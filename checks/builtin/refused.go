package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/roots"
)

// Refused is the name of the check for objects that the API server refuses.
const Refused = "api-server"

// refused returns what the API server rejects. For an object that replaces an older one this includes forbidden
// changes, unless its deployer deletes the older one first.
func refused(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
	answer := f.asked(ctx, s)
	found := slices.Clone(answer.Refused)
	if !s.Recreate {
		found = append(found, answer.Fixed...)
	}
	if s.Object["kind"] == "Pod" {
		found = append(found, f.admits(ctx, s, "enforce", apiserver.Refused)...)
	}
	if !schema.FilledIn(s.Object["spec"]) {
		for _, v := range f.limited(ctx, s, s.Object, s.replaced()) {
			v.Message += ": " + apiserver.Refused
			found = append(found, v)
		}
	}
	if f.overflows(s) {
		found = append(found, schema.Violation{Message: fmt.Sprintf("Argo CD keeps the object in one of its annotations, which "+
			"then have more than %d bytes: set the sync option ServerSideApply=true: %s", maxAnnotations, apiserver.Refused)})
	}
	return slices.Concat(found, f.unresizable(ctx, s), f.unserved(ctx, s), f.taken(ctx, s))
}

// maxAnnotations is how many bytes the annotations of an object may have (TotalAnnotationSizeLimitB of
// k8s.io/apimachinery/pkg/api/validation).
const maxAnnotations = 256 << 10

// overflows reports whether the annotations of an object are too large once "kubectl apply" has added the object itself
// as JSON (https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-kubernetes-io-last-applied-configuration).
func (f *apiFacts) overflows(s Deployed) bool {
	by, known := f.cluster.(interface {
		AppliesOnClient(roots.Root, map[string]any) bool
	})
	const escaped = 6                             // bytes of a character in JSON at most
	sent := cmp.Or(s.rendered, s.Resource).Object // before a policy mutates it
	if !known || !hasName(sent) || textLength(sent)*escaped <= maxAnnotations || !by.AppliesOnClient(s.Root, sent) {
		return false
	}
	text, err := json.Marshal(sent)
	size := len("kubectl.kubernetes.io/last-applied-configuration") + len(text) + len("\n")
	for name, value := range admission.TextsAt(sent, "/metadata/annotations") {
		size += len(name) + len(value)
	}
	return err == nil && size > maxAnnotations
}

// textLength is about how many bytes an object has as JSON, where nothing is escaped.
func textLength(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			n += len(key) + 6 + textLength(value)
		}
	case []any:
		for _, value := range v {
			n += 1 + textLength(value)
		}
	case string:
		return len(v) + 2
	default:
		return 24
	}
	return n
}

// recreated returns the changes for which the deployer deletes and creates the object again, since the field is
// immutable.
func recreated(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
	if !s.Recreate {
		return nil
	}
	if s.Replaced != nil { // the API server is asked about the update that is not sent
		s.Old, s.Updated, s.said = s.Replaced, true, nil
	}
	found := slices.Clone(f.asked(ctx, s).Fixed)
	for i := range found {
		found[i].Message = fmt.Sprintf("%s: the deployment tool deletes the object and creates it again%s",
			strings.TrimSuffix(found[i].Message, ": "+apiserver.Fixed), lost(s.Object))
	}
	return found
}

// lost returns what else is deleted with an object.
func lost(object map[string]any) string {
	switch id := admission.IdentityOf(object); id.Kind {
	case "StatefulSet":
		return ", with all its Pods at once; its PersistentVolumeClaims stay"
	case "Deployment", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "Pod":
		return ", with all its Pods at once"
	case "Service":
		return ", and its addresses and load balancer with it"
	case "PersistentVolumeClaim", "PersistentVolume":
		return ": the volume is lost, and with the reclaim policy Delete its data, too"
	}
	return ""
}

// warned returns the warnings of the API server.
func warned(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
	return f.asked(ctx, s).Warned
}

// answer is the answer of the API server for an object.
type answer struct {
	apiserver.Answer
	asked bool
}

// asked asks the API server, once for all checks. Objects with placeholders and incomplete objects get an empty answer.
func (f *apiFacts) asked(ctx context.Context, s Deployed) apiserver.Answer {
	if s.said == nil || !s.said.asked {
		said := &answer{f.ask(ctx, s), true}
		if s.said == nil {
			return said.Answer
		}
		*s.said = *said
	}
	return s.said.Answer
}

func (f *apiFacts) ask(ctx context.Context, s Deployed) apiserver.Answer {
	if s.rendered != nil { // the API server decodes it before it mutates it
		first := s
		first.Resource, first.rendered = s.rendered, nil
		if said := f.ask(ctx, first); said.Unread {
			for i, v := range said.Refused {
				said.Refused[i].Pointer = s.moved(v.Pointer)
			}
			return said
		}
	}
	if s.Fragment() || schema.Encrypted(s.applied(s.Resource)) || !f.Schemas.Served(s.Object) {
		return apiserver.Answer{}
	}
	old := s.replaced()
	if !hasName(s.Object) && f.Schemas.Undeclared(ctx, s.Object) {
		return apiserver.Answer{} // a file of another program
	}
	by, known := f.cluster.(interface {
		AppliesOnServer(roots.Root, map[string]any) bool
	})
	onServer := known && by.AppliesOnServer(s.Root, s.Object)
	plugins := f.plugins(ctx, s.Object, s.Root, true)
	if old != nil { // it keeps what they added when it was created
		plugins = f.plugins(ctx, old, s.Root, false)
	}
	look := func(object map[string]any) apiserver.Answer {
		return apiserver.Look(ctx, object, old, f.Schemas.Minor(), onServer, plugins)
	}
	said := look(s.applied(s.Resource))
	for i, v := range said.Fixed {
		said.Fixed[i].Pointer = v.Pointer + changed(jsonpointer.At(old, v.Pointer), jsonpointer.At(s.applied(s.Resource), v.Pointer))
	}
	for i, v := range said.Refused {
		v.Pointer += unselected(s.Object, v.Pointer)
		said.Refused[i] = contradicting(v, old, s.applied(s.Resource), look)
	}
	said.Refused = append(said.Refused, f.incomplete(ctx, s)...)
	switch {
	case said.Failed:
		f.unusable.Store(cmp.Or(s.rendered, s.Resource), "Kubernetes' own validation crashed on it")
	case said.Unread: // the check of Kubernetes' types describes the error better
		said.Refused = slices.DeleteFunc(f.Schemas.Validate(ctx, s.Object, old).Violations,
			func(v schema.Violation) bool { return !v.Refused })
		if len(said.Refused) == 0 && !schema.FilledIn(s.Object) {
			said.Refused = []schema.Violation{{Pointer: "/kind", Message: fmt.Sprintf("a value of it has another "+
				"type than %v requires: %s", s.Object["kind"], apiserver.Refused)}}
		}
	}
	for _, list := range []*[]schema.Violation{&said.Refused, &said.Fixed, &said.Warned} {
		*list = slices.DeleteFunc(*list, func(v schema.Violation) bool {
			return schema.FilledIn(jsonpointer.At(s.Object, v.Pointer))
		})
	}
	return said
}

// incomplete finds what the definitions of Argo CD and Flux refuse of their objects. Where nothing is known to deploy the object,
// something else may complete it.
func (f *apiFacts) incomplete(ctx context.Context, s Deployed) []schema.Violation {
	by, known := f.cluster.(interface{ IsDeployed(roots.Root) bool })
	if group := admission.IdentityOf(s.Object).Group; group != "argoproj.io" && !strings.HasSuffix(group, ".fluxcd.io") ||
		!known || !by.IsDeployed(s.Root) {
		return nil
	}
	rejected := destinations(ctx, s)
	return slices.DeleteFunc(f.Schemas.Required(ctx, s.applied(s.Resource)), func(v schema.Violation) bool {
		return slices.ContainsFunc(rejected, func(r Violation) bool { return r.Pointer == v.Pointer })
	})
}

// changed returns the pointer of the first difference of two values, "" where they are the same or one is missing.
func changed(old, now any) (first string) {
	found := false
	rep := func(pointer string) {
		if !found {
			first, found = pointer, true
		}
	}
	diff.Edited(old, now, "", rep)
	diff.Edited(now, old, "", rep) // what is gone
	return first
}

// contradicting returns a violation of a field that an update leaves as it was, at the field that the update changes and that
// contradicts it: the first one without whose change the API server would accept the field.
func contradicting(v schema.Violation, old, now map[string]any, look func(map[string]any) apiserver.Answer) schema.Violation {
	if old == nil || v.Pointer == "" {
		return v
	}
	versions := diff.NewVersions(old, now)
	own, ok := versions.Earlier(v.Pointer)
	if !ok || !reflect.DeepEqual(jsonpointer.At(old, own), jsonpointer.At(now, v.Pointer)) {
		return v
	}
	var edits []string
	diff.Edited(old, now, "", func(at string) { edits = append(edits, at) })
	for _, at := range edits[:min(len(edits), 16)] { // each asks the API server again
		back := engine.Change{Field: at, Remove: true}
		if was, ok := versions.Earlier(at); ok {
			if value, has := jsonpointer.Lookup(old, was); has {
				back = engine.Change{Field: at, Value: value}
			}
		}
		object, ok := back.Apply(now)
		if !ok {
			continue
		}
		said := look(object)
		if !said.Unread && !said.Failed && !slices.ContainsFunc(said.Refused, func(w schema.Violation) bool { return w.Pointer == v.Pointer }) {
			v.Message = v.Pointer[strings.LastIndexByte(v.Pointer, '/')+1:] + ": " + v.Message
			v.Pointer = at
			return v
		}
	}
	return v
}

// unselected returns the pointer of the first label of a Pod template that its own selector does not match. at is the pointer
// of what the API server complains about; "" where that is something else.
func unselected(object map[string]any, at string) string {
	above, ok := strings.CutSuffix(at, "/template/metadata/labels")
	if !ok {
		return ""
	}
	has, wanted := admission.TextsAt(object, at), admission.TextsAt(object, above+"/selector/matchLabels")
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if has[key] != wanted[key] {
			return jsonpointer.Join(key)
		}
	}
	return ""
}

// hasName reports whether an object has a name, or one that is generated.
func hasName(object map[string]any) bool {
	return textAt(object, "/metadata/name") != "" || textAt(object, "/metadata/generateName") != ""
}

// withoutRefused drops violations of fields, and of values below them, that the check for rejected objects reports.
func (f *apiFacts) withoutRefused(ctx context.Context, found []schema.Violation, s Deployed) []schema.Violation {
	if !f.refuses || len(found) == 0 {
		return found
	}
	said := f.asked(ctx, s).Refused
	return slices.DeleteFunc(found, func(v schema.Violation) bool {
		return slices.ContainsFunc(said, func(r schema.Violation) bool {
			_, in := jsonpointer.Below(r.Pointer, v.Pointer)
			return in
		})
	})
}
