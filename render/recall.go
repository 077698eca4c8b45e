package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/roots"
)

// Cache is where renderings are remembered from one check to the next. One is recalled only while every file that the
// rendering read has the same object id, every path that was looked for and absent is absent, every symlink leads to
// the same place, and the root is deployed the same way.
type Cache struct {
	Disk       *env.Disk
	Repository string // tells repositories apart, so that they do not push out each other's renderings

	charts charts

	definitions definitions
	busy        [64]sync.Mutex // see alone

	once   sync.Once
	memory *env.Memory
}

// Memory is what was worked out about the renderings, and about the repository.
func (c *Cache) Memory() *env.Memory {
	c.once.Do(func() { c.memory = &env.Memory{Disk: c.Disk, Scope: c.Repository} })
	return c.memory
}

// Save writes to disk what was worked out about the renderings. It is for the end of a check.
func (c *Cache) Save() { c.Memory().Save() }

// alone returns what to lock while something of a name is rendered and remembered, so that it is not rendered twice at
// the same time. Others may wait, too.
func (c *Cache) alone(name string) *sync.Mutex {
	return &c.busy[crc32.ChecksumIEEE([]byte(name))%uint32(len(c.busy))]
}

const (
	// maxVersions is how many renderings of one root are remembered: those of some pull requests and of their base.
	maxVersions = 4
	// maxRemembered is the size in bytes up to which the renderings of a root are worth remembering.
	maxRemembered = 32 << 20
)

// remembered is what is known of a rendering beside its objects.
type remembered struct {
	Reads    map[string]string `json:"reads"`
	Links    map[string]string `json:"links"`
	Digest   string            `json:"digest"`
	Rendered string            `json:"for,omitempty"`
	Asked    askedVersions     `json:"asked,omitzero"`
	Noted    bool              `json:"noted,omitempty"`  // there is something to say: see Rendering.Notes
	Written  string            `json:"written"`          // see writtenIn; the problems stand there
	Issues   map[int][]Issue   `json:"issues,omitempty"` // by the index of the resource
	Made     map[int]int       `json:"made,omitempty"`   // by that index, where its object as Helm printed it is in the last part
	Wants    []rememberedWant  `json:"wants,omitempty"`
	Told     []told            `json:"told,omitempty"`

	Partial  bool        `json:"partial,omitempty"`
	Problems []doc.Error `json:"problems,omitempty"` // of a partial one
}

// version is one remembered rendering. Its parts are read one by one: of most, the head says that they are out of
// date, and hardly any is asked for places.
type version struct {
	head, objects, made []byte // JSON
}

// parts lists the parts in their order.
func (v *version) parts() []*[]byte { return []*[]byte{&v.head, &v.objects, &v.made} }

// rememberedAt returns under which names the renderings of a root are remembered: those of all objects of Argo CD and
// Flux that deploy a folder in the same way are one.
func (r *Renderer) rememberedAt(root roots.Root) (scope, name string) {
	scope = r.cache.Disk.Scope("render", r.cache.Repository, fmt.Sprint(r.limits, r.tree.BlobLimit(), r.outside.sources != nil,
		r.set.Unrestricted()))
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %t %q", root.Path, root.Kind, root.Object != "", r.set.Digest(root)))
	return scope, hex.EncodeToString(sum[:16])
}

// writtenIn tells what else is written in the files that say how a root is deployed: where a line of theirs stands.
func (r *Renderer) writtenIn(root roots.Root) string {
	one := r.set.Deployment(root)
	if one == nil {
		return ""
	}
	files := []string{one.Where.Path}
	if one.Release != nil {
		files = append(files, one.Release.Chart.Where.Path)
	}
	if e := one.Elsewhere; e != nil && e.Release != nil {
		files = append(files, e.Release.Chart.Where.Path)
	}
	text := root.Object
	for _, p := range files {
		_, e, _ := r.tree.Lookup(p) // what is not there has no id
		text += " " + e.ID
	}
	return text
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
		var v version
		for _, p := range v.parts() {
			*p = part()
		}
		if v.made == nil {
			break
		}
		list = append(list, v)
	}
	return list
}

// recall returns a remembered rendering of a root that is what rendering it would give; nil where there is none.
func (r *Renderer) recall(ctx context.Context, root roots.Root) (*Rendering, []doc.Error) {
	if r.cache == nil {
		return nil, nil
	}
	for _, v := range r.versions(root) {
		var k remembered
		if json.Unmarshal(v.head, &k) != nil || k.Links == nil {
			continue
		}
		if k.Written != r.writtenIn(root) && len(k.Problems) > 0 {
			continue // they stand where the object was written then, or another is
		}
		out := &Rendering{Root: root, Reads: k.Reads, Partial: k.Partial, links: k.Links, digest: k.Digest,
			rendered: k.Rendered, asked: k.Asked, wants: recalledWants(k.Wants), told: k.Told}
		if !out.Same(r) {
			continue
		}
		var objects []map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(v.objects, &objects) != nil {
			return nil, nil
		}
		again := &again{ctx: ctx, renderer: r, root: root}
		out.again = again
		made := sync.OnceValue(func() (list []map[string]any) {
			_ = kjson.UnmarshalCaseSensitivePreserveInts(v.made, &list) // it is sealed, so it can be read
			return list
		})
		for i, object := range objects {
			one := &Resource{Object: object, Issues: k.Issues[i], locator: recalled{again, i}}
			if at, ok := k.Made[i]; ok {
				one.made = func() map[string]any {
					if list := made(); at >= 0 && at < len(list) {
						return list[at]
					}
					return nil
				}
			}
			out.Resources = append(out.Resources, one)
		}
		r.besides(out, v.head)
		if k.Noted {
			out.notes = again.notes
			keepNotes(out)
		}
		return out, k.Problems
	}
	return nil, nil
}

// remember remembers a rendering. Of a partial one, no problem may go away without a change of what it read.
func (r *Renderer) remember(out *Rendering, problems []doc.Error) {
	if r.cache == nil || out == nil || out.links == nil || len(r.overlay) > 0 {
		return
	}
	k := remembered{Reads: out.Reads, Links: out.links, Digest: out.digest, Rendered: out.rendered, Asked: out.asked,
		Written: r.writtenIn(out.Root), Noted: out.notes != nil,
		Issues: map[int][]Issue{}, Made: map[int]int{}, Wants: out.wants.list(), Told: out.told, Partial: out.Partial,
		Problems: problems}
	objects := make([]map[string]any, len(out.Resources))
	for i, res := range out.Resources {
		objects[i] = res.Object
		if len(res.Issues) > 0 {
			k.Issues[i] = res.Issues
		}
	}
	made := []map[string]any{}
	for i, res := range out.Resources {
		if res.made != nil {
			k.Made[i] = len(made)
			made = append(made, res.made())
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
	printed, err := json.Marshal(made)
	if err != nil || bytes.Contains(printed, []byte(`\ufffd`)) {
		return
	}
	var data []byte
	for i, v := range slices.Insert(r.versions(out.Root), 0, version{head, body, printed}) {
		if i == maxVersions || len(data)+len(v.head)+len(v.objects)+len(v.made) > maxRemembered {
			break
		}
		for _, part := range v.parts() {
			data = append(binary.AppendUvarint(data, uint64(len(*part))), *part...)
		}
	}
	if len(data) > 0 {
		scope, name := r.rememberedAt(out.Root)
		_ = r.cache.Disk.Put(scope, name, data) // without it the next check renders again
		r.besides(out, head)
		keepNotes(out)
	}
}
