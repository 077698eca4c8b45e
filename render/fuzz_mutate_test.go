package render_test

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mutate edits a YAML file as a program says. The program has three bytes for each step: an operation and the two nodes
// or donors it uses. The result is deliberately not always readable YAML.
func mutate(data, program []byte) []byte {
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil || len(document.Content) == 0 {
		return data
	}
	for i := 0; i+2 < len(program) && i < 3*40; i += 3 {
		step(&document, int(program[i]), int(program[i+1]), int(program[i+2]))
	}
	out, err := encode(&document)
	if err != nil {
		return data
	}
	return out
}

// encode is yaml.Marshal without its panics: some trees of nodes are not a document.
func encode(n *yaml.Node) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = strconv.ErrSyntax
		}
	}()
	return yaml.Marshal(n)
}

// slot is one place in a tree of nodes: the i-th content of a node.
type slot struct {
	parent *yaml.Node
	i      int
}

func (s slot) node() *yaml.Node { return s.parent.Content[s.i] }

func slots(n *yaml.Node) []slot {
	var list []slot
	for i, c := range n.Content {
		list = append(list, slot{n, i})
		list = append(list, slots(c)...)
	}
	return list
}

const mostNodes = 3000

func step(document *yaml.Node, op, a, b int) {
	list := slots(document)
	if len(list) == 0 || len(list) > mostNodes {
		return
	}
	at, other := list[a%len(list)], list[b%len(list)]
	n := at.node()
	switch op % 14 {
	case 0: // delete the node; of a key, the value, too
		count := 1
		if at.parent.Kind == yaml.MappingNode {
			at.i, count = at.i&^1, 2
		}
		at.parent.Content = append(at.parent.Content[:at.i:at.i],
			at.parent.Content[min(at.i+count, len(at.parent.Content)):]...)
	case 1: // duplicateKeys
		count := 1
		if at.parent.Kind == yaml.MappingNode {
			at.i, count = at.i&^1, 2
		}
		again := at.parent.Content[at.i:min(at.i+count, len(at.parent.Content))]
		at.parent.Content = append(at.parent.Content, clone(again)...)
	case 2:
		at.parent.Content[at.i] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case 3:
		at.parent.Content[at.i] = &yaml.Node{Kind: yaml.ScalarNode, Value: donors[b%len(donors)]}
	case 4: // show the content of one place at another place, too
		at.parent.Content[at.i] = clone([]*yaml.Node{other.node()})[0]
	case 5:
		at.parent.Content[at.i] = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
	case 6:
		at.parent.Content[at.i] = &yaml.Node{Kind: yaml.MappingNode,
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: fields[b%len(fields)]}, n}}
	case 7: // replace a map by a list, or a list by a map
		switch n.Kind {
		case yaml.MappingNode:
			n.Kind, n.Tag = yaml.SequenceNode, ""
		case yaml.SequenceNode:
			n.Kind, n.Tag, n.Content = yaml.MappingNode, "", n.Content[:len(n.Content)&^1]
		}
	case 8: // an alias, which may point to a node that contains it
		target := other.node()
		if target.Kind == yaml.AliasNode {
			return
		}
		target.Anchor = "x" + strconv.Itoa(b)
		at.parent.Content[at.i] = &yaml.Node{Kind: yaml.AliasNode, Value: target.Anchor, Alias: target}
	case 9: // rename a field
		if at.parent.Kind == yaml.MappingNode {
			at.parent.Content[at.i&^1] = &yaml.Node{Kind: yaml.ScalarNode, Value: fields[b%len(fields)]}
		}
	case 10: // change the spelling of a field's name
		if at.parent.Kind == yaml.MappingNode {
			key := at.parent.Content[at.i&^1]
			key.Value = []string{strings.ToUpper(key.Value), strings.ReplaceAll(key.Value, "s", "\u017f"),
				strings.ReplaceAll(key.Value, "k", "\u212a"), "<<"}[b%4]
		}
	case 11: // add a field to the file
		if top := document.Content; len(top) > 0 && top[0].Kind == yaml.MappingNode {
			var more yaml.Node
			if yaml.Unmarshal([]byte(snippets[b%len(snippets)]), &more) == nil {
				top[0].Content = append(top[0].Content, more.Content[0].Content...)
			}
		}
	case 12: // repeat a node many times
		if n.Kind == yaml.SequenceNode {
			for range b % 5 {
				n.Content = append(n.Content, clone(n.Content)...)
			}
		}
	case 13:
		n.Tag, n.Style = []string{"!!binary", "!!str", "!!int", "!!float", "!!bool", "!!merge", "!own", "!!set",
			"!!timestamp"}[b%9], yaml.TaggedStyle
	}
}

func clone(list []*yaml.Node) []*yaml.Node {
	out := make([]*yaml.Node, len(list))
	for i, n := range list {
		c := *n
		c.Content, c.Anchor = clone(n.Content), ""
		out[i] = &c
	}
	return out
}

// donors are values that have a meaning for kustomize, for YAML, or for code that reads paths.
var donors = []string{
	"http://127.0.0.1:9/x.yaml", "HTTPS://127.0.0.1:9/x", "http:/127.0.0.1:9/x", "https://github.com/o/r//base?ref=v1",
	"github.com/o/r", "GitHub.com:o/r",
	"git::https://127.0.0.1:9/r", "git@127.0.0.1:o/r", "user@h:o/r", "user@h/o/r", "ssh://127.0.0.1/r", "file:///etc",
	"gh:o/r", "a@b/c/d", "http://127.0.0.1:9/x: y", "github.com/o/r: x",
	"/etc/passwd", "../../../../etc/passwd", "..", ".", "", "./", "~", "a\x00b", "loop", "link.yaml", "outside",
	"deep/../..", "secret.yaml", "kustomization.yaml", "cm.yaml", "k=secret.yaml", "=", "k=", "=secret.yaml",
	"true", "null", "0", "-1", "1e999", "9223372036854775808", "0x10", "yes", "2001-01-01", ".nan", "{", "[", "- a",
	"a: b", "---", "*x", "&x", "{{ x }}", "$(X)", "%s%n", "\x1b[31m", "::error::x",
	"Kustomization", "Component", "builtin", "v1", "List", "ConfigMapList", "Deployment", "*", "(a+)+$", "[", "spec.*.x",
	"spec.template.spec.containers.[name=x].image", "/spec/-", "/", "merge", "replace", "create",
	"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: http://127.0.0.1:9/x\n",
	"apiVersion: x/v1\nkind: Exec\nmetadata: {name: e, annotations: {config.kubernetes.io/function: 'exec: {path: " +
		"/bin/sh}'}}\n",
	"[{op: copy, from: /spec, path: /spec/x}]", "[{op: add, path: /a/b/c, value: 1}]", "$patch: delete\n",
	"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n$patch: delete\n",
}

// fields are names of fields that kustomize reads somewhere.
var fields = []string{
	"resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators",
	"patchesStrategicMerge", "patchesJson6902", "patches", "replacements", "vars", "images", "imageTags",
	"replicas", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "commonAnnotations",
	"configMapGenerator", "secretGenerator", "generatorOptions", "helmCharts", "helmGlobals",
	"helmChartInflationGenerator",
	"openapi", "sortOptions", "buildMetadata", "kind", "apiVersion", "metadata", "path", "patch", "target", "targets",
	"source", "files", "envs", "env", "literals", "name", "pairs", "fieldPath", "fieldPaths", "select", "options",
	"create", "delimiter", "index", "objref", "fieldref", "behavior", "items", "includeSelectors", "includeTemplates",
	"fields", "count", "newTag", "newName", "digest", "order", "legacySortOptions", "x",
}

// snippets are whole fields.
var snippets = []string{
	"resources: [http://127.0.0.1:9/x]", "Resources: [http://127.0.0.1:9/x]", "re\u017fources: [http://127.0.0.1:9/x]",
	"resources: [secret.yaml]", "resources: [.]", "resources: [..]", "bases: [../base]", "components: [.]",
	"patches: [{path: http://127.0.0.1:9/x}]", "patches: [{Path: http://127.0.0.1:9/x}]",
	"patchesStrategicMerge: ['http://127.0.0.1:9/x?{a: b}']", "patchesStrategicMerge: [secret.yaml]",
	"crds: ['github.com/o/r?a=: b']",
	"configMapGenerator: [{name: g, files: [secret.yaml], envs: [secret.yaml]}]",
	"secretGenerator: [{name: g, Files: [http://127.0.0.1:9/x]}]", "openapi: {path: secret.yaml}",
	"OpenAPI: {Path: secret.yaml}", "openapi: {version: v1.2.3}",
	"transformers: ['apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: http://127.0.0.1:9/x\n']",
	"generators: ['apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\n" +
		"files: [k=http://127.0.0.1:9/x]\n']",
	"generators: ['apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: g}\nname: x\n" +
		"repo: http://127.0.0.1:9/\n']", "HelmCharts: [{name: x, repo: http://127.0.0.1:9/}]", "validators: [secret.yaml]",
	"replacements: [{path: http://127.0.0.1:9/x}]",
	"replacements: [{source: {kind: Secret, name: s, fieldPath: stringData.password}, targets: [{select: {kind: " +
		"ConfigMap}, fieldPaths: [data.x], options: {create: true}}]}]",
	"replacements: [{source: {kind: ConfigMap}, targets: [null]}]",
	"vars: [{name: X, objref: {kind: Secret, name: s, apiVersion: v1}, fieldref: {fieldpath: stringData.password}}]",
	"images: [{name: '(', newTag: x}, null]",
	"patches: [{target: {kind: '.*'}, patch: '[{op: copy, from: /metadata, path: /metadata/x}, {op: test, path: /kind, " +
		"value: hunter}]'}]", "patches: [{target: {name: '(((('}, patch: 'a: b'}]", "patches: [null]", "labels: [null]",
	"replicas: [{name: a, count: -1}, null]", "namePrefix: '../'", "namespace: \"\\0\"", "sortOptions: {order: fifo}",
	"buildMetadata: [originAnnotations, transformerAnnotations, managedByLabel]",
	"generatorOptions: {labels: {a: b}, immutable: true}",
	"configurations: [secret.yaml]", "kind: Component", "kind: Kustomization", "apiVersion: v1", "commonLabels: {a: 1}",
	"metadata: {annotations: {config.kubernetes.io/function: 'container: {image: x}'}}",
}
