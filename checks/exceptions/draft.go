package exceptions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/kinds"
)

// Target is what an exception is for: rules of one policy and one resource. With Images, Values or Controls it
// lets only these through.
type Target struct {
	PolicyAPIVersion, PolicyKind string
	Policy                       string   // name, or namespace/name of a namespaced policy of kyverno.io
	Rules                        []string // empty for a policy that is one rule

	APIVersion, Kind, Namespace, Name string // of the resource
	Delete                            bool   // it is its removal that is to be let through

	Made   []Made // what controllers make of the resource and the policy blocks as well
	Narrow bool   // with Made.Narrow in place of Made.Names

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

// UnsupportedError says that there are no exceptions for policies of a kind.
type UnsupportedError struct{ Kind string }

func (e *UnsupportedError) Error() string {
	return "a " + e.Kind + " does not support exceptions: fix the value, or narrow what the policy (or its binding) matches"
}

// UnnamedError says that a resource cannot be told from others.
type UnnamedError struct{ Kind string }

func (e *UnnamedError) Error() string {
	return "this " + e.Kind + " has no name that an exception could match: give it one"
}

// maxID keeps names usable as labels and file names.
const maxID = 63

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// DefaultID is a name for the exception, made of those of the policy and the resource: see [ID].
func (t Target) DefaultID() string { return ID(t.Policy, t.Kind, t.Namespace, t.Name) }

// ID makes one name of several: at most 63 characters, letters of the lower case, digits and dashes.
func ID(names ...string) string {
	whole := strings.Join(names, "-")
	id := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(whole), "-"), "-")
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(whole))
	return strings.TrimRight(id[:maxID-7], "-") + "-" + hex.EncodeToString(sum[:3])
}

// fields is a map in YAML, a key and a value in turn, in which nothing stands for a value that is empty.
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

// YAML writes the exception: of kyverno.io/v2 for a policy of kyverno.io, of the policy's own version for one of
// policies.kyverno.io. Errors are *UnsupportedError and *UnnamedError.
func (t Target) YAML() (string, error) {
	if t.Name == "" || strings.ContainsAny(t.Name+t.Namespace, "*?") {
		return "", &UnnamedError{Kind: t.Kind}
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
		return "", &UnsupportedError{Kind: t.PolicyKind}
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

// rules is a PolicyException of kyverno.io (https://kyverno.io/docs/guides/exceptions/).
func (t Target) rules(meta fields) fields {
	if !t.Expires.IsZero() {
		// Colons cannot stand in a label (https://kyverno.io/docs/policy-types/cleanup-policy/#cleanup-label).
		meta = append(meta, "labels", fields{"cleanup.kyverno.io/ttl", t.Expires.UTC().Format("2006-01-02")})
	}
	operations := []string{"CREATE", "UPDATE"}
	if t.Delete {
		operations = []string{"DELETE"}
	}
	filter := func(kind string, names []string) fields {
		namespaces := slices.DeleteFunc([]string{t.Namespace}, func(name string) bool { return name == "" })
		return fields{"resources", fields{"kinds", []string{kind}, "namespaces", namespaces, "names", names,
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

// expressions is a PolicyException of policies.kyverno.io.
func (t Target) expressions(meta fields) fields {
	_, name, ok := strings.Cut(t.Policy, "/")
	if !ok {
		name = t.Policy
	}
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
		"policyRefs", []fields{{"name", name, "kind", t.PolicyKind}},
		"matchConditions", []fields{{"name", "only-this-resource", "expression", strings.Join(parts, " && ")}},
		"images", t.Images,
		"allowedValues", values,
		"expiresAt", expires,
	}}
}

// plain are texts that mean nothing in CEL strings and YAML comments.
var plain = regexp.MustCompile(`^[A-Za-z0-9./_-]+$`)

// quote writes a string of CEL, whose escapes are those of Go
// (https://github.com/google/cel-spec/blob/master/doc/langdef.md#string-and-bytes-values).
func quote(s string) string {
	if plain.MatchString(s) {
		return "'" + s + "'"
	}
	return strconv.Quote(s)
}

// comment is what to do with the draft before it is committed.
func (t Target) comment() string {
	var b strings.Builder
	b.WriteString("# Drafted by Lintel. State here why it is needed and who is responsible for it; shorten its time " +
		"if you can.\n")
	if t.Namespace == "" && kinds.HasNamespace(t.APIVersion, t.Kind) {
		b.WriteString("# The namespace is not known from Git, so this matches the name in every namespace: add the " +
			"namespace.\n")
	}
	if len(t.Made) > 0 {
		var made []string
		for _, m := range t.Made {
			made = append(made, m.Kind+"s")
		}
		fmt.Fprintf(&b, "# A cluster creates %s from it and checks them separately, so this names them, too.\n",
			strings.Join(made, " and "))
	}
	return b.String()
}
