package graph

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// deploymentMarks are the groups of the objects that deploy folders.
func deploymentMarks() []string { return []string{"argoproj.io/", "kustomize.toolkit.fluxcd.io/"} }

var (
	deployingKind = regexp.MustCompile(`\bkind["']?[ \t]*:[ \t]*["']?(Application|ApplicationSet|Kustomization)\b`)
	pathField     = regexp.MustCompile(`\bpath["']?[ \t]*:[ \t]*([^\r\n]*)`)
)

// deployments records which folders the objects of Argo CD and Flux in a file may deploy. It looks at the text only
// and errs on the side of too many.
func (s *scanner) deployments(p string, data []byte, out *facts) {
	marked := false
	for _, mark := range deploymentMarks() {
		marked = marked || bytes.Contains(data, []byte(mark))
	}
	if !marked {
		return
	}
	kinds := deployingKind.FindAllSubmatch(data, -1)
	if len(kinds) == 0 {
		return
	}
	out.add(mentions, deployer, p)
	if bytes.Contains(data, []byte("substituteFrom")) {
		out.add(deployers, substituted, p)
	}
	// An object of Flux without a path deploys the whole repository, and the sources of several objects may be out
	// of reach of the text.
	paths := pathField.FindAllSubmatch(data, -1)
	unclear := len(paths) < len(kinds) || bytes.Contains(data, []byte("ExternalArtifact"))
	for _, k := range kinds {
		unclear = unclear || string(k[1]) == "ApplicationSet"
	}
	for _, m := range paths {
		folder, ok := folderOf(string(m[1]))
		if !ok {
			unclear = true
			continue
		}
		out.add(deployers, folder, p)
	}
	if unclear {
		out.add(deployers, anywhere, p)
	}
}

// folderOf answers the folder that the text behind "path:" names, and false where it takes more than that to know.
func folderOf(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, `\$&*|>`) || strings.Contains(text, "{{") {
		return "", false
	}
	if quote := text[0]; quote == '"' || quote == '\'' {
		end := strings.IndexByte(text[1:], quote)
		if end < 0 {
			return "", false
		}
		text = text[1 : 1+end]
	} else {
		if i := strings.IndexAny(text, ",}#"); i >= 0 {
			text = text[:i]
		}
		text = strings.TrimSpace(text)
	}
	folder, ok := tree.Clean(strings.TrimLeft(path.Clean("/"+text), "/"))
	if folder == "" {
		folder = "."
	}
	return folder, ok
}
