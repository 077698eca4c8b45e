package diff

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Earlier returns the pointer that a field of an object has in an earlier version of it: elements of lists come and go,
// so that an index alone says nothing. It returns false where the field is in an element that the earlier version does
// not have.
func Earlier(was, object any, pointer string) (string, bool) {
	parts := strings.Split(pointer, "/")
	for i := 1; i < len(parts); i++ {
		token := jsonpointer.Unescape(parts[i])
		switch now := object.(type) {
		case map[string]any:
			before, _ := was.(map[string]any)
			object, was = now[token], before[token]
		case []any:
			before, _ := was.([]any)
			k, ok := jsonpointer.Index(token, len(now))
			if !ok {
				return strings.Join(parts, "/"), true
			}
			at := Align(before, now)[k]
			if at < 0 {
				return "", false
			}
			parts[i] = strconv.Itoa(at)
			object, was = now[k], before[at]
		default:
			return strings.Join(parts, "/"), true
		}
	}
	return strings.Join(parts, "/"), true
}

// maxAligned is up to how many comparisons lists are aligned by the longest common sequence; beyond that, elements of
// the same content are the same.
const maxAligned = 1 << 20

// Align returns for each element of a list which one of an earlier version it is, -1 for one that is new: the one of
// the same name; without a name, the one of the same content, in order; of those that were edited, the most alike.
func Align(before, now []any) []int {
	out := make([]int, len(now))
	named := map[string]int{}
	var olds, news []int // those without a name
	for k, e := range before {
		if name := nameOf(e); name == "" {
			olds = append(olds, k)
		} else if _, twice := named[name]; !twice {
			named[name] = k
		}
	}
	for i, e := range now {
		out[i] = -1
		if name := nameOf(e); name == "" {
			news = append(news, i)
		} else if k, ok := named[name]; ok {
			out[i] = k
			delete(named, name) // a second one of the name is another
		}
	}
	alignSame(before, now, olds, news, out)
	alignEdited(before, now, olds, out)
	return out
}

func nameOf(e any) string {
	m, _ := e.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

// alignSame matches elements of the same content.
func alignSame(before, now []any, olds, news []int, out []int) {
	same := func(k, i int) bool { return reflect.DeepEqual(before[k], now[i]) }
	for len(olds) > 0 && len(news) > 0 && same(olds[0], news[0]) {
		out[news[0]] = olds[0]
		olds, news = olds[1:], news[1:]
	}
	for len(olds) > 0 && len(news) > 0 && same(olds[len(olds)-1], news[len(news)-1]) {
		out[news[len(news)-1]] = olds[len(olds)-1]
		olds, news = olds[:len(olds)-1], news[:len(news)-1]
	}
	if len(olds)*len(news) > maxAligned {
		return
	}
	length := make([][]int, len(olds)+1) // of the longest common sequence of what follows
	for k := range length {
		length[k] = make([]int, len(news)+1)
	}
	for k := len(olds) - 1; k >= 0; k-- {
		for i := len(news) - 1; i >= 0; i-- {
			if length[k][i] = max(length[k+1][i], length[k][i+1]); same(olds[k], news[i]) {
				length[k][i] = length[k+1][i+1] + 1
			}
		}
	}
	for k, i := 0, 0; k < len(olds) && i < len(news); {
		switch {
		case same(olds[k], news[i]):
			out[news[i]] = olds[k]
			k, i = k+1, i+1
		case length[k+1][i] >= length[k][i+1]:
			k++
		default:
			i++
		}
	}
	// What moved is the same, too.
	for _, i := range news {
		for _, k := range olds {
			if out[i] < 0 && !slices.Contains(out, k) && same(k, i) {
				out[i] = k
			}
		}
	}
}

// alignEdited matches what is left over between elements that stayed: those that are most alike first.
func alignEdited(before, now []any, olds, out []int) {
	taken := map[int]bool{}
	for _, k := range out {
		taken[k] = true
	}
	last := -1 // the old element before the gap
	for i := 0; i < len(now); {
		if out[i] >= 0 || nameOf(now[i]) != "" {
			if out[i] >= 0 && nameOf(now[i]) == "" {
				last = out[i]
			}
			i++
			continue
		}
		var gap []int
		for ; i < len(now) && (out[i] < 0 || nameOf(now[i]) != ""); i++ {
			if out[i] < 0 && nameOf(now[i]) == "" {
				gap = append(gap, i)
			}
		}
		next := len(before)
		if i < len(now) {
			next = out[i]
		}
		free := slices.DeleteFunc(slices.Clone(olds), func(k int) bool { return taken[k] || k <= last || k >= next })
		for len(gap) > 0 && len(free) > 0 {
			g, f := mostAlike(before, now, free, gap)
			out[gap[g]] = free[f]
			taken[free[f]] = true
			gap, free = slices.Delete(gap, g, g+1), slices.Delete(free, f, f+1)
		}
	}
}

// mostAlike returns which of some new and old elements are most alike; of equals the first.
func mostAlike(before, now []any, free, gap []int) (g, f int) {
	best := -1
	for i := range gap {
		for k := range free {
			if n := alike(before[free[k]], now[gap[i]]); n > best {
				best, g, f = n, i, k
			}
		}
	}
	return g, f
}

// alike counts what two values have in common.
func alike(a, b any) int {
	if reflect.DeepEqual(a, b) {
		return 2
	}
	n := 0
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for k := range maps.Keys(x) {
		if other, ok := y[k]; ok {
			n += 1 + alike(x[k], other)
		}
	}
	return n
}
