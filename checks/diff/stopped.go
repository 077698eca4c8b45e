package diff

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// Stopped returns where the change stops deploying a deleted object whose own file it leaves alone. This is the
// kustomization that no longer names the file or a folder of it, a patch that deletes the object, an edited object of
// Argo CD or Flux, a file that the chart reads, or what sets its name or namespace. old says that only the base has the
// place; ok is false if no place is found.
func (t *Trees) Stopped(p *Pair) (at origin.Place, old, ok bool) {
	queue := []string{p.Old.Origin("").Path}
	of := func(dir string) bool { return t.Base.includes(p.Root.Path, dir, map[string]bool{}) } // not of another overlay
	deployers := t.Base.Roots.Deployers(p.Root)
	id := admission.IdentityOf(p.Old.Object)
	objects := []kindName{{id.Kind, id.Name}} // that are deployed no more
	asked := map[*deploy.Deployment]bool{}
	for seen := map[string]bool{}; ; {
		for len(queue) > 0 {
			name := queue[0]
			queue = queue[1:]
			if seen[name] {
				continue
			}
			seen[name] = true
			dirs := t.Base.Roots.IncludedBy(name)
			if at, ok := t.chosen(name); ok && len(dirs) == 0 {
				return at, false, true
			}
			for _, dir := range dirs {
				if !of(dir) {
					continue
				}
				if at, old, ok := t.dropped(dir, name); ok {
					return at, old, true
				}
				for _, object := range objects {
					if at, sure := t.patch(dir, object, false, map[string]bool{}); sure > 0 {
						return at, false, true
					}
				}
				queue = append(queue, dir)
			}
			if name != p.Root.Path {
				deployers = append(deployers, t.Base.Roots.Deployers(roots.Root{Path: name, Kind: roots.Kustomization})...)
			}
		}
		if at, ok := t.renamed(p); ok {
			return at, true, true
		}
		if at, ok := t.prefixed(slices.Sorted(maps.Keys(seen))); ok {
			return at, false, true
		}
		objects = nil
		var above []*deploy.Deployment
		for _, d := range deployers {
			if asked[d] {
				continue
			}
			asked[d] = true
			if at, old, ok := t.redirected(d); ok {
				return at, old, true
			}
			if at, ok := t.revalued(d); ok {
				return at, false, true
			}
			queue, objects = append(queue, d.Where.Path), append(objects, kindName{d.Object.Kind, d.Object.Name})
			above = append(above, t.Base.Roots.Holders(d)...)
		}
		of = func(string) bool { return true }
		if deployers = above; len(queue)+len(above) == 0 {
			return origin.Place{}, false, false
		}
	}
}

// includes reports whether the kustomization of a folder includes that of another one, or is the same.
func (c Commit) includes(dir, other string, asked map[string]bool) bool {
	if asked[other] {
		return false
	}
	asked[other] = true
	return dir == other || slices.ContainsFunc(c.Roots.IncludedBy(other), func(parent string) bool { return c.includes(dir, parent, asked) })
}

// renamed returns the line at the base that sets the name or namespace of an object, if the change removes that line.
func (t *Trees) renamed(p *Pair) (at origin.Place, ok bool) {
	for _, field := range []string{"/metadata/name", "/metadata/namespace"} {
		at := p.Old.Origin(field)
		if lines(t.Head, at.Path) != nil && t.gone(at.Path, at.StartLine) {
			return at, true
		}
	}
	return at, false
}

// prefixed returns the field by which one of some kustomizations newly sets the names or the namespace of its objects.
func (t *Trees) prefixed(dirs []string) (at origin.Place, ok bool) {
	for _, dir := range dirs {
		was, err := t.Base.Roots.Kustomization(dir)
		if err != nil || was == nil || !t.changed[was.Path] {
			continue
		}
		now, err := t.Head.Roots.Kustomization(dir)
		if err != nil || now == nil {
			continue
		}
		for _, name := range []string{"namespace", "namePrefix", "nameSuffix"} {
			if key, value := doc.Field(now.Node, name); key != nil && value.Value != doc.Text(was.Node, name) {
				return placeAt(now.Path, key.Line, ""), true
			}
		}
	}
	return at, false
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

// chosen returns the resources field of a kustomization that the change adds to the folder of a file and that does not
// name the file. Before the change, all files of the folder were deployed.
func (t *Trees) chosen(name string) (at origin.Place, ok bool) {
	dir := path.Dir(name)
	was, err := t.Base.Roots.Kustomization(dir)
	if err != nil || was != nil {
		return at, false
	}
	now, err := t.Head.Roots.Kustomization(dir)
	if err != nil || now == nil || !t.changed[now.Path] ||
		slices.ContainsFunc(now.Refs, func(r kustomization.Ref) bool { return path.Join(dir, r.Value) == name }) {
		return at, false
	}
	key, _ := doc.Field(now.Node, "resources")
	if key == nil {
		return at, false
	}
	return placeAt(now.Path, key.Line, "name "+path.Base(name)+" under resources"), true
}

// deletes matches the line of a strategic merge patch that deletes an object; kindField and nameField match the fields
// that identify the object.
var (
	deletes   = regexp.MustCompile(`^\s*["']?\$patch["']?:\s*["']?delete\b`)
	kindField = regexp.MustCompile(`\bkind["']?:\s*["']?([\w.-]+)`)
	nameField = regexp.MustCompile(`\bname["']?:\s*["']?([\w.-]+)`)
)

// kindName identifies the object that a patch deletes.
type kindName struct{ kind, name string }

// patch returns the line that most likely deletes an object, in a patch that the change adds to a folder's kustomization or
// to a component of it. all says that the change adds the folder with all its patches.
func (t *Trees) patch(dir string, object kindName, all bool, asked map[string]bool) (at origin.Place, sure int) {
	now, err := t.Head.Roots.Kustomization(dir)
	if err != nil || now == nil || asked[dir] {
		return at, 0
	}
	asked[dir] = true
	was, err := t.Base.Roots.Kustomization(dir)
	if err != nil {
		return at, 0
	}
	take := func(one origin.Place, n int) {
		if n > sure {
			at, sure = one, n
		}
	}
	look := func(file string, all bool) (at origin.Place, sure int) {
		before := ""
		if !all {
			before = strings.Join(lines(t.Base, file), "\n")
		}
		list := lines(t.Head, file)
		for i, line := range list {
			if !deletes.MatchString(line) {
				continue
			}
			patch := patchAt(list, i)
			if n := names(patch, object); n > sure && !strings.Contains(before, patch) {
				at, sure = placeAt(file, i+1, "remove this patch"), n
			}
		}
		return at, sure
	}
	if all || t.changed[now.Path] {
		take(look(now.Path, all))
	}
	for _, ref := range now.Refs {
		if ref.Role != kustomization.Patch && ref.Field != "components" {
			continue
		}
		added := all || was == nil || !slices.ContainsFunc(was.Refs, func(r kustomization.Ref) bool { return r.Field == ref.Field && r.Value == ref.Value })
		var one origin.Place
		n, p := 0, path.Join(dir, ref.Value)
		switch {
		case ref.Role != kustomization.Patch:
			one, n = t.patch(p, object, added, asked)
		case added || t.changed[p]:
			one, n = look(p, added)
		}
		if added && !t.changed[one.Path] {
			one = placeAt(now.Path, ref.Line, "remove this entry")
		}
		take(one, n)
	}
	return at, sure
}

// patchAt returns the list entry or document that has a line as a field of a patch's top level. It is empty if the line is
// deeper in the patch: then only a part of an object is deleted.
func patchAt(list []string, i int) string {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	start, end, own := i, i+1, indent(list[i])
	inside := func(line string) bool { return !strings.HasPrefix(line, "---") }
	for own > 0 && start > 0 && (indent(list[start]) >= own || !strings.HasPrefix(strings.TrimSpace(list[start]), "- ")) {
		start--
	}
	if own > 0 {
		top := indent(list[start])
		inside = func(line string) bool { return strings.TrimSpace(line) == "" || indent(line) > top }
	}
	for own == 0 && start > 0 && inside(list[start-1]) {
		start--
	}
	for end < len(list) && inside(list[end]) {
		end++
	}
	if !slices.ContainsFunc(list[start:end], func(line string) bool { return indent(line) == own && kindField.FindStringIndex(line) != nil }) {
		return ""
	}
	return strings.Join(list[start:end], "\n")
}

// names says how likely a patch is about an object: 2 if it has its kind and name, 1 if it has its kind and a target or a
// part of the name, since kustomizations add prefixes and suffixes, and 0 otherwise.
func names(patch string, id kindName) (sure int) {
	has := func(field *regexp.Regexp, is func(string) bool) bool {
		return slices.ContainsFunc(field.FindAllStringSubmatch(patch, -1), func(m []string) bool { return is(m[1]) })
	}
	switch {
	case !has(kindField, func(kind string) bool { return kind == id.kind }):
		return 0
	case has(nameField, func(name string) bool { return name == id.name }):
		return 2
	case strings.Contains(patch, "target:") || has(nameField, func(name string) bool { return strings.Contains(id.name, name) }):
		return 1
	}
	return 0
}

// lines returns the lines of a file; none if it cannot be read.
func lines(c Commit, path string) []string {
	data, _, err := c.Tree.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(string(data), "\n")
}

// redirected returns where an object of Argo CD or Flux deploys something else now, or where it was. ok is false if the
// object deploys the same as before.
func (t *Trees) redirected(d *deploy.Deployment) (at origin.Place, old, ok bool) {
	now := t.Head.Roots.Counterpart(d)
	switch {
	case (now == nil || now.Name != d.Name) && t.gone(d.Element.Path, d.Element.Line):
		return placeAt(d.Element.Path, d.Element.Line, ""), true, true
	case now == nil:
		for _, holder := range t.Base.Roots.Holders(d) { // a chart whose values switch the object off
			if at, ok := t.revalued(holder); ok && !t.gone(d.Where.Path, d.Where.Line) {
				return at, false, true
			}
		}
		return placeAt(d.Where.Path, d.Where.Line, ""), true, t.changed[d.Where.Path]
	case now.Name == d.Name && now.Digest() == d.Digest() && now.To == d.To && now.Revision == d.Revision:
		return at, false, false
	}
	where := now.Where
	if now.Name == d.Name {
		var revalued gitops.Position
		if d.Release != nil && now.Release != nil {
			revalued, _ = now.Release.Revalued(d.Release)
		}
		switch {
		case revalued.Path != "":
			where = revalued
		case t.gone(d.Element.Path, d.Element.Line):
			where = now.Element
		case now.Path != d.Path && now.PathWhere.Path != "":
			where = now.PathWhere
		case now.To != d.To && now.ToWhere.Path != "":
			if where = now.ToWhere; now.ToValue.Path != "" && t.gone(d.ToValue.Path, d.ToValue.Line) {
				where = now.ToValue
			}
		default:
			if renamed := now.Renamed(&d.Deployment); t.changed[renamed.Path] {
				where = renamed
			}
		}
	}
	return placeAt(where.Path, where.Line, "have this object deploy what it deployed before"), false, t.changed[where.Path]
}

// gone reports whether the head lacks a line of a file of the base.
func (t *Trees) gone(file string, line int) bool {
	was := lines(t.Base, file)
	return t.changed[file] && line > 0 && line <= len(was) && !slices.Contains(lines(t.Head, file), was[line-1])
}

// revalued returns the first line that the change edits in a file that a Helm release reads. ok is false unless it edits
// one such file only.
func (t *Trees) revalued(d *deploy.Deployment) (at origin.Place, ok bool) {
	if d.Release == nil {
		return at, false
	}
	var files []string
	for file := range t.changed {
		if slices.ContainsFunc(d.Release.Reads, func(p string) bool { return file == p || strings.HasPrefix(file, p+"/") }) {
			files = append(files, file)
		}
	}
	if len(files) != 1 {
		return at, false
	}
	was, is := lines(t.Base, files[0]), lines(t.Head, files[0])
	if was == nil || is == nil {
		return at, false
	}
	n := min(view.SameHead(was, is), len(was)-1, len(is)-1)
	end := len(is) - view.SameTail(was[n:], is[n:])
	for n+1 < end && strings.HasSuffix(strings.TrimSpace(is[n]), ":") { // a map that is new; its first value says more
		n++
	}
	return placeAt(files[0], n+1, "change this back so that the chart renders the object"), true
}

func placeAt(path string, line int, todo string) origin.Place {
	return origin.Place{Path: path, StartLine: max(line, 1), EndLine: max(line, 1), How: origin.Writer, SuggestedFix: todo}
}
