package roots

import (
	"path"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
)

// variable is one of Flux, as its path has it (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
var variable = regexp.MustCompile(`\$\{[^{}]*\}`)

// MayDeploy reports whether a Kustomization of Flux whose path has variables, which only the cluster substitutes, may
// deploy the folder of a root: with which patches and in which namespace is then not known.
func (d *Deploying) MayDeploy(root Root) bool {
	return matchesAny(d.variable(), root.Path)
}

func (d *Deploying) findVariablePaths() (list []*regexp.Regexp) {
	for _, p := range d.Files() {
		data, _, err := d.index.Tree().ReadFile(p)
		if err != nil || !strings.Contains(string(data), "${") {
			continue
		}
		documents, err := doc.Parse(p, data, d.index.options.Limits)
		if err != nil {
			continue
		}
		for _, document := range documents {
			for _, node := range doc.Unlist(document) {
				group, _, _ := strings.Cut(doc.Text(node, "apiVersion"), "/")
				_, spec := doc.Field(node, "spec")
				if group != "kustomize.toolkit.fluxcd.io" {
					continue
				}
				if folder := variableFolder(doc.Text(spec, "path")); folder != nil {
					list = append(list, folder)
				}
			}
		}
	}
	return list
}

// maxVariablePath is of how many bytes a path with variables is looked at.
const maxVariablePath = 4096

// variableFolder returns what matches the folders that a path with variables may be; nil where it has none.
func variableFolder(dir string) *regexp.Regexp {
	const mark = "\x00"
	if len(dir) > maxVariablePath || !variable.MatchString(dir) {
		return nil
	}
	plain := strings.TrimLeft(path.Clean("/"+variable.ReplaceAllString(dir, mark)), "/")
	folder, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(plain), mark, ".*") + "$")
	if err != nil {
		return nil
	}
	return folder
}
