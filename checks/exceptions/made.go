package exceptions

import (
	"maps"
	"strings"
)

// Made is a resource that a controller creates from another one, and that admission review checks separately.
type Made struct {
	APIVersion, Kind string
	// Names are wildcards for its generated names, which begin with the name of the original resource.
	Names []string
	// Narrow are wildcards for generated names of the usual length only, and Pattern is a regular expression for such
	// names. They are for cases in which names of other resources begin with the same name.
	Narrow  []string
	Pattern string
	// Object is an example of the created resource.
	Object map[string]any
}

// Generated names end in letters and digits that the cluster chooses: five for a Pod, usually eight to ten for a
// ReplicaSet. The name of a CronJob's Job ends in the minute for which it is scheduled.
const (
	podEnd     = "-?????"
	anyPod     = "-[a-z0-9]{5}"
	setEnd     = "-????????"
	anySet     = "-[a-z0-9]{8,10}"
	minuteEnd  = "-????????"
	anyMinute  = "-[0-9]{8}"
	maxPodBase = 58 // controllers cut longer names before they append the end
)

// MadeOf lists what controllers create from a resource, directly created resources first: Pods of Deployments, Jobs and
// so on. It is empty for a resource without controller.
func MadeOf(object map[string]any) []Made {
	kind, _ := object["kind"].(string)
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	if name == "" {
		return nil
	}
	template := at(object, "spec", "template")
	made := func(apiVersion, kind string, template map[string]any, spec any, sample, pattern string,
		narrow ...string,
	) Made {
		base := name
		if kind == "Pod" && len(base) >= maxPodBase {
			base = base[:maxPodBase-1]
		}
		m := Made{APIVersion: apiVersion, Kind: kind, Names: []string{base + "-*"}, Pattern: pattern}
		for _, n := range narrow {
			m.Narrow = append(m.Narrow, base+n)
		}
		metadata := map[string]any{}
		for _, field := range []string{"labels", "annotations"} {
			if v := at(template, "metadata")[field]; v != nil {
				metadata[field] = v
			}
		}
		metadata["name"] = base + sample
		if namespace != "" {
			metadata["namespace"] = namespace
		}
		m.Object = map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec}
		return m
	}
	pod := func(template map[string]any, sample, pattern string, narrow ...string) Made {
		return made("v1", "Pod", template, template["spec"], sample, pattern, narrow...)
	}
	switch kind {
	case "Deployment":
		spec := maps.Clone(at(object, "spec"))
		for _, own := range []string{"strategy", "revisionHistoryLimit", "progressDeadlineSeconds", "paused"} {
			delete(spec, own)
		}
		return []Made{
			made("apps/v1", "ReplicaSet", template, spec, "-7d9c5b7f4b", anySet, setEnd, setEnd+"?", setEnd+"??"),
			pod(template, "-7d9c5b7f4b-x2v9k", anySet+anyPod, setEnd+podEnd, setEnd+"?"+podEnd, setEnd+"??"+podEnd),
		}
	case "DaemonSet", "ReplicaSet", "ReplicationController":
		return []Made{pod(template, "-x2v9k", anyPod, podEnd)}
	case "StatefulSet":
		return []Made{pod(template, "-0", "-[0-9]+", "-?", "-??", "-???")}
	case "Job":
		return []Made{jobPod(object, pod, "")}
	case "CronJob":
		job := at(object, "spec", "jobTemplate")
		m := made("batch/v1", "Job", job, job["spec"], "-29123456", anyMinute, minuteEnd)
		return []Made{m, jobPod(job, pod, minuteEnd)}
	}
	return nil
}

// jobPod is the Pod of a Job; end is the end of the Job's own generated name.
func jobPod(job map[string]any, pod func(map[string]any, string, string, ...string) Made, end string) Made {
	sample, pattern := "", ""
	if end != "" {
		sample, pattern = "-29123456", anyMinute
	}
	template := at(job, "spec", "template")
	if at(job, "spec")["completionMode"] == "Indexed" {
		return pod(template, sample+"-0-x2v9k", pattern+"-[0-9]+"+anyPod, end+"-?"+podEnd, end+"-??"+podEnd,
			end+"-???"+podEnd)
	}
	return pod(template, sample+"-x2v9k", pattern+anyPod, end+podEnd)
}

// at returns the map below a map, nil where there is none.
func at(object map[string]any, path ...string) map[string]any {
	for _, name := range path {
		object, _ = object[name].(map[string]any)
	}
	return object
}

func (m Made) beginning() string { return strings.TrimSuffix(m.Names[0], "*") }
