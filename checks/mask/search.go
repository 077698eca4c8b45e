package mask

import (
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// search finds the values of Secrets in one document of a file.
type search struct {
	file  *File
	order []*yaml.Node        // all nodes in the order of the text
	at    map[*yaml.Node]int  // index in order
	flow  map[*yaml.Node]bool // nodes in a collection in brackets
	first int                 // number of lines of the file before the document
	end   int                 // line after the document, from 0
	found map[*yaml.Node]int  // scalars to mask -> number of their first characters that stay
	seen  map[*yaml.Node]bool // visited nodes
}

func newSearch(f *File, document *yaml.Node, from, to int) *search {
	s := &search{file: f, at: map[*yaml.Node]int{}, flow: map[*yaml.Node]bool{}, first: from, end: to,
		found: map[*yaml.Node]int{}, seen: map[*yaml.Node]bool{}}
	s.number(document, false)
	return s
}

func (s *search) number(n *yaml.Node, flow bool) {
	s.at[n] = len(s.order)
	s.order = append(s.order, n)
	flow = flow || n.Style&yaml.FlowStyle != 0
	s.flow[n] = flow
	for _, c := range n.Content {
		s.number(c, flow)
	}
}

// document searches the document, which is part of a file with a name and a role.
func (s *search) document(name string, role Role) {
	root := s.order[0]
	switch role {
	case Patch:
		s.patch(root, unknown)
	case SecretPatch:
		s.patch(root, "v1")
	}
	if root.Kind == yaml.MappingNode && strings.Contains(strings.ToLower(name), "values") &&
		doc.Text(root, "apiVersion") == "" && doc.Text(root, "kind") == "" {
		s.telling(root)
	}
	s.walk(root)
}

// walk searches every map and string at any depth.
func (s *search) walk(n *yaml.Node) {
	if n == nil || s.seen[n] {
		return
	}
	s.seen[n] = true
	if n.Kind == yaml.ScalarNode && s.found[n] == 0 {
		s.text(n, "", Plain)
	}
	if n.Kind == yaml.MappingNode {
		s.object(n)
		for item := range listed(n, "secretGenerator") {
			s.generator(item)
		}
		s.patches(n)
		s.given(n)
	}
	for _, c := range n.Content {
		s.walk(c)
	}
}

// object masks the values of a map that is a Secret, or a list of Secrets.
func (s *search) object(n *yaml.Node) {
	is := false
	for key, v := range doc.Fields(n) {
		if v == nil || doc.Key(key) != "kind" || v.Kind != yaml.ScalarNode {
			continue
		}
		switch {
		case isKind(doc.Key(v)):
			is = true
		case doc.Key(v) == kind+"List":
			for _, item := range doc.Items(n, "items") {
				s.fields(item, doc.Text(n, "apiVersion"), "")
			}
		case doc.Key(v) == kind+"Generator":
			s.generator(n)
		}
	}
	if !is {
		return
	}
	apiVersion := doc.Text(n, "apiVersion")
	if _, metadata := doc.Field(n, "metadata"); metadata == nil && n != s.order[0] {
		apiVersion = unknown // a reference to a Secret, such as valuesFrom of Flux
	}
	s.fields(n, apiVersion, "")
}

// unknown is the API version of a map that may be no Secret, so that only its fields of data are values.
const unknown = "of.another/api"

// fields masks the values of a Secret below a pointer.
func (s *search) fields(n *yaml.Node, apiVersion, at string) {
	n = doc.Deref(n)
	switch inside := InData(apiVersion, at); {
	case n == nil:
	case inside && isData(at[1:]):
		s.data(n, isEncoded(at[1:]))
	case n.Kind == yaml.MappingNode:
		for key, v := range doc.Fields(n) {
			s.fields(v, apiVersion, at+jsonpointer.Join(doc.Key(key)))
		}
	case n.Kind == yaml.SequenceNode:
		for i, v := range n.Content {
			s.fields(v, apiVersion, at+jsonpointer.Join(strconv.Itoa(i)))
		}
	case inside || copyOf(at, doc.Key(n)) != nil:
		s.values(n, false)
	}
}

// data masks the values of a map, and of maps that are merged into it.
func (s *search) data(n *yaml.Node, encoded bool) {
	if n = doc.Deref(n); n == nil || n.Kind != yaml.MappingNode {
		s.values(n, encoded)
		return
	}
	for key, value := range doc.Pairs(n) {
		if !doc.IsMerge(key) {
			s.values(value, encoded)
			continue
		}
		for _, one := range doc.Merged(value) {
			s.data(one, encoded)
		}
	}
}

// values masks all scalars of a value, also where an alias refers to them. It masks keys, too, since the value should
// be a string.
func (s *search) values(n *yaml.Node, encoded bool) {
	switch {
	case n == nil:
	case n.Kind == yaml.AliasNode:
		s.values(n.Alias, encoded)
	case n.Kind != yaml.ScalarNode:
		for _, c := range n.Content {
			s.values(c, encoded)
		}
	case n.ShortTag() != "!!null" && !doc.IsEncrypted(doc.Key(n)):
		if _, known := s.found[n]; !known {
			s.file.values = append(s.file.values, value{doc.Key(n), encoded})
		}
		s.found[n] = -1
	}
}

// generator hides the literals of a generator of Secrets.
func (s *search) generator(n *yaml.Node) {
	for literal := range listed(n, "literals") {
		name, text, ok := strings.Cut(doc.Key(literal), "=")
		if literal.Kind != yaml.ScalarNode || !ok {
			s.values(literal, false)
			continue
		}
		s.file.values = append(s.file.values, value{text: strings.Trim(text, `"'`)})
		s.found[literal] = len([]rune(name)) + 1
	}
}

// listed yields the elements of the lists that a map has under a key, in any letter case.
func listed(n *yaml.Node, name string) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		for key, v := range doc.Fields(n) {
			if v == nil || !strings.EqualFold(doc.Key(key), name) {
				continue
			}
			for _, item := range v.Content {
				if !yield(doc.Deref(item)) {
					return
				}
			}
		}
	}
}

// patches masks the values in patches of Secrets, in kustomizations and in objects of Argo CD and Flux.
func (s *search) patches(n *yaml.Node) {
	_, patch := doc.Field(n, "patch")
	if patch == nil || patch.Kind != yaml.ScalarNode {
		return
	}
	if _, target := doc.Field(n, "target"); target != nil && targeting(target) != Plain {
		s.text(patch, "", targeting(target))
		s.seen[patch] = true
	}
}

// targeting returns the role of a patch by its target. The kind of a target is a regular expression for the whole name
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/).
func targeting(target *yaml.Node) Role {
	pattern := doc.Text(target, "kind")
	whole, err := regexp.Compile("^(?:" + pattern + ")$")
	switch {
	case isKind(pattern):
		return SecretPatch
	case pattern == "", err != nil, whole.MatchString(kind):
		return Patch
	}
	return Plain
}

// patch masks the values that a patch writes into an object of an API version, if it is a Secret.
func (s *search) patch(n *yaml.Node, apiVersion string) {
	switch n.Kind {
	case yaml.MappingNode:
		s.fields(n, apiVersion, "") // its own kind does not matter, since the target decides
	case yaml.SequenceNode:
		for _, operation := range n.Content {
			operation = doc.Deref(operation)
			if operation.Kind != yaml.MappingNode {
				continue
			}
			_, v := doc.Field(operation, "value")
			s.written(doc.Text(operation, "path"), v, apiVersion)
		}
	}
}

// written masks the value that an operation writes to a field of a Secret (RFC 6902).
func (s *search) written(pointer string, v *yaml.Node, apiVersion string) {
	if field, _, below := strings.Cut(strings.TrimPrefix(pointer, "/"), "/"); below && isData(field) {
		s.values(v, isEncoded(field))
		return
	}
	s.fields(v, apiVersion, pointer)
}

// given masks values of charts and substitutions with the name of a password.
func (s *search) given(n *yaml.Node) {
	for key, v := range doc.Fields(n) {
		switch doc.Key(key) {
		case "values", "valuesObject", "valuesInline", "substitute":
			switch {
			case v == nil:
			case v.Kind == yaml.MappingNode:
				s.telling(v)
			case v.Kind == yaml.ScalarNode:
				s.text(v, "values", Plain)
				s.seen[v] = true
			}
		}
	}
	if name := doc.Text(n, "name"); telling(name) {
		if _, v := doc.Field(n, "value"); v != nil && doc.Text(n, "kind") == "" {
			if v.ShortTag() == "!!str" && v.Value != "" {
				s.found[v] = -1
			}
		}
	}
}

// telling masks strings whose key is the name of a password.
func (s *search) telling(n *yaml.Node) {
	for key, v := range doc.Fields(n) {
		switch {
		case v == nil:
		case v.Kind == yaml.MappingNode:
			s.telling(v)
		case v.Kind == yaml.SequenceNode:
			for _, c := range v.Content {
				if c = doc.Deref(c); c.Kind == yaml.MappingNode {
					s.telling(c)
				}
			}
		case v.ShortTag() == "!!str" && v.Value != "" && telling(doc.Key(key)):
			s.found[v] = -1
		}
	}
}

// text searches for documents in a string.
func (s *search) text(n *yaml.Node, name string, role Role) {
	text := doc.Key(n)
	if n == s.order[0] {
		return // a document that is only a string is no manifest
	}
	inner := s.file.nested(name, text, role)
	if inner == nil {
		return
	}
	s.file.values = append(s.file.values, inner.values...)
	from := s.first + n.Line // the line after the block indicator, from 0
	if n.Style&yaml.LiteralStyle == 0 || n.ShortTag() == "!!binary" || !s.inlay(inner, from) {
		s.found[n] = -1
	}
}

func (s *search) hide() {
	for _, n := range s.order {
		keep, ok := s.found[n]
		if !ok || n.Kind != yaml.ScalarNode {
			continue
		}
		from := place{n.Line - 1 + s.first, n.Column - 1}
		if keep > 0 {
			from = s.behind(from, keep)
		}
		s.file.hide(from, s.next(n), s.flow[n])
	}
}

// Named are the files that a kustomization names, with their roles.
type Named struct {
	Roles      map[string]Role // files with values of Secrets
	Generators []string        // configurations of generators, which may name other files
}

// Names reads the files that a kustomization, or the configuration of a generator, names.
func Names(name string, data []byte) Named {
	out := Named{Roles: map[string]Role{}}
	documents, _ := doc.Documents(name, data, limits)
	for _, d := range documents {
		for item := range listed(d, "secretGenerator") {
			out.generator(item)
		}
		for item := range listed(d, "generators") {
			if item.Kind == yaml.ScalarNode {
				out.Generators = append(out.Generators, doc.Key(item))
			}
		}
		for _, patches := range []string{"patches", "patchesJson6902"} {
			for item := range listed(d, patches) {
				_, target := doc.Field(item, "target")
				if _, file := doc.Field(item, "path"); target != nil && targeting(target) != Plain {
					out.add(file, targeting(target))
				}
			}
		}
		if doc.Text(d, "kind") == kind+"Generator" {
			out.generator(d)
		}
	}
	return out
}

// generator adds the files that a generator of Secrets reads.
func (out *Named) generator(n *yaml.Node) {
	for item := range listed(n, "files") {
		out.add(item, Confidential)
	}
	for item := range listed(n, "envs") {
		out.add(item, Settings)
	}
	for key, v := range doc.Fields(n) {
		if v != nil && strings.EqualFold(doc.Key(key), "env") {
			out.add(v, Settings)
		}
	}
}

func (out *Named) add(n *yaml.Node, role Role) {
	if n = doc.Deref(n); n == nil || n.Kind != yaml.ScalarNode {
		return
	}
	file := doc.Key(n)
	if _, after, ok := strings.Cut(file, "="); ok && role == Confidential {
		file = after
	}
	out.Roles[file] = max(out.Roles[file], role)
}
