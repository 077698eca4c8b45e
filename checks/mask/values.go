package mask

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// Values are the values of the Secrets that a check reads. The zero value is empty; a nil one ignores all values. It is
// safe for concurrent use.
type Values struct {
	mu    sync.Mutex
	known index                // values that are masked in all texts
	own   map[string][]*secret // values that are masked in texts about a Secret, by its name
	taken map[taken]bool       // added values, since versions of an object share most of theirs
	names nameList
}

type taken struct {
	of      *secret
	text    string
	encoded bool
}

// secret is the values of one Secret, in all its versions.
type secret struct {
	namespace string
	values    index
	keys      map[string]bool
}

// Object adds the names of an object and, if it is a Secret, its values.
func (v *Values) Object(o map[string]any) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	meta, _ := o["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	v.names.add(name)
	v.names.add(namespace)
	if IsSecret(o) {
		v.object(v.secret(namespace, name), o)
	}
}

// Name adds the name of something in the repository, or a path. A value that is a part of it is not masked.
func (v *Values) Name(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names.add(name)
}

func (v *Values) source(address string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names.addSource(address)
}

// Empty reports whether no values are known.
func (v *Values) Empty() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.taken) == 0
}

// secret returns the entry of a Secret.
func (v *Values) secret(namespace, name string) *secret {
	for _, s := range v.own[name] {
		if s.namespace == namespace {
			return s
		}
	}
	s := &secret{namespace: namespace, keys: map[string]bool{name: true, namespace: true, kind: true}}
	if v.own == nil {
		v.own = map[string][]*secret{}
	}
	v.own[name] = append(v.own[name], s)
	return s
}

func (v *Values) object(s *secret, o map[string]any) { v.fields(s, versionOf(o), "", o) }

// fields adds the values of a Secret below a pointer.
func (v *Values) fields(s *secret, apiVersion, at string, value any) {
	inside := InData(apiVersion, at)
	field, _, below := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for key, one := range value {
			if inside && below && isData(field) { // the value should be a string
				v.add(s, key, isEncoded(field))
			} else if inside {
				s.keys[key] = true
			}
			v.fields(s, apiVersion, at+jsonpointer.Join(key), one)
		}
	case []any:
		for i, one := range value {
			if text, ok := one.(string); ok && inside && !below { // data is no map here, so its values may not be base64
				v.add(s, text, false)
			}
			v.fields(s, apiVersion, at+jsonpointer.Join(strconv.Itoa(i)), one)
		}
	default:
		if inside {
			v.add(s, fmt.Sprint(value), isEncoded(field))
		} else if copied := copyOf(at, value); copied != nil {
			v.object(s, copied)
		}
	}
}

// Text adds a value from a source file whose Secret is unknown. encoded says that base64 is expected at its place.
func (v *Values) Text(text string, encoded bool) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add(nil, text, encoded)
}

// add adds one value, as written and decoded. It also adds parts of the value that are as confidential as the whole.
func (v *Values) add(s *secret, text string, encoded bool) {
	if v.taken[taken{s, text, encoded}] || doc.IsEncrypted(text) {
		return
	}
	if v.taken == nil {
		v.taken = map[taken]bool{}
	}
	v.taken[taken{s, text, encoded}] = true
	if plain, ok := decoded(text); encoded && ok {
		if doc.IsEncrypted(plain) { // what the API server makes of stringData
			return
		}
		text = plain
	} else if encoded { // keys and archives
		v.parts(s, text)
		text = strings.Join(strings.Fields(text), "")
	}
	v.whole(s, text)
	if inner, ok := decoded(text); ok && len(text) >= shortest {
		v.whole(s, inner)
		v.parts(s, inner)
	}
	v.parts(s, text)
}

func (v *Values) whole(s *secret, text string) {
	text = strings.TrimSpace(text)
	switch {
	case unlikely(text):
		spell(&v.known, text, wordLike(text))
	case s != nil && !plainWord(text):
		spell(&s.values, text, wordLike(text) || utf8.RuneCountInString(text) < shortPart)
	}
}

// parts adds the parts of a value, also if it is quoted, such as a key in JSON.
func (v *Values) parts(s *secret, text string) {
	list := partsOf(text)
	if r, ok := (reading{text: text}).unescaped('\\'); ok {
		list = append(list, partsOf(r.text)...)
	}
	for _, part := range list {
		v.whole(s, part)
	}
}

// spell adds a value in the forms in which readings and base64 contain it.
func spell(x *index, text string, apart bool) {
	if len(text) < minIndexed {
		return
	}
	how := part
	if apart {
		how = word
	}
	flat := fold(text)
	x.add(flat, how)
	if utf8.RuneCountInString(flat) >= shortest { // policies compare in lower case
		for _, other := range []string{strings.ToLower(flat), strings.ToUpper(flat)} {
			if other != flat {
				x.add(other, how)
			}
		}
	}
	breaks := []string{"\n", "\r\n"}
	if !strings.Contains(text, "\n") {
		breaks = breaks[:1]
	}
	for _, with := range breaks {
		for _, core := range cores(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", with)) {
			x.add(core, encoded)
		}
	}
}

// find returns the parts of a text that are values of Secrets. It leaves out names and, if the text is not about a
// Secret, words.
func (v *Values) find(text string, of []report.Resource, words map[string]bool) (found []span) {
	v.mu.Lock()
	defer v.mu.Unlock()
	about := false
	for _, r := range of {
		for _, s := range v.of(r) {
			about = true
			v.known.search(text, except{s.keys, &v.names}, &found)
			s.values.search(text, except{s.keys, &v.names}, &found)
		}
	}
	if !about {
		v.known.search(text, except{words, &v.names}, &found)
	}
	return slices.DeleteFunc(found, func(s span) bool { return s.hides(text) })
}

// of returns the values of a resource, if it is a Secret. One without a namespace gets a namespace when it is deployed,
// so all match.
func (v *Values) of(r report.Resource) []*secret {
	if !isKind(r.Kind) {
		return nil
	}
	return report.Kept(v.own[r.Name], func(s *secret) bool {
		return s.namespace == r.Namespace || s.namespace == "" || r.Namespace == ""
	})
}

// search finds values in all readings of a text.
func (x *index) search(text string, except except, found *[]span) {
	if len(x.entries) == 0 {
		return
	}
	readings := []reading{{text: text}}
	for i := 0; i < len(readings); i++ {
		r := readings[i]
		x.read(text, r, except, found)
		if flat, ok := r.unwrapped(); ok {
			x.read(text, flat, except, found)
		}
		if x.spaced {
			if flat, ok := r.folded(); ok {
				x.read(text, flat, except, found)
			}
		}
		for _, sign := range escapes {
			if next, ok := r.unescaped(sign); ok && len(readings) < maxReadings &&
				!slices.ContainsFunc(readings, func(r reading) bool { return r.text == next.text }) {
				readings = append(readings, next)
			}
		}
	}
}

// read finds values in a reading of a text.
func (x *index) read(text string, r reading, except except, found *[]span) {
	from := len(*found)
	x.find(r.text, except, found)
	for i := from; i < len(*found); i++ {
		s := r.of((*found)[i])
		s.to = s.from + len(strings.TrimRight(text[s.from:s.to], " \n\r\t")) // trailing space, which the reading drops
		(*found)[i] = s
	}
}

// hides reports whether a part of a text is a part of a mask.
func (s span) hides(text string) bool {
	for _, mark := range []string{report.Hidden, changed} {
		from, to := max(0, s.to-len(mark)), min(len(text), s.from+len(mark))
		if to-from >= len(mark) && strings.Contains(text[from:to], mark) {
			return true
		}
	}
	return false
}

func replace(text string, found []span) string {
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for i := 0; i < len(found); {
		from, to := found[i].from, found[i].to
		for i++; i < len(found) && found[i].from < to; i++ {
			to = max(to, found[i].to)
		}
		b.WriteString(text[at:from] + report.Hidden)
		at = to
	}
	return b.String() + text[at:]
}

const (
	shortest  = 8  // minimum characters of a value that is unlikely in other texts
	shortPart = 6  // minimum characters as a part of a word, in a text about its Secret
	longWord  = 15 // maximum letters of a word in a language
	maxParts  = 4_000
)

// unlikely reports whether a text is unlikely to be anything but a value: see the package.
func unlikely(text string) bool {
	digits, letters := kindsOf(text)
	return utf8.RuneCountInString(text) >= shortest && digits+letters > 0 && !dictionaryWord(text)
}

// dictionaryWord reports whether a text looks like a word of a language. Such a word has letters in one case, or with
// the first one in upper case, and a vowel in every five letters. Generated passwords of letters are longer or do not
// look so.
func dictionaryWord(text string) bool {
	_, first := utf8.DecodeRuneInString(text)
	is := func(text string, of func(rune) bool) bool {
		return !strings.ContainsFunc(text, func(r rune) bool { return !of(r) })
	}
	consonants := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune("aeiouy", r) })
	speakable := !slices.ContainsFunc(consonants, func(run string) bool { return utf8.RuneCountInString(run) > 4 })
	return speakable && utf8.RuneCountInString(text) <= longWord && is(text[:first], unicode.IsLetter) &&
		(is(text[first:], unicode.IsLower) || is(text, unicode.IsUpper))
}

// wordLike reports whether a value reads as a word or a number, and may be a part of others.
func wordLike(text string) bool {
	digits, letters := kindsOf(text)
	n := utf8.RuneCountInString(text)
	return letters == n || digits == n
}

// plainWord reports whether a value is too common to be masked even in texts about its Secret.
func plainWord(text string) bool {
	return slices.Contains([]string{"true", "false", "null", "nil", "none", "yes", "off", "opaque"}, strings.ToLower(text))
}

func kindsOf(text string) (digits, letters int) {
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits, letters
}

// credential finds values in texts with several: addresses with a password, settings, JSON.
var credential = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)://[^/\s:@]*:([^/\s@]+)@|` +
		`(?:pass|passwd|password|passphrase|pwd|secret|token|key|auth|credentials?)["']?\s*[:=]\s*["']?([^\s"',;&}]+)`)
})

// partsOf returns the parts of a value that are as confidential as the whole: passwords, and words that look random.
// Ordinary words and host names are not among them.
func partsOf(text string) (list []string) {
	add := func(s string) {
		if len(list) < maxParts {
			list = append(list, s)
		}
	}
	for _, m := range credential().FindAllStringSubmatch(text, maxParts) {
		if s := m[1] + m[2]; !strings.HasPrefix(s, "-----") { // the beginning of a key in PEM
			add(s)
		}
	}
	for _, word := range strings.FieldsFunc(text, separates) {
		if len(word) == len(text) || !random(word) {
			continue
		}
		add(word)
		if inner, ok := decoded(word); ok {
			add(inner)
			if _, password, ok := strings.Cut(inner, ":"); ok {
				add(password)
			}
		}
	}
	return list
}

// separates reports whether a character separates the parts of a value.
func separates(r rune) bool { return strings.ContainsRune(" \n\r\t=:,;&?@\"'{}[]()<>|", r) }

// random reports whether a word looks random: a part of it mixes letters and digits, other than as a name with a
// number. Names of hosts, versions, regions and paths have no such part.
func random(word string) bool {
	const least = 5 // characters of such a part
	return utf8.RuneCountInString(word) >= shortest && slices.ContainsFunc(strings.FieldsFunc(word, func(r rune) bool {
		return strings.ContainsRune("-_./", r)
	}), func(part string) bool {
		digits, letters := kindsOf(part)
		return utf8.RuneCountInString(part) >= least && digits > 0 && letters > 0 &&
			strings.ContainsFunc(strings.TrimRight(part, "0123456789"), func(r rune) bool { return !unicode.IsLetter(r) })
	})
}
