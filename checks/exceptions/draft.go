package exceptions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/kinds"
)

// Target describes an exception for rules of one policy and one resource. Images, Values and Controls narrow it
// further.
type Target struct {
	PolicyAPIVersion, PolicyKind string
	Policy                       string   // name, or namespace/name of a namespaced policy of kyverno.io
	Rules                        []string // empty for a policy without rules

	APIVersion, Kind, Namespace, Name string // of the resource
	Delete                            bool   // for the deletion of the resource

	Made   []Made // resources that controllers create from the resource, and that the policy also blocks
	Narrow bool   // use Made.Narrow instead of Made.Names

	Images   []string            // for policies that read kyverno.excludedImages or exceptions.allowedImages
	Values   map[string][]string // likewise allowedValues, by name; "" is the list without names
	Controls []Control           // for podSecurity rules

	In      string // namespace of the exception; default: that of the resource
	ID      string // name of the exception; default: [Target.DefaultID]
	Expires time.Time
}

// Control is a control of the Pod Security Standards, for the containers of some images, or for the pod.
type Control struct {
	Name   string   `yaml:"controlName"`
	Images []string `yaml:"images,omitempty"`
}

// maxID is the maximum length of an ID, so that it can be a label and a file name.
const maxID = 63

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// DefaultID returns a name for the exception, made of those of the policy and the resource: see [ID].
func (t Target) DefaultID() string { return ID(t.Policy, t.Kind, t.Namespace, t.Name) }

// ID combines names into one of at most 63 lower-case letters, digits and dashes.
func ID(names ...string) string {
	whole := strings.Join(names, "-")
	id := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(whole), "-"), "-")
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(whole))
	return strings.TrimRight(id[:maxID-7], "-") + "-" + hex.EncodeToString(sum[:3])
}

// fields is a YAML map as a list of keys and values in turn. Fields with an empty value are left out.
type fields []any

// MarshalYAML implements yaml.Marshaler.
func (f fields) MarshalYAML() (any, error) {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(f); i += 2 {
		if v := reflect.ValueOf(f[i+1]); !v.IsValid() || v.Len() == 0 {
			continue
		}
		var key, value yaml.Node
		if err := errors.Join(key.Encode(f[i]), value.Encode(f[i+1])); err != nil {
			return nil, err
		}
		out.Content = append(out.Content, &key, &value)
	}
	return out, nil
}

// YAML returns the exception as YAML. Its version is kyverno.io/v2 for a policy of kyverno.io, and the policy's own
// version for one of policies.kyverno.io. It fails for a policy of a kind without exceptions, and for a resource that an
// exception cannot name. Its errors are shown in place of the draft.
func (t Target) YAML() (string, error) {
	if t.Name == "" || strings.ContainsAny(t.Name+t.Namespace, "*?") {
		return "", fmt.Errorf("this %s has no name that an exception could match: give it one", t.Kind)
	}
	meta := fields{"name", cmp.Or(t.ID, t.DefaultID()), "namespace", cmp.Or(t.In, t.Namespace, "default")}
	var body fields
	group, _, _ := strings.Cut(t.PolicyAPIVersion, "/")
	switch group {
	case "kyverno.io":
		body = t.rules(meta)
	case "policies.kyverno.io":
		body = t.expressions(meta)
	default:
		return "", fmt.Errorf("a %s does not support exceptions: fix the value, or narrow what the policy (or its binding) "+
			"matches", t.PolicyKind)
	}
	var b strings.Builder
	b.WriteString(t.comment())
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(body); err != nil {
		return "", fmt.Errorf("writing the exception: %w", err)
	}
	return b.String(), nil
}

// rules returns a PolicyException of kyverno.io (https://kyverno.io/docs/guides/exceptions/).
func (t Target) rules(meta fields) fields {
	if !t.Expires.IsZero() {
		// A label cannot contain colons (https://kyverno.io/docs/policy-types/cleanup-policy/#cleanup-label).
		meta = append(meta, "labels", fields{"cleanup.kyverno.io/ttl", t.Expires.UTC().Format("2006-01-02")})
	}
	operations := []string{"CREATE", "UPDATE"}
	if t.Delete {
		operations = []string{"DELETE"}
	}
	filter := func(kind string, names []string) fields {
		return fields{"resources", fields{"kinds", []string{kind}, "namespaces", report.Filled(t.Namespace), "names", names,
			"operations", operations}}
	}
	filters := []fields{filter(t.APIVersion+"/"+t.Kind, []string{t.Name})}
	for _, m := range t.Made {
		names := m.Names
		if t.Narrow {
			names = m.Narrow
		}
		filters = append(filters, filter(m.APIVersion+"/"+m.Kind, names))
	}
	return fields{"apiVersion", "kyverno.io/v2", "kind", "PolicyException", "metadata", meta, "spec", fields{
		"exceptions", []fields{{"policyName", t.Policy, "ruleNames", t.Rules}},
		"match", fields{"any", filters},
		"podSecurity", t.Controls,
	}}
}

// expressions returns a PolicyException of policies.kyverno.io.
func (t Target) expressions(meta fields) fields {
	object := "object"
	if t.Delete {
		object = "oldObject"
	}
	which := object + ".apiVersion == " + quote(t.APIVersion) + " && " + object + ".kind == " + quote(t.Kind) + " && " +
		object + ".metadata.name == " + quote(t.Name)
	if len(t.Made) > 0 {
		which = "(" + which
		for _, m := range t.Made {
			name := ".metadata.name.startsWith(" + quote(m.beginning()) + ")"
			if t.Narrow {
				name = ".metadata.name.matches(" + quote("^"+regexp.QuoteMeta(strings.TrimSuffix(m.beginning(), "-"))+m.Pattern+
					"$") + ")"
			}
			which += " || " + object + ".apiVersion == " + quote(m.APIVersion) + " && " + object + ".kind == " + quote(m.Kind) +
				" && " + object + name
		}
		which += ")"
	}
	parts := []string{which}
	switch {
	case t.Namespace != "":
		parts = append(parts, object+".metadata.namespace == "+quote(t.Namespace))
	case !kinds.HasNamespace(t.APIVersion, t.Kind):
		parts = append(parts, "!has("+object+".metadata.namespace)")
	}
	var values any = t.Values
	if list, ok := t.Values[""]; ok {
		values = list
	}
	expires := ""
	if !t.Expires.IsZero() {
		expires = t.Expires.UTC().Format(time.RFC3339)
	}
	return fields{"apiVersion", t.PolicyAPIVersion, "kind", "PolicyException", "metadata", meta, "spec", fields{
		"policyRefs", []fields{{"name", path.Base(t.Policy), "kind", t.PolicyKind}},
		"matchConditions", []fields{{"name", "only-this-resource", "expression", strings.Join(parts, " && ")}},
		"images", t.Images,
		"allowedValues", values,
		"expiresAt", expires,
	}}
}

// plain matches texts without characters that are special in CEL strings or YAML comments.
var plain = regexp.MustCompile(`^[A-Za-z0-9./_-]+$`)

// quote writes a string of CEL, whose escapes are those of Go
// (https://github.com/google/cel-spec/blob/master/doc/langdef.md#string-and-bytes-values).
func quote(s string) string {
	if plain.MatchString(s) {
		return "'" + s + "'"
	}
	return strconv.Quote(s)
}

// comment returns the comment that says what to do with the draft before it is committed.
func (t Target) comment() string {
	var b strings.Builder
	b.WriteString("# Drafted by Lintel. State here why it is needed and who is responsible for it; shorten its time " +
		"if you can.\n")
	if t.Namespace == "" && kinds.HasNamespace(t.APIVersion, t.Kind) {
		b.WriteString("# The namespace is not known from Git, so this matches the name in every namespace: add the " +
			"namespace.\n")
	}
	if len(t.Made) > 0 {
		made := report.Mapped(t.Made, func(m Made) string { return m.Kind + "s" })
		fmt.Fprintf(&b, "# A cluster creates %s from it and checks them separately, so this names them, too.\n",
			strings.Join(made, " and "))
	}
	return b.String()
}

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
		m := Made{APIVersion: apiVersion, Kind: kind, Names: []string{base + "-*"}, Pattern: pattern,
			Narrow: report.Mapped(narrow, func(end string) string { return base + end })}
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
