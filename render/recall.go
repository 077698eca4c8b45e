package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/lintel-bot/lintel/render/cache"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
)

// Cache is where renderings are remembered from one check to the next. One is recalled only while every file that the
// rendering read has the same object id, every path that was looked for and absent is absent, every symlink leads to
// the same place, and the root is deployed the same way.
type Cache struct {
	Disk       *cache.Disk
	Repository string // tells repositories apart, so that they do not push out each other's renderings

	mu    sync.Mutex
	built map[roots.Root]*builtObjects // in memory: what Argo CD and Flux look at, of each check
}

const (
	// maxVersions is how many renderings of one root are remembered: those of some pull requests and of their base.
	maxVersions = 4
	// maxRemembered is the size in bytes up to which the renderings of a root are worth remembering.
	maxRemembered = 8 << 20
)

// remembered is what is known of a rendering beside its objects.
type remembered struct {
	Reads  map[string]string `json:"reads"`
	Links  map[string]string `json:"links"`
	Digest string            `json:"digest"`
	Issues map[int][]Issue   `json:"issues,omitempty"` // by the index of the resource

	Partial  bool           `json:"partial,omitempty"`
	Problems []source.Error `json:"problems,omitempty"` // of a partial one
}

// version is one remembered rendering. Its parts are read one by one: of most, the head says that they are out of date.
type version struct {
	head, objects []byte // JSON
}

// rememberedAt returns under which names the renderings of a root are remembered.
func (r *Renderer) rememberedAt(root roots.Root) (scope, name string) {
	scope = r.cache.Disk.Scope("render", r.cache.Repository, fmt.Sprint(r.limits, r.tree.BlobLimit()))
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %q", root.Path, root.Kind, root.Object))
	return scope, hex.EncodeToString(sum[:16])
}

// versions reads the remembered renderings of a root, the newest first. What is cut off is left out.
func (r *Renderer) versions(root roots.Root) []version {
	data, _ := r.cache.Disk.Get(r.rememberedAt(root))
	part := func() []byte {
		n, used := binary.Uvarint(data)
		if used <= 0 || n > uint64(len(data)-used) {
			data = nil
			return nil
		}
		p := data[used : used+int(n)]
		data = data[used+int(n):]
		return p
	}
	var list []version
	for len(data) > 0 {
		v := version{head: part(), objects: part()}
		if v.objects == nil {
			break
		}
		list = append(list, v)
	}
	return list
}

// recall returns a remembered rendering of a root that is what rendering it would give; nil where there is none.
func (r *Renderer) recall(ctx context.Context, root roots.Root) (*Rendering, []source.Error) {
	if r.cache == nil {
		return nil, nil
	}
	for _, v := range r.versions(root) {
		var k remembered
		if json.Unmarshal(v.head, &k) != nil || k.Links == nil {
			continue
		}
		out := &Rendering{Root: root, Reads: k.Reads, Partial: k.Partial, links: k.Links, digest: k.Digest}
		if !out.Same(r) {
			continue
		}
		var objects []map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(v.objects, &objects) != nil {
			return nil, nil
		}
		again := &again{ctx: ctx, renderer: r, root: root}
		for i, object := range objects {
			out.Resources = append(out.Resources, &Resource{Object: object, Issues: k.Issues[i], locator: recalled{again, i}})
		}
		return out, k.Problems
	}
	return nil, nil
}

// remember remembers a rendering. Of a partial one, no problem may go away without a change of what it read.
func (r *Renderer) remember(out *Rendering, problems []source.Error) {
	if r.cache == nil || out == nil || out.links == nil || len(r.overlay) > 0 {
		return
	}
	k := remembered{Reads: out.Reads, Links: out.links, Digest: out.digest, Issues: map[int][]Issue{},
		Partial: out.Partial, Problems: problems}
	objects := make([]map[string]any, len(out.Resources))
	for i, res := range out.Resources {
		objects[i] = res.Object
		if len(res.Issues) > 0 {
			k.Issues[i] = res.Issues
		}
	}
	head, err := json.Marshal(k)
	if err != nil {
		return
	}
	body, err := json.Marshal(objects)
	// A text that is not UTF-8 would not come back as it was.
	if err != nil || bytes.Contains(body, []byte(`\ufffd`)) {
		return
	}
	var data []byte
	for i, v := range slices.Insert(r.versions(out.Root), 0, version{head, body}) {
		if i == maxVersions || len(data)+len(v.head)+len(v.objects) > maxRemembered {
			break
		}
		for _, part := range [][]byte{v.head, v.objects} {
			data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
		}
	}
	if len(data) > 0 {
		scope, name := r.rememberedAt(out.Root)
		_ = r.cache.Disk.Put(scope, name, data) // without it the next check renders again
	}
}
