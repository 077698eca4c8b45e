package mask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
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
	mu      sync.Mutex
	known   *index                 // what is hidden wherever it stands
	own     map[secretName]*secret // what is hidden where a Secret is spoken of
	visible map[string]bool        // what the report shows anyway: names
}

type secretName struct{ namespace, name string }

// secret is what is known of one Secret. Several versions of it are one.
type secret struct {
	values index
	keys   map[string]bool
}

// Object takes the values of an object, if it is a Secret.
func (v *Values) Object(o map[string]any) {
	if v == nil || !IsSecret(o) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	name := nameOf(o)
	if v.own == nil {
		v.own = map[secretName]*secret{}
	}
	s := v.own[name]
	if s == nil {
		s = &secret{keys: map[string]bool{name.name: true, name.namespace: true, kind: true}}
		v.own[name] = s
	}
	v.object(s, o)
}

func nameOf(o map[string]any) secretName {
	meta, _ := o["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	return secretName{namespace, name}
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
	if text, ok := annotations[lastApplied].(string); ok {
		var copied map[string]any
		if json.Unmarshal([]byte(text), &copied) == nil && copied[lastApplied] == nil {
			v.object(s, copied)
		}
	}
}

// scalars takes all scalars of a value.
func (v *Values) scalars(s *secret, value any, encoded bool) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for _, one := range value {
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

// add takes one value: as it is written, decoded, encoded, and as texts quote it. What it consists of counts, too,
// where that is as telling.
func (v *Values) add(s *secret, text string, encoded bool) {
	if v.known == nil {
		v.known = &index{}
	}
	plain, isText := decoded(text)
	if encoded && isText {
		v.whole(s, text)
		text = plain
	}
	v.whole(s, text)
	if inner, ok := decoded(text); ok && len(text) >= longText {
		v.whole(s, inner)
		v.parts(inner)
	}
	v.parts(text)
}

func (v *Values) whole(s *secret, text string) {
	if text = strings.TrimSpace(text); common(text) {
		return
	}
	for _, form := range forms(text) {
		if !ordinary(form) {
			v.known.add(form, wordLike(form))
		}
		if s != nil {
			s.values.add(form, wordLike(form) || utf8.RuneCountInString(form) < longText)
		}
	}
}

func (v *Values) parts(text string) {
	for _, part := range partsOf(text) {
		for _, form := range []string{part, base64.StdEncoding.EncodeToString([]byte(part))} {
			v.known.add(form, wordLike(form))
		}
	}
}

// Hide returns a text without the values. Where it speaks of Secrets, even what would be an ordinary word elsewhere is
// hidden if it is a value of one of them.
func (v *Values) Hide(text string, of ...report.Resource) string {
	if v == nil || v.known == nil || text == "" {
		return text
	}
	var found []span
	v.known.find(text, v.visible, &found)
	for _, r := range of {
		if r.Kind != kind {
			continue
		}
		for name, s := range v.own {
			// What has no namespace yet gets one where it is deployed.
			if name.name == r.Name && (name.namespace == r.Namespace || name.namespace == "" || r.Namespace == "") {
				s.values.find(text, s.keys, &found)
			}
		}
	}
	return replace(text, found)
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

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

// index finds texts in others, all at once: by their first bytes.
type index struct {
	by  map[[indexed]byte][]entry
	has map[string]bool
}

// indexed is how many bytes a text has at least.
const indexed = 3

type entry struct {
	text string
	word bool // it counts only where it is not a part of a longer word
}

func (x *index) add(text string, word bool) {
	if len(text) < indexed || x.has[text] {
		return
	}
	if x.by == nil {
		x.by, x.has = map[[indexed]byte][]entry{}, map[string]bool{}
	}
	x.has[text] = true
	first := [indexed]byte([]byte(text))
	x.by[first] = append(x.by[first], entry{text, word})
}

func (x *index) find(text string, except map[string]bool, found *[]span) {
	if len(x.by) == 0 {
		return
	}
	for i := 0; i+indexed <= len(text); i++ {
		for _, e := range x.by[[indexed]byte([]byte(text[i:i+indexed]))] {
			if strings.HasPrefix(text[i:], e.text) && !except[e.text] &&
				(!e.word || apart(text[:i], text[i+len(e.text):])) {
				*found = append(*found, span{i, i + len(e.text)})
			}
		}
	}
}

// apart reports whether what stands between two texts is a word by itself.
func apart(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return !isWord(last) && !isWord(next)
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}
