package diff

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// Stopped returns where the change stops deploying a deleted object whose own file it leaves alone. This is the
// kustomization that no longer names the file or a folder of it, a patch that deletes the object, an edited object of
// Argo CD or Flux, or what sets its name or namespace. old says that only the base has the place; ok is false if no
// place is found.
func (t *Trees) Stopped(p *Pair) (at origin.Place, old, ok bool) {
	queue := []string{p.Old.Origin("").Path}
	deployers := t.Base.Roots.Deployers(p.Root)
	for seen := map[string]bool{}; ; {
		for len(queue) > 0 {
			name := queue[0]
			queue = queue[1:]
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, dir := range t.Base.Roots.IncludedBy(name) {
				if at, old, ok := t.dropped(dir, name); ok {
					return at, old, true
				}
				if at, ok := t.patchedAway(dir, p); ok {
					return at, false, true
				}
				queue = append(queue, dir)
			}
			if name != p.Root.Path {
				deployers = append(deployers, t.Base.Roots.Deployers(roots.Root{Path: name, Kind: roots.Kustomization})...)
			}
		}
		for _, d := range deployers {
			if t.changed[d.Where.Path] {
				at, old := t.redirected(d)
				return at, old, true
			}
			queue = append(queue, d.Where.Path)
		}
		if deployers = nil; len(queue) == 0 {
			break
		}
	}
	for _, field := range []string{"/metadata/name", "/metadata/namespace"} {
		at := p.Old.Origin(field)
		if was := lines(t.Base, at.Path); t.changed[at.Path] && at.StartLine <= len(was) &&
			!slices.Contains(lines(t.Head, at.Path), was[at.StartLine-1]) {
			return at, true, true
		}
	}
	return origin.Place{}, false, false
}

// dropped returns where the kustomization of a folder no longer names a path: the field at the head, or the entry at
// the base if the head has no such field.
func (t *Trees) dropped(dir, name string) (at origin.Place, old, ok bool) {
	was, err := t.Base.Roots.Kustomization(dir)
	if err != nil || was == nil || !t.changed[was.Path] {
		return at, false, false
	}
	now, err := t.Head.Roots.Kustomization(dir)
	if err != nil {
		return at, false, false
	}
	entry := func(f *kustomization.File) int {
		return slices.IndexFunc(f.Refs, func(r kustomization.Ref) bool { return path.Join(dir, r.Value) == name })
	}
	n := entry(was)
	if n < 0 || now != nil && entry(now) >= 0 {
		return at, false, false
	}
	ref := was.Refs[n]
	if now != nil {
		if key, _ := doc.Field(now.Node, ref.Field); key != nil {
			return placeAt(now.Path, key.Line, "put "+ref.Value+" back under "+ref.Field), false, true
		}
	}
	return placeAt(was.Path, ref.Line, ""), true, true
}

// deletes matches the line of a strategic merge patch that deletes an object.
var deletes = regexp.MustCompile(`^\s*["']?\$patch["']?:\s*["']?delete\b`)

// nearby is the number of lines around a $patch line in which the object's name is searched.
const nearby = 8

// patchedAway returns the line that deletes the object, in a patch that the change adds to a folder's kustomization.
func (t *Trees) patchedAway(dir string, p *Pair) (at origin.Place, ok bool) {
	now, err := t.Head.Roots.Kustomization(dir)
	if err != nil || now == nil {
		return at, false
	}
	files := []string{now.Path}
	for _, ref := range now.Refs {
		if ref.Role == kustomization.Patch {
			files = append(files, path.Join(dir, ref.Value))
		}
	}
	kind, _ := p.Old.Object["kind"].(string)
	for _, file := range files {
		if !t.changed[file] {
			continue
		}
		was, is := lines(t.Base, file), lines(t.Head, file)
		for i, line := range is {
			if deletes.MatchString(line) && !slices.Contains(was, line) &&
				strings.Contains(strings.Join(is[max(i-nearby, 0):min(i+nearby, len(is))], "\n"), kind) {
				return placeAt(file, i+1, "remove this patch"), true
			}
		}
	}
	return at, false
}

// lines returns the lines of a file; none if it cannot be read.
func lines(c Commit, path string) []string {
	data, _, err := c.Tree.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(string(data), "\n")
}

// redirected returns where an object of Argo CD or Flux now deploys something else, or where it was at the base.
func (t *Trees) redirected(d *deploy.Deployment) (at origin.Place, old bool) {
	if now := t.Head.Roots.Counterpart(d); now != nil {
		where := now.Where
		if now.Path != d.Path && now.PathWhere.Path != "" {
			where = now.PathWhere
		}
		return placeAt(where.Path, where.Line, "have this object deploy what it deployed before"), false
	}
	return placeAt(d.Where.Path, d.Where.Line, ""), true
}

func placeAt(path string, line int, todo string) origin.Place {
	return origin.Place{Path: path, StartLine: max(line, 1), EndLine: max(line, 1), How: origin.Writer, SuggestedFix: todo}
}
