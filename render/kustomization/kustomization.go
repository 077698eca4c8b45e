// Package kustomization reads a kustomization file into what it refers to, each with its line.
//
// It does not replace kustomize's own reading of the file: it says, before anything is rendered, which files and
// folders a build would read, and refuses what must not be read (remote references, paths out of the repository). The
// fields are those of https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/.
package kustomization

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

var fileNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// FileNames lists the names of a kustomization file that kustomize recognizes, in its order.
func FileNames() []string { return slices.Clone(fileNames) }

// IsFileName reports whether the last element of a path names a kustomization file.
func IsFileName(p string) bool { return slices.Contains(fileNames, path.Base(p)) }

// Role is what a reference is used for.
type Role int

// The roles of a reference.
const (
	Resource  Role = iota // a manifest file, or a folder with a kustomization
	Component             // a folder with a component
	Patch                 // a strategic-merge or JSON 6902 patch file
	Data                  // a file whose content goes into a ConfigMap or Secret
	Plugin                // a file that configures a generator, transformer or validator
	Config                // openapi, crds, configurations, replacements
)

// Ref is one path that a kustomization file names.
type Ref struct {
	Field string // "resources", "patches.path"
	Value string // the path as written, without a "key=" in front
	Role  Role
	Position
}

// File is one kustomization file.
type File struct {
	Path      string // of the file, in the repository
	Dir       string
	Component bool // kind: Component
	Node      *yaml.Node
	Refs      []Ref
	OpenAPI   bool // sets a schema of its own, which is global to the process that renders it
	Helm      []*yaml.Node
	Inline    []Inline
}

// Inline is a document that stands where a path may.
type Inline struct {
	Field string // "transformers"
	Role  Role   // Patch or Plugin
	Node  *yaml.Node
}

// Sorts reports whether the file has sortOptions, which decide on the order of what is printed.
func (f *File) Sorts() bool {
	_, options := doc.Field(f.Node, "sortOptions")
	return options != nil && options.ShortTag() != "!!null"
}

// Parse reads a kustomization file. An error is a *doc.Error.
func Parse(p string, data []byte, limits doc.Limits) (*File, error) {
	documents, err := doc.Parse(p, data, limits)
	switch {
	case len(documents) > 0: // kustomize does not read what follows the first document
	case err != nil:
		return nil, err
	default:
		return nil, &doc.Error{Path: p,
			Message: "is an empty kustomization: list at least one resource or remove the file"}
	}
	f := &File{Path: p, Dir: path.Dir(p), Node: documents[0]}
	if f.Node.Kind != yaml.MappingNode {
		return nil, &doc.Error{Path: p, Line: f.Node.Line, Message: "is not a kustomization: expected a map of fields"}
	}
	if err := f.spell(); err != nil {
		return nil, err
	}
	f.Component = doc.Text(f.Node, "kind") == "Component"
	f.collect()
	return f, nil
}

func (f *File) collect() {
	lists := []struct {
		field string
		role  Role
	}{
		{"resources", Resource}, {"bases", Resource}, {"components", Component},
		{"crds", Config}, {"configurations", Config},
		{"generators", Plugin}, {"transformers", Plugin}, {"validators", Plugin},
		{"patchesStrategicMerge", Patch}, {"patches", Patch}, // of texts only in the old form, which is the same
	}
	for _, l := range lists {
		for _, item := range doc.Items(f.Node, l.field) {
			if item.Kind != yaml.ScalarNode {
				continue
			}
			if (l.role == Plugin || l.role == Patch) && inline(item) {
				f.Inline = append(f.Inline, Inline{Field: l.field, Node: item, Role: l.role})
				continue
			}
			f.add(l.field, item, item.Value, l.role)
		}
	}
	for _, field := range []string{"patches", "patchesJson6902", "replacements"} {
		role := Patch
		if field == "replacements" {
			role = Config
		}
		for _, item := range doc.Items(f.Node, field) {
			if _, p := doc.Field(item, "path"); p != nil && p.Kind == yaml.ScalarNode {
				f.add(field+".path", p, p.Value, role)
			}
		}
	}
	for _, field := range []string{"configMapGenerator", "secretGenerator"} {
		for _, item := range doc.Items(f.Node, field) {
			for _, file := range doc.Items(item, "files") {
				value := file.Value
				if _, after, ok := strings.Cut(value, "="); ok {
					value = after
				}
				f.add(field+".files", file, value, Data)
			}
			for _, env := range doc.Items(item, "envs") {
				f.add(field+".envs", env, env.Value, Data)
			}
			if _, env := doc.Field(item, "env"); env != nil && env.Value != "" {
				f.add(field+".env", env, env.Value, Data)
			}
		}
	}
	_, api := doc.Field(f.Node, "openapi")
	f.OpenAPI = api != nil
	if _, p := doc.Field(api, "path"); p != nil {
		f.add("openapi.path", p, p.Value, Config)
	}
	for _, item := range doc.Items(f.Node, "helmCharts") {
		if _, p := doc.Field(item, "valuesFile"); p != nil {
			f.add("helmCharts.valuesFile", p, p.Value, Data)
		}
		for _, p := range doc.Items(item, "additionalValuesFiles") {
			f.add("helmCharts.additionalValuesFiles", p, p.Value, Data)
		}
	}
	f.Helm = append(doc.Items(f.Node, "helmCharts"), doc.Items(f.Node, "helmChartInflationGenerator")...)
}

func (f *File) add(field string, at *yaml.Node, value string, role Role) {
	if at.Kind == yaml.ScalarNode {
		f.Refs = append(f.Refs, Ref{field, value, role, Position{at.Line, at.Column}})
	}
}

// inline reports whether an entry that may be a path or a document is the document. Kustomize tries to parse it, and
// fetches what it cannot parse; a path has no line break and no mapping in it, and no document starts like a URL.
func inline(n *yaml.Node) bool {
	return !remoteStart.MatchString(n.Value) &&
		(strings.Contains(n.Value, "\n") || strings.Contains(n.Value, ": ") ||
			strings.HasPrefix(strings.TrimSpace(n.Value), "{"))
}

// remoteStart matches what kustomize takes for the address of a file or of a git repository by how it starts
// (api/internal/git/repospec.go, extractHost; api/internal/loader/fileloader.go, IsRemoteFile).
var remoteStart = regexp.MustCompile(`(?i)^(git::)?(https?:|ssh://|file://|github\.com[/:]|[a-z][a-z0-9-]*@)`)

// Address reports whether a text starts as the address of a file or a remote git repository.
func Address(value string) bool { return remoteStart.MatchString(value) }

// Remote reports whether kustomize could take a reference for something to fetch: a URL, or one of the spellings of a
// git repository it knows (https://github.com/kubernetes-sigs/kustomize/blob/master/examples/remoteBuild.md).
func Remote(value string) bool {
	v := strings.ToLower(value)
	marks := []string{"//", "git::", "git@", "github.com", "?ref=", "?version=", "_git/", ".git/", ".git?", "?timeout=",
		"?submodules="}
	if remoteStart.MatchString(value) || strings.HasSuffix(v, ".git") ||
		slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(v, mark) }) {
		return true
	}
	// scp-like "host:path", but not "key=path" or a Windows drive, which no repository path has.
	host, rest, ok := strings.Cut(v, ":")
	return ok && rest != "" && !strings.ContainsAny(host, "/= ") &&
		(strings.Contains(host, ".") || strings.Contains(host, "@"))
}
