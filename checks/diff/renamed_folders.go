package diff

import (
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/roots"
)

// renamedFolders tells objects what they were before where a folder above several roots got another name: of the roots
// that are gone, each has its successor where the end of the path is most alike.
func renamedFolders(gone, created []*Pair, stays func(roots.Root) bool) {
	for _, to := range created {
		if to.Operation != admission.Create || to.Before != nil {
			continue
		}
		most, found := 0, (*Pair)(nil)
		for _, from := range gone {
			if stays(from.Root) || from.Root.Kind != to.Root.Kind || from.Root.Object+to.Root.Object != "" {
				continue
			}
			switch n := sharedEnd(from.Root.Path, to.Root.Path); {
			case n > most:
				most, found = n, from
			case n == most:
				found = nil
			}
		}
		if found != nil {
			to.Before, to.From = found.Old, found.Root
		}
	}
}

// sharedEnd counts the last elements that two paths have in common.
func sharedEnd(a, b string) (n int) {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for n < min(len(as), len(bs)) && as[len(as)-1-n] == bs[len(bs)-1-n] {
		n++
	}
	return n
}
