package gitops

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
)

// valuesFrom reads one reference to values (https://fluxcd.io/flux/components/helm/helmreleases/#values-references).
func (r *reader) valuesFrom(from *field) []Layer {
	kind, name, key := from.text("kind"), from.text("name"), cmp.Or(from.text("valuesKey"), "values.yaml")
	l := Layer{Name: kind + " " + name, Where: from.position("name"), path: from.text("targetPath"), variables: true,
		first: true}
	switch {
	case l.path != "" && from.truth("literal"):
		l.kind = literalLayer
	case l.path != "":
		l.kind = fluxLayer
	}
	if kind != "ConfigMap" && kind != "Secret" {
		l.broken = fmt.Sprintf("Flux takes values from a ConfigMap or a Secret, not from %.40q", kind)
		return []Layer{l}
	}
	list := r.nearest("", kind, named(name, r.object.Namespace))
	found := first(list)
	for _, holder := range []string{"data", "stringData"} {
		r.also(found.get(holder))
	}
	value := found.get("data", key)
	secret := kind == "Secret"
	if text := found.get("stringData", key); secret && text != nil {
		value, secret = text, false
	}
	switch {
	case strings.Contains(name, "${"):
		l.Unknown = fmt.Sprintf("the name of the %s depends on a variable", kind)
	case found == nil:
		l.Unknown = fmt.Sprintf("the %s %s is not in this repository", kind, name)
	case !agree(list, "data", "stringData", "sops"):
		l.Unknown = fmt.Sprintf("several objects %s of this repository have the name %s", kind, name)
	case found.present("sops"):
		l.Unknown = fmt.Sprintf("the %s %s is encrypted", kind, name)
	case value == nil && from.truth("optional"):
		return nil
	case value == nil:
		l.broken = fmt.Sprintf("the %s %q has no key %q: Flux fails on it", kind, name, key)
	case secret:
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value.text()), ""))
		if err != nil {
			l.broken = fmt.Sprintf("the data of the Secret %q is not written in base64", name)
			break
		}
		// Its lines are not those of the file.
		at := value.position()
		at.EndLine = 0
		l.value = made(string(data), func() Position { return at })
	default:
		l.value = value
	}
	if l.kind != mergeLayer && l.value != nil {
		l.Where = l.value.position()
		if reason := variableIn(l.value.text()); reason != "" {
			l.unsure = reason
		}
	}
	return []Layer{l}
}
