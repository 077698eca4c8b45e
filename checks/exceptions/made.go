package exceptions

import (
	"maps"
	"strings"
)

// Made is what a controller of the cluster makes of a resource: a cluster checks it once more, by itself.
type Made struct {
	APIVersion, Kind string
	// Names are wildcards for the names it gets: all that begin with the name of the resource.
	Names []string
	// Narrow are wildcards that fit names of the length that controllers give only, and Pattern is a regular expression
	// for them. They are for where other names begin with the name of the resource, too.
	Narrow  []string
	Pattern string
	// Object is an example.
	Object map[string]any
}

// Names end in letters and digits that the cluster chooses: five of them for a Pod, for a ReplicaSet eight to ten as a
// rule, for a Job of a CronJob the minute that it is for.
const (
	podEnd     = "-?????"
	anyPod     = "-[a-z0-9]{5}"
	setEnd     = "-????????"
	anySet     = "-[a-z0-9]{8,10}"
	minuteEnd  = "-????????"
	anyMinute  = "-[0-9]{8}"
	maxPodBase = 58 // longer beginnings of the names of Pods are cut
)

// MadeOf lists what controllers make of a resource, the nearest first: Pods of Deployments, Jobs and so on. It is empty
// for what is not run by itself.
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

// jobPod is the Pod of a Job, whose name ends as it says.
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

// beginning is what the names of a made thing begin with.
func (m Made) beginning() string { return strings.TrimSuffix(m.Names[0], "*") }
