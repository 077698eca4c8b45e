package gitops

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

var errPattern = errors.New("the pattern is malformed")

// dialect says how a pattern language reads special characters.
type dialect struct {
	braces   bool // {a,b} are alternatives
	segments bool // "*" and "?" stay within a path element; "**" crosses them
}

var (
	// directoryGlob is the language of Argo CD's directory.include and directory.exclude, where "*" matches slashes,
	// too (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/#includeexclude-files).
	directoryGlob = dialect{braces: true}
	// pathspecGlob is git's default pathspec, which the git file generator uses
	// (https://git-scm.com/docs/gitglossary#Documentation/gitglossary.txt-pathspec).
	pathspecGlob = dialect{}
)

const maxPattern = 4096

// compile returns a pattern as an anchored regular expression, which matches in linear time.
func (d dialect) compile(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern || !utf8.ValidString(pattern) {
		return nil, errPattern
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	open := 0
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case d.segments && (rest == "/**" || strings.HasPrefix(rest, "/**/")):
			if rest == "/**" {
				b.WriteString("/.+")
			} else {
				b.WriteString("(?:/.*)?")
			}
			i += 2
		case d.segments && i == 0 && strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case c == '*':
			for i+1 < len(pattern) && pattern[i+1] == '*' {
				i++
			}
			if d.segments {
				b.WriteString("[^/]*")
			} else {
				b.WriteString(".*")
			}
		case c == '?' && d.segments:
			b.WriteString("[^/]")
		case c == '?':
			b.WriteString(".")
		case c == '[':
			n, class, ok := class(rest)
			if !ok {
				return nil, errPattern
			}
			b.WriteString(class)
			i += n - 1
		case c == '{' && d.braces:
			open++
			b.WriteString("(?:")
		case c == '}' && open > 0:
			open--
			b.WriteString(")")
		case c == ',' && open > 0:
			b.WriteString("|")
		case c == '\\':
			if i++; i == len(pattern) {
				return nil, errPattern
			}
			fallthrough
		default:
			_, size := utf8.DecodeRuneInString(pattern[i:])
			b.WriteString(regexp.QuoteMeta(pattern[i : i+size]))
			i += size - 1
		}
	}
	if open > 0 {
		return nil, errPattern
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, errPattern
	}
	return re, nil
}

// class translates a bracket expression and returns its length.
func class(s string) (int, string, bool) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(s); first = false {
		c, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == ']' && !first:
			b.WriteByte(']')
			return i + 1, b.String(), true
		case c == '\\' && i+1 < len(s):
			i++
			c, size = utf8.DecodeRuneInString(s[i:])
			b.WriteString(regexp.QuoteMeta(string(c)))
		case c == '-':
			b.WriteByte('-')
		case c == '[' || c == '^' || c == '&' || c == '~':
			b.WriteString(`\` + string(c))
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
		i += size
	}
	return 0, "", false
}

// wild reports whether a pathspec has wildcards, and returns the folder before the first one, else the pathspec itself.
func wild(pathspec string) (folder string, ok bool) {
	i := strings.IndexAny(pathspec, `*?[\`)
	if i < 0 {
		return pathspec, false
	}
	if slash := strings.LastIndexByte(pathspec[:i], '/'); slash >= 0 {
		return pathspec[:slash], true
	}
	return ".", true
}
