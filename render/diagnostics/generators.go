package diagnostics

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// generator describes what is wrong with an entry of configMapGenerator or secretGenerator.
func (s *search) generator(c culprit) []doc.Error {
	n := doc.Deref(c.node)
	name, behavior := doc.Text(n, "name"), doc.Text(n, "behavior")
	if name == "" {
		return c.problem(n, "has no name: write name: and the name of what it generates")
	}
	kind := "ConfigMap"
	if c.field == "secretGenerator" {
		kind = "Secret"
	}
	for _, field := range []string{"literals", "files", "envs"} {
		if item, ok := s.item(c, field); ok {
			return s.generated(c, field, doc.Deref(item))
		}
	}
	want := id{"v1", kind, doc.Text(n, "namespace"), name}
	has := slices.ContainsFunc(idsOf(c.objects), func(i id) bool {
		return i.kind == kind && (i.name == name || strings.HasPrefix(i.name, name+"-"))
	})
	switch {
	case (behavior == "merge" || behavior == "replace") && !has:
		_, at := doc.Field(n, "behavior")
		return c.problem(at, "behavior %s changes a %s that a base generates, and %s", behavior, kind, absent(want, c.objects))
	case (behavior == "" || behavior == "create") && has:
		_, at := doc.Field(n, "name")
		return c.problem(at, "%s is already part of this kustomization: write behavior: merge to add to it, or give it another "+
			"name", want)
	}
	if env := doc.Text(n, "env"); env != "" {
		_, at := doc.Field(n, "env")
		return s.generated(c, "env", at)
	}
	return nil
}

// generated describes what is wrong with one source of a generator's data.
func (s *search) generated(c culprit, field string, item *yaml.Node) []doc.Error {
	value := item.Value
	if field == "literals" {
		if key, _, ok := strings.Cut(value, "="); !ok || key == "" {
			return c.problem(item, "this literal must be written as name=value") // it may be a secret
		}
		return s.sameKey(c, field, item)
	}
	file := value
	if field == "files" {
		key, after, ok := strings.Cut(value, "=")
		switch {
		case ok && (key == "" || after == "" || strings.Contains(after, "=")):
			return c.problem(item, "the file %q must be written as path or name=path", value)
		case ok:
			file = after
		}
	}
	real, e, ok := named(s.repo, c.file, file)
	if !ok || e.Kind != tree.File {
		return c.problem(item, "there is no file %q", file)
	}
	if list := c.unreadable(item, real); list != nil {
		return list
	}
	if field == "files" {
		return s.sameKey(c, field, item)
	}
	data, err := s.repo.Read(real)
	if err != nil {
		return nil
	}
	for i, line := range strings.Split(string(data), "\n") {
		if !utf8.ValidString(line) {
			return []doc.Error{{Path: real, Line: i + 1, Message: "is not valid UTF-8: save the file in that encoding"}}
		}
	}
	return nil
}

// sameKey returns the problem of an item of a field whose key an earlier item has, too.
func (s *search) sameKey(c culprit, of string, item *yaml.Node) []doc.Error {
	keyOf := func(field, value string) string {
		key, _, ok := strings.Cut(value, "=")
		if !ok && field == "files" {
			key = value[strings.LastIndexByte(value, '/')+1:]
		}
		return key
	}
	for _, field := range []string{"literals", "files"} {
		for _, other := range doc.Items(c.node, field) {
			if other == item {
				break
			}
			if keyOf(of, item.Value) == keyOf(field, other.Value) {
				return c.problem(item, "the key %q is given twice: remove one", keyOf(of, item.Value))
			}
		}
	}
	return nil
}
