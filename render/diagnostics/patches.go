package diagnostics

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// patchText is a patch as written in a file or in the kustomization.
type patchText struct {
	path      string
	documents []*yaml.Node
	inline    *yaml.Node // the scalar in the kustomization that holds it; nil: a file
}

// at returns a problem in a patch.
func (p patchText) at(n *yaml.Node, message string) []doc.Error {
	if p.inline == nil {
		return problemAt(p.path, n, message)
	}
	at := *p.inline
	if p.inline.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		at.Line, at.Column = p.inline.Line+n.Line, 0
	}
	return problemAt(p.path, &at, message)
}

// patch describes what is wrong with an entry of one of the three lists of patches.
func (s *search) patch(c culprit) []doc.Error {
	n := doc.Deref(c.node)
	var inline, file, target *yaml.Node
	if n.Kind == yaml.ScalarNode {
		inline, file = n, n
	} else {
		_, inline = doc.Field(n, "patch")
		_, file = doc.Field(n, "path")
		_, target = doc.Field(n, "target")
		switch {
		case inline == nil && file == nil:
			return c.problem(n, "has neither patch nor path: write the patch, or the path of its file")
		case inline != nil && file != nil:
			return c.problem(inline, "has both patch and path: keep one")
		}
	}
	p := patchText{path: c.file.Path, inline: inline}
	data := ""
	if file != nil {
		real, e, ok := named(s.repo, c.file, file.Value)
		if ok && e.Kind == tree.File {
			if list := c.unreadable(file, real); list != nil {
				return list
			}
			text, err := s.repo.Read(real)
			if err != nil {
				return nil
			}
			p.path, p.inline, data = real, nil, string(text)
		} else if inline == nil {
			return nil
		}
	}
	if p.inline != nil {
		data = p.inline.Value
	}
	documents, err := doc.Parse(p.path, []byte(data), s.finder.Limits)
	if e, ok := err.(*doc.Error); ok && p.inline != nil {
		return p.at(&yaml.Node{Line: e.Line}, "this patch "+e.Message)
	}
	if err != nil {
		return nil
	}
	if p.documents = documents; len(documents) == 0 {
		return c.problem(n, "the patch is empty: write what it changes, or remove it")
	}
	if documents[0].Kind == yaml.SequenceNode {
		return s.operations(c, p, target)
	}
	if c.field == "patchesJson6902" {
		return p.at(documents[0], "patchesJson6902: this must be a list of operations (op, path, value); a patch that looks "+
			"like a manifest belongs in patches")
	}
	if target != nil && len(documents) > 1 {
		return c.problem(target, "a patch of several documents cannot have a target, since each document names its own: remove target, or "+
			"write one entry per document")
	}
	for _, d := range documents {
		if list := s.merge(c, p, d, target); list != nil {
			return list
		}
	}
	return nil
}

// merge describes what is wrong with a strategic merge patch.
func (s *search) merge(c culprit, p patchText, d, target *yaml.Node) []doc.Error {
	if d.Kind != yaml.MappingNode {
		return p.at(d, fmt.Sprintf("is %s, and a patch is a map, or a list of operations (op, path, value)",
			shape(doc.Value(d, true))))
	}
	i := idOf(d)
	free := ""
	if target != nil {
		free = " (with a target any name will do)"
	}
	switch {
	case i.kind == "":
		return p.at(d, "this patch has no kind: write apiVersion, kind and metadata.name of what it changes"+free)
	case i.name == "":
		return p.at(d, fmt.Sprintf("this patch of a %s has no metadata.name: write the name of what it changes%s", i.kind,
			free))
	}
	var chosen []*yaml.Node
	if target != nil {
		for _, field := range []string{"group", "version", "kind", "name", "namespace"} {
			_, value := doc.Field(target, field)
			if _, err := regexp.Compile(doc.Text(target, field)); err != nil {
				return c.problem(value, "%s of the target is no valid regular expression: put a backslash before "+
					"each character that is meant literally", field)
			}
		}
		chosen = selected(target, c.objects)
	} else {
		for n, other := range idsOf(c.objects) {
			if i.same(other) {
				chosen = append(chosen, c.objects[n])
			}
		}
		if len(chosen) == 0 {
			if i.apiVersion == "" {
				for _, other := range idsOf(c.objects) {
					if other.kind == i.kind && other.name == i.name {
						return p.at(d, fmt.Sprintf("this patch has no apiVersion, so it changes nothing: write apiVersion: %s",
							other.apiVersion))
					}
				}
			}
			return p.at(nameOf(d), "this patch changes nothing: "+absent(i, c.objects))
		}
	}
	for _, object := range chosen {
		if at, words := unlike(d, object, ""); at != nil {
			return p.at(at, fmt.Sprintf("%s in %s", words, idOf(object)))
		}
	}
	return nil
}

// unlike returns the first place where a value in a patch has another type than in the object that it patches.
func unlike(patch, object *yaml.Node, where string) (*yaml.Node, string) {
	patch, object = doc.Deref(patch), doc.Deref(object)
	if patch.Kind == yaml.MappingNode && object.Kind == yaml.MappingNode {
		for key, value := range doc.Fields(patch) {
			if _, other := doc.Field(object, doc.Key(key)); other != nil {
				if at, words := unlike(value, other, join(where, doc.Key(key))); at != nil {
					return at, words
				}
			}
		}
		return nil, ""
	}
	null := func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
	if patch.Kind == object.Kind || null(patch) || null(object) {
		return nil, ""
	}
	return patch, fmt.Sprintf("%s is %s in this patch and %s", where, shape(doc.Value(patch, true)),
		shape(doc.Value(object, true)))
}

// operationNames are those of RFC 6902.
var operationNames = []string{"add", "remove", "replace", "move", "copy", "test"}

// operations describes what is wrong with a JSON patch.
func (s *search) operations(c culprit, p patchText, target *yaml.Node) []doc.Error {
	if target == nil {
		return c.problem(c.node, "a patch of operations needs a target: write target: with kind and name of what it changes")
	}
	list := p.documents[0]
	for _, op := range list.Content {
		if words := malformed(doc.Deref(op)); words != "" {
			return p.at(op, words)
		}
	}
	if c.field == "patchesJson6902" {
		want := id{kind: doc.Text(target, "kind"), name: doc.Text(target, "name"),
			namespace: doc.Text(target, "namespace")}
		want.apiVersion = strings.TrimPrefix(doc.Text(target, "group")+"/"+doc.Text(target, "version"), "/")
		if len(selected(target, c.objects)) == 0 {
			return c.problem(target, "this patch changes nothing: %s", absent(want, c.objects))
		}
	}
	objects := map[int][]*yaml.Node{0: c.objects}
	n, ok := s.least(len(list.Content), func(n int) error {
		short := doc.Bare(list)
		short.Content = short.Content[:n]
		var err error
		if p.inline == nil {
			objects[n], err = s.attemptFile(c, p.path, []*yaml.Node{short})
		} else {
			objects[n], err = s.attempt(c, with(c.node, "patch", text(string(encoded(short)))))
		}
		return err
	})
	if !ok {
		return nil
	}
	op := doc.Deref(list.Content[n-1])
	before, ok := objects[n-1]
	if !ok {
		before = c.objects
	}
	_, at := doc.Field(op, "path")
	words := doc.Text(op, "op") + " " + doc.Text(op, "path")
	for _, object := range selected(target, before) {
		if why := refused(op, object); why != "" {
			return p.at(at, fmt.Sprintf("%s: in %s, %s", words, idOf(object), why))
		}
	}
	return p.at(at, words+": "+Clean(c.failure))
}

// malformed describes what is wrong with the form of an operation.
func malformed(op *yaml.Node) string {
	if op.Kind != yaml.MappingNode {
		return "this is no operation: write op, path and value"
	}
	name := doc.Text(op, "op")
	_, value := doc.Field(op, "value")
	_, to := doc.Field(op, "path")
	switch {
	case name == "":
		return "this operation has no op: write one of " + strings.Join(operationNames, ", ")
	case !slices.Contains(operationNames, name):
		return fmt.Sprintf("there is no operation %q%s; there are %s", name, meant(name, operationNames),
			strings.Join(operationNames, ", "))
	case to == nil:
		return "this operation has no path"
	case to.Value != "" && to.Value[0] != '/':
		return fmt.Sprintf("the path %q must begin with a slash and have slashes between its parts: %q", to.Value,
			"/"+strings.ReplaceAll(to.Value, ".", "/"))
	case value == nil && (name == "add" || name == "replace" || name == "test"):
		return "this operation has no value"
	}
	if _, from := doc.Field(op, "from"); from == nil && (name == "move" || name == "copy") {
		return "this operation has no from"
	}
	return ""
}

// refused returns the reason why an operation cannot be applied to an object, "" if it can, or if no reason is found
// here.
func refused(op, object *yaml.Node) string {
	show := func(keys []string) string { return cmp.Or(doc.Pointer(keys...), "/") }
	name := doc.Text(op, "op")
	if from := doc.Text(op, "from"); name == "move" || name == "copy" {
		if why := missing(object, doc.Tokens(from), show); why != "" {
			return why
		}
	}
	to := doc.Tokens(doc.Text(op, "path"))
	if len(to) == 0 {
		return ""
	}
	if name == "remove" || name == "replace" || name == "test" {
		why := missing(object, to, show)
		if why == "" && name == "test" {
			return "the value there is another"
		}
		return why
	}
	// The map around a new value is created if it is missing, but a list element is not.
	found := doc.Follow(object, to)
	last, holder := len(to)-1, doc.Deref(object)
	if len(found) != last {
		return ""
	}
	if last > 0 {
		holder = found[last-1].Value
	}
	if holder.Kind == yaml.SequenceNode && to[last] != "-" {
		return fmt.Sprintf("%s is a list of %d: write - in place of %q for its end", show(to[:last]), len(holder.Content), to[last])
	}
	return ""
}

// selected returns the objects that a target may select, ignoring labels and annotations.
func selected(target *yaml.Node, objects []*yaml.Node) (list []*yaml.Node) {
	match, err := kustomization.NewSelector(target)
	if err != nil {
		return nil
	}
	for n, i := range idsOf(objects) {
		group, version := resid.ParseGroupVersion(i.apiVersion)
		if match.MatchGvk(resid.Gvk{Group: group, Version: version, Kind: i.kind}) && match.MatchName(i.name) &&
			match.MatchNamespace(i.namespace) {
			list = append(list, objects[n])
		}
	}
	return list
}
