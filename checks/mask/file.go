package mask

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
)

// Role is what a kustomization makes of a file.
type Role int

// The roles, the most secret last.
const (
	Plain        Role = iota // what the file says counts
	Patch                    // a patch of Secrets, or of what may be one
	Settings                 // lines of KEY=value that become a Secret
	Confidential             // all of it is a value of a Secret
)

// File is a source file of which the values of Secrets are hidden.
type File struct {
	lines  []string // as they are, with the line breaks of excerpts
	hidden []string // likewise, without what is secret
	values []value
	depth  int // how many texts it stands in
}

// maxDepth is how many texts in texts are looked into.
const maxDepth = 4

// value is one that the file has.
type value struct {
	text    string
	encoded bool
}

// Read finds the values of Secrets in a file: in Secrets of any spelling, generators of Secrets, patches of them, in
// texts that hold such documents, and in values that charts and substitutions are given under the name of a password.
// In what is no YAML it goes by lines, and hides rather more.
func Read(name string, data []byte, role Role) *File { return read(name, data, role, 0) }

func read(name string, data []byte, role Role, depth int) *File {
	data, _ = doc.Narrow(data)
	text := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff")
	f := &File{lines: strings.Split(text, "\n"), depth: depth}
	f.hidden = slices.Clone(f.lines)
	switch {
	case role >= Settings:
		f.whole(role)
	case depth > maxDepth && suspicious().MatchString(text):
		f.whole(Confidential)
	case role == Patch, suspicious().MatchString(text):
		f.read(name, text, role)
	}
	return f
}

// suspicious matches in a file that may hold a value of a Secret. What a tag or an escape spells otherwise has one.
var suspicious = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)secret|patch|!binary|\\[ux]|\\$|` +
		`pass|pwd|token|api_?-?key|private_?-?key|access_?-?key|encryption_?-?key|credential|dsn|connection_?string`)
})

// Lines are the lines of the file without what is secret.
func (f *File) Lines() []string {
	if f == nil {
		return nil
	}
	return f.hidden
}

// Hides reports whether something in a line, counted from 1, is secret.
func (f *File) Hides(line int) bool {
	return f != nil && line >= 1 && line <= len(f.lines) && f.lines[line-1] != f.hidden[line-1]
}

// Cover hides what a place of the file says, with lines and columns as those of a [report.Origin]: the value of a Secret
// is written there, though the file does not say so. What is hidden on a line already stays so.
func (f *File) Cover(line, endLine, column, endColumn int) {
	if f == nil || line < 1 {
		return
	}
	for n := line; n <= min(max(line, endLine), len(f.lines)); n++ {
		text := f.lines[n-1]
		m := keyed().FindStringSubmatch(text)
		switch r := []rune(text); {
		case f.Hides(n) || strings.TrimSpace(text) == "":
		case endLine <= line && column > 0 && column < endColumn && endColumn <= len(r)+1:
			f.hidden[n-1] = string(r[:column-1]) + report.Hidden + string(r[endColumn-1:])
		case n == line && m != nil:
			f.hidden[n-1] = m[1] + report.Hidden
		default:
			f.hidden[n-1] = indentOf(text) + report.Hidden
		}
	}
}

// Same is how many characters a line, counted from 1, has at its beginning in common with what is shown of it.
func (f *File) Same(line int, shown string) int {
	if f == nil || line < 1 || line > len(f.lines) {
		return 0
	}
	text := f.lines[line-1]
	if strings.HasPrefix(text, shown) { // at most it is cut
		return len(text)
	}
	return utf8.RuneCountInString(text[:common(text, shown)])
}

// EndOf is the column, counted from 1, behind what is hidden first in a line that is shown, from a column on; 0 where
// nothing is.
func EndOf(shown string, column int) int {
	r := []rune(shown)
	head := string(r[:min(column-1, len(r))])
	i := strings.Index(shown[len(head):], report.Hidden)
	if i < 0 {
		return 0
	}
	return utf8.RuneCountInString(shown[:len(head)+i]) + len(report.Hidden) + 1
}

// AddTo gives the values of the file to those that are known.
func (f *File) AddTo(v *Values) {
	if f == nil {
		return
	}
	for _, one := range f.values {
		v.Text(one.text, one.encoded)
	}
}

// setting is a line of a file of settings.
var setting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*=)(.*)$`)
})

func (f *File) whole(role Role) {
	for i, line := range f.lines {
		m := setting().FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "":
		case role == Settings && m != nil && m[2] != "":
			f.hidden[i] = m[1] + report.Hidden
			f.values = append(f.values, value{text: strings.Trim(m[2], `"' `)})
		case role == Settings && m != nil:
		default:
			f.hidden[i] = report.Hidden
		}
	}
	if role == Confidential {
		f.values = append(f.values, value{text: strings.Join(f.lines, "\n")})
	}
}

// limits are those of what is read. It was read before, or is no YAML.
var limits = doc.Limits{}

func (f *File) read(name, text string, role Role) {
	f.documents(func(from, to int) {
		part := strings.Join(f.lines[from:to], "\n")
		nodes, problems := doc.Documents(name, []byte(part), limits)
		switch {
		case len(problems) > 0 || strings.ContainsAny(part, "\r\u0085\u2028\u2029\ufeff"):
			// YAML has more line breaks than excerpts, so that it is not known which line a value is on.
			f.guess(from, to, role)
		default:
			for _, n := range nodes {
				s := newSearch(f, n, from, to)
				s.document(path.Base(name), role)
				s.hide()
			}
		}
	})
}

// documents yields the lines, from 0, of each document of the file.
func (f *File) documents(yield func(from, to int)) {
	from := 0
	for i, line := range f.lines {
		if i > from && (isMarker(line, "---") || isMarker(line, "...")) {
			yield(from, i)
			from = i
		}
	}
	yield(from, len(f.lines))
}

func isMarker(line, marker string) bool {
	return strings.HasPrefix(line, marker) && (len(line) == 3 || strings.IndexByte(" \t", line[3]) >= 0)
}

var (
	// ofSecrets matches in a document that is no YAML, such as a template, where it is about Secrets.
	ofSecrets = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bkind["']?\s*:\s*(?:[!&]\S*\s+)*[^\w\n]*Secret(?:List|Generator)?\b|` +
			`secretGenerator|!binary`)
	})
	// structural are lines that say what a document is. What they say is no value.
	structural = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:- )?["']?` +
			`(?:apiVersion|kind|metadata|data|stringData|secretGenerator|literals|envs|files)["']?\s*:\s*[\w./-]*\s*$|^[\s\]}{[,]*$|^---|^\.\.\.|^\s*\{\{[^"]*\}\}\s*$`)
	})
	keyed = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\s*(?:- )?["']?[\w./-]+["']?\s*[:=]\s*)\S`)
	})
)

// guess hides what may be a value of a Secret in lines that are no YAML.
func (f *File) guess(from, to int, role Role) {
	all := role == Patch || ofSecrets().MatchString(strings.Join(f.lines[from:to], "\n"))
	for i := from; i < to; i++ {
		line := f.lines[i]
		m := keyed().FindStringSubmatch(line)
		name := ""
		if m != nil {
			name = strings.Trim(m[1], " -\"':=\t")
		}
		switch {
		case m != nil && (all && !structural().MatchString(line) || telling(name)):
			f.hidden[i] = m[1] + report.Hidden
		case all && !structural().MatchString(line) && !strings.HasSuffix(strings.TrimRight(line, " "), ":"):
			f.hidden[i] = indentOf(line) + report.Hidden
		default:
			continue
		}
		if m == nil {
			continue
		}
		text := strings.Trim(line[len(m[1]):], `"', `)
		// What begins with a sign of YAML is often why it is none, and errors quote it without that.
		if bare := strings.TrimLeft(text, "*&!%@`|>"); telling(name) || bare != text {
			f.values = append(f.values, value{text: text, encoded: true}, value{text: bare, encoded: true})
		}
	}
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// telling reports whether a key is called as passwords are, and holds none of the names and settings around them.
func telling(key string) bool {
	return tellingKey().MatchString(key) && !namingKey().MatchString(key)
}

var (
	tellingKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:pass|passwd|password|passphrase|pwd|secret|token|api_?-?key|private_?-?key|` +
			`access_?-?key|secret_?-?key|encryption_?-?key|credentials?|dsn|connection_?string)$`)
	})
	namingKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)existing|automount|^use|^create|^enable|^generate|^image_?pull`)
	})
)

// nested reads a text that stands in the file as a document of its own; nil where nothing is secret in it.
func (f *File) nested(name, text string, role Role) *File {
	if role != Patch && !strings.ContainsAny(text, "\n{:") {
		return nil
	}
	inner := read(name, []byte(text), role, f.depth+1)
	if slices.Equal(inner.lines, inner.hidden) {
		return nil
	}
	return inner
}

// inlay hides what is secret in the lines of a block scalar, if they are those of the text.
func (s *search) inlay(inner *File, from int) bool {
	lines := inner.lines
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	if from+len(lines) > len(s.file.lines) {
		return false
	}
	for i, line := range lines {
		if !strings.HasSuffix(s.file.lines[from+i], line) {
			return false
		}
	}
	for i, line := range lines {
		if whole := s.file.lines[from+i]; inner.hidden[i] != line {
			s.file.hidden[from+i] = whole[:len(whole)-len(line)] + inner.hidden[i]
		}
	}
	return true
}

// place is a position in a file, both from 0; the column in characters.
type place struct{ line, column int }

// next is where the node behind a scalar begins, or the document ends.
func (s *search) next(n *yaml.Node) place {
	for _, m := range s.order[s.at[n]+1:] {
		p := place{m.Line - 1 + s.first, m.Column - 1}
		if p.line > n.Line-1+s.first || p.line == n.Line-1+s.first && p.column > n.Column-1 {
			return p
		}
	}
	return place{s.end, 0}
}

// behind is where a literal's value begins: behind its first equals sign, where its key is written as it is.
func (s *search) behind(from place, keep int) place {
	if from.line >= len(s.file.lines) {
		return from
	}
	line := []rune(s.file.lines[from.line])
	for i := from.column; i < len(line) && i <= from.column+keep; i++ {
		if line[i] == '=' {
			return place{from.line, i + 1}
		}
	}
	return from
}

// hide hides what stands between two places. What closes the collections around a value stays, where there are any.
func (f *File) hide(from, to place, flow bool) {
	if from.line >= len(f.lines) {
		return
	}
	for i := from.line; i <= min(to.line, len(f.lines)-1); i++ {
		// What is hidden already on this line stands before: the nodes come in their order, so its end is as it was.
		line, was := []rune(f.lines[i]), f.hidden[i]
		start, end := 0, len(line)
		if i == from.line {
			start = min(from.column, end)
		}
		if i == to.line {
			end = max(start, min(to.column, end))
		}
		tail := string(line[end:])
		if flow && i == from.line {
			tail = closing(line[start:end]) + tail
		}
		switch text := strings.TrimSpace(string(line[start:end])); {
		case i == from.line:
			head := string(line[:start])
			if rest := string(line[start:]); strings.HasSuffix(was, rest) { // a part before is hidden
				head = strings.TrimSuffix(was, rest)
			}
			f.hidden[i] = head + report.Hidden + tail
		case text == "" || strings.Trim(text, "{}[],-?\"'") == "":
		case strings.HasPrefix(text, "#"):
			f.hidden[i] = indentOf(string(line)) + "# " + report.Hidden + tail
		default:
			f.hidden[i] = indentOf(string(line)) + report.Hidden + tail
		}
	}
}

// closing is what closes the collections around a value, and separates it from the next, at the end of a text: a value
// in brackets that is not quoted has no such signs.
func closing(text []rune) string {
	i := len(text)
	for i > 0 && strings.ContainsRune(" \t,}]", text[i-1]) {
		i--
	}
	return string(text[i:])
}
