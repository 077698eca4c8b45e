package apiserver

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	evaluators "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/utils/clock"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Limits are the LimitRanges and ResourceQuotas of a namespace, as JSON.
type Limits struct{ Ranges, Quotas []map[string]any }

// Refuse returns what limits have against a Pod or a PersistentVolumeClaim that is created: amounts that a LimitRange does not
// allow, once its defaults are filled in, requests and limits that a ResourceQuota makes every container state, and what is more
// than all of it (https://kubernetes.io/docs/concepts/policy/limit-range/,
// https://kubernetes.io/docs/concepts/policy/resource-quotas/). How much of a quota is used is not known. Limits that cannot be
// read say nothing: the API server refuses them. failed says that Kubernetes' code gave up, and nothing is known.
func (l Limits) Refuse(ctx context.Context, object map[string]any) (found []schema.Violation, failed bool) {
	if len(l.Ranges)+len(l.Quotas) == 0 {
		return nil, false
	}
	defer func() {
		if r := recover(); r != nil {
			found, failed = nil, true
		}
	}()
	gvk := apischema.FromAPIVersionAndKind("v1", text(object["kind"]))
	s := strategyOf(gvk)
	if s == nil {
		return nil, false
	}
	defer s.group.use()()
	now, err := s.created(ctx, gvk, object)
	if err != nil { // the API server refuses it for that
		return nil, false
	}
	var ranges []*corev1.LimitRange
	for _, o := range l.Ranges {
		if r := new(corev1.LimitRange); written(o, r) {
			ranges = append(ranges, r)
		}
	}
	switch o := now.object.(type) {
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
		for _, q := range l.Quotas {
			found = append(found, unstated(o, q)...)
		}
	}
	return found, false
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

// unstated finds containers without requests or limits that a ResourceQuota makes all containers state, and a Pod that takes
// more than all of the quota.
func unstated(pod *core.Pod, object map[string]any) (found []schema.Violation) {
	q := new(corev1.ResourceQuota)
	if !written(object, q) {
		return nil
	}
	q.Status.Hard = q.Spec.Hard
	pods := evaluators.NewPodEvaluator(nil, clock.RealClock{})
	if matches, err := pods.Matches(q, pod); err != nil || !matches {
		return nil
	}
	required := pods.MatchingResources(quota.ResourceNames(q.Status.Hard))
	containers(pod, func(alone *core.Pod, pointer string) {
		if err := pods.Constraints(required, alone); err != nil {
			found = append(found, limited(pointer+"/resources", "ResourceQuota "+q.Name, err))
		}
	})
	if usage, err := pods.Usage(pod); err == nil && len(found) == 0 {
		if ok, over := quota.LessThanOrEqual(quota.Mask(usage, required), q.Spec.Hard); !ok && len(over) > 0 {
			used, hard := usage[over[0]], q.Spec.Hard[over[0]]
			found = append(found, limited("/spec", "ResourceQuota "+q.Name, fmt.Errorf("exceeded by this Pod alone: requested %s: %s, limited: %s",
				over[0], used.String(), hard.String())))
		}
	}
	return found
}

func limited(pointer, by string, err error) schema.Violation {
	return schema.Violation{Pointer: pointer, Message: schema.ClipTo(most, by+": "+strings.Trim(err.Error(), "[]"))}
}
