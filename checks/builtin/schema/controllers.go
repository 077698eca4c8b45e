package schema

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed controllers.yaml
var controllersText []byte

// controllers are the definitions of objects of Argo CD and Flux, as far as they are known without those of a repository.
var controllers = sync.OnceValue(func() *definitions {
	var list []struct {
		Group, Kind string
		Versions    []string
		Requires    bool // whether an object needs a spec
		Spec        map[string]any
	}
	if err := yaml.Unmarshal(controllersText, &list); err != nil {
		panic(err) // a test reads it, too
	}
	out := &definitions{kinds: map[kind]*declared{}}
	for _, of := range list {
		key := kind{of.Group, of.Kind}
		if out.kinds[key] == nil {
			out.kinds[key] = &declared{serves: map[string][]*schemaOf{}}
		}
		source := map[string]any{"type": "object", "properties": map[string]any{"spec": of.Spec}}
		if of.Requires {
			source["required"] = []any{"spec"}
		}
		for _, version := range of.Versions {
			out.kinds[key].add(version, &schemaOf{source: source, unknown: true, part: true, status: true})
		}
	}
	return out
})

// Required returns the violations of an object of Argo CD or Flux that is refused by the definition which these install, in
// each version. What a definition of the repository accepts is left out.
func (s *Schemas) Required(ctx context.Context, object map[string]any) []Violation {
	apiVersion, name := typeOf(object)
	group, version, _ := strings.Cut(apiVersion, "/")
	known := controllers().kinds[kind{group, name}]
	if known == nil || known.serves[version] == nil || Encrypted(object) {
		return nil
	}
	found, err := controllers().look(ctx, group, version, object, nil)
	own, ok := s.defined(ctx, group, name)
	if err != nil || len(found) == 0 || !ok {
		return nil
	}
	if own.has(group, name) {
		theirs, _ := own.look(ctx, group, version, object, nil)
		found = slices.DeleteFunc(found, func(v Violation) bool {
			return !slices.ContainsFunc(theirs, func(w Violation) bool { return w.Pointer == v.Pointer })
		})
	}
	for i, v := range found {
		if v.Missing {
			found[i].Message += ": " + refused
		}
	}
	return found
}
