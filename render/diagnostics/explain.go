package diagnostics

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// explain returns the reason why the build fails with an entry.
func (s *search) explain(c culprit) []doc.Error {
	var list []doc.Error
	switch c.field {
	case "resources", "bases":
		list = s.resource(c)
	case "components":
		list = s.component(c)
	case "configMapGenerator", "secretGenerator":
		list = s.generator(c)
	case "patches", "patchesJson6902", "patchesStrategicMerge":
		list = s.patch(c)
	case "replacements":
		list = s.replacement(c)
	case "images", "imageTags":
		if name := doc.Text(c.node, "name"); name == "" {
			list = c.problem(c.node, "has no name: write the name of the image as in the manifests, without its tag")
		}
	case "replicas":
		list = s.replicas(c)
	case "namespace", "namePrefix", "nameSuffix":
		list = s.renamed(c)
	case "vars":
		list = s.variable(c)
	case "generators", "transformers", "validators":
		if real, e, ok := named(s.repo, c.file, c.node.Value); ok && e.Kind == tree.File {
			list = c.unreadable(c.node, real)
		}
	}
	if len(list) == 0 {
		list = c.problem(c.node, "%s", Clean(c.failure))
	}
	return list
}

// problem returns a problem at a node of the kustomization.
func (c culprit) problem(at *yaml.Node, format string, args ...any) []doc.Error {
	if at == nil {
		at = c.node
	}
	if c.index < 0 && at == c.node {
		at = c.key
	}
	return problemAt(c.file.Path, at, c.field+": "+fmt.Sprintf(format, args...))
}

func problemAt(file string, at *yaml.Node, message string) []doc.Error {
	return []doc.Error{{Path: file, Line: at.Line, Column: at.Column, Message: message}}
}

// unreadable refuses a file outside of the kustomization's folder: by default kustomize does not read it.
func (c culprit) unreadable(at *yaml.Node, real string) []doc.Error {
	if c.unrestricted || c.file.Dir == "." || strings.HasPrefix(real, c.file.Dir+"/") {
		return nil
	}
	return c.problem(at, "%s is outside the folder of this kustomization, where kustomize reads no files. Move it "+
		"into this folder, or make its folder a kustomization and list that, or set kustomize.loadRestrictor in "+
		".lintel.yaml", real)
}

// replicas returns the reason why a replicas entry matches nothing.
func (s *search) replicas(c culprit) []doc.Error {
	name := doc.Text(c.node, "name")
	_, at := doc.Field(c.node, "name")
	if name == "" {
		return c.problem(at, "has no name: write the name of the workload whose replicas this entry sets")
	}
	var names []string
	for _, i := range idsOf(c.objects) {
		if slices.Contains([]string{"Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"}, i.kind) {
			names = append(names, i.name)
		}
	}
	words := fmt.Sprintf("there is no Deployment, StatefulSet, ReplicaSet or ReplicationController %q here", name)
	switch near := meant(name, names); {
	case slices.Contains(names, name):
		return nil
	case near != "":
		return c.problem(at, "%s%s", words, near)
	case len(names) > 0:
		return c.problem(at, "%s: it may be %s", words, oneOf(names))
	}
	return c.problem(at, "%s", words)
}

// renamed describes which resources become one by a namespace.
func (s *search) renamed(c culprit) []doc.Error {
	if c.field != "namespace" {
		return nil
	}
	ids := idsOf(c.objects)
	for n, i := range ids {
		for _, other := range ids[:n] {
			moved := i
			moved.namespace = other.namespace
			if i != other && moved == other {
				return c.problem(c.node, "the namespace %q gives two resources the same identity, %s and %s: rename "+
					"one, or put them into two kustomizations", c.node.Value, other, i)
			}
		}
	}
	return nil
}

// variable describes why the target of a var does not exist.
func (s *search) variable(c culprit) []doc.Error {
	_, ref := doc.Field(c.node, "objref")
	want := id{doc.Text(ref, "apiVersion"), doc.Text(ref, "kind"), doc.Text(ref, "namespace"),
		doc.Text(ref, "name")}
	if ref == nil || len(matching(want, c.objects)) > 0 {
		return nil
	}
	_, at := doc.Field(ref, "name")
	return c.problem(at, "%s: %s", doc.Text(c.node, "name"), absent(want, c.objects))
}

var (
	configDump = regexp.MustCompile("(?s) with config: `.*`")
	mountPath  = regexp.MustCompile(`/repository/?`)
	deepest    = regexp.MustCompile(`^(?:accumulating (?:resources|components): |` +
		`accumulation err='[^']*': |accumulateDirectory: |couldn't make target for path '[^']*': |` +
		`trouble configuring builtin \w+: )+`)
)

// Clean shortens kustomize's error for people: to the innermost reason, without the root of the file system and without
// dumps of resources.
func Clean(err error) string {
	text := configDump.ReplaceAllString(err.Error(), "")
	text = deepest.ReplaceAllString(mountPath.ReplaceAllString(text, ""), "")
	text, _, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, " into Go ") // a Go type, which means nothing to the reader
	if i := strings.IndexAny(text, "{"); i > 0 {
		text = strings.TrimRight(text[:i], " :") + " ..."
	}
	const limit = 400
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + " ..."
	}
	return text
}
