package origin

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// variable is an entry of vars, with the item that it reads.
type variable struct {
	name, field string
	item        *item
}

// collectVars reads the vars of a layer (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/vars/).
func (s *transformation) collectVars(l *Layer, items []*item) {
	for _, n := range doc.Items(l.File.Node, "vars") {
		_, ref := doc.Field(n, "objref")
		v := variable{name: doc.Text(n, "name"),
			field: cmp.Or(textAt(n, "fieldref", "fieldpath"), textAt(n, "fieldref", "fieldPath"), "metadata.name")}
		for _, i := range items {
			if namespace := doc.Text(ref, "namespace"); i.id().kind == doc.Text(ref, "kind") &&
				i.known(doc.Text(ref, "name")) &&
				(namespace == "" || slices.ContainsFunc(append(i.ids, i.id()),
					func(id identity) bool { return id.effective() == namespace })) {
				v.item = i
				break
			}
		}
		if v.item != nil && v.name != "" {
			s.vars = append(s.vars, v)
		}
	}
}

// resolveVars replaces "$(NAME)" by the values of vars.
func (s *transformation) resolveVars(items []*item, specs []fieldSpec) {
	if len(s.vars) == 0 {
		return
	}
	s.step++
	for _, i := range items {
		for _, f := range specs {
			f.apply(i, 0, mark{}, func(v *value) {
				s.resolveVar(v)
				for _, field := range v.fields {
					s.resolveVar(field.value)
				}
				for _, item := range v.items {
					s.resolveVar(item)
				}
			})
		}
	}
}

// indexes matches indexes in a var's field path, as in "containers[0]".
var indexes = regexp.MustCompile(`\[([0-9]+)\]`)

func (s *transformation) resolveVar(v *value) {
	if v.kind != yaml.ScalarNode || !strings.Contains(v.text, "$(") {
		return
	}
	for _, x := range s.vars {
		reference := "$(" + x.name + ")"
		if !strings.Contains(v.text, reference) {
			continue
		}
		found := matches(x.item.root, splitPath(indexes.ReplaceAllString(x.field, ".$1")))
		if len(found) == 0 || found[0].kind != yaml.ScalarNode || found[0] == v {
			continue
		}
		by := found[0].by
		by.how, by.role, by.step = Writer, "vars", s.step
		if v.text == reference {
			v.write(found[0].text, by)
		} else {
			v.pieces = substituted(v, reference, piece{found[0].text, by})
			v.text = strings.ReplaceAll(v.text, reference, found[0].text)
			v.chain = append([]link{{by, found[0].text}}, v.chain...)
		}
	}
}

// substituted returns the pieces of a text with a piece in place of a reference; nil where there are too many.
func substituted(v *value, reference string, to piece) (pieces []piece) {
	if strings.Count(v.text, reference) > maxPieces {
		return nil
	}
	at := 0
	for between := range strings.SplitSeq(v.text, reference) {
		if at > 0 {
			pieces = append(pieces, to)
		}
		pieces = append(pieces, cut(v.parts(), at, at+len(between))...)
		at += len(between) + len(reference)
	}
	return pieces
}
