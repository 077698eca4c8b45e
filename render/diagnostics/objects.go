package diagnostics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
)

// id is what identifies a resource.
type id struct{ apiVersion, kind, namespace, name string }

func idOf(n *yaml.Node) id {
	return id{doc.Text(n, "apiVersion"), doc.Text(n, "kind"), doc.Text(n, "metadata", "namespace"),
		doc.Text(n, "metadata", "name")}
}

func (i id) String() string {
	s := i.kind + " " + strconv.Quote(i.name)
	if i.namespace != "" {
		s += " in the namespace " + strconv.Quote(i.namespace)
	}
	return s
}

// same reports whether kustomize treats two resources as the same one. A missing namespace counts as "default".
func (i id) same(other id) bool {
	space := func(i id) string {
		if i.namespace == "default" {
			return ""
		}
		return i.namespace
	}
	return i.apiVersion == other.apiVersion && i.kind == other.kind && i.name == other.name && space(i) == space(other)
}

func idsOf(objects []*yaml.Node) (list []id) {
	for _, n := range objects {
		if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
			n = n.Content[0]
		}
		list = append(list, idOf(n))
	}
	return list
}

// absent returns the reason why no resource matches the name, and which one may have been meant.
func absent(want id, objects []*yaml.Node) string {
	have := idsOf(objects)
	find := func(fits func(id) bool) *id {
		if i := slices.IndexFunc(have, fits); i >= 0 {
			return &have[i]
		}
		return nil
	}
	named := func(i id) bool { return i.kind == want.kind && i.name == want.name }
	group := func(i id) string { group, _ := resid.ParseGroupVersion(i.apiVersion); return group }
	none := fmt.Sprintf("there is no %s here", want)
	if other := find(func(i id) bool { return named(i) && group(i) == group(want) }); other != nil &&
		other.namespace != want.namespace {
		switch {
		case other.namespace == "":
			return none + ": the one that is here has no namespace, so leave it out"
		case want.namespace == "":
			return fmt.Sprintf("there is no %s without a namespace here: add namespace: %s", want, other.namespace)
		}
		return none + ": the one that is here is in the namespace " + strconv.Quote(other.namespace)
	}
	if other := find(func(i id) bool { return named(i) && i.apiVersion != want.apiVersion }); other != nil {
		return fmt.Sprintf("there is no %s of %s here: write apiVersion: %s", want, want.apiVersion, other.apiVersion)
	}
	var names []string
	for _, i := range have {
		if i.kind == want.kind && !slices.Contains(names, i.name) {
			names = append(names, i.name)
		}
	}
	if near := meant(want.name, names); near != "" {
		return none + near
	}
	spelled := func(i id) bool { return i.name == want.name && strings.EqualFold(i.kind, want.kind) }
	if other := find(spelled); other != nil {
		return fmt.Sprintf("%s: write kind: %s", none, other.kind)
	}
	if other := find(func(i id) bool { return i.name == want.name }); other != nil {
		return fmt.Sprintf("%s, but a %s of that name: correct the kind, or the name", none, other.kind)
	}
	switch {
	case len(have) == 0:
		return none + ": no resource of this kustomization could be meant"
	case len(names) == 0:
		return fmt.Sprintf("%s, nor any other %s: add it under resources, or correct the kind", none, want.kind)
	}
	return fmt.Sprintf("%s: it may be %s", none, oneOf(names))
}

// oneOf lists a few names.
func oneOf(names []string) string {
	const few = 6
	quoted := make([]string, 0, few)
	for _, n := range names[:min(few, len(names))] {
		quoted = append(quoted, strconv.Quote(n))
	}
	if len(names) > few {
		return strings.Join(quoted, ", ") + fmt.Sprintf(" or one of %d others", len(names)-few)
	}
	if len(quoted) > 1 {
		return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
	}
	return strings.Join(quoted, "")
}

// missing describes which part of a path does not exist in an object; "" if all of it does. where formats the path of a
// part.
func missing(object *yaml.Node, path []string, where func([]string) string) string {
	found := doc.Follow(object, path)
	n := len(found)
	if n == len(path) {
		return ""
	}
	at, holder, token := doc.Deref(object), "the resource", path[n]
	if n > 0 {
		at, holder = found[n-1].Value, where(path[:n])
	}
	switch at.Kind {
	case yaml.MappingNode:
		names := doc.Keys(at)
		slices.Sort(names)
		if near := meant(token, names); near != "" {
			return fmt.Sprintf("%s has no field %q%s", holder, token, near)
		}
		if len(names) == 0 {
			return fmt.Sprintf("%s has no field %q: it is empty", holder, token)
		}
		return fmt.Sprintf("%s has no field %q: it has %s", holder, token, and(names))
	case yaml.SequenceNode:
		return fmt.Sprintf("%s is a list of %d, whose elements are counted from 0: it has no %q", holder, len(at.Content), token)
	}
	return fmt.Sprintf("%s is a single value and has no field %q", holder, token)
}

// and joins a few names without quotes.
func and(names []string) string {
	const few = 8
	if len(names) > few {
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return strings.Join(names, ", ")
}

// meant returns a question such as "did you mean" for an unknown name, "" if no similar name is known.
func meant(name string, names []string) string {
	if near := nearest(name, names); near != "" && near != name {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// nearest returns the name that was most likely misspelled, "" if none is similar.
func nearest(name string, names []string) string {
	best, distance := "", 1+max(1, len(name)/3)
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// editDistance is how many letters must be written, removed, replaced or swapped with their neighbor to get from one name to
// another. It is large for names that nobody would look through.
func editDistance(a, b string) int {
	const longest = 80
	if len(a) > longest || len(b) > longest {
		return longest
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
