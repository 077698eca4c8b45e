package mask

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	minIndexed = 3       // minimum bytes of a value that is searched in texts
	keyBytes   = 128     // bytes by which a value is recognized; the rest of it is masked as far as it matches
	maxKept    = 1 << 16 // bytes of a value that are stored, since no line is longer
	maxBehind  = 1 << 20 // bytes that are compared after the keys in one text; after that, the rest is masked
)

// index finds many values in a text at once.
//
// The first bytes of the values are its keys, which are sorted. The longest key with which a text begins is then the key
// before the text in this order, or a shorter key with which that key begins. A position of a text therefore costs one
// look-up in a table by three bytes and, for the few positions in the table, a binary search, independent of the number
// of values.
type index struct {
	entries map[string]*entry // by key
	sorted  []*entry
	begin   []uint64 // bit set of the hashes of the keys' first three bytes
	spaced  bool     // some value has a space
}

type entry struct {
	key     string
	how     form
	rest    []string // the bytes after the key, of longer values
	shorter *entry   // the longest other key that this one begins with
}

// form is how a text contains a value.
type form int

const (
	word    form = iota // it counts only where it is not a part of a longer word
	part                // it counts anywhere
	encoded             // it is a part of a text of base64, all of which is hidden
)

// span is a part of a text, in bytes.
type span struct{ from, to int }

func (x *index) add(text string, how form) {
	if len(text) < minIndexed {
		return
	}
	text = text[:min(len(text), maxKept)]
	key, rest := text[:min(len(text), keyBytes)], text[min(len(text), keyBytes):]
	e := x.entries[key]
	if e == nil {
		if x.entries == nil {
			x.entries = map[string]*entry{}
		}
		e = &entry{key: key, how: how}
		x.entries[key] = e
		x.sorted = nil
		x.spaced = x.spaced || strings.Contains(key, " ")
	}
	e.how = max(e.how, how)
	if rest != "" {
		e.rest = append(e.rest, rest)
	}
}

// prepare sorts what was added.
func (x *index) prepare() {
	if x.sorted != nil || len(x.entries) == 0 {
		return
	}
	size := 16
	for size < len(x.entries)/4 && size < 1<<16 {
		size *= 2
	}
	x.begin = make([]uint64, size)
	x.sorted = make([]*entry, 0, len(x.entries))
	for _, e := range x.entries {
		x.sorted = append(x.sorted, e)
		h := x.hash(e.key)
		x.begin[h/64] |= 1 << (h % 64)
	}
	slices.SortFunc(x.sorted, func(a, b *entry) int { return cmp.Compare(a.key, b.key) })
	var last *entry
	for _, e := range x.sorted {
		for last != nil && !strings.HasPrefix(e.key, last.key) {
			last = last.shorter
		}
		e.shorter, last = last, e
	}
}

// hash returns the hash of the first bytes of a text. The size of the table is a power of two.
func (x *index) hash(text string) uint {
	h := uint(text[0]) | uint(text[1])<<8 | uint(text[2])<<16
	return (h * 0x9e3779b1 >> 7) % uint(64*len(x.begin))
}

// find adds the parts of a text that are values, except those in except.
func (x *index) find(text string, except except, found *[]span) {
	x.prepare()
	if len(x.sorted) == 0 {
		return
	}
	room := maxBehind
	for i := 0; i+minIndexed <= len(text); i++ {
		if h := x.hash(text[i:]); x.begin[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		if s, ok := x.at(text, i, except, &room); ok {
			*found = append(*found, s)
			if room < 0 {
				*found = append(*found, span{i, len(text)})
				return
			}
			i = max(i, s.to-keyBytes) // a value that began earlier is not longer
		}
	}
}

// at returns the value that begins at a position of a text.
func (x *index) at(text string, i int, except except, room *int) (span, bool) {
	tail := text[i:min(len(text), i+keyBytes)]
	next := sort.Search(len(x.sorted), func(k int) bool { return x.sorted[k].key > tail })
	if next > 0 {
		for e := x.sorted[next-1]; e != nil; e = e.shorter {
			if !strings.HasPrefix(tail, e.key) || except.has(e) {
				continue
			}
			if to := i + len(e.key); e.how > word || apart(text[:i], text[to:]) {
				for _, rest := range e.rest {
					n := common(text[i+len(e.key):], rest)
					*room -= n + 1
					if *room < 0 {
						break
					}
					to = max(to, i+len(e.key)+n)
				}
				if s, ok := e.around(text, i, to); ok {
					return s, true
				}
			}
		}
	}
	// The text may have only the beginning of a value, as in messages that are cut.
	n := 0
	for _, e := range x.sorted[max(0, next-1):min(next+1, len(x.sorted))] {
		if !except.has(e) {
			n = max(n, common(tail, e.key))
		}
	}
	for ; n >= cutText; n-- {
		if strings.HasPrefix(text[i+n:], "...") || strings.HasPrefix(text[i+n:], "…") {
			return span{i, i + n}, true
		}
		if text[i+n-1] != '.' {
			break
		}
	}
	return span{}, false
}

// around returns what to mask if a value is between two positions of a text.
func (e *entry) around(text string, from, to int) (span, bool) {
	if e.how != encoded {
		return span{from, to}, true
	}
	begin := len(strings.TrimRightFunc(text[:from], isBase64))
	if begin < from && len(e.key) < minEncoded {
		return span{}, false // so few characters are equal by chance
	}
	after := strings.TrimLeft(strings.TrimLeftFunc(text[to:], isBase64), "=")
	return span{begin, len(text) - len(after)}, true
}

func common(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// apart reports whether the text between two texts is a whole word.
func apart(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return !isWord(last) && !isWord(next)
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// except are values that are shown.
type except struct {
	words map[string]bool
	names *nameList
}

func (x except) has(e *entry) bool { return len(e.rest) == 0 && (x.words[e.key] || x.names.hold(e)) }

// nameList are the names of objects in the repository, and paths.
type nameList struct {
	list map[string]bool
	text strings.Builder // the list, each on a line of its own
	held map[*entry]bool // a cache
	// whole are values that are shown as a whole name, but not as a part of other text.
	whole map[string]bool
}

// addSource adds the address of a remote source. A Secret with the address, or with parts of it, as a value does not
// mask it. Parts that may be a password are not added.
func (n *nameList) addSource(address string) {
	_, place, ok := strings.Cut(address, "://")
	place, _, _ = strings.Cut(place, " ")
	if place, _, _ = strings.Cut(place, "?"); !ok || strings.Contains(place, "@") {
		return
	}
	if n.whole == nil {
		n.whole = map[string]bool{}
	}
	before := ""
	for _, name := range strings.Split(place, "/") {
		before += name
		n.whole[before] = true
		before += "/"
		if !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsDigit(r) || unicode.IsUpper(r) }) {
			n.whole[name] = true
		}
	}
}

func (n *nameList) add(name string) {
	if name == "" || n.list[name] {
		return
	}
	if n.list == nil {
		n.list = map[string]bool{}
	}
	n.list[name], n.held = true, nil
	n.text.WriteString(name + "\n")
}

// hold reports whether a value is a part of a name, as it would be a part of a text.
func (n *nameList) hold(e *entry) bool {
	if n.whole[e.key] {
		return true
	}
	held, known := n.held[e]
	if known {
		return held
	}
	for from, text := 0, n.text.String(); !held; {
		i := strings.Index(text[from:], e.key)
		if i < 0 {
			break
		}
		i += from
		from = i + len(e.key)
		held = e.how > word || apart(text[:i], text[from:])
	}
	if n.held == nil {
		n.held = map[*entry]bool{}
	}
	n.held[e] = held
	return held
}
