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

// Role is how a kustomization uses a file.
type Role int

// The roles, the most confidential last.
const (
	Plain        Role = iota // an ordinary file
	Patch                    // a patch of objects that may be Secrets
	SecretPatch              // a patch of Secrets
	Settings                 // lines of KEY=value that become a Secret
	Confidential             // the whole file is a value of a Secret
)

// File is a source file in which the values of Secrets are masked.
type File struct {
	lines  []string // original lines, with the line breaks of excerpts
	hidden []string // masked lines
	values []value
	depth  int // how many texts it is nested in
}

// maxDepth limits how deep texts in texts are searched.
const maxDepth = 4

type value struct {
	text    string
	encoded bool
}

// Read finds the values of Secrets in a file. It searches Secrets in any spelling, generators and patches of Secrets,
// texts that contain such documents, and values of charts and substitutions with the name of a password. In a file that
// is no YAML it searches line by line, and masks rather too much than too little.
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
	case role >= Patch, suspicious().MatchString(text):
		f.read(name, role)
	}
	return f
}

// suspicious matches every file that may contain a value of a Secret, also if tags or escapes spell it differently.
var suspicious = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)secret|patch|!binary|\\[ux]|\\$|` +
		`pass|pwd|token|api_?-?key|private_?-?key|access_?-?key|encryption_?-?key|credential|dsn|connection_?string`)
})

// Lines returns the masked lines of the file.
func (f *File) Lines() []string {
	if f == nil {
		return nil
	}
	return f.hidden
}

// Hides reports whether a line, counted from 1, contains masked text.
func (f *File) Hides(line int) bool {
	return f != nil && line >= 1 && line <= len(f.lines) && f.lines[line-1] != f.hidden[line-1]
}

// Cover masks a place of the file, with lines and columns as in [report.Origin]: a value of a Secret is written there,
// although the file does not show that. Text that is masked already stays masked.
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

// Same returns how many characters at the beginning of a line, counted from 1, are equal in its shown text.
func (f *File) Same(line int, shown string) int {
	if f == nil || line < 1 || line > len(f.lines) {
		return 0
	}
	text := f.lines[line-1]
	if strings.HasPrefix(text, shown) { // the shown text is at most cut
		return len(text)
	}
	return utf8.RuneCountInString(text[:common(text, shown)])
}

// EndOf returns the column, counted from 1, after the first mask in a shown line from a column on; 0 if there is none.
func EndOf(shown string, column int) int {
	r := []rune(shown)
	head := string(r[:min(column-1, len(r))])
	i := strings.Index(shown[len(head):], report.Hidden)
	if i < 0 {
		return 0
	}
	return utf8.RuneCountInString(shown[:len(head)+i]) + len(report.Hidden) + 1
}

// AddTo adds the values of the file to v.
func (f *File) AddTo(v *Values) {
	if f == nil {
		return
	}
	for _, one := range f.values {
		v.Text(one.text, one.encoded)
	}
}

// setting matches a line of KEY=value.
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

// limits are the limits of parsing, none: the file was parsed with limits before, or is no YAML.
var limits = doc.Limits{}

func (f *File) read(name string, role Role) {
	f.documents(func(from, to int) {
		part := strings.Join(f.lines[from:to], "\n")
		nodes, problems := doc.Documents(name, []byte(part), limits)
		switch {
		case len(problems) > 0 || strings.ContainsAny(part, "\r\u0085\u2028\u2029\ufeff"):
			// YAML has more kinds of line breaks than excerpts, so it is unknown on which line a value is.
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
	// ofSecrets matches a document that is no YAML, such as a template, if it is about Secrets.
	ofSecrets = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bkind["']?\s*:\s*(?:[!&]\S*\s+)*[^\w\n]*Secret(?:List|Generator)?\b|` +
			`secretGenerator|!binary`)
	})
	// structural matches lines with the structure of a document, which contain no value.
	structural = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:- )?["']?` +
			`(?:apiVersion|kind|metadata|data|stringData|secretGenerator|literals|envs|files)["']?\s*:\s*[\w./-]*\s*$|^[\s\]}{[,]*$|^---|^\.\.\.|^\s*\{\{[^"]*\}\}\s*$`)
	})
	keyed = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\s*(?:- )?["']?[\w./-]+["']?\s*[:=]\s*)\S`)
	})
)

// guess masks what may be a value of a Secret in lines that are no YAML.
func (f *File) guess(from, to int, role Role) {
	all := role >= Patch || ofSecrets().MatchString(strings.Join(f.lines[from:to], "\n"))
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
		// A value that begins with an indicator of YAML often makes it invalid, and errors quote it without the
		// indicator.
		if bare := strings.TrimLeft(text, "*&!%@`|>"); telling(name) || bare != text {
			f.values = append(f.values, value{text: text, encoded: true}, value{text: bare, encoded: true})
		}
	}
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// telling reports whether a key is a name for passwords, and not for a name or setting of one.
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

// nested reads a text in the file as a document of its own; nil if it contains no value of a Secret.
func (f *File) nested(name, text string, role Role) *File {
	if role < Patch && !strings.ContainsAny(text, "\n{:") {
		return nil
	}
	inner := read(name, []byte(text), role, f.depth+1)
	if slices.Equal(inner.lines, inner.hidden) {
		return nil
	}
	return inner
}

// inlay masks the lines of a block scalar like those of the nested text, if both have the same lines.
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

// place is a position in a file, with line and column from 0; the column is in characters.
type place struct{ line, column int }

// next returns where the next node after a scalar begins, or where the document ends.
func (s *search) next(n *yaml.Node) place {
	for _, m := range s.order[s.at[n]+1:] {
		p := place{m.Line - 1 + s.first, m.Column - 1}
		if p.line > n.Line-1+s.first || p.line == n.Line-1+s.first && p.column > n.Column-1 {
			return p
		}
	}
	return place{s.end, 0}
}

// behind returns where the value of a literal begins: after the first equals sign, if the key is written as it is.
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

// hide masks the text between two places. In a collection in brackets, it keeps the closing brackets after a value.
func (f *File) hide(from, to place, flow bool) {
	if from.line >= len(f.lines) {
		return
	}
	for i := from.line; i <= min(to.line, len(f.lines)-1); i++ {
		// Nodes are in order, so text that is masked already on this line is before, and the end of the line is
		// unchanged.
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
			tail = closing(string(line[start:end])) + tail
		}
		switch text := strings.TrimSpace(string(line[start:end])); {
		case i == from.line:
			head := string(line[:start])
			if rest := string(line[start:]); strings.HasSuffix(was, rest) { // an earlier part is masked
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

// closing returns the closing brackets and separators at the end of a text. An unquoted value in brackets contains
// none.
func closing(text string) string { return text[len(strings.TrimRight(text, " \t,}]")):] }
