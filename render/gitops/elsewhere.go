package gitops

import (
	"cmp"
	"fmt"
	"path"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// Elsewhere is a folder of another repository, or of another state of this one.
type Elsewhere struct {
	Want   remote.Want
	Folder string   // in it, "." for its top
	Where  Position // the field that chooses the revision, where there is one, else the address or the path
	Asked  Position // what asks for it, in the object that deploys it
	Says   string   // that it is not checked, for where it is not there

	// Detect says that what the folder holds decides what renders it: see Detect. Release is the release for a chart.
	Detect  bool
	Release *Release
}

// Detect returns what Argo CD renders a folder by whose source does not say it
// (https://argo-cd.readthedocs.io/en/stable/user-guide/tool_detection/).
func Detect(t Tree, dir string) Kind {
	switch {
	case kustomizationIn(t, dir) != "":
		return ArgoKustomize
	case isKind(t, path.Join(dir, "Chart.yaml"), tree.File):
		return ArgoHelm
	}
	return ArgoDirectory
}

// HasSourceFile reports whether a folder has parameters that Argo CD merges over an Application's source.
func HasSourceFile(t Tree, d *Deployment, dir string) bool {
	return len(sourceFiles(t, dir, d.Name)) > 0
}

// Below returns the file as it is where its folder, and what it comes from, stands below a prefix.
func (v *Virtual) Below(prefix string) *Virtual {
	out := *v
	out.Path = path.Join(prefix, v.Path)
	out.lines = make([]line, len(v.lines))
	for i, l := range v.lines {
		if l.at.Path == v.Path {
			l.at.Path = out.Path
		}
		out.lines[i] = l
	}
	return &out
}

func elsewhereWords(repository string) string {
	return fmt.Sprintf("the source is another repository, %.200s: what is deployed from it is not checked",
		cmp.Or(repository, "which nothing here names"))
}

func anotherWords(revision string) string {
	return fmt.Sprintf("the source is another revision of this repository, %.200s, and not what is "+
		"to be merged here: what is deployed from it is not checked", revision)
}
