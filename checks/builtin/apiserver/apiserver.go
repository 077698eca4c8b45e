// Package apiserver returns what the API server itself has against an object: what it rejects, for a new object and for
// one that replaces an older one, and what it warns about. Kubernetes' own code makes every decision: the strategies
// and validations of k8s.io/kubernetes, in the order of its storage
// (https://github.com/kubernetes/kubernetes/tree/master/staging/src/k8s.io/apiserver/pkg/registry/rest).
package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	genericvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine/kinds"
)

// Answer is what the API server returns for an object.
type Answer struct {
	Refused []schema.Violation // why it rejects the object as a new one
	Fixed   []schema.Violation // which changes of the older object it rejects
	Warned  []schema.Violation // its warnings for an accepted object
	Unread  bool               // it cannot decode the object as its kind; the rest is empty
	Failed  bool               // its code panicked for the object; the rest is empty
}

// Look returns what the API server says about an object, which is JSON as rendering returns it. old is the object that
// it replaces, nil if it is new. If the API server would reject old, the cluster does not have it, and the object is
// treated as new. minor is that of the cluster's version 1.N, 0 if unknown: what only later versions reject is a
// warning, and what only the cluster's version rejects is rejected. onServer says that it is sent as a server-side apply. by are the
// admission plugins for old, or for a new object.
func Look(ctx context.Context, object, old map[string]any, minor int, onServer bool, by Plugins) Answer {
	gvk := apischema.FromAPIVersionAndKind(text(object["apiVersion"]), text(object["kind"]))
	s := strategyOf(gvk)
	if s == nil {
		return Answer{Refused: append(custom(gvk, object), unsendable(object, onServer)...)}
	}
	out := s.lookBy(ctx, gvk, object, old, minor, onServer, by)
	out.Refused = append(out.Refused, unsendable(object, onServer)...)
	if onServer {
		defer s.group.use()()
		out.Refused = append(out.Refused, doubled(object)...)
	}
	return out
}

// lookBy compares the answers of the linked version of Kubernetes and of the cluster's version.
func (s *strategy) lookBy(ctx context.Context, gvk apischema.GroupVersionKind, object, old map[string]any, minor int,
	onServer bool, by Plugins) Answer {
	release := s.group.use()
	out := s.look(ctx, gvk, object, old, onServer, by)
	release()
	if minor < firstEmulated || minor >= linked {
		return out
	}
	var then Answer
	emulate(uint(minor), func() { then = s.look(ctx, gvk, object, old, onServer, by) })
	if then.Failed || then.Unread { // nothing is known of that version
		return out
	}
	for _, list := range []struct{ now, then *[]schema.Violation }{
		{&out.Refused, &then.Refused}, {&out.Fixed, &then.Fixed},
	} {
		*list.now = slices.DeleteFunc(*list.now, func(v schema.Violation) bool {
			newer := !slices.ContainsFunc(*list.then, func(w schema.Violation) bool { return w.Pointer == v.Pointer })
			if newer {
				v.Message = fmt.Sprintf("%s, in versions of Kubernetes after 1.%d", v.Message, minor)
				out.Warned = append(out.Warned, v)
			}
			return newer
		})
		for _, v := range *list.then {
			if !slices.ContainsFunc(*list.now, func(w schema.Violation) bool { return w.Pointer == v.Pointer }) {
				v.Message = fmt.Sprintf("%s, in Kubernetes 1.%d", v.Message, minor)
				*list.now = append(*list.now, v)
			}
		}
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// uid is the UID of all objects, which the API server would choose.
const uid = "00000000-0000-4000-8000-000000000000"

// requested returns the context of a request for an object of a kind.
func requested(ctx context.Context, gvk apischema.GroupVersionKind) context.Context {
	ctx = klog.NewContext(ctx, logr.Discard())
	return request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: gvk.Group, APIVersion: gvk.Version})
}

func (s *strategy) look(ctx context.Context, gvk apischema.GroupVersionKind, object, old map[string]any, onServer bool,
	by Plugins) (out Answer) {
	defer func() { // its code expects objects that passed other steps of the API server before
		if r := recover(); r != nil {
			out = Answer{Failed: true}
		}
	}()
	ctx = requested(ctx, gvk)
	now, err := s.created(ctx, gvk, object, by)
	if err != nil {
		return Answer{Unread: true}
	}
	ctx = request.WithNamespace(ctx, now.meta.GetNamespace())
	out.Refused = violations(object, rest.ValidateCreate(ctx, now.object, s.registered), Refused)
	if now.refused != nil {
		out.Refused = append(out.Refused, schema.Violation{Pointer: "/spec", Message: schema.ClipTo(most, now.refused.Error()) + ": " + Refused})
	}
	was, err := s.admitted(ctx, old, by)
	if err != nil || was == nil {
		if len(out.Refused) == 0 { // it warns only about objects that it accepts
			out.Warned = warnings(object, s.WarningsOnCreate(ctx, now.object))
		}
		return out
	}
	if now, err = s.created(ctx, gvk, s.applied(gvk, object, old, onServer, by), by); err != nil {
		return Answer{Unread: true}
	}
	s.kept(ctx, now, was)
	created := out.Refused
	out.Refused = nil
	for _, v := range violations(object, rest.ValidateUpdate(ctx, now.object, was.object, s.registered), Fixed) {
		if i := slices.IndexFunc(created, func(r schema.Violation) bool { return r.Pointer == v.Pointer }); i >= 0 {
			out.Refused = append(out.Refused, created[i])
		} else {
			out.Fixed = append(out.Fixed, v)
		}
	}
	if len(out.Refused)+len(out.Fixed) == 0 {
		out.Warned = warnings(object, s.WarningsOnUpdate(ctx, now.object, was.object))
	}
	return out
}

// live is an object in the form in which the API server has it.
type live struct {
	object  runtime.Object // of the internal type
	meta    metav1.Object
	refused error // why an admission plugin refuses it as a new one
}

// created decodes an object of a request to create it, and prepares it as the API server does.
func (s *strategy) created(ctx context.Context, gvk apischema.GroupVersionKind, object map[string]any, by Plugins) (*live, error) {
	internal, err := read(gvk, object)
	if err != nil {
		return nil, err
	}
	l := &live{object: internal, meta: internal.(metav1.Object)}
	if l.meta.GetUID() == "" {
		l.meta.SetUID(uid)
	}
	l.meta.SetResourceVersion("")
	switch {
	case !s.NamespaceScoped():
		l.meta.SetNamespace("")
	case l.meta.GetNamespace() == "":
		l.meta.SetNamespace(metav1.NamespaceDefault)
	}
	if l.meta.GetName() == "" && l.meta.GetGenerateName() != "" {
		l.meta.SetName(l.meta.GetGenerateName() + "00000")
	}
	s.PrepareForCreate(ctx, internal)
	if by != nil {
		l.refused = by(internal)
	}
	return l, nil
}

// read decodes an object, fills in its defaults, and converts it to the internal type.
func read(gvk apischema.GroupVersionKind, object map[string]any) (runtime.Object, error) {
	written, err := legacyscheme.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if isWide(object) { // the converter cuts off what does not fit
		data, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		if written, _, err = legacyscheme.Codecs.UniversalDeserializer().Decode(data, &gvk, nil); err != nil {
			return nil, err
		}
	} else if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, written); err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(written)
	return legacyscheme.Scheme.UnsafeConvertToVersion(written, runtime.InternalGroupVersioner)
}

// isWide reports whether a value contains a number that has more than 32 bits.
func isWide(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if isWide(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, isWide)
	case int64:
		return v != int64(int32(v))
	case float64:
		return math.Abs(v) > math.MaxInt32
	}
	return false
}

// admitted returns the old object as the cluster has it; nil if there is none or if the API server would reject it.
func (s *strategy) admitted(ctx context.Context, old map[string]any, by Plugins) (*live, error) {
	gvk := apischema.FromAPIVersionAndKind(text(old["apiVersion"]), text(old["kind"]))
	if old == nil || strategyOf(gvk) != s {
		return nil, nil
	}
	was, err := s.created(ctx, gvk, old, by)
	if err != nil || len(violations(old, rest.ValidateCreate(ctx, was.object, s.registered), Refused)) > 0 {
		return nil, err
	}
	return was, nil
}

// kept copies to a new object what it keeps of the old one, which has been in the cluster for some time.
func (s *strategy) kept(ctx context.Context, now, was *live) {
	was.meta.SetResourceVersion("1")
	now.meta.SetResourceVersion("1")
	now.meta.SetNamespace(was.meta.GetNamespace())
	now.meta.SetName(was.meta.GetName())
	if s.live != nil {
		s.live(now.object, was.object)
	}
	s.PrepareForUpdate(ctx, now.object, was.object)
}

// custom returns what the API server rejects in the metadata of a custom resource: names, labels, annotations, owners
// and finalizers. It ignores kinds of Kubernetes, and kinds whose group has no dot, since those are of other programs.
func custom(gvk apischema.GroupVersionKind, object map[string]any) []schema.Violation {
	if !strings.Contains(gvk.Group, ".") || kinds.OfKubernetes(gvk.Group) {
		return nil
	}
	var o metav1.PartialObjectMetadata
	metadata := map[string]any{"metadata": object["metadata"]}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &o); err != nil {
		return nil
	}
	if o.Name == "" && o.GenerateName != "" {
		o.Name = o.GenerateName + "00000"
	}
	return violations(object, genericvalidation.ValidateObjectMeta(&o.ObjectMeta, o.Namespace != "",
		genericvalidation.NameIsDNSSubdomain, field.NewPath("metadata")), Refused)
}

// warnings converts the API server's warnings, each of which begins with a field.
func warnings(object map[string]any, list []string) (out []schema.Violation) {
	for _, w := range list {
		at, message, ok := strings.Cut(w, ": ")
		if !ok || strings.ContainsAny(at, " \t") {
			at, message = "", w
		}
		out = append(out, schema.Violation{Pointer: schema.PointerTo(object, at), Message: schema.ClipTo(most, message)})
	}
	return out
}
