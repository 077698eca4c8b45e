package review

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
)

// Wish is a suggestion of a finding: see [Lines.Diff].
type Wish struct {
	Origin     *report.Origin
	Field      string
	Suggestion *report.Suggestion
}

// Joint is the common edit of several wishes, given by their indexes. Diff is nil if the wishes contradict each other,
// since each writes something else at the same place.
type Joint struct {
	Diff *report.Diff
	Of   []int
}

// wished is a plan with the wishes that it fulfils.
type wished struct {
	*plan
	diff   *report.Diff
	of     []int
	refuse bool // it contradicts another plan
	later  bool // it cannot be made in one step with the other plans of its document
}

// end is the line after the last removed line.
func (w *wished) end() int { return w.diff.Line + len(w.diff.Removed) }

// Together returns edits that can be made in one step, in the order of their wishes. It leaves out wishes that cannot
// be written as lines, and wishes that can only be written after other edits.
func (f *Lines) Together(wishes []Wish) (out []Joint) {
	var plans []*wished
	inner, insides := map[*innerLines][]int{}, map[int]Wish{}
	for i, w := range wishes {
		if in, at := f.within(w.Origin); in != nil {
			w.Origin = at
			inner[in], insides[i] = append(inner[in], i), w
		} else if p, _ := f.plan(w.Origin, w.Field, w.Suggestion); p != nil {
			plans = append(plans, &wished{plan: p, of: []int{i}})
		}
	}
	for in, list := range inner {
		for _, j := range in.Together(report.Mapped(list, func(i int) Wish { return insides[i] })) {
			for k, i := range j.Of {
				j.Of[k] = list[i]
			}
			out = append(out, Joint{in.outside(j.Diff), j.Of})
		}
	}
	plans = f.located(merged(plans))
	var groups [][]*wished // plans that edit the same lines
	for len(plans) > 0 {
		n, end := 1, plans[0].end()
		for n < len(plans) && (plans[n].diff.Line < end || plans[n].diff.Line == plans[0].diff.Line) {
			end = max(end, plans[n].end())
			n++
		}
		contradicting(plans[:n], func(a, b *wished) bool { return a.change.Overlaps(b.change) })
		groups, plans = append(groups, plans[:n]), plans[n:]
	}
	postpone(groups)
	out = append(out, slices.Concat(report.Mapped(groups, f.joints)...)...)
	slices.SortStableFunc(out, func(a, b Joint) int { return cmp.Compare(a.Of[0], b.Of[0]) })
	return out
}

// merged combines plans that put values below the same missing key, and plans that remove elements of the same list.
func merged(plans []*wished) (out []*wished) {
	key := func(p *wished) string {
		switch {
		case p.list != "":
			return fmt.Sprintf("%d %d %q", p.before, p.in.Document, p.list)
		case p.key != "":
			return fmt.Sprintf("%d %d %q %q", p.before, p.in.Document, p.in.Pointer, p.key)
		}
		return fmt.Sprintf("%p", p) // it is alone
	}
	for _, list := range report.Grouped[[]*wished](plans, key) {
		contradicting(list, func(a, b *wished) bool {
			_, ok := union(a.value, b.value)
			return !ok
		})
		var first *wished
		for _, p := range list {
			switch {
			case p.refuse || first == nil:
				out = append(out, p)
				if !p.refuse {
					first = p
				}
			case p.list != "":
				first.indexes = append(first.indexes, p.indexes...)
				slices.Sort(first.indexes)
				first.indexes = slices.Compact(first.indexes)
				first.of = append(first.of, p.of...)
				first.take()
			default:
				first.value, _ = union(first.value, p.value)
				first.of = append(first.of, p.of...)
				first.put()
			}
		}
	}
	return out
}

// contradicting marks the plans of a list that contradict another one.
func contradicting(list []*wished, contradict func(a, b *wished) bool) {
	for i, a := range list {
		for _, b := range list[:i] {
			if contradict(a, b) {
				a.refuse, b.refuse = true, true
			}
		}
	}
}

// union returns a with the additional keys of b; false if both have a key with different values.
func union(a, b any) (any, bool) {
	m, isMap := a.(map[string]any)
	more, both := b.(map[string]any)
	if !isMap || !both {
		return a, reflect.DeepEqual(a, b)
	}
	out := maps.Clone(m)
	for k, v := range more {
		if have, ok := out[k]; ok {
			if v, ok = union(have, v); !ok {
				return nil, false
			}
		}
		out[k] = v
	}
	return out, true
}

// located finds the lines of plans, combines plans with the same lines, and drops those that cannot be made.
func (f *Lines) located(plans []*wished) (out []*wished) {
	same := map[string]*wished{}
	for _, p := range plans {
		if p.diff = f.diff(p.plan, p.change); p.diff == nil {
			continue
		}
		key := fmt.Sprintf("%d %d %q", p.diff.Line, len(p.diff.Removed), p.diff.Added)
		if known := same[key]; known != nil && !known.refuse && !p.refuse {
			known.of = append(known.of, p.of...)
			continue
		}
		same[key] = p
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *wished) int {
		return cmp.Or(cmp.Compare(a.diff.Line, b.diff.Line), cmp.Compare(a.of[0], b.of[0]))
	})
	return out
}

// postpone marks the plans that cannot be made in one step with the others of their document.
func postpone(groups [][]*wished) {
	plans := report.Kept(slices.Concat(groups...), func(p *wished) bool { return !p.refuse })
	for _, list := range report.Grouped[[]*wished](plans, func(p *wished) *doc.Editor { return p.editor }) {
		editor := list[0].editor
		if len(list) < 2 {
			continue
		}
		if _, err := editor.Apply(joined(list)); err == nil {
			continue
		}
		kept := list[:1]
		for _, p := range list[1:] {
			with := append(slices.Clone(kept), p)
			if _, err := editor.Apply(joined(with)); err != nil {
				p.later = true
			} else {
				kept = with
			}
		}
	}
}

// joined is the common edit of the plans of one document. It applies them from the end, so that no element moves before
// it is edited. Of two values that are added at the same place, the deeper one comes first.
func joined(list []*wished) *doc.Edit {
	list = slices.SortedStableFunc(slices.Values(list), func(a, b *wished) int {
		return cmp.Or(cmp.Compare(b.line, a.line), cmp.Compare(depth(b), depth(a)))
	})
	return doc.Join(report.Mapped(list, func(p *wished) *doc.Edit { return p.change })...)
}

func depth(p *wished) int { return strings.Count(p.in.Pointer, "/") }

// joints returns one edit for plans that edit the same lines, and one without lines for those that contradict each
// other.
func (f *Lines) joints(list []*wished) (out []Joint) {
	var fit []*wished
	var one, against Joint
	for _, p := range list {
		switch {
		case p.refuse:
			against.Of = append(against.Of, p.of...)
		case !p.later:
			fit, one.Of = append(fit, p), append(one.Of, p.of...)
		}
	}
	if len(fit) > 0 {
		if one.Diff = fit[0].diff; len(fit) > 1 {
			one.Diff = f.diff(fit[0].plan, joined(fit))
		}
		slices.Sort(one.Of)
		out = append(out, one)
	}
	if len(against.Of) > 0 {
		slices.Sort(against.Of)
		out = append(out, against)
	}
	return out
}
