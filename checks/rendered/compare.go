package rendered

import (
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/render"
)

// The lists are limited, and the rest is counted.
const (
	maxListed    = 100       // of resources, images, kinds and roles each, for one root
	maxDiffLines = 120       // for one resource
	maxDiffBytes = 16 << 10  // for one resource
	maxBump      = 128 << 10 // bytes of the differences of one root
	maxAllBumps  = 1 << 20   // bytes of all differences
)

// comparison compares the objects of a root on both sides.
type comparison struct {
	bump *report.Bump
	room int // remaining bytes for differences
	work int // see maxWork
}

func (c *comparison) resources(pairs []*diff.Pair) {
	b := c.bump
	for _, p := range pairs {
		was, now := (&edit{old: p.Old, new: p.New}).versions()
		named := review.Named(p.Resource().Object)
		switch {
		case p.Old == nil:
			listed(c, &b.Added, named)
		case p.New == nil:
			listed(c, &b.Removed, named)
		case diff.Same(was, now):
			continue
		case sameButVersion(was, now):
			b.Relabeled++
			continue
		default:
			if len(b.Changed) >= maxListed {
				b.LeftOut++ // its difference is not computed
				break
			}
			b.Changed = append(b.Changed, c.change(named, p.Old, p.New))
		}
		for _, i := range imageChanges(named, was, now) {
			listed(c, &b.Images, i)
		}
		if crd := crdChange(named, was, now); crd != nil {
			listed(c, &b.CRDs, *crd)
		}
		if g := granted(named, was, now, &c.work); g != nil {
			listed(c, &b.Grants, *g)
		}
	}
	b.Images = withoutMoved(b.Images)
}

// listed adds an element to a list of the bump, up to the list's limit.
func listed[T any](c *comparison, list *[]T, one T) {
	if len(*list) >= maxListed {
		c.bump.LeftOut++
		return
	}
	*list = append(*list, one)
}

// change returns a changed resource with its difference.
func (c *comparison) change(named report.Resource, old, new *render.Resource) report.ResourceChange {
	was, now := mask.Objects(old.Made(), new.Made())
	out := report.ResourceChange{Resource: named}
	out.Diff, out.LeftOut = unified(diff.Hunks(was, now), maxDiffLines, min(maxDiffBytes, c.room))
	c.room -= len(out.Diff)
	return out
}

// unified prints a difference, up to the limits of lines and bytes, and returns the number of omitted lines.
func unified(hunks []report.DiffHunk, maxLines, maxBytes int) (text string, leftOut int) {
	var b strings.Builder
	lines := 0
	write := func(s string) {
		if leftOut > 0 || lines >= maxLines || b.Len()+len(s) >= maxBytes {
			leftOut++
			return
		}
		lines++
		b.WriteString(s + "\n")
	}
	for _, h := range hunks {
		write(h.Head())
		for _, l := range h.Lines {
			write(l.Sign + l.Text)
		}
	}
	return b.String(), leftOut
}

// versionLabels are labels with the version of a chart.
var versionLabels = map[string]bool{"helm.sh/chart": true, "app.kubernetes.io/version": true, "chart": true}

// sameButVersion reports whether two values differ in version labels only.
func sameButVersion(a, b any) bool {
	switch was := a.(type) {
	case map[string]any:
		now, ok := b.(map[string]any)
		for key, value := range was {
			other, both := now[key]
			if key == "labels" {
				value, other = unversioned(value), unversioned(other)
			}
			if !both || !sameButVersion(value, other) {
				return false
			}
		}
		return ok && len(was) == len(now)
	case []any:
		now, ok := b.([]any)
		return ok && slices.EqualFunc(was, now, sameButVersion)
	}
	return diff.Same(a, b)
}

// unversioned returns labels without version labels.
func unversioned(labels any) any {
	m, ok := labels.(map[string]any)
	if !ok {
		return labels
	}
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(name string, _ any) bool { return versionLabels[name] })
	return m
}

// imageChanges lists the images of containers that differ. Values of a Secret are no images, whatever their keys are.
func imageChanges(named report.Resource, was, now map[string]any) (list []report.ImageChange) {
	if named.Kind == crdKind || named.Kind == "Secret" {
		return nil
	}
	old, new := images(was), images(now)
	for _, at := range sortedKeys(old, new) {
		if old[at] != new[at] {
			_, container, _ := strings.Cut(at, "\x00")
			list = append(list, report.ImageChange{Resource: named, Container: container, From: old[at], To: new[at]})
		}
	}
	return list
}

// withoutMoved drops images that one container stops to use and another begins to use, since they are neither new nor
// gone.
func withoutMoved(list []report.ImageChange) []report.ImageChange {
	before, after := map[string]bool{}, map[string]bool{}
	for _, i := range list {
		before[i.From], after[i.To] = true, true
	}
	return slices.DeleteFunc(list, func(i report.ImageChange) bool {
		return i.From == "" && before[i.To] || i.To == "" && after[i.From]
	})
}

// images lists the images in all pod specs of an object, and those that custom resources name, by place.
func images(object map[string]any) map[string]string {
	out := map[string]string{}
	var walk func(v any, at, name string)
	walk = func(v any, at, name string) {
		switch v := v.(type) {
		case map[string]any:
			if image, ok := v["image"].(string); ok && image != "" {
				out[at+"\x00"+name] = image
			}
			for key, value := range v {
				walk(value, at+"/"+key, key)
			}
		case []any:
			for _, value := range v {
				item, _ := value.(map[string]any)
				if own, _ := item["name"].(string); own != "" {
					walk(value, at+"/"+own, own)
				}
			}
		}
	}
	walk(object, "", "")
	return out
}

func sortedKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
