package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Versions are two versions of an object, whose list elements are matched. It is safe for concurrent use.
type Versions struct {
	was, now any

	mu      sync.Mutex
	aligned map[string][]int // by the pointer of the list
}

// NewVersions returns the versions of an object before and after a change.
func NewVersions(was, now map[string]any) *Versions {
	return &Versions{was: was, now: now, aligned: map[string][]int{}}
}

// Was returns the earlier version.
func (v *Versions) Was() map[string]any { return v.was.(map[string]any) }

// Earlier returns the pointer of a field in the earlier version. Indexes may differ, since elements of lists are added
// and removed. It returns false if the field is in an element that the earlier version does not have.
func (v *Versions) Earlier(pointer string) (string, bool) {
	object, was := v.now, v.was
	parts := strings.Split(pointer, "/")
	at := ""
	for i := 1; i < len(parts); i++ {
		token := jsonpointer.Unescape(parts[i])
		list := at
		at += "/" + parts[i]
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
			from := v.align(list, before, now)[k]
			if from < 0 {
				return "", false
			}
			parts[i] = strconv.Itoa(from)
			object, was = now[k], before[from]
		default:
			return strings.Join(parts, "/"), true
		}
	}
	return strings.Join(parts, "/"), true
}

// align returns the matching of a list's elements, which it caches.
func (v *Versions) align(pointer string, before, now []any) []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.aligned[pointer]
	if !ok {
		known = Align(before, now)
		v.aligned[pointer] = known
	}
	return known
}

// maxAligned is the number of comparisons up to which edited elements are matched by similarity. Longer lists are
// matched by order.
const maxAligned = 1 << 16

// Align matches the elements of a list to those of an earlier version. It returns an index for each element, -1 for a
// new one. Elements with a name match by name; others match by content in order, and edited ones by similarity.
func Align(before, now []any) []int {
	out := make([]int, len(now))
	named := map[string]int{}
	var olds, news []int // elements without a name
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
			delete(named, name) // a second element of the same name does not match
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

// alignSame matches elements of the same content. It uses the longest common sequence, unless that takes too long.
func alignSame(before, now []any, olds, news []int, out []int) {
	old, new := texts(before, olds), texts(now, news)
	free := map[string][]int{}
	k, i := 0, 0
	for _, sign := range view.LineEdits(old, new) {
		switch sign {
		case '-':
			free[old[k]] = append(free[old[k]], olds[k])
			k++
		case '+':
			i++
		default:
			out[news[i]] = olds[k]
			k, i = k+1, i+1
		}
	}
	for n, i := range news { // an element that moved also matches
		if list := free[new[n]]; out[i] < 0 && len(list) > 0 {
			out[i], free[new[n]] = list[0], list[1:]
		}
	}
}

// texts returns the content of some elements as text.
func texts(list []any, chosen []int) []string {
	out := make([]string, len(chosen))
	for n, i := range chosen {
		text, err := json.Marshal(list[i])
		if err != nil {
			text = fmt.Appendf(nil, "%#v", list[i]) // not a JSON value, which no object contains
		}
		out[n] = string(text)
	}
	return out
}

// alignEdited matches the remaining elements between two matched ones, the most similar pairs first.
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
		for _, pair := range byLikeness(before, now, free, gap) {
			if k, i := pair[0], pair[1]; out[i] < 0 && !taken[k] {
				out[i], taken[k] = k, true
			}
		}
	}
}

// byLikeness lists the pairs of old and new elements, the most similar ones first; equally similar ones in order.
func byLikeness(before, now []any, olds, news []int) (pairs [][2]int) {
	if len(olds)*len(news) > maxAligned {
		for n := range min(len(olds), len(news)) {
			pairs = append(pairs, [2]int{olds[n], news[n]})
		}
		return pairs
	}
	score := map[[2]int]int{}
	for _, i := range news {
		for _, k := range olds {
			pairs = append(pairs, [2]int{k, i})
			score[[2]int{k, i}] = alike(before[k], now[i])
		}
	}
	slices.SortStableFunc(pairs, func(a, b [2]int) int { return score[b] - score[a] })
	return pairs
}

// alike returns how much two values have in common.
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

// Edited reports the pointers of values in b that a lacks, without those below a reported one. It does not report
// values that b lacks, since these cannot fail.
func Edited(a, b any, pointer string, rep func(string)) {
	switch b := b.(type) {
	case map[string]any:
		old, ok := a.(map[string]any)
		if !ok {
			rep(pointer)
			return
		}
		for _, k := range slices.Sorted(maps.Keys(b)) {
			at := pointer + "/" + jsonpointer.Escape(k)
			if _, ok := old[k]; !ok {
				rep(at)
				continue
			}
			Edited(old[k], b[k], at, rep)
		}
	case []any:
		old, ok := a.([]any)
		if !ok {
			rep(pointer)
			return
		}
		for i, k := range Align(old, b) {
			at := pointer + "/" + strconv.Itoa(i)
			if k >= 0 {
				Edited(old[k], b[i], at, rep)
			} else {
				rep(at)
			}
		}
	default:
		if !reflect.DeepEqual(a, b) {
			rep(pointer)
		}
	}
}
