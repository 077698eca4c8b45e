package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/lintel-bot/lintel/render/env"
)

// beside is where things are kept on disk that follow from a remembered rendering.
type beside struct {
	disk        *env.Disk
	scope, name string
}

// besides says where that is for a rendering with a head, and has its places kept there. What is kept may say where
// things are written.
func (r *Renderer) besides(out *Rendering, head []byte) {
	scope, name := r.rememberedAt(out.Root)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s", r.writtenIn(out.Root), head))
	out.beside = &beside{r.cache.Disk, scope, name + "-" + hex.EncodeToString(sum[:16])}
	r.keepFound(out)
}

func (b *beside) get(name string) (data []byte, ok bool) {
	return b.disk.Get(b.scope, b.name+"-"+name)
}

func (b *beside) put(name string, data []byte) {
	_ = b.disk.Put(b.scope, b.name+"-"+name, data) // without it, it is found out again
}

// Beside returns what was kept under a name beside a rendering that was the same.
func (r *Rendering) Beside(name string) (data []byte, ok bool) {
	if r.beside == nil {
		return nil, false
	}
	return r.beside.get(name)
}

// KeepBeside keeps what follows from a rendering and from nothing else, where the rendering is remembered. A name has
// letters, digits and dashes.
func (r *Rendering) KeepBeside(name string, data []byte) {
	if r.beside != nil {
		r.beside.put(name, data)
	}
}
