package diff

import (
	"path/filepath"
	"regexp"
	"slices"

	"github.com/lintel-bot/lintel/render/doc"
)

// Obstacle is what stands in the way of rendering a root of the head, or a part of it.
type Obstacle struct {
	doc.Error
	Before bool // the base has it in the same way
}

// Obstacles lists what stands in the way at the head. gone is what stood in the way of roots that the head does not
// have any more: a root that moved takes it along. An obstacle is the same where the same is wrong with the same file
// of the root, on whichever line; at the base something else may have been in the way, too, so that nobody saw it.
func (r *Root) Obstacles(gone []Wrong) (list []Obstacle) {
	before, rest := append(wrongs(r.Path, r.Base), gone...), r.rest
	for _, e := range r.Head {
		was := wrong(r.Path, e)
		if rest != nil && !e.Unknown && !slices.Contains(before, was) {
			before, rest = append(before, wrongs(r.Path, rest())...), nil
		}
		list = append(list, Obstacle{e, slices.Contains(before, was)})
	}
	return list
}

// Wrong is what is wrong, without its place in the repository and without its line.
type Wrong struct{ file, message string }

// Gone lists what stood in the way of those of the roots that the head does not have.
func (s Sides) Gone(list []*Root) (gone []Wrong) {
	for _, r := range list {
		if len(r.Base) > 0 && !s.Trees.Head.Roots.Has(r.Root) {
			gone = append(gone, wrongs(r.Path, r.Base)...)
		}
	}
	return gone
}

func wrongs(root string, list []doc.Error) []Wrong {
	out := make([]Wrong, len(list))
	for i, e := range list {
		out[i] = wrong(root, e)
	}
	return out
}

var numbered = regexp.MustCompile(`\b(line|column) \d+`)

func wrong(root string, e doc.Error) Wrong {
	file, err := filepath.Rel(root, e.Path)
	if err != nil {
		file = e.Path
	}
	return Wrong{filepath.ToSlash(file), numbered.ReplaceAllString(e.Message, "$1")}
}

// brought lists what stands in the way at the head and did not at the base.
func (r *Root) brought() (list []Obstacle) {
	return slices.DeleteFunc(r.Obstacles(nil), func(o Obstacle) bool { return o.Before })
}
