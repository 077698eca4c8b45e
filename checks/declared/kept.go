package declared

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	kjson "sigs.k8s.io/json"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/defaults"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
)

// What the tip of the base branch declares of a kind is the same for every change that is judged against it, and finding
// it out takes a look into each root that may have one: it is kept on disk.

// maxKept is the size in bytes up to which what is declared of a kind is worth keeping.
const maxKept = 8 << 20

// kept is what a tree declares of one kind.
type kept struct {
	Entries []keptEntry    `json:"entries"`
	Blind   []source.Error `json:"blind,omitempty"`
}

type keptEntry struct {
	Root   roots.Root     `json:"root"`
	Named  bool           `json:"named,omitempty"`
	Object map[string]any `json:"object"`
}

// keptAt returns the name under which what some roots declare of a kind is kept.
func (d *Objects) keptAt(group, kind string, reached []roots.Root) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "declared %q %q %q %#v", group, kind, d.context, reached))
	return hex.EncodeToString(sum[:16])
}

// recall returns what is kept.
func (d *Objects) recall(name string) (list []entry, blind []source.Error, ok bool) {
	data, ok := d.renderer.Kept(name)
	if !ok {
		return nil, nil, false
	}
	var k kept
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &k) != nil {
		return nil, nil, false
	}
	for _, e := range k.Entries {
		list = append(list, entry{id: admission.IdentityOf(e.Object), object: defaults.Apply(e.Object), root: e.Root,
			named: e.Named})
	}
	return list, k.Blind, true
}

// keep keeps what was found, as it was before the defaults of the API server.
func (d *Objects) keep(name string, list []keptEntry, blind []source.Error) {
	data, err := json.Marshal(kept{list, blind})
	// A text that is not UTF-8 would not come back as it was.
	if err == nil && len(data) <= maxKept && !bytes.Contains(data, []byte(`\ufffd`)) {
		d.renderer.Keep(name, data)
	}
}
