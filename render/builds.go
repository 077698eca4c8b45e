package render

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/origin"
)

// builds are what kustomize made of folders last: several objects often deploy the same one, to several clusters. Each
// rendering makes its own objects and places of it. nil holds none.
type builds struct {
	mu   sync.Mutex
	list []*sharedBuild
}

// sharedBuild is what kustomize made of a folder. Nobody changes it.
type sharedBuild struct {
	key          string
	once         sync.Once
	files        *origin.FileSet
	nodes        []*yaml.Node
	reads, links map[string]string
	err          error
}

// maxBuilds is how many are held: with their nodes they take much room.
const maxBuilds = 64

// of returns the build of a key, which may not be done yet.
func (b *builds) of(key string) *sharedBuild {
	if b == nil {
		return &sharedBuild{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.list, func(one *sharedBuild) bool { return one.key == key })
	if i < 0 {
		b.list = append(b.list, &sharedBuild{key: key})
		b.list = b.list[max(0, len(b.list)-maxBuilds):]
		i = len(b.list) - 1
	}
	return b.list[i]
}

// run builds the folder of a plan with kustomize, unless it was built not long ago.
func (r *Renderer) run(dir string, p *plan) *sharedBuild {
	h := sha256.New()
	fmt.Fprintf(h, "%q %t\n", dir, p.openAPI)
	for _, texts := range []map[string][]byte{r.overlay, p.texts} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(texts[name]))
		}
		fmt.Fprintln(h)
	}
	one := r.builds.of(string(h.Sum(nil)))
	one.once.Do(func() {
		one.files, one.reads = origin.NewFileSet(), map[string]string{}
		fsys := &fileSystem{renderer: r, reads: one.reads, may: r.reaching(p), links: maps.Clone(p.links),
			transform: func(name string, data []byte) []byte {
				if text, ok := p.texts[name]; ok {
					data = text
				}
				switch {
				case p.kustomizations[name] != nil:
					return one.files.PadInline(p.kustomizations[name], data)
				case p.manifests[name]:
					return one.files.Pad(name, data)
				}
				return data
			}}
		if one.nodes, one.err = runKustomize(fsys, dir, p.openAPI); one.err == nil {
			r.annotated(p, one.nodes)
		}
		one.links = fsys.links
	})
	return one
}
