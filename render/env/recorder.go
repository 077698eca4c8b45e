package env

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// Files reads a tree.
type Files interface {
	tree.Reader
	ReadFile(p string) (data []byte, id string, err error)
}

// Recorder reads a tree, and records the questions that this answers. It is not safe for concurrent use.
type Recorder struct {
	Files
	asked Asked
}

// Record returns a recorder for a tree.
func Record(t Files) *Recorder { return &Recorder{Files: t, asked: Asked{}} }

// Asked returns the recorded questions. Questions about files in a folder whose id was read are left out, unless a
// symlink leads there, or may lead there as soon as its target exists.
func (r *Recorder) Asked() Asked {
	asked := maps.Clone(r.asked)
	maps.DeleteFunc(asked, func(q Question, answer string) bool {
		if strings.HasPrefix(answer, nowhere) || answer == "" && !r.isMissing(q.Name) {
			return false
		}
		whole := false
		for p := q.Name; r.asked[Question{Link, p}] == ""; p = path.Dir(p) {
			if p == "." || p == "/" {
				return whole
			}
			id := r.asked[Question{Content, path.Dir(p)}]
			whole = whole || len(id) > 0 && id[0] == '/'
		}
		return false
	})
	return asked
}

// isMissing reports whether a path does not exist because its folder has no such entry, so that no symlink is involved.
func (r *Recorder) isMissing(p string) bool {
	dir, name := path.Split(p)
	dir = path.Clean(dir)
	real, _, err := r.Files.Lookup(dir)
	if err != nil || real != dir {
		return false
	}
	list, err := r.Files.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(list, func(e tree.Entry) bool { return e.Name == name })
}

// Lookup implements Files.
func (r *Recorder) Lookup(p string) (string, tree.Entry, error) {
	real, e, err := r.Files.Lookup(p)
	r.note(Content, p)
	if err == nil && real != p {
		r.note(Link, p)
	}
	return real, e, err
}

// ReadFile implements Files.
func (r *Recorder) ReadFile(p string) ([]byte, string, error) {
	_, _, _ = r.Lookup(p)
	return r.Files.ReadFile(p)
}

// ReadDir implements Files.
func (r *Recorder) ReadDir(p string) ([]tree.Entry, error) {
	if real, _, err := r.Files.Lookup(p); err == nil && real != p {
		r.note(Link, p)
	}
	list, err := r.Files.ReadDir(p)
	r.asked[Question{Listing, p}] = listing(list, err)
	return list, err
}

func (r *Recorder) note(kind Kind, p string) {
	if q := (Question{kind, p}); r.asked[q] == "" {
		r.asked[q] = Of(r.Files, q)
	}
}
