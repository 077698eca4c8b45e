package exceptions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
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
	return "a " + e.Kind + " knows no exceptions: fix the value, or narrow what the policy (or its binding) matches"
}

// UnnamedError says that a resource cannot be told from others.
type UnnamedError struct{ Kind string }

func (e *UnnamedError) Error() string {
	return "this " + e.Kind + " has no name that an exception could be narrowed to: give it one"
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

// metadata is that of both kinds of exceptions.
type metadata struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace"`
	Labels    map[string]string `yaml:"labels,omitempty"`
}

// ruleException is a PolicyException of kyverno.io (https://kyverno.io/docs/guides/exceptions/).
type ruleException struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		Exceptions  []reference `yaml:"exceptions"`
		Match       matching    `yaml:"match"`
		PodSecurity []Control   `yaml:"podSecurity,omitempty"`
	} `yaml:"spec"`
}

type reference struct {
	PolicyName string   `yaml:"policyName"`
	RuleNames  []string `yaml:"ruleNames"`
}

type matching struct {
	Any []filter `yaml:"any"`
}

type filter struct {
	Resources resources `yaml:"resources"`
}

type resources struct {
	Kinds      []string `yaml:"kinds"`
	Namespaces []string `yaml:"namespaces,omitempty"`
	Names      []string `yaml:"names"`
	Operations []string `yaml:"operations"`
}

// expressions is a PolicyException of policies.kyverno.io.
type expressions struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		PolicyRefs      []policyRef `yaml:"policyRefs"`
		MatchConditions []condition `yaml:"matchConditions"`
		Images          []string    `yaml:"images,omitempty"`
		AllowedValues   any         `yaml:"allowedValues,omitempty"`
		ExpiresAt       string      `yaml:"expiresAt,omitempty"`
	} `yaml:"spec"`
}

type policyRef struct {
	Name string `yaml:"name"`
	Kind string `yaml:"kind"`
}

type condition struct {
	Name       string `yaml:"name"`
	Expression string `yaml:"expression"`
}

// YAML writes the exception: of kyverno.io/v2 for a policy of kyverno.io, of the policy's own version for one of
// policies.kyverno.io. Errors are *UnsupportedError and *UnnamedError.
func (t Target) YAML() (string, error) {
	if t.Name == "" || strings.ContainsAny(t.Name+t.Namespace, "*?") {
		return "", &UnnamedError{Kind: t.Kind}
	}
	meta := metadata{Name: t.ID, Namespace: t.In}
	meta.Name = cmp.Or(meta.Name, t.DefaultID())
	meta.Namespace = cmp.Or(meta.Namespace, t.Namespace)
	meta.Namespace = cmp.Or(meta.Namespace, "default")
	var body any
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

func (t Target) rules(meta metadata) ruleException {
	if !t.Expires.IsZero() {
		// Colons cannot stand in a label (https://kyverno.io/docs/policy-types/cleanup-policy/#cleanup-label).
		meta.Labels = map[string]string{"cleanup.kyverno.io/ttl": t.Expires.UTC().Format("2006-01-02")}
	}
	out := ruleException{APIVersion: "kyverno.io/v2", Kind: "PolicyException", Metadata: meta}
	out.Spec.Exceptions = []reference{{t.Policy, t.Rules}}
	in := resources{Kinds: []string{t.APIVersion + "/" + t.Kind}, Names: []string{t.Name},
		Operations: []string{"CREATE", "UPDATE"}}
	if t.Namespace != "" {
		in.Namespaces = []string{t.Namespace}
	}
	if t.Delete {
		in.Operations = []string{"DELETE"}
	}
	out.Spec.Match.Any = []filter{{in}}
	for _, m := range t.Made {
		made := in
		made.Kinds, made.Names = []string{m.APIVersion + "/" + m.Kind}, m.Names
		if t.Narrow {
			made.Names = m.Narrow
		}
		out.Spec.Match.Any = append(out.Spec.Match.Any, filter{made})
	}
	out.Spec.PodSecurity = t.Controls
	return out
}

func (t Target) expressions(meta metadata) expressions {
	out := expressions{APIVersion: t.PolicyAPIVersion, Kind: "PolicyException", Metadata: meta}
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
	out.Spec.PolicyRefs = []policyRef{{name, t.PolicyKind}}
	out.Spec.MatchConditions = []condition{{"only-this-resource", strings.Join(parts, " && ")}}
	out.Spec.Images = t.Images
	if list, ok := t.Values[""]; ok {
		out.Spec.AllowedValues = list
	} else if len(t.Values) > 0 {
		out.Spec.AllowedValues = t.Values
	}
	if !t.Expires.IsZero() {
		out.Spec.ExpiresAt = t.Expires.UTC().Format(time.RFC3339)
	}
	return out
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
	b.WriteString("# Drafted by Lintel. Say here why it is needed and who looks after it; shorten its time if you can.\n")
	if t.Namespace == "" && kinds.HasNamespace(t.APIVersion, t.Kind) {
		b.WriteString("# The namespace is not known from Git, so this covers the name in each of them: add the namespace.\n")
	}
	if len(t.Made) > 0 {
		var made []string
		for _, m := range t.Made {
			made = append(made, m.Kind+"s")
		}
		fmt.Fprintf(&b, "# A cluster makes %s of it and checks them by themselves, so they are named, too.\n",
			strings.Join(made, " and "))
	}
	return b.String()
}
