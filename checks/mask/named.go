package mask

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// Named is what a kustomization makes of the files that it names, as it names them.
type Named struct {
	Roles      map[string]Role // of those that hold values of Secrets
	Generators []string        // that say what is generated, and may name others
}

// Names reads a kustomization, or the configuration of a generator.
func Names(name string, data []byte) Named {
	out := Named{Roles: map[string]Role{}}
	documents, _ := doc.Documents(name, data, limits)
	for _, d := range documents {
		for key, v := range doc.Fields(d) {
			if v == nil || v.Kind != yaml.SequenceNode {
				continue
			}
			for _, item := range v.Content {
				out.item(doc.Key(key), doc.Deref(item))
			}
		}
		if doc.Text(d, "kind") == kind+"Generator" {
			out.generator(d)
		}
	}
	return out
}

func (out *Named) item(field string, item *yaml.Node) {
	switch {
	case strings.EqualFold(field, "secretGenerator"):
		out.generator(item)
	case strings.EqualFold(field, "generators") && item.Kind == yaml.ScalarNode:
		out.Generators = append(out.Generators, doc.Key(item))
	case strings.EqualFold(field, "patches"), strings.EqualFold(field, "patchesJson6902"):
		_, target := doc.Field(item, "target")
		if _, file := doc.Field(item, "path"); target != nil && Targeted(target) {
			out.add(file, Patch)
		}
	}
}

// generator adds the files that a generator of Secrets reads.
func (out *Named) generator(n *yaml.Node) {
	for key, v := range doc.Fields(n) {
		field := doc.Key(key)
		if v == nil {
			continue
		}
		for _, item := range v.Content {
			switch {
			case strings.EqualFold(field, "files"):
				out.add(item, Confidential)
			case strings.EqualFold(field, "envs"):
				out.add(item, Settings)
			}
		}
		if strings.EqualFold(field, "env") {
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
