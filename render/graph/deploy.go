package graph

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// deploymentMarks are the groups of the objects that deploy folders.
func deploymentMarks() []string { return []string{"argoproj.io/", "kustomize.toolkit.fluxcd.io/"} }

// deployments records which folders the objects of Argo CD and Flux in a file may deploy, and errs on the side of too
// many: every value of a field called path counts, whatever it is the path of.
func (s *scanner) deployments(p string, data []byte, out *facts) {
	if !slices.ContainsFunc(deploymentMarks(), func(mark string) bool { return bytes.Contains(data, []byte(mark)) }) {
		return
	}
	documents, err := source.Parse(p, data, s.options.Limits)
	if err != nil {
		return // nothing can be read from it later, either
	}
	for _, document := range documents {
		s.deployer(p, document, out)
	}
}

func (s *scanner) deployer(p string, n *yaml.Node, out *facts) {
	kind := source.Text(n, "kind")
	if strings.HasSuffix(kind, "List") {
		for _, item := range source.Items(n, "items") {
			s.deployer(p, item, out)
		}
		return
	}
	group, _, _ := strings.Cut(source.Text(n, "apiVersion"), "/")
	found, unclear := 0, kind == "ApplicationSet"
	switch {
	case group == "argoproj.io" && (kind == "Application" || kind == "ApplicationSet"):
	case group == "kustomize.toolkit.fluxcd.io" && kind == "Kustomization":
		_, spec := source.Field(n, "spec")
		_, ref := source.Field(spec, "sourceRef")
		unclear = source.Text(ref, "kind") == "ExternalArtifact" // it says which folder of it is one of the repository
	default:
		return
	}
	out.add(mentions, deployer, p)
	steps := 0
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n = source.Deref(n); n == nil {
			return
		}
		if steps++; steps > maxDeployerNodes {
			unclear = true
			return
		}
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				switch n.Content[i-1].Value {
				case "path":
					found++
					folder, ok := folderOf(source.Deref(c))
					if ok {
						out.add(deployers, folder, p)
					}
					unclear = unclear || !ok
				case "substituteFrom":
					out.add(deployers, substituted, p)
				}
			}
			walk(c)
		}
	}
	walk(n)
	if unclear || found == 0 { // without a path, Flux deploys the whole repository
		out.add(deployers, anywhere, p)
	}
}

// maxDeployerNodes is how many nodes of an object, aliases counted each time, are looked at.
const maxDeployerNodes = 20_000

// folderOf answers the folder that the value of a path field names, and false where it takes more than that to know.
func folderOf(n *yaml.Node) (string, bool) {
	if n == nil || n.Kind != yaml.ScalarNode || strings.Contains(n.Value, "{{") || strings.Contains(n.Value, "$") {
		return "", false
	}
	folder, ok := tree.Clean(strings.TrimLeft(path.Clean("/"+n.Value), "/"))
	if folder == "" {
		folder = "."
	}
	return folder, ok
}
