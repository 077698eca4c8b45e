package worker

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxOwnersFile is the size beyond which GitHub ignores a CODEOWNERS file
// (https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners#codeowners-file-size).
const maxOwnersFile = 3 << 20

// CodeOwners is a parsed CODEOWNERS file. The zero value owns nothing. It is immutable.
type CodeOwners struct{ rules []ownersRule }

type ownersRule struct {
	pattern ownersPattern
	owners  []string
}

// ParseCodeOwners reads a CODEOWNERS file by GitHub's rules
// (https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners#codeowners-syntax).
// As on GitHub, a line that is not valid (an unknown form of owner, a negated pattern, a character range) is skipped,
// and so is a whole file over 3 MB.
func ParseCodeOwners(data []byte) *CodeOwners {
	c := &CodeOwners{}
	if len(data) > maxOwnersFile {
		return c
	}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\uFEFF")) {
		words := ownersWords(strings.TrimRight(line, "\r\n"))
		if len(words) == 0 {
			continue
		}
		pattern, ok := compileOwners(words[0])
		if ok && !slices.ContainsFunc(words[1:], func(w string) bool { return !ownerPattern.MatchString(w) }) {
			c.rules = append(c.rules, ownersRule{pattern, append([]string(nil), words[1:]...)})
		}
	}
	return c
}

// ownerPattern is @user, @org/team or an address.
var ownerPattern = regexp.MustCompile(`^(@[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?|[^@\s]+@[^@\s]+)$`)

// ownersWord matches what stands between blanks that are not escaped.
var ownersWord = regexp.MustCompile(`(?s)(?:\\.?|[^ \t\\])+`)

// ownersWords splits a line at blanks that are not escaped, up to a comment.
func ownersWords(line string) []string {
	words := ownersWord.FindAllString(line, -1)
	if i := slices.IndexFunc(words, func(w string) bool { return w[0] == '#' }); i >= 0 {
		return words[:i]
	}
	return words
}

// Owners returns the owners of a file as they are written: "@user", "@org/team" or an address. The last rule
// that matches decides, also when it names nobody.
func (c *CodeOwners) Owners(path string) []string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, rule := range slices.Backward(c.rules) {
		if rule.pattern.match(segments) {
			return rule.owners
		}
	}
	return nil
}

// ownersPattern is a pattern cut at its slashes. "**" stands for any number of segments.
type ownersPattern struct {
	segments []string
	below    bool // what is below a match matches, too
	onlyDirs bool // only what is below a match matches
}

const maxOwnersPattern = 4096

// compileOwners compiles a pattern; false if GitHub does not take it.
func compileOwners(pattern string) (ownersPattern, bool) {
	trimmed, rooted := strings.CutPrefix(pattern, "/")
	p := ownersPattern{onlyDirs: strings.HasSuffix(trimmed, "/")}
	trimmed = strings.TrimRight(trimmed, "/")
	if trimmed == "" || len(pattern) > maxOwnersPattern || pattern[0] == '!' || strings.ContainsAny(pattern, "[]") {
		return ownersPattern{}, false
	}
	p.segments = strings.Split(trimmed, "/")
	if !rooted && len(p.segments) == 1 {
		p.segments = append([]string{"**"}, p.segments...)
	}
	// "docs/*" takes the files in docs and nothing in folders below, unlike in a .gitignore file.
	last := p.segments[len(p.segments)-1]
	p.below = p.onlyDirs || (last != "*" && last != "**")
	return p, true
}

// match reports whether the pattern covers the file at the path. It fills the table of "pattern from i matches
// path from j" from the end, so time is bounded by the product of the lengths.
func (p ownersPattern) match(path []string) bool {
	n, m := len(p.segments), len(path)
	next := make([]bool, m+1)
	for j := range next {
		rest := m - j
		next[j] = (rest == 0 && !p.onlyDirs) || (rest > 0 && p.below)
	}
	for i := n - 1; i >= 0; i-- {
		row := make([]bool, m+1)
		for j := m; j >= 0; j-- {
			switch {
			case p.segments[i] != "**":
				row[j] = j < m && next[j+1] && segmentMatches(p.segments[i], path[j])
			case i == n-1: // "a/**": everything below a, not a itself
				row[j] = m-j > 0
			default:
				row[j] = next[j] || (j < m && row[j+1])
			}
		}
		next = row
	}
	return next[0]
}

// segmentMatches matches one segment: * is any text, ? any character, a backslash takes the next as it is.
func segmentMatches(pattern, segment string) bool {
	match, err := path.Match(pattern, segment)
	if err != nil { // a backslash at its end, which stands for itself
		match, _ = path.Match(pattern+`\`, segment)
	}
	return match
}
