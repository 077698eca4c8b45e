package origin

import (
	"encoding/base64"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// generatorMerge finds the entry of a generator that merges into, or replaces, a base's ConfigMap or Secret.
func (b *Build) generatorMerge(l *Layer, t *target) (Place, bool) {
	field := ""
	switch t.doc.kind {
	case "ConfigMap":
		field = "configMapGenerator"
	case "Secret":
		field = "secretGenerator"
	default:
		return Place{}, false
	}
	for _, entry := range source.Items(l.File.Node, field) {
		if entry == t.doc.node {
			continue
		}
		if _, known := t.doc.names[source.Text(entry, "name")]; known && source.Text(entry, "behavior") == "merge" {
			if p, ok := b.generated(l.File.Path, entry, field, t); ok {
				return p, true
			}
		}
	}
	return Place{}, false
}

// generated finds what wrote a field of a generated ConfigMap or Secret: a literal, a line of an env file, a
// file, or the entry as a whole for what nobody wrote.
func (b *Build) generated(file string, entry *yaml.Node, generator string, t *target) (Place, bool) {
	if len(t.steps) == 2 && (t.steps[0].token == "data" || t.steps[0].token == "binaryData" || t.steps[0].token == "stringData") {
		if p, ok := b.generatedKey(file, entry, generator, t.steps[1].token, t.value); ok {
			return p, true
		}
		return Place{}, false
	}
	switch t.pointer {
	case "/metadata/name":
		if _, n := source.Field(entry, "name"); n != nil {
			return b.at(file, n, Writer, generator), true
		}
	case "/metadata/namespace":
		if _, n := source.Field(entry, "namespace"); n != nil && n.Value == t.value {
			return b.at(file, n, Writer, generator), true
		}
	case "/type":
		if _, n := source.Field(entry, "type"); n != nil {
			return b.at(file, n, Writer, generator), true
		}
	case "/kind", "/apiVersion":
		return Place{Path: file, StartLine: entry.Line, EndLine: entry.Line, How: Writer, Role: generator}, true
	}
	return Place{}, false
}

func (b *Build) generatedKey(file string, entry *yaml.Node, generator, key, value string) (Place, bool) {
	for _, literal := range source.Items(entry, "literals") {
		k, _, _ := strings.Cut(literal.Value, "=")
		if k == key {
			return b.at(file, literal, Writer, generator), true
		}
	}
	dir := path.Dir(file)
	for _, f := range source.Items(entry, "files") {
		k, name, renamed := strings.Cut(f.Value, "=")
		if !renamed {
			k, name = path.Base(f.Value), f.Value
		}
		if k == key {
			name = path.Join(dir, name)
			return Place{Path: name, StartLine: 1, EndLine: max(1, len(b.text(name).lines)-1), How: Writer, Role: generator}, true
		}
	}
	envs := source.Items(entry, "envs")
	if _, env := source.Field(entry, "env"); env != nil {
		envs = append(envs, env)
	}
	for _, env := range envs {
		name := path.Join(dir, env.Value)
		for i, line := range b.text(name).lines {
			k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
			if k == key && (v == value || base64.StdEncoding.EncodeToString([]byte(v)) == value) {
				return Place{Path: name, StartLine: i + 1, EndLine: i + 1, How: Writer, Role: generator}, true
			}
		}
	}
	return Place{}, false
}
