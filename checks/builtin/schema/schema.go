// Package schema validates objects by the schema of their kind, as the API server does. It has the types of Kubernetes.
// For custom resources, it uses the definitions that a repository declares and the API server's own code
// (k8s.io/apiextensions-apiserver): pruning, the schema, list types, embedded objects, and the CEL rules with the old
// object. It also knows when kinds of Kubernetes, and of some other projects, were deprecated and removed.
package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// Violation is one error of an object.
type Violation struct {
	Pointer string // RFC 6901; a field that is missing has the pointer it would have
	Message string
	Missing bool // the field does not exist
	Refused bool // the API server cannot read the object
	Foreign bool // the definition of a custom resource does not have its version, or the field
}

// most limits the reported violations of one object, in the order of its keys, since further ones mostly have the same
// cause.
const most = 50

// Schemas are the schemas of one cluster. It is safe for concurrent use.
type Schemas struct {
	types    *types
	minor    int // of Kubernetes; 0: unknown
	declared Declared

	// No lock is held while something is looked up, since what the API server stores of a declared object is asked here again.
	custom sync.Map               // the *definitions of custom resources, by the kind that was looked up
	flux   atomic.Pointer[string] // the installed version of Flux; nil: not looked up yet
}

// Declared lists the declared objects of a kind. If it is that of definitions, defined may be the kind that they define, as
// KIND.GROUP: then others may be left out.
type Declared func(ctx context.Context, group, kind, defined string) []map[string]any

// Compile returns the schemas of a version of Kubernetes ("1.33"; empty: unknown), and of the definitions of custom
// resources among the declared objects. Definitions are looked up when an object of an unknown kind is first checked.
func Compile(version string, declared Declared) *Schemas {
	minor, _ := minorOf(version)
	return &Schemas{types: typesOf(version), minor: minor, declared: declared}
}

// State is how much is known about the kind of an object.
type State int

// The states of a kind.
const (
	Known      State = iota // the object was checked
	Undeclared              // no definition of the kind is declared
	Unusable                // the object was not checked completely, since its definition cannot be used; see the reason
)

// Answer is the result of a validation.
type Answer struct {
	Violations []Violation
	State      State
	Reason     string
}

// Validate returns the violations of an object. old is the object before the change; nil if it is new.
func (s *Schemas) Validate(ctx context.Context, object, old map[string]any) Answer {
	apiVersion, kind := typeOf(object)
	if Encrypted(object) || apiVersion == "" || kind == "" {
		return Answer{}
	}
	if s.types.serves(apiVersion, kind) {
		return Answer{Violations: append(s.types.look(object), definition(object)...)}
	}
	if first, _, known := servedIn(apiVersion, kind); known {
		return s.later(apiVersion, kind, first)
	}
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return misspelled(apiVersion, kind)
	}
	definitions, ok := s.defined(ctx, group, kind)
	if !ok {
		return Answer{}
	}
	if !definitions.has(group, kind) {
		if ofKubernetesGroup(apiVersion) || !mayBeCustom(group) && len(versionsOf(kind)) > 0 {
			return nowhere(apiVersion, kind)
		}
		return Answer{State: Undeclared}
	}
	found, err := definitions.look(ctx, group, version, object, old)
	out := Answer{Violations: append(s.types.metadata(object["metadata"]), found...)}
	if err != nil {
		out.State, out.Reason = Unusable, err.Error()
	}
	return out
}

// Minor is the minor version of Kubernetes, 0 if unknown.
func (s *Schemas) Minor() int { return s.minor }

// Encrypted reports whether an object is encrypted by SOPS, so that it is decrypted before it is deployed.
func Encrypted(object map[string]any) bool {
	_, encrypted := object["sops"].(map[string]any)
	return encrypted
}

// Decrypted returns a Secret or ConfigMap that SOPS encrypted with other values in its data, which the API server accepts in any
// type of Secret. Other objects are returned as they are, and those that are encrypted beyond their data: then their fields are
// not known.
func Decrypted(object map[string]any) map[string]any {
	if kind := object["kind"]; !Encrypted(object) || kind != "Secret" && kind != "ConfigMap" {
		return object
	}
	out, unknown := maps.Clone(object), false
	delete(out, "sops")
	for holder, value := range map[string]string{"data": "e30=", "stringData": "{}"} {
		values, ok := out[holder].(map[string]any)
		if !ok {
			continue
		}
		values = maps.Clone(values)
		for key, v := range values {
			if text, is := v.(string); is && doc.IsEncrypted(text) {
				values[key] = value
			}
		}
		out[holder] = values
	}
	jsonpointer.Walk(out, "", func(_ string, v any) {
		text, is := v.(string)
		unknown = unknown || is && doc.IsEncrypted(text)
	})
	if unknown {
		return object
	}
	return out
}

// Served reports whether the cluster's version of Kubernetes serves the kind of an object, or no known version does.
func (s *Schemas) Served(object map[string]any) bool {
	apiVersion, kind := typeOf(object)
	_, _, known := servedIn(apiVersion, kind)
	return !known || s.types.serves(apiVersion, kind)
}

// Undeclared reports whether no definition of the kind of an object is declared.
func (s *Schemas) Undeclared(ctx context.Context, object map[string]any) bool {
	apiVersion, kind := typeOf(object)
	if group, _, ok := strings.Cut(apiVersion, "/"); ok && !ofKubernetesGroup(apiVersion) {
		definitions, asked := s.defined(ctx, group, kind)
		return asked && !definitions.has(group, kind)
	}
	return s.Validate(ctx, object, nil).State == Undeclared
}

// declares reports whether a definition has a version of a kind.
func (s *Schemas) declares(ctx context.Context, apiVersion, name string) bool {
	group, version, _ := strings.Cut(apiVersion, "/")
	definitions, ok := s.defined(ctx, group, name)
	return ok && slices.Contains(definitions.versions(group, name), version)
}

// later returns the answer for a kind that only later versions of Kubernetes have. Removed kinds are reported by
// Removed.
func (s *Schemas) later(apiVersion, kind string, first int) Answer {
	if s.minor >= first {
		return Answer{}
	}
	return Answer{Violations: []Violation{{Pointer: "/apiVersion", Message: fmt.Sprintf(
		"%s in %s exists since Kubernetes 1.%d, and the cluster has 1.%d", kind, apiVersion, first, s.minor)}}}
}

// misspelled returns the answer for a kind without a group that Kubernetes does not have, if it is similar to one that
// it has. Files of other programs and old ones of OpenShift also have kinds without a group.
func misspelled(apiVersion, kind string) Answer {
	if len(versionsOf(kind)) == 0 && (apiVersion != "v1" || nearestKind(apiVersion, kind) == "") {
		return Answer{State: Undeclared}
	}
	return nowhere(apiVersion, kind)
}

// mayBeCustom reports whether a definition of custom resources may have a group: a domain with a dot
// (https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/).
func mayBeCustom(group string) bool {
	return strings.Contains(group, ".") && len(validation.IsDNS1123Subdomain(group)) == 0
}

// nowhere returns the answer for a kind that no known version of Kubernetes has in an API version of its own groups.
// Removed kinds are reported by Removed.
func nowhere(apiVersion, kind string) Answer {
	message := fmt.Sprintf("Kubernetes has no kind %q in %s", Clip(kind), Clip(apiVersion))
	if at := versionsOf(kind); len(at) > 0 {
		message += fmt.Sprintf(": it is in %s", strings.Join(at, ", "))
	} else if near := nearestKind(apiVersion, kind); near != "" {
		message += fmt.Sprintf(": did you mean %q?", near)
	}
	return Answer{Violations: []Violation{{Pointer: "/kind", Message: message}}}
}

// definition returns the violations of schemas in a definition of custom resources that the API server rejects.
func definition(object map[string]any) (found []Violation) {
	if object["kind"] != "CustomResourceDefinition" {
		return nil
	}
	versions, _ := jsonpointer.At(object, "/spec/versions").([]any)
	for i, v := range versions {
		source := jsonpointer.At(v, "/schema/openAPIV3Schema")
		if source == nil {
			continue
		}
		if err := structuralProblem(source); err != nil {
			found = append(found, Violation{Pointer: fmt.Sprintf("/spec/versions/%d/schema/openAPIV3Schema", i),
				Message: err.Error()})
		}
	}
	return found
}

// defined returns the definitions of a kind; ok is false if they could not be looked up.
func (s *Schemas) defined(ctx context.Context, group, name string) (d *definitions, ok bool) {
	of := kind{group, name}
	if known, ok := s.custom.Load(of); ok {
		return known.(*definitions), true
	}
	list := s.declared(ctx, "apiextensions.k8s.io", "CustomResourceDefinition", name+"."+group)
	if ctx.Err() != nil {
		return nil, false
	}
	known, _ := s.custom.LoadOrStore(of, newDefinitions(list, of, s.minor))
	return known.(*definitions), true
}
