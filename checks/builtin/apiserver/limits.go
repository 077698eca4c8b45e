package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper"
	evaluators "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/utils/clock"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
)

// Limits are the LimitRanges and ResourceQuotas of a namespace, as JSON.
type Limits struct{ Ranges, Quotas []map[string]any }

// Refuse returns what limits have against an object that is created, or that replaces old: amounts that a LimitRange does not
// allow, once its defaults are filled in, requests and limits that a ResourceQuota makes every container state, and what takes
// more than all of a quota (https://kubernetes.io/docs/concepts/policy/limit-range/,
// https://kubernetes.io/docs/concepts/policy/resource-quotas/). How much of a quota is used is not known. Limits that cannot be
// read say nothing: the API server refuses them. failed says that Kubernetes' code gave up, and nothing is known.
func (l Limits) Refuse(ctx context.Context, object, old map[string]any) (found []schema.Violation, failed bool) {
	gvk := apischema.FromAPIVersionAndKind(text(object["apiVersion"]), text(object["kind"]))
	if len(l.Ranges)+len(l.Quotas) == 0 {
		return nil, false
	}
	counter, measures := counterOf(gvk)
	if old != nil && (!measures || gvk.Kind == "Pod") { // such an update takes no more
		return nil, false
	}
	defer func() {
		if r := recover(); r != nil {
			found, failed = nil, true
		}
	}()
	defer groups()[""].use()() // the group of the limits
	var now, was runtime.Object
	if measures {
		for _, side := range []struct {
			written map[string]any
			read    *runtime.Object
		}{{object, &now}, {old, &was}} {
			if side.written == nil {
				continue
			}
			o, err := strategyOf(gvk).created(ctx, gvk, side.written, nil)
			if err != nil { // the API server refuses it for that
				return nil, false
			}
			*side.read = o.object
		}
	}
	var ranges []*corev1.LimitRange
	for _, o := range l.Ranges {
		if r := new(corev1.LimitRange); written(o, r) {
			ranges = append(ranges, r)
		}
	}
	switch o := now.(type) {
	case *core.PersistentVolumeClaim:
		for _, r := range ranges {
			if err := limitranger.PersistentVolumeClaimValidateLimitFunc(r, o); err != nil {
				found = append(found, limited("/spec/resources/requests/storage", "LimitRange "+r.Name, err))
			}
		}
	case *core.Pod:
		for _, r := range ranges {
			if err := limitranger.PodMutateLimitFunc(r, o); err != nil {
				return nil, true
			}
		}
		for _, r := range ranges {
			found = append(found, amounts(object, o, r)...)
		}
	}
	for _, o := range l.Quotas {
		q := new(corev1.ResourceQuota)
		if written(o, q) && (gvk.Kind != "ResourceQuota" || q.Name != jsonpointer.At(object, "/metadata/name")) {
			found = append(found, exceeded(counter, q, gvk.Kind, now, was)...)
		}
	}
	return found, false
}

// counterOf returns what counts an object for quotas. measures says that more than its number counts.
func counterOf(gvk apischema.GroupVersionKind) (e quota.Evaluator, measures bool) {
	switch gvk.GroupKind() {
	case apischema.GroupKind{Kind: "Pod"}:
		return evaluators.NewPodEvaluator(nil, clock.RealClock{}), true
	case apischema.GroupKind{Kind: "Service"}:
		return evaluators.NewServiceEvaluator(nil), true
	case apischema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return evaluators.NewPersistentVolumeClaimEvaluator(nil), true
	}
	plural, short := kinds.PluralOf(gvk.Group, gvk.Kind), corev1.ResourceName("")
	if gvk.Group == "" && helper.IsStandardQuotaResourceName(core.ResourceName(plural)) {
		short = corev1.ResourceName(plural)
	}
	return generic.NewObjectCountEvaluator(apischema.GroupResource{Group: gvk.Group, Resource: plural}, nil, short), false
}

// written reads an object of Kubernetes with its defaults.
func written(object map[string]any, into runtime.Object) bool {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, into)
	legacyscheme.Scheme.Default(into)
	return err == nil
}

// containers calls a function with the Pod that has but one of its containers, for each, and with where that one is.
func containers(pod *core.Pod, do func(alone *core.Pod, pointer string)) {
	for i := range pod.Spec.InitContainers {
		alone := *pod
		alone.Spec.InitContainers, alone.Spec.Containers = pod.Spec.InitContainers[i:i+1], nil
		do(&alone, fmt.Sprintf("/spec/initContainers/%d", i))
	}
	for i := range pod.Spec.Containers {
		alone := *pod
		alone.Spec.InitContainers, alone.Spec.Containers = nil, pod.Spec.Containers[i:i+1]
		do(&alone, fmt.Sprintf("/spec/containers/%d", i))
	}
}

// amounts finds what a LimitRange does not allow. Kubernetes names no field, so it is asked about each container and each
// limit alone.
func amounts(object map[string]any, pod *core.Pod, r *corev1.LimitRange) (found []schema.Violation) {
	for _, item := range r.Spec.Limits {
		for _, one := range single(item) {
			alone := r.DeepCopy()
			alone.Spec.Limits = []corev1.LimitRangeItem{one}
			look := func(pod *core.Pod, pointer string) {
				if err := limitranger.PodValidateLimitFunc(alone, pod); err != nil {
					found = append(found, limited(amount(object, pointer, one), "LimitRange "+r.Name, err))
				}
			}
			if one.Type == corev1.LimitTypePod {
				look(pod, "/spec")
			} else {
				containers(pod, look)
			}
		}
	}
	return found
}

// single returns the limits of an item one by one.
func single(item corev1.LimitRangeItem) (list []corev1.LimitRangeItem) {
	for _, name := range quota.ResourceNames(quota.Add(quota.Add(item.Min, item.Max), item.MaxLimitRequestRatio)) {
		of := func(l corev1.ResourceList) corev1.ResourceList { return quota.Mask(l, []corev1.ResourceName{name}) }
		for _, one := range []corev1.LimitRangeItem{
			{Min: of(item.Min)}, {Max: of(item.Max)}, {MaxLimitRequestRatio: of(item.MaxLimitRequestRatio)},
		} {
			if one.Type = item.Type; len(one.Min)+len(one.Max)+len(one.MaxLimitRequestRatio) > 0 {
				list = append(list, one)
			}
		}
	}
	return list
}

// amount is the field of a container or Pod that a limit is about: the request for a minimum, else the limit, as far as they
// are written.
func amount(object map[string]any, pointer string, limit corev1.LimitRangeItem) string {
	of := []string{"limits", "requests"}
	if len(limit.Min) > 0 {
		of = []string{"requests", "limits"}
	}
	for _, list := range []corev1.ResourceList{limit.Min, limit.Max, limit.MaxLimitRequestRatio} {
		for name := range list {
			for _, kind := range of {
				at := pointer + "/resources/" + kind + jsonpointer.Join(string(name))
				if _, ok := jsonpointer.Lookup(object, at); ok {
					return at
				}
			}
		}
	}
	return pointer + "/resources"
}

// exceeded finds containers without requests or limits that a ResourceQuota makes all containers state, and an object that
// takes more than all of the quota. Only what grows counts if it replaces another one.
func exceeded(e quota.Evaluator, q *corev1.ResourceQuota, kind string, now, was runtime.Object) (found []schema.Violation) {
	q.Status.Hard = q.Spec.Hard
	if matches, err := e.Matches(q, now); err != nil || !matches {
		return nil
	}
	required := e.MatchingResources(quota.ResourceNames(q.Status.Hard))
	if pod, ok := now.(*core.Pod); ok {
		containers(pod, func(alone *core.Pod, pointer string) {
			if err := e.Constraints(required, alone); err != nil {
				found = append(found, limited(pointer+"/resources", "ResourceQuota "+q.Name, err))
			}
		})
	}
	usage, err := e.Usage(now)
	if err != nil || len(found) > 0 {
		return found
	}
	if was != nil {
		if matched, err := e.Matches(q, was); err == nil && matched {
			before, _ := e.Usage(was)
			usage = quota.Mask(usage, quota.ResourceNames(quota.RemoveZeros(quota.SubtractWithNonNegativeResult(usage, before))))
		}
	}
	_, over := quota.LessThanOrEqual(quota.Mask(usage, required), q.Spec.Hard)
	if len(over) == 0 {
		return nil
	}
	name := slices.Min(over)
	takes, hard := usage[name], q.Spec.Hard[name]
	return []schema.Violation{limited(taking(kind, string(name)), "ResourceQuota "+q.Name, fmt.Errorf(
		"exceeded by this %s alone: requested %s: %s, limited: %s", kind, name, takes.String(), hard.String()))}
}

// taking is the field of an object that takes something of a quota.
func taking(kind, name string) string {
	switch {
	case kind == "Pod":
		return "/spec"
	case strings.HasPrefix(name, "services."):
		return "/spec/type"
	case strings.HasSuffix(name, "requests.storage"):
		return "/spec/resources/requests/storage"
	case strings.Contains(name, ".storageclass."):
		return "/spec/storageClassName"
	}
	return "/kind"
}

func limited(pointer, by string, err error) schema.Violation {
	return schema.Violation{Pointer: pointer, Message: schema.ClipTo(most, by+": "+strings.Trim(err.Error(), "[]"))}
}
