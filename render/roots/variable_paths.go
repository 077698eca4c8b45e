package roots

import (
	"path"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
)

// variable matches a variable of Flux in a path
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
var variable = regexp.MustCompile(`\$\{[^{}]*\}`)

// MayDeploy reports whether a Kustomization of Flux may deploy the folder of a root, because its path has variables
// that only the cluster substitutes. With which patches and in which namespace is not known then.
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
		for node := range doc.Objects(documents) {
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
	return list
}

// maxVariablePath limits the length in bytes of a path with variables.
const maxVariablePath = 4096

// variableFolder returns an expression for the folders that a path with variables may be; nil where it has none.
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
