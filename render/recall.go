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

	kjson "sigs.k8s.io/json"

	"github.com/lintel-bot/lintel/render/cache"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/source"
)

// Kept is where renderings are kept from one check to the next. What is kept is used only while every file that the
// rendering read has the same object id, every path that was looked for and absent is absent, every symlink leads to
// the same place, and the root is deployed the same way.
type Kept struct {
	Disk       *cache.Disk
	Repository string // tells repositories apart, so that they do not push out each other's renderings
}

const (
	// maxVersions is how many renderings of one root are kept: those of some pull requests and of their base.
	maxVersions = 4
	// maxKept is the size in bytes up to which the renderings of a root are worth keeping.
	maxKept = 8 << 20
)

// kept is what is kept of a rendering beside its objects.
type kept struct {
	Reads  map[string]string `json:"reads"`
	Links  map[string]string `json:"links"`
	Digest string            `json:"digest"`
	Issues map[int][]Issue   `json:"issues,omitempty"` // by the index of the resource
}

// version is one kept rendering. Its parts are read one by one: of most, the head says that they are out of date.
type version struct {
	head, objects []byte // JSON
}

// Keeping answers a renderer that keeps what it renders, and takes from there what it can. The places of such
// resources are found by rendering when somebody asks for one.
func (r *Renderer) Keeping(k *Kept) *Renderer {
	if k == nil || k.Disk == nil {
		return r
	}
	other := *r
	other.kept = k
	return &other
}

// keptAt answers under which names the renderings of a root are kept.
func (r *Renderer) keptAt(root graph.Root) (scope, name string) {
	scope = r.kept.Disk.Scope("render", r.kept.Repository, fmt.Sprint(r.limits, r.tree.BlobLimit()))
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %q", root.Path, root.Plain, root.Deploy))
	return scope, hex.EncodeToString(sum[:16])
}

// versions reads the kept renderings of a root, the newest first. What is cut off is left out.
func (r *Renderer) versions(root graph.Root) []version {
	data, _ := r.kept.Disk.Get(r.keptAt(root))
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

// recall answers a kept rendering of a root that is what rendering it would give; nil where there is none.
func (r *Renderer) recall(ctx context.Context, root graph.Root) *Rendering {
	if r.kept == nil {
		return nil
	}
	for _, v := range r.versions(root) {
		var k kept
		if json.Unmarshal(v.head, &k) != nil || k.Links == nil {
			continue
		}
		out := &Rendering{Root: root, Reads: k.Reads, links: k.Links, digest: k.Digest}
		if !out.Same(r) {
			continue
		}
		var objects []map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(v.objects, &objects) != nil {
			return nil
		}
		again := &again{ctx: ctx, renderer: r, root: root}
		for i, object := range objects {
			out.Resources = append(out.Resources, &Resource{Object: object, Issues: k.Issues[i], again: again, index: i})
		}
		return out
	}
	return nil
}

// keep keeps a rendering without problems.
func (r *Renderer) keep(out *Rendering) {
	if r.kept == nil || out == nil || out.links == nil || len(r.overlay) > 0 {
		return
	}
	k := kept{Reads: out.Reads, Links: out.links, Digest: out.digest, Issues: map[int][]Issue{}}
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
	// A text that is no UTF-8 would not come back as it was.
	if err != nil || bytes.Contains(body, []byte(`\ufffd`)) {
		return
	}
	var data []byte
	for i, v := range slices.Insert(r.versions(out.Root), 0, version{head, body}) {
		if i == maxVersions || len(data)+len(v.head)+len(v.objects) > maxKept {
			break
		}
		for _, part := range [][]byte{v.head, v.objects} {
			data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
		}
	}
	if len(data) > 0 {
		scope, name := r.keptAt(out.Root)
		_ = r.kept.Disk.Put(scope, name, data) // without it the next check renders again
	}
}

// again renders a root whose kept rendering was used, when a place of one of its fields is asked for. It is part of
// that answer, so it holds the context that the answer was made under.
type again struct {
	ctx       context.Context
	renderer  *Renderer
	root      graph.Root
	rendering *Rendering
}

// resource answers the rendered resource at an index.
func (a *again) resource(index int) (*Resource, error) {
	if a.rendering == nil {
		plain := *a.renderer
		plain.kept = nil
		out, problems, err := plain.Render(a.ctx, a.root)
		if err != nil {
			return nil, err
		}
		if len(problems) > 0 {
			return nil, &problems[0]
		}
		a.rendering = out
	}
	if index >= len(a.rendering.Resources) {
		return nil, &source.Error{Path: a.root.Path, Message: "renders fewer resources than before"}
	}
	return a.rendering.Resources[index], nil
}
