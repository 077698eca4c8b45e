package declared

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	kjson "sigs.k8s.io/json"

	"github.com/lintel-bot/lintel/render/roots"
)

// What releases of the tip of the base branch have is the same for every change that is judged against it, and finding it
// out takes rendering: it is kept on disk.

// maxKept is the size in bytes up to which it is worth keeping.
const maxKept = 8 << 20

// kept is what releases have of what was looked up.
type kept struct {
	Entries []keptEntry `json:"entries"`
	Unseen  []blindRoot `json:"unseen,omitempty"`
}

type keptEntry struct {
	Root   roots.Root     `json:"root"`
	Named  bool           `json:"-"`
	Object map[string]any `json:"object"`           // as it was before the defaults of the API server
	Digest string         `json:"digest,omitempty"` // equal objects have the same; empty: it is not known
	Unsure string         `json:"unsure,omitempty"`
}

// keptAt returns the name under which what some roots have of what is looked up is kept.
func keptAt(q query, may []roots.Root) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "released %q %#v", q.Sought, may))
	return hex.EncodeToString(sum[:16])
}

// recall returns what is kept.
func (d *Objects) recall(name string) (k kept, ok bool) {
	data, ok := d.renderer.Kept(name)
	return k, ok && kjson.UnmarshalCaseSensitivePreserveInts(data, &k) == nil
}

// keep keeps what was found.
func (d *Objects) keep(name string, k kept) {
	data, err := json.Marshal(k)
	// A text that is not UTF-8 would not come back as it was.
	if err == nil && len(data) <= maxKept && !bytes.Contains(data, []byte(`\ufffd`)) {
		d.renderer.Keep(name, data)
	}
}
