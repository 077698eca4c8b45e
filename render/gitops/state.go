package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// What is not rendered is told only of what a change touches. Nobody can render it to see that, so each problem has a
// state: a digest of what is asked for, and of whatever of this repository it reads.

// ask begins what is asked at the moment: fields, or other values that can be JSON.
func (r *reader) ask(parts ...any) { r.asked = parts }

// also adds to what is asked.
func (r *reader) also(parts ...any) { r.asked = append(r.asked, parts...) }

// reads adds files and folders of the repository to what is asked.
func (r *reader) reads(paths ...string) {
	for _, p := range paths {
		r.asked = append(r.asked, p, tree.State(r.Tree, p))
	}
}

func (r *reader) state() string { return digest(r.asked...) }

// digest tells values apart.
func digest(parts ...any) string {
	values := make([]any, len(parts))
	for i, part := range parts {
		values[i] = part
		if f, ok := part.(*field); ok {
			values[i] = f.plain()
		}
	}
	data, _ := json.Marshal(values)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// readsChart adds the folder of a chart to what is asked, and those of this repository that it depends on. It returns
// them.
func (r *reader) readsChart(dir string) (folders []string) {
	seen := map[string]bool{}
	for queue := []string{dir}; len(queue) > 0 && len(seen) < MaxDepth; queue = queue[1:] {
		dir := queue[0]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		folders = append(folders, dir)
		r.reads(dir)
		for _, file := range []string{"Chart.yaml", "requirements.yaml"} {
			list, _ := r.readFile(path.Join(dir, file))
			for _, d := range first(list).elements("dependencies") {
				if below, ok := strings.CutPrefix(d.text("repository"), "file://"); ok {
					if clean, ok := tree.Clean(path.Join(dir, below)); ok {
						queue = append(queue, clean)
					}
				}
			}
		}
	}
	return folders
}

// fixed returns the part of a pattern's path before its first wildcard.
func fixed(pattern string) string {
	if folder, isWild := wild(pattern); isWild {
		return folder
	}
	return pattern
}
