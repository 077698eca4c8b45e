package match

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/admission"
)

// Filters are objects that Kyverno does not review, whatever its policies say
// (https://kyverno.io/docs/installation/customization/#resource-filters).
type Filters []exempt

type exempt struct {
	kind            Kind
	namespace, name string
}

var bracketed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\[\]]*)\]`) })

// ParseFilters reads the key resourceFilters of Kyverno's ConfigMap: "[kind,namespace,name]", as often as needed. It skips filters that
// are not valid.
func ParseFilters(text string) (list Filters) {
	for _, found := range bracketed().FindAllStringSubmatch(text, -1) {
		parts := strings.Split(found[1], ",")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		parts = append(parts, "", "")
		kind, ok := ParseKind(parts[0])
		if !ok || len(parts) > 5 {
			continue
		}
		list = append(list, exempt{kind, cmp.Or(parts[1], "*"), cmp.Or(parts[2], "*")})
	}
	return list
}

// Match reports whether an object is one of them. A Namespace is also matched by its name as the namespace.
func (l Filters) Match(id admission.Identity) bool {
	t := &Target{Identity: id}
	return slices.ContainsFunc(l, func(f exempt) bool {
		if !t.is(f.kind) {
			return false
		}
		return wild(f.namespace, id.Namespace) && wild(f.name, id.Name) ||
			id.Group == "" && id.Kind == "Namespace" && wild(f.namespace, id.Name)
	})
}
