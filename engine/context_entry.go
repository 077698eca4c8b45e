package engine

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/engine/variable"
)

// entry is a compiled context entry (https://kyverno.io/docs/policy-types/cluster-policy/external-data-sources/).
type entry struct {
	name string
	load func(*variable.Scope) (any, error)

	variable        bool
	value, standard *variable.Tree // the value and the default of a variable, nil where not written
	path            *query

	object        *variable.Tree // name of the ConfigMap, path of the API call
	objectSpace   *variable.Tree // namespace of the ConfigMap
	policySpace   string         // namespaced policies may only look into their own namespace
	needs         string         // for sources that only a cluster has: what it is
	needsArgument *variable.Tree
}

// query is a JMESPath expression that may contain variables.
type query struct {
	source string
	fixed  *jmespath.Expression
	tree   *variable.Tree
}

func (c *ruleCompiler) context(at string, list []policy.ContextEntry) []*entry {
	var out []*entry
	for i, e := range list {
		pointer := fmt.Sprintf("%s/%d", at, i)
		sources := map[string]bool{
			"variable": e.Variable != nil, "configMap": e.ConfigMap != nil, "apiCall": e.APICall != nil,
			"globalReference": e.GlobalReference != nil, "imageRegistry": e.ImageRegistry != nil,
		}
		have := present(sources)
		if e.Name == "" {
			c.bad(pointer, "the context entry has no name: add one")
			continue
		}
		if len(have) != 1 {
			c.bad(pointer, "the context entry %q has %d sources and must have one of variable, configMap, apiCall, "+
				"globalReference and imageRegistry", e.Name, len(have))
			continue
		}
		out = append(out, c.entry(pointer+"/"+have[0], have[0], e))
	}
	return out
}

func (c *ruleCompiler) entry(at, source string, e policy.ContextEntry) *entry {
	out := &entry{name: e.Name, policySpace: c.policy.namespace}
	out.load = out.needsCluster
	switch source {
	case "variable":
		out.variable, out.load = true, out.loadVariable
		v := e.Variable
		if v.Value == nil && v.JMESPath == "" && v.Default == nil {
			c.bad(at, "the variable %q has neither value nor jmesPath: add one", e.Name)
		}
		if v.Value != nil {
			out.value = c.template(at + "/value")
		}
		if v.Default != nil {
			out.standard = c.template(at + "/default")
		}
		out.path = c.query(at+"/jmesPath", v.JMESPath)
	case "configMap":
		out.load = out.loadConfigMap
		out.object = c.template(at + "/name")
		out.objectSpace = c.template(at + "/namespace")
	case "apiCall":
		a := e.APICall
		out.path = c.query(at+"/jmesPath", a.JMESPath)
		switch {
		case a.URLPath == "" && a.Service == nil:
			c.bad(at, "the apiCall of %q has neither urlPath nor service: add one", e.Name)
		case a.Service != nil:
			out.needs = "the service that context entry " + e.Name + " calls"
		case a.Method != "" && a.Method != "GET":
			out.needs = a.Method + " "
			out.needsArgument = c.template(at + "/urlPath")
		default:
			out.load = out.loadAPICall
			out.object = c.template(at + "/urlPath")
		}
	case "globalReference":
		out.needs = "GlobalContextEntry " + e.GlobalReference.Name
		out.path = c.query(at+"/jmesPath", e.GlobalReference.JMESPath)
	case "imageRegistry":
		out.needs = "the registry of "
		out.needsArgument = c.template(at + "/reference")
		out.path = c.query(at+"/jmesPath", e.ImageRegistry.JMESPath)
	}
	return out
}

// template compiles the part of the rule at a pointer. It returns nil if the rule has no such part.
func (c *ruleCompiler) template(at string) *variable.Tree {
	if jsonpointer.At(c.tree, at) == nil {
		return nil
	}
	t, err := variable.Parse(c.tree, at)
	if err != nil {
		c.failed(at, err)
		return nil
	}
	return t
}

func (c *ruleCompiler) query(at, source string) *query {
	if source == "" {
		return nil
	}
	q := &query{source: source}
	if !strings.Contains(source, "{{") && !strings.Contains(source, "$(") {
		q.fixed = c.expression(at, source)
		return q
	}
	if q.tree = c.template(at); q.tree != nil {
		// Text from an object is inserted as it is: variables in it are not evaluated, since they are not the policy's.
		q.tree = q.tree.Shallow()
	}
	return q
}

// expression returns the expression of a query with its variables resolved.
func (q *query) expression(s *variable.Scope, name string) (*jmespath.Expression, error) {
	if q.fixed != nil {
		return q.fixed, nil
	}
	v, err := q.tree.Resolve(s)
	if err != nil {
		return nil, fmt.Errorf("failed to substitute variables in context entry %s %s: %w", name, q.source, err)
	}
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("jmespath value must be a string %s %s: %v", name, q.source, v)
	}
	e, err := jmespath.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("incorrect query %s: %w", text, err)
	}
	return e, nil
}

// define adds the entries to a scope. Each is loaded when it is first used. Values are used for entries that only a
// cluster could answer.
func define(s *variable.Scope, entries []*entry, values map[string]any) {
	for _, e := range entries {
		if !e.variable && stands(values, e.name) {
			continue
		}
		s.Lazy(e.name, e.load)
	}
}

func stands(values map[string]any, name string) bool {
	for k := range values {
		if k == name || strings.HasPrefix(k, name+".") {
			return true
		}
	}
	return false
}

// needsCluster describes what the entry would have to load from a cluster.
func (e *entry) needsCluster(s *variable.Scope) (any, error) {
	what := e.needs
	if e.needsArgument != nil {
		v, err := e.needsArgument.Resolve(s)
		if err != nil {
			return nil, err
		}
		what += fmt.Sprint(v)
	}
	return nil, &admission.NeedsClusterError{What: what}
}

func (e *entry) loadVariable(s *variable.Scope) (any, error) {
	var path *jmespath.Expression
	var err error
	if e.path != nil {
		if path, err = e.path.expression(s, e.name); err != nil {
			return nil, err
		}
	}
	var out any
	if e.standard != nil {
		if out, err = e.standard.Resolve(s); err != nil {
			return nil, fmt.Errorf("failed to substitute variables in the default of context entry %s: %w", e.name, err)
		}
	}
	hasDefault := out != nil
	switch {
	case e.value != nil:
		v, err := e.value.Resolve(s)
		if err != nil {
			return nil, fmt.Errorf("failed to substitute variables in context entry %s: %w", e.name, err)
		}
		if path == nil {
			out = v
			break
		}
		found, err := path.Search(s.Context(), v, s.Env())
		if err == nil {
			out = found
		} else if !hasDefault || needsCluster(err) {
			return nil, fmt.Errorf("failed to apply jmespath %s to variable %s: %w", path, e.name, err)
		}
	case path != nil:
		found, err := s.Query(path)
		if err != nil && (!hasDefault || needsCluster(err)) {
			return nil, fmt.Errorf("failed to apply jmespath %s to variable %s: %w", path, e.name, err)
		}
		if err == nil && found != nil {
			out = found
		}
	}
	if out == nil {
		return nil, fmt.Errorf("failed to add context entry for variable %s since it evaluated to nil", e.name)
	}
	return out, nil
}

func needsCluster(err error) bool { return errors.As(err, new(*admission.NeedsClusterError)) }

func resolveText(t *variable.Tree, s *variable.Scope, what string) (string, error) {
	if t == nil {
		return "", nil
	}
	v, err := t.Resolve(s)
	if err != nil {
		return "", fmt.Errorf("failed to substitute variables in %s: %w", what, err)
	}
	text, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s must be a string, got %T", what, v)
	}
	return text, nil
}

func (e *entry) loadConfigMap(s *variable.Scope) (any, error) {
	name, err := resolveText(e.object, s, "the name of the ConfigMap of context entry "+e.name)
	if err != nil {
		return nil, err
	}
	namespace, err := resolveText(e.objectSpace, s, "the namespace of the ConfigMap of context entry "+e.name)
	if err != nil {
		return nil, err
	}
	namespace = cmp.Or(namespace, e.policySpace, "default")
	if e.policySpace != "" && namespace != e.policySpace {
		return nil, fmt.Errorf("context entry %s: configMap namespace %q is different from policy namespace %q", e.name,
			namespace, e.policySpace)
	}
	needs := &admission.NeedsClusterError{What: "ConfigMap " + namespace + "/" + name}
	cluster := s.Cluster()
	if cluster == nil {
		return nil, needs
	}
	object, ok := cluster.Get(s.Context(), "", "ConfigMap", namespace, name)
	switch {
	case !ok && admission.Removed(s.Context(), cluster, "", "ConfigMap", namespace, name):
		return nil, fmt.Errorf("failed to get configmap %s/%s: configmaps %q not found", namespace, name, name)
	case !ok:
		return nil, needs
	}
	return map[string]any{"data": object["data"], "metadata": object["metadata"]}, nil
}
