package render

import (
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// annotated corrects the annotations of buildMetadata that say where resources come from. Kustomize wrote paths of
// mounts; it must be what it writes without mounts (resource.Origin.Append).
func (b *builder) annotated(p *plan, resources []*yaml.Node) {
	f := p.root.File
	asked := slices.ContainsFunc(doc.Items(f.Node, "buildMetadata"), func(n *yaml.Node) bool {
		return n.Value == "originAnnotations" || n.Value == "transformerAnnotations"
	})
	if !asked || len(p.values) == 0 {
		return
	}
	at := place(f.Dir)
	for _, n := range resources {
		_, metadata := doc.Field(n, "metadata")
		_, annotations := doc.Field(metadata, "annotations")
		if _, value := doc.Field(annotations, "config.kubernetes.io/origin"); value != nil {
			var o resource.Origin
			if kyaml.Unmarshal([]byte(value.Value), &o) == nil {
				b.mounts.origin(at, &o)
				if text, err := o.String(); err == nil {
					value.Value = text
				}
			}
		}
		if _, value := doc.Field(annotations, "alpha.config.kubernetes.io/transformations"); value != nil {
			var list resource.Transformations
			if kyaml.Unmarshal([]byte(value.Value), &list) == nil {
				for _, o := range list {
					b.mounts.origin(at, o)
				}
				if text, err := list.String(); err == nil {
					value.Value = text
				}
			}
		}
	}
}

// origin converts paths relative to a folder that kustomize sees into those of the mounted source.
func (o *mounts) origin(at string, origin *resource.Origin) {
	for _, p := range []*string{&origin.Path, &origin.ConfiguredIn} {
		if *p == "" {
			continue
		}
		name := within(path.Join(at, *p))
		if file, ok := o.fileMount(name); ok {
			m, _, _ := o.of(file)
			*p, origin.Repo, origin.Ref = m.noted()
		} else if m, in, ok := o.of(name); ok {
			repo, _ := kustomization.ParseRepo(m.raw)
			if repo.Folder == "" {
				in = path.Join(uncloned, in)
			}
			*p, origin.Repo, origin.Ref = in, repo.URL, repo.Ref
		}
	}
}

// uncloned is what kustomize writes for the top folder of a repository.
const uncloned = "notCloned"

// noted returns what kustomize writes about a single file.
func (m *mount) noted() (name, repository, ref string) {
	repo, ok := kustomization.ParseRepo(m.raw)
	if !ok {
		return path.Join(m.raw), "", ""
	}
	if repo.Folder == "" {
		repo.Folder = uncloned
	}
	return path.Clean(repo.Folder), repo.URL, repo.Ref
}
