package cel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
)

// variable is a named expression of a policy.
type variable struct {
	name string
	expr *expression
}

// evaluation is shared by all expressions while a policy is evaluated for one request. It is used by one goroutine.
// Values are computed when an expression first needs them.
type evaluation struct {
	lang      *language
	request   *admission.Request
	env       Env
	object    any // as the expressions see it: nil for null
	oldObject any
	empty     bool // an object that the request lacks is empty, and not null (vpol/engine/engine.go of Kyverno, Handle)
	params    any
	variables []variable
	images    []string // what exceptions let through
	values    *allowance
	namespace string // the policy's own, of a NamespacedValidatingPolicy

	known   map[string]any
	asked   map[[2]string]string // the kinds that ToGVR gave plural names to, by group and plural
	results map[string]ref.Val

	iterations int // that a quick program has left
	// undecided is set if an expression iterated over a map of which only a part is known.
	undecided error
}

// activation resolves the names in one expression.
type activation struct {
	ctx   context.Context
	state *evaluation
	bound map[string]any // the variables of comprehensions, when a part of one is run on its own
}

var _ interpreter.Activation = (*activation)(nil)

// Parent implements interpreter.Activation; there is none.
func (a *activation) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	if v, ok := a.bound[name]; ok {
		return v, true
	}
	s := a.state
	switch name {
	case interrupted:
		return a.tick(), true
	case identObject, identOldObject:
		value := s.object
		if name == identOldObject {
			value = s.oldObject
		}
		if value == nil && s.empty {
			return map[string]any{}, true
		}
		return null(value), true
	}
	if v, ok := s.known[name]; ok {
		return v, true
	}
	v, ok := a.compute(name)
	if ok {
		if s.known == nil {
			s.known = map[string]any{}
		}
		s.known[name] = v
	}
	return v, ok
}

func null(v any) any {
	if v == nil {
		return types.NullValue
	}
	return v
}

func (a *activation) compute(name string) (any, bool) {
	s := a.state
	switch name {
	case identRequest:
		return s.requestValue(), true
	case identNamespace:
		return s.namespaceValue(), true
	case identVariables:
		return &lookup{
			find:  func(key string) (ref.Val, bool) { return a.variable(key) },
			whole: func() ref.Val { return s.undecidable(errors.New("variables cannot be listed")) },
		}, true
	case identParams:
		return null(s.params), true
	case identImages:
		spec, err := podSpec(s.subject())
		if err != nil {
			return types.WrapErr(err), true
		}
		return podImages(spec), true
	case identExceptions:
		return map[string]any{"allowedImages": stringList(s.images), "allowedValues": s.allowed()}, true
	case identKyverno:
		return map[string]any{"excludedImages": stringList(s.images), "allowedValues": s.allowed()}, true
	case identResource:
		return methods{call: func(name string, args []ref.Val) ref.Val { return a.lookUp(name, args) }}, true
	case identEngine:
		return methods{call: a.engine}, true
	case "json":
		return documents(func(text []byte) ([]byte, error) { return text, nil }), true
	case "yaml":
		return documents(yaml.YAMLToJSON), true
	case identAuthorizer, identAuthorizedResource:
		return s.need("whether a user is authorized"), true
	case "image", "imageData":
		return methods{call: s.imageData}, true
	case "http":
		return s.need("an HTTP call"), true
	case "globalContext":
		return s.need("a global context entry"), true
	}
	return nil, false
}

func (s *evaluation) subject() admission.Object { return s.request.CurrentObject() }

func (s *evaluation) allowed() ref.Val {
	values := cmp.Or(s.values, &allowance{})
	return allowed{stringList(values.all()), values}
}

// need returns the error value for something that is not in the repository.
func (s *evaluation) need(what string) ref.Val {
	return types.WrapErr(&admission.NeedsClusterError{What: what})
}

// undecidable makes the current expression fail, whatever else it computes.
func (s *evaluation) undecidable(err error) ref.Val {
	s.undecided = err
	return types.WrapErr(err)
}

// variable evaluates a variable of the policy once. Its error is cached, too.
func (a *activation) variable(name string) (ref.Val, bool) {
	if v, ok := a.state.results[name]; ok {
		return v, true
	}
	for _, v := range a.state.variables {
		if v.name != name {
			continue
		}
		in := a
		if a.bound != nil { // which is of the expression that asks
			in = &activation{ctx: a.ctx, state: a.state}
		}
		out, err := v.expr.eval(in)
		if err != nil {
			out = types.WrapErr(err)
		}
		if a.state.results == nil {
			a.state.results = map[string]ref.Val{}
		}
		a.state.results[name] = out
		return out, true
	}
	return nil, false
}

// engine evaluates functions that depend on the evaluation. Random numbers are seeded by the resource, so that the same
// change always gets the same result.
func (a *activation) engine(name string, args []ref.Val) ref.Val {
	now := a.state.env.Now
	switch name {
	case callNow:
		return types.Timestamp{Time: now.UTC()}
	case "__time_now", "__time_now_utc":
		return types.String(now.UTC().Format(time.RFC3339))
	case "__random":
		pattern := "[0-9a-z]{8}"
		if len(args) == 1 {
			text, ok := args[0].(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			pattern = string(text)
		}
		id := admission.IdentityOf(a.state.subject())
		h := fnv.New64a()
		_, _ = h.Write([]byte(strings.Join([]string{id.Group, id.Kind, id.Namespace, id.Name}, "\x00"))) // never fails
		return randomText(a.ctx, pattern, h.Sum64())
	}
	return types.NoSuchOverloadErr()
}

// requestValue returns the admission request in the form that policies use
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
func (s *evaluation) requestValue() any {
	r := s.request
	id := admission.IdentityOf(s.subject())
	kind := map[string]any{"group": id.Group, "version": id.Version, "kind": id.Kind}
	of := r.Identity()
	plural := map[string]any{"group": of.Group, "version": of.Version, "resource": kinds.PluralOf(of.Group, of.Kind)}
	user := map[string]any{"username": r.UserInfo.Username, "uid": r.UserInfo.UID, "groups": r.UserInfo.Groups}
	if r.UserInfo.Groups == nil {
		user["groups"] = []string{}
	}
	user["extra"] = jsonpointer.Object(r.UserInfo.Extra)
	var namespace any = id.Namespace
	switch {
	case id.Kind == "Namespace" && id.Group == "":
		namespace = id.Name // as the API server has it
	case r.Unplaced(id):
		namespace = types.WrapErr(admission.NeedsNamespace(id))
	}
	request := map[string]any{
		"uid": "", "kind": kind, "resource": plural, "subResource": r.SubResource,
		"requestKind": kind, "requestResource": plural, "requestSubResource": r.SubResource,
		"name": id.Name, "namespace": namespace, "operation": string(r.Operation),
		"userInfo": user, "dryRun": false,
		"object": null(s.object), "oldObject": null(s.oldObject), "options": s.need("the options of the request"),
	}
	for _, key := range []string{"subResource", "requestSubResource", "name", "namespace"} { // omitempty in k8s.io/api
		if request[key] == "" {
			delete(request, key)
		}
	}
	return request
}

// namespaceValue returns the Namespace of the request. If the repository does not declare it, only the name is known,
// and the label that Kubernetes sets on every namespace.
func (s *evaluation) namespaceValue() any {
	if s.request.Namespace != nil {
		return s.request.Namespace
	}
	id := admission.IdentityOf(s.subject())
	needs := &admission.NeedsClusterError{What: "Namespace " + id.Namespace}
	if id.Namespace == "" {
		namespaced, known := kinds.Namespaced(id.Group, id.Kind)
		needs = admission.NeedsNamespace(id)
		switch {
		case !known:
			return types.WrapErr(needs)
		case !namespaced:
			return types.NullValue
		}
	}
	partial := func(known map[string]any) *lookup {
		return &lookup{
			find: func(key string) (ref.Val, bool) {
				if v, ok := known[key]; ok {
					return types.DefaultTypeAdapter.NativeToValue(v), true
				}
				return types.WrapErr(needs), true
			},
			whole: func() ref.Val { return s.undecidable(needs) },
		}
	}
	if id.Namespace == "" {
		return partial(map[string]any{"apiVersion": "v1", "kind": "Namespace"})
	}
	labels := partial(map[string]any{nameLabel: id.Namespace})
	return partial(map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": partial(map[string]any{"name": id.Namespace, "labels": labels}),
	})
}

// podSpec returns the pod spec of the object or of its template, nil if it has none. The error is an
// *admission.UnreadableError.
func podSpec(o admission.Object) (map[string]any, error) {
	if pointer, ok := admission.PodPointer(admission.IdentityOf(o).Kind); ok {
		return admission.MapAt(o, pointer+"/spec")
	}
	// Kinds that Kubernetes does not have may have their pod spec anywhere.
	for _, kind := range []string{"Pod", "Deployment", "CronJob"} {
		pointer, _ := admission.PodPointer(kind)
		if spec, _ := admission.MapAt(o, pointer+"/spec"); spec["containers"] != nil {
			return spec, nil
		}
	}
	return nil, nil
}

// podImages returns the images of a pod by the lists of its containers. If a list is invalid, or a container has no
// image, expressions that read it get an error, as in Kyverno.
func podImages(spec map[string]any) map[string]any {
	out := map[string]any{}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		images := []string{}
		items, ok := spec[list].([]any)
		ok = ok || spec[list] == nil
		for _, item := range items {
			c, _ := item.(map[string]any)
			image, has := c["image"].(string)
			images, ok = append(images, image), ok && has
		}
		if out[list] = images; !ok {
			err := fmt.Errorf("%s must be a list of containers with images", list)
			out[list] = types.WrapErr(&admission.UnreadableError{Err: err})
		}
	}
	return out
}

// randomText returns random text that matches a regular expression, like the JMESPath function random.
func randomText(ctx context.Context, pattern string, seed uint64) ref.Val {
	draw, err := jmespath.Compile("random(@)")
	if err != nil {
		return types.WrapErr(err)
	}
	out, err := draw.Search(ctx, pattern, jmespath.Env{Seed: seed})
	if err != nil {
		return types.WrapErr(err)
	}
	text, _ := out.(string)
	return types.String(text)
}
