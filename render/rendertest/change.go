package rendertest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/origin"
)

// indentOf returns the number of spaces before a line's text.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// blank reports whether a line holds no data.
func blank(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || text[0] == '#'
}

// block returns the line (from 0) after the entry that starts at a line and a column (from 0), judged by indentation.
func block(lines []string, start, column int) int {
	list := strings.HasPrefix(strings.TrimLeft(lines[start][min(column, len(lines[start])):], " "), "- ")
	end := start + 1
	for i := start + 1; i < len(lines); i++ {
		if blank(lines[i]) {
			continue
		}
		depth, dash := indentOf(lines[i]), isItem(lines[i])
		if depth < column || depth == column && (list || !dash) || strings.HasPrefix(lines[i], "---") {
			break
		}
		end = i + 1
	}
	return end
}

func isItem(line string) bool {
	text := strings.TrimSpace(line)
	return text == "-" || strings.HasPrefix(text, "- ")
}

// column returns the column (from 0) where a line's entry begins, after the dashes of lists.
func column(line string) int {
	at := indentOf(line)
	for strings.HasPrefix(line[at:], "- ") {
		at += 2
		at += indentOf(line[at:])
	}
	return at
}

var (
	flowMap   = regexp.MustCompile(`^["']?\s*:\s*(?:[&!]\S+\s+)*\{`)
	emptyMap  = regexp.MustCompile(`^\s*\}`)
	opensFlow = regexp.MustCompile(`:\s*(?:[&!]\S+\s+)*[\[{*]`) // or stands for what is elsewhere
)

// insertion returns an edit that adds a field to a map. The place is the key of the map, or the map's first key.
func insertion(lines []string, p origin.Place, id int, element bool) (edit, bool) {
	e := edit{path: p.Path, mark: marker(id)}
	at := p.StartLine - 1
	if at < 0 || at >= len(lines) {
		return e, false
	}
	line := strings.TrimSuffix(lines[at], "\r")
	if p.EndColumn > 0 {
		if runes := []rune(line); p.EndColumn-1 <= len(runes) {
			rest := string(runes[p.EndColumn-1:])
			if m := flowMap.FindString(rest); m != "" && !element {
				comma := ", "
				if emptyMap.MatchString(rest[len(m):]) {
					comma = ""
				}
				e.line, e.from = p.StartLine, p.EndColumn-1+len([]rune(m))
				e.to, e.text = e.from, flowEntry(p, e.mark)+comma
				return e, true
			}
		}
	}
	depth := column(line)
	if runes := []rune(line); element && p.EndColumn > 0 && p.StartColumn <= len(runes) && runes[p.StartColumn-1] == '{' {
		e.line, e.from, e.to, e.text = p.StartLine, p.StartColumn, p.StartColumn, flowEntry(p, e.mark)+", "
		return e, true
	}
	item := element && isItem(line)
	if item && depth < len(line) && line[depth] == '{' {
		e.line, e.from, e.to, e.text = p.StartLine, len([]rune(line[:depth]))+1, len([]rune(line[:depth]))+1,
			flowEntry(p, e.mark)+", "
		return e, true
	}
	if !item && strings.ContainsAny(line, "{[*") && opensFlow.MatchString(line) {
		return e, false
	}
	end := at + 1
	if !element {
		for end < len(lines) && blank(lines[end]) {
			end++
		}
		if end == len(lines) || indentOf(lines[end]) <= depth {
			depth += 2
			end = at + 1
		} else {
			depth = indentOf(lines[end])
		}
	} else {
		end = block(lines, at, depth)
	}
	e.line = end
	for _, key := range missingKeys(p) {
		e.text += "\n" + strings.Repeat(" ", depth) + key + ":"
		depth += 2
	}
	e.text += "\n" + strings.Repeat(" ", depth) + e.mark + ": " + e.mark
	e.from = len([]rune(strings.TrimSuffix(lines[end-1], "\r")))
	e.to = e.from
	return e, true
}

// missingKeys lists the maps that have to be created around a field that is missing at a place.
func missingKeys(p origin.Place) []string {
	keys := strings.Split(strings.TrimPrefix(p.Missing, "/"), "/")
	for i, key := range keys {
		keys[i] = jsonpointer.Unescape(key)
	}
	return keys[:len(keys)-1]
}

// flowEntry is a field in JSON, which YAML's flow style is, too.
func flowEntry(p origin.Place, mark string) string {
	text := `"` + mark + `": "` + mark + `"`
	keys := missingKeys(p)
	for i := len(keys) - 1; i >= 0; i-- {
		text = `"` + keys[i] + `": {` + text + "}"
	}
	return text
}

// removals returns edits that remove the entry at a line: first only the entry, then more and more of what contains it.
// What would be left empty is removed as well; the last edit removes the whole document. If element is set, the first
// entry of a list element means the whole element.
func removals(lines []string, path string, line int, element bool) (list []edit) {
	at := line - 1
	if at < 0 || at >= len(lines) || blank(lines[at]) {
		return nil
	}
	start := at
	for depth := column(lines[at]); ; {
		first := strings.HasPrefix(lines[at][indentOf(lines[at]):], "- ") && depth > indentOf(lines[at])
		end := block(lines, at, depth)
		if first && !element && at == start && end < len(lines) && indentOf(lines[end]) == depth && !isItem(lines[end]) {
			// The first key of an element: the dash moves to the next key.
			list = append(list, edit{path: path, line: at + 1, drop: end - at + 1, text: lines[at][:depth] + lines[end][depth:]})
		}
		if first {
			depth = indentOf(lines[at])
			end = block(lines, at, depth)
		}
		if !alone(lines, at, end, depth) {
			list = append(list, edit{path: path, line: at + 1, drop: end - at})
		}
		at = above(lines, at, depth)
		element = false
		if at < 0 {
			break
		}
		depth = column(lines[at])
	}
	if from, to := document(lines, start); from > 0 || to < len(lines) {
		list = append(list, edit{path: path, line: from + 1, drop: to - from})
	}
	return list
}

// document returns the lines from and to (from 0, exclusive) of the document around a line.
func document(lines []string, at int) (from, to int) {
	for from = at; from > 0 && !strings.HasPrefix(lines[from-1], "---"); from-- {
	}
	for to = at + 1; to < len(lines) && !strings.HasPrefix(lines[to], "---"); to++ {
	}
	return from, to
}

// alone reports whether nothing else is next to an entry in its map or list.
func alone(lines []string, at, end, depth int) bool {
	up := above(lines, at, depth)
	if up < 0 {
		return false
	}
	for i := up + 1; i < len(lines); i++ {
		if i == at {
			i = end - 1
			continue
		}
		if blank(lines[i]) {
			continue
		}
		if indentOf(lines[i]) < depth || strings.HasPrefix(lines[i], "---") {
			return column(lines[up]) != depth
		}
		return false
	}
	return column(lines[up]) != depth
}

// above returns the line of the entry that contains an entry, -1 if none does.
func above(lines []string, at, depth int) int {
	item := isItem(lines[at]) && indentOf(lines[at]) == depth
	for i := at - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "---") {
			return -1
		}
		if blank(lines[i]) {
			continue
		}
		c := column(lines[i])
		if c < depth || indentOf(lines[i]) < depth || item && c == depth && !isItem(lines[i]) {
			return i
		}
	}
	return -1
}

// renames returns the edits that replace a word in several files where it is a whole value, except at the given place.
func renames(files map[string][]string, token, to string, not edit) (list []edit) {
	token = strings.Trim(token, `"'`)
	if len(token) < 2 {
		return nil
	}
	value := regexp.MustCompile(`^\s*(?:- )*(?:"?[\w./-]+"?:\s+|- )["']?(` + regexp.QuoteMeta(token) +
		`)["']?\s*(?:#.*)?$`)
	for path, lines := range files {
		for i, line := range lines {
			if path == not.path && i+1 == not.line {
				continue
			}
			if m := value.FindStringSubmatchIndex(strings.TrimSuffix(line, "\r")); m != nil {
				from := len([]rune(line[:m[2]]))
				list = append(list, edit{path: path, line: i + 1, from: from, to: from + len([]rune(token)), text: to})
			}
		}
	}
	slices.SortFunc(list, func(a, b edit) int { return cmp.Or(strings.Compare(a.path, b.path), a.line-b.line) })
	return list
}
