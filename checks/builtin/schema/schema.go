// Package schema looks at objects by what the API server knows of their kinds: the types of Kubernetes, and the
// definitions of custom resources that a repository declares, by the API server's own code
// (k8s.io/apiextensions-apiserver): what is pruned, the schema, list types, embedded objects, and the CEL rules with the
// old object. It also knows when kinds of Kubernetes, and some of other projects, were deprecated and removed.
package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Violation is one thing that is wrong with an object.
type Violation struct {
	Pointer string // RFC 6901; a field that is missing has the pointer it would have
	Message string
	Missing bool // the field is not there
	Refused bool // the API server cannot read the object
}

// most is how many violations of one object are told, in the order of its keys: what comes behind is most often of the
// same cause.
const most = 50

// Schemas are those of one cluster. They are safe for concurrent use.
type Schemas struct {
	types    *types
	minor    int // of Kubernetes; 0: not known
	declared Declared

	mu     sync.Mutex
	custom map[string]*definitions // of custom resources, by the kinds that were asked for
	flux   *string                 // likewise the version of Flux that is installed
}

// Declared lists the declared objects of a kind: all, or at least those whose text has a word.
type Declared func(ctx context.Context, group, kind, word string) []map[string]any

// Compile returns the schemas of a version of Kubernetes ("1.33"; empty: not known) and of the definitions of custom
// resources among the declared objects, which are asked for when an object of a kind is looked at that is not of
// Kubernetes.
func Compile(version string, declared Declared) *Schemas {
	minor, _ := minorOf(version)
	return &Schemas{types: typesOf(version), minor: minor, declared: declared, custom: map[string]*definitions{}}
}

// State says how much is known of the kind of an object.
type State int

// The states of a kind.
const (
	Known      State = iota // it was looked at
	Undeclared              // nobody declares the kind
	Unusable                // not all was looked at: its definition cannot be used, see the reason
)

// Answer is what a look found.
type Answer struct {
	Violations []Violation
	State      State
	Reason     string
}

// Validate returns what is wrong with an object. old is what it was before; nil where it is new.
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
	definitions, ok := s.defined(ctx, kind)
	if !ok {
		return Answer{}
	}
	if !definitions.has(group, kind) {
		if ofKubernetesGroup(apiVersion) {
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

// Minor is that of the version of Kubernetes, 0 where it is not known.
func (s *Schemas) Minor() int { return s.minor }

// Encrypted reports whether an object is encrypted by SOPS: who deploys it decrypts it first.
func Encrypted(object map[string]any) bool {
	_, encrypted := object["sops"].(map[string]any)
	return encrypted
}

// Served reports whether the cluster's version of Kubernetes serves the kind of an object, or knows nothing of it.
func (s *Schemas) Served(object map[string]any) bool {
	apiVersion, kind := typeOf(object)
	_, _, known := servedIn(apiVersion, kind)
	return !known || s.types.serves(apiVersion, kind)
}

// Undeclared reports whether nobody declares the kind of an object.
func (s *Schemas) Undeclared(ctx context.Context, object map[string]any) bool {
	apiVersion, kind := typeOf(object)
	if group, _, ok := strings.Cut(apiVersion, "/"); ok && !ofKubernetesGroup(apiVersion) {
		definitions, asked := s.defined(ctx, kind)
		return asked && !definitions.has(group, kind)
	}
	return s.Validate(ctx, object, nil).State == Undeclared
}

// declares reports whether a definition has a kind in a version.
func (s *Schemas) declares(ctx context.Context, apiVersion, name string) bool {
	group, version, _ := strings.Cut(apiVersion, "/")
	definitions, ok := s.defined(ctx, name)
	return ok && slices.Contains(definitions.versions(group, name), version)
}

// later tells of a kind that only later versions of Kubernetes have. What was removed is told by who knows the
// lifecycle of kinds.
func (s *Schemas) later(apiVersion, kind string, first int) Answer {
	if s.minor >= first {
		return Answer{}
	}
	return Answer{Violations: []Violation{{Pointer: "/apiVersion", Message: fmt.Sprintf(
		"%s in %s exists since Kubernetes 1.%d, and the cluster has 1.%d", kind, apiVersion, first, s.minor)}}}
}

// misspelled tells of a kind of no group that Kubernetes does not have and that looks like one it has. Files of other
// programs and old ones of OpenShift have kinds of no group, too.
func misspelled(apiVersion, kind string) Answer {
	if apiVersion != "v1" || len(versionsOf(kind)) == 0 && nearestKind(apiVersion, kind) == "" {
		return Answer{State: Undeclared}
	}
	return nowhere(apiVersion, kind)
}

// nowhere tells of a kind that no known version of Kubernetes has in an API version of a group of its own. What was
// removed earlier is told by who knows the lifecycle of kinds.
func nowhere(apiVersion, kind string) Answer {
	message := fmt.Sprintf("Kubernetes has no kind %q in %s", Clip(kind), Clip(apiVersion))
	if at := versionsOf(kind); len(at) > 0 {
		message += fmt.Sprintf(": it is in %s", strings.Join(at, ", "))
	} else if near := nearestKind(apiVersion, kind); near != "" {
		message += fmt.Sprintf(": did you mean %q?", near)
	}
	return Answer{Violations: []Violation{{Pointer: "/kind", Message: message}}}
}

// definition tells of schemas in a definition of custom resources that the API server does not take.
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

// defined returns the definitions of a kind; ok is false where they could not be asked for.
func (s *Schemas) defined(ctx context.Context, kind string) (d *definitions, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d = s.custom[kind]; d == nil {
		list := s.declared(ctx, "apiextensions.k8s.io", "CustomResourceDefinition", kind)
		if ctx.Err() != nil {
			return nil, false
		}
		d = newDefinitions(list, kind)
		s.custom[kind] = d
	}
	return d, true
}
