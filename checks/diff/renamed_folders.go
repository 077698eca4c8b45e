package diff

import (
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/roots"
)

// renamedFolders tells objects what they were before where a folder above several roots got another name: of the roots
// that are gone, each has its successor where the end of the path is most alike. One that is gone has one successor: what
// else is deployed like it is new.
func renamedFolders(gone, created []*Pair, stays func(roots.Root) bool) {
	type successor struct {
		to     *Pair
		shared int
	}
	of := map[*Pair]successor{}
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
		switch known := of[found]; {
		case found == nil || most < known.shared:
		case most == known.shared:
			of[found] = successor{nil, most} // which of them it is, is anybody's guess
		default:
			of[found] = successor{to, most}
		}
	}
	for from, next := range of {
		if next.to != nil {
			next.to.Before, next.to.From = from.Old, from.Root
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
