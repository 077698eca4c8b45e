package output

import (
	"fmt"
	"html"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// prose makes text inert in GitHub's Markdown, also in a table cell: it cannot start markup, HTML, a
// link, a mention or a reference. Words that GitHub would link by themselves (addresses, @names, #1) are
// written as code, where it does not. Line ends become spaces.
func prose(s string) string { return inertWords(s, math.MaxInt) }

func cellProse(s string) string { return inertWords(s, wide) }

// inertWords is prose with breaks in words of more than most columns.
func inertWords(s string, most int) string {
	words := strings.Fields(Line(s))
	for i, w := range words {
		long := textWidth(w) > most
		switch {
		case linkish(w) && long:
			words[i] = "<code>" + withBreaks(w) + "</code>"
		case linkish(w):
			words[i] = code(w)
		case long:
			words[i] = withBreaks(w)
		default:
			words[i] = escapeMarkdown(w, i == 0)
		}
	}
	return strings.Join(words, " ")
}

// linkish reports whether GitHub may turn a word into a link or mention
// (https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls).
func linkish(w string) bool {
	lower := strings.ToLower(w)
	signs := []string{"@", "://", "www.", "gh-", "mailto:", "xmpp:"}
	if slices.ContainsFunc(signs, func(s string) bool { return strings.Contains(lower, s) }) {
		return true
	}
	for i := 1; i < len(w); i++ {
		if w[i-1] == '#' && w[i] >= '0' && w[i] <= '9' {
			return true
		}
	}
	return false
}

// inert escapes the characters that can begin or end markup. A backslash before the first three reads differently in
// table cells.
var inert = strings.NewReplacer(`\`, "&#92;", "`", "&#96;", "|", "&#124;", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "$", `\$`)

// escapeMarkdown escapes a word. first says that it may stand at the beginning of a line, where more characters can
// begin markup; "1." begins a list.
func escapeMarkdown(w string, first bool) string {
	out := inert.Replace(w)
	rest := strings.TrimLeft(out, "0123456789")
	begins := "#+-="
	if len(rest) < len(out) {
		begins = ".)"
	}
	if first && rest != "" && strings.Contains(begins, rest[:1]) {
		out = out[:len(out)-len(rest)] + `\` + rest
	}
	return out
}

// codeRunes limits the characters of a name. Names in Kubernetes have at most 253 characters.
const codeRunes = 260

// code writes text as inline code, in which GitHub links nothing. Where the short form would need its
// own escapes (backticks, and pipes and backslashes in tables) it is HTML with references.
func code(s string) string {
	s = clip(strings.Join(strings.Fields(Line(s)), " "), codeRunes)
	if s == "" {
		return ""
	}
	if !strings.ContainsAny(s, "`|\\") && tame(s) == s {
		return "`" + s + "`"
	}
	return "<code>" + references(s) + "</code>"
}

// references writes every ASCII character that is not a letter, digit or space as a character reference,
// which can never be markup (CommonMark, "Entity and numeric character references").
func references(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > ' ' && r < utf8.RuneSelf && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// link returns text as code, linked to address if that is a web address.
func link(text, address string) string {
	href, ok := webAddress(address)
	if !ok {
		return code(text)
	}
	shown := code(text)
	if strings.HasPrefix(shown, "`") && !strings.ContainsAny(shown, "[]") && strings.Trim(address, plainAddress) == "" {
		return "[" + shown + "](" + address + ")"
	}
	inert := references(clip(strings.TrimSpace(Line(text)), codeRunes))
	return `<a href="` + href + `"><code>` + inert + "</code></a>"
}

// wide is the maximum width of a word in a table cell. A browser makes a column as wide as its longest word, and
// readers must scroll a table that is too wide.
const wide = 32

// breakable is link for a table cell.
func breakable(text, address string) string {
	shown := clip(strings.Join(strings.Fields(Line(text)), " "), codeRunes)
	if !slices.ContainsFunc(strings.Split(shown, " "), func(w string) bool { return textWidth(w) > wide }) {
		return link(text, address)
	}
	out := "<code>" + withBreaks(shown) + "</code>"
	if href, ok := webAddress(address); ok {
		return `<a href="` + href + `">` + out + "</a>"
	}
	return out
}

// withBreaks returns text as references, with possible breaks after each slash, and in long parts without a slash.
func withBreaks(s string) string {
	const most = 24
	var b strings.Builder
	width := 0
	for _, r := range s {
		if n := runeWidth(r); width >= most && n > 0 { // a combining mark stays with its letter
			b.WriteString("<wbr>")
			width = 0
		}
		b.WriteString(references(string(r)))
		width += runeWidth(r)
		switch r {
		case '/':
			b.WriteString("<wbr>")
			width = 0
		case ' ':
			width = 0
		}
	}
	return b.String()
}

// webAddress returns an address as the value of an attribute; false if it is no http or https address.
func webAddress(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsFunc(address, hostile) {
		return "", false
	}
	return html.EscapeString(strings.NewReplacer("|", "%7C", "`", "%60", "\\", "%5C", " ", "%20").Replace(address)), true
}

// plainAddress are the characters that have no special meaning in Markdown's links.
const plainAddress = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/.-_%#?=&,+@"

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}
