package roots

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
)

// variablePaths are the folders that Kustomizations of Flux deploy whose paths have variables which only the cluster
// substitutes.
type variablePaths struct {
	once sync.Once
	list []*regexp.Regexp
}

// variable is one of Flux, as its path has it (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
var variable = regexp.MustCompile(`\$\{[^{}]*\}`)

// MayBeDeployed reports whether a Kustomization of Flux whose path has variables may deploy the folder of a root: with
// which patches and in which namespace is then not known.
func (s *Set) MayBeDeployed(root Root) bool {
	s.variable.once.Do(func() {
		for _, p := range s.Noted(deployers, anywhere) {
			data, _, err := s.Tree().ReadFile(p)
			if err != nil || !strings.Contains(string(data), "${") {
				continue
			}
			documents, err := doc.Parse(p, data, s.limits)
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
						s.variable.list = append(s.variable.list, folder)
					}
				}
			}
		}
	})
	for _, folder := range s.variable.list {
		if folder.MatchString(root.Path) {
			return true
		}
	}
	return false
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
