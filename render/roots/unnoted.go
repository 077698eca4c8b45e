package roots

import (
	"path"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
)

// unnoted are the objects of Argo CD and Flux that the notes of the index do not know of, since no manifest has them
// where it lies.
type unnoted struct {
	once   sync.Once
	links  []folderLink
	linked []string // see linkedDeployers
}

// folderLink is a symlink to a folder.
type folderLink struct{ path, real string }

// links lists the symlinks to folders.
func (s *Set) links() []folderLink {
	s.unnoted.once.Do(s.followLinks)
	return s.unnoted.links
}

// linkedDeployers lists the paths that lead through symlinks to files with objects that may deploy something, and that
// are no manifests where they lie: by their name, or in a hidden folder.
func (s *Set) linkedDeployers() []string {
	s.unnoted.once.Do(s.followLinks)
	return s.unnoted.linked
}

func (s *Set) followLinks() {
	notes := deployerNotes(s.limits)
	for _, l := range s.Links() {
		real, e, err := s.Tree().Lookup(l)
		if err != nil {
			continue
		}
		paths := []string{l}
		if e.Kind == tree.Dir {
			s.unnoted.links = append(s.unnoted.links, folderLink{l, real})
			if paths = nil; real != "." && !below(l, real) {
				s.filesBelow(l, &paths)
			}
		}
		for _, p := range paths {
			at, _, err := s.Tree().Lookup(p)
			if err != nil || !graph.IsManifestName(p) || graph.IsManifestName(at) && !hidden(at) {
				continue
			}
			if data, _, err := s.Tree().ReadFile(p); err == nil {
				deploys := false
				notes.Read(p, data, func(string) { deploys = true })
				if deploys {
					s.unnoted.linked = append(s.unnoted.linked, p)
				}
			}
		}
	}
}

// oddRoots lists the roots with objects whose kinds no manifest says (see graph.Graph.Odd).
func (s *Set) oddRoots() []Root {
	dirs := map[string]bool{}
	for _, dir := range s.Odd() {
		dirs[dir] = true
	}
	if len(dirs) == 0 || s.builder() == nil {
		return nil
	}
	return s.rootsOver(dirs)
}

// dropped reports whether an object of a file is none that the kustomizations which take the file over have: kustomize
// leaves out what has this annotation, whatever it says (https://kubectl.docs.kubernetes.io/references/kustomize).
func (s *Set) dropped(p string, object *yaml.Node) bool {
	_, metadata := doc.Field(object, "metadata")
	_, has := texts(metadata, "annotations")["config.kubernetes.io/local-config"]
	return has && slices.ContainsFunc(s.Taking(p), s.Lives)
}

// below reports whether a path lies in a folder.
func below(p, dir string) bool {
	for ; p != "."; p = path.Dir(p) {
		if path.Dir(p) == dir {
			return true
		}
	}
	return false
}
