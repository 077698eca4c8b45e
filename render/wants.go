package render

import (
	"slices"

	"github.com/lintel-bot/lintel/render/remote"
)

// wants are what a rendering asked for from outside, with the digests of what they came to.
type wants map[remote.Want]string

// rememberedWant is one of them.
type rememberedWant struct {
	Want   remote.Want `json:"want"`
	Digest string      `json:"digest,omitempty"`
}

// same reports whether all of it came to the same. What nobody has fetched yet is asked for again.
func (w wants) same(sources *remote.Sources) bool {
	same := true
	for want, digest := range w {
		if sources.Digest(want) != digest {
			same = false
		} else if digest == "" {
			_, _ = sources.Get(want)
		}
	}
	return same
}

func (w wants) list() (list []rememberedWant) {
	for want, digest := range w {
		list = append(list, rememberedWant{want, digest})
	}
	slices.SortFunc(list, func(a, b rememberedWant) int { return remote.Compare(a.Want, b.Want) })
	return list
}

func recalledWants(list []rememberedWant) wants {
	w := wants{}
	for _, one := range list {
		w[one.Want] = one.Digest
	}
	return w
}
