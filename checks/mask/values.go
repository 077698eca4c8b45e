package mask

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
)

// Values are those of the Secrets that a check met. The zero value has none; nil takes none. They are safe for
// concurrent use.
type Values struct {
	mu    sync.Mutex
	known index                // what is hidden wherever it stands
	own   map[string][]*secret // what is hidden where a Secret is spoken of, by its name
	taken map[taken]bool       // several versions of an object have most in common
	names nameList
}

// taken is a value that was added.
type taken struct {
	of      *secret
	text    string
	encoded bool
}

// secret is what is known of one Secret. Several versions of it are one.
type secret struct {
	namespace string
	values    index
	keys      map[string]bool
}

// Object takes the names of an object and, if it is a Secret, its values.
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

// Name takes the name of something in the repository, or a path: a value that is a part of it is shown anyway.
func (v *Values) Name(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names.add(name)
}

// source takes the address of a source outside of the repository.
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

// secret is where the values of a Secret belong.
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

func (v *Values) object(s *secret, o map[string]any) {
	for _, field := range dataFields {
		values, isMap := o[field].(map[string]any)
		if !isMap {
			v.scalars(s, o[field], field == "data")
			continue
		}
		for key, value := range values {
			s.keys[key] = true
			v.scalars(s, value, field == "data")
		}
	}
	meta, _ := o["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for name, text := range annotations {
		if copied := copyOf(name, text); copied != nil {
			v.object(s, copied)
		}
	}
}

// scalars takes all scalars of a value.
func (v *Values) scalars(s *secret, value any, encoded bool) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for key, one := range value { // which should be a text
			v.add(s, key, encoded)
			v.scalars(s, one, encoded)
		}
	case []any:
		for _, one := range value {
			v.scalars(s, one, encoded)
		}
	default:
		v.add(s, fmt.Sprint(value), encoded)
	}
}

// Text takes a value that a source file has, of a Secret of which no more is known. encoded says that it stands where
// base64 is expected.
func (v *Values) Text(text string, encoded bool) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add(nil, text, encoded)
}

// add takes one value: as it is written and decoded. What it consists of counts, too, where that is as telling.
func (v *Values) add(s *secret, text string, encoded bool) {
	if v.taken[taken{s, text, encoded}] || isEncrypted(text) {
		return
	}
	if v.taken == nil {
		v.taken = map[taken]bool{}
	}
	v.taken[taken{s, text, encoded}] = true
	if plain, ok := decoded(text); encoded && ok {
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

// parts takes what a value consists of, also where it is a text in quotes, such as a key in JSON.
func (v *Values) parts(s *secret, text string) {
	list := partsOf(text)
	if r, ok := (reading{text: text}).unescaped('\\'); ok {
		list = append(list, partsOf(r.text)...)
	}
	for _, part := range list {
		v.whole(s, part)
	}
}

// spell adds a value as it is found in readings of texts, and in base64 of texts that hold it.
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

// find returns the parts of a text that are values of Secrets, but for names and, where it is about no Secret, for some
// words.
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

// of returns what is known of a resource, if it is a Secret. What has no namespace yet gets one where it is deployed.
func (v *Values) of(r report.Resource) (list []*secret) {
	if r.Kind != kind {
		return nil
	}
	for _, s := range v.own[r.Name] {
		if s.namespace == r.Namespace || s.namespace == "" || r.Namespace == "" {
			list = append(list, s)
		}
	}
	return list
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
		s.to = s.from + len(strings.TrimRight(text[s.from:s.to], " \n\r\t")) // which the reading leaves out
		(*found)[i] = s
	}
}

// hides reports whether a part of a text is one of what stands in place of values.
func (s span) hides(text string) bool {
	for _, mark := range []string{report.Hidden, changed} {
		from, to := max(0, s.to-len(mark)), min(len(text), s.from+len(mark))
		if to-from >= len(mark) && strings.Contains(text[from:to], mark) {
			return true
		}
	}
	return false
}

// replace returns a text with other words for some parts of it.
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
	shortest  = 8  // characters from which on a value is unlikely to stand elsewhere
	shortPart = 6  // likewise as a part of a word, where a text is about its Secret
	longWord  = 15 // letters that a word of a language has at most
	maxParts  = 4_000
)

// unlikely reports whether a text stands hardly anywhere but where the value of a Secret does: see the package.
func unlikely(text string) bool {
	digits, letters := kindsOf(text)
	return utf8.RuneCountInString(text) >= shortest && digits+letters > 0 && !dictionaryWord(text)
}

// dictionaryWord reports whether a text reads as a word of a language: letters in one case, or the first one large, of which
// no five follow each other without a vowel. Generated passwords of letters are longer, or do not read so.
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

// plainWord reports whether a value says nothing even where its Secret is spoken of.
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

// encrypted matches what SOPS writes in place of a value (https://getsops.io/docs/).
var encryptedValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*,iv:[A-Za-z0-9+/=]+,tag:[A-Za-z0-9+/=]+,type:[a-z]+\]$`)
})

func isEncrypted(text string) bool {
	return strings.HasPrefix(text, "ENC[") && encryptedValue().MatchString(text)
}

// credential finds values in texts that hold several: addresses with a password, settings, JSON.
var credential = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)://[^/\s:@]*:([^/\s@]+)@|` +
		`(?:pass|passwd|password|passphrase|pwd|secret|token|key|auth|credentials?)["']?\s*[:=]\s*["']?([^\s"',;&}]+)`)
})

// partsOf are the parts of a value that are as secret as it is: passwords in it, and what looks like made by chance.
// Ordinary words and names of hosts are none.
func partsOf(text string) (list []string) {
	add := func(s string) {
		if len(list) < maxParts {
			list = append(list, s)
		}
	}
	for _, m := range credential().FindAllStringSubmatch(text, maxParts) {
		if s := m[1] + m[2]; !strings.HasPrefix(s, "-----") { // which a key in PEM begins with
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

// separates reports whether a sign stands between the parts of a value.
func separates(r rune) bool { return strings.ContainsRune(" \n\r\t=:,;&?@\"'{}[]()<>|", r) }

// random reports whether a word looks as if it were made by chance: letters and digits mixed in some part of it, other
// than a number behind a name. Names of hosts, versions, regions and paths have no such part.
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
