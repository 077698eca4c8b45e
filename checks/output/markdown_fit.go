package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// section is a part of the Markdown that may be shortened by rows. A section without rows is not written.
type section struct {
	head, foot string
	rows       []string
	one, many  string // singular and plural of what a row is
}

// foldedSection returns a section that is folded below a summary.
func foldedSection(summary, one, many string) section {
	return section{head: "\n<details><summary>" + summary + "</summary>\n\n", foot: "\n</details>\n", one: one, many: many}
}

func (s *section) size() int {
	if len(s.rows) == 0 {
		return 0
	}
	n := len(s.head) + len(s.foot)
	for _, r := range s.rows {
		n += len(r)
	}
	return n
}

// write returns the section within limit bytes. If not even one row fits, it returns no text and the number of rows.
// all says where the omitted rows are.
func (s *section) write(limit int, all string) (string, int) {
	if s.size() <= limit {
		if len(s.rows) == 0 {
			return "", 0
		}
		return s.head + strings.Join(s.rows, "") + s.foot, 0
	}
	note := func(n int) string {
		return fmt.Sprintf("\n%s left out for lack of space.%s\n", report.Count(n, s.one, s.many), all)
	}
	room := limit - len(s.head) - len(s.foot) - len(note(len(s.rows)))
	fit := 0
	for fit < len(s.rows) && len(s.rows[fit]) <= room {
		room -= len(s.rows[fit])
		fit++
	}
	if fit == 0 {
		return "", len(s.rows)
	}
	return s.head + strings.Join(s.rows[:fit], "") + note(len(s.rows)-fit) + s.foot, 0
}

// leftOutBytes is room for the line that counts omitted rows, without the text of all.
const leftOutBytes = 80

// assemble joins the parts within limit bytes (0: any number). head, foot, leftOutBytes and all must fit; all says
// where the omitted parts are. The second sections get a quarter of the room, or what the first sections leave.
func assemble(head string, first, second []section, foot string, limit int, all string) string {
	if limit <= 0 {
		limit = 1 << 40
	}
	tail := func(n int) string {
		return fmt.Sprintf("\n%s left out for lack of space.%s\n", report.Count(n, "more entry", "more entries"), all)
	}
	one, rows := sizes(first)
	two, more := sizes(second)
	room := limit - len(head) - len(foot)
	if one+two > room {
		room -= len(tail(rows + more))
	}
	a, missingA := share(first, room-min(two, room/4), all)
	b, missingB := share(second, room-len(a), all)
	out := head + a + b
	if n := missingA + missingB; n > 0 && len(out)+len(tail(n))+len(foot) <= limit {
		out += tail(n)
	}
	return out + foot
}

func sizes(sections []section) (bytes, rows int) {
	for i := range sections {
		bytes += sections[i].size()
		rows += len(sections[i].rows)
	}
	return bytes, rows
}

// share writes sections within room bytes, and returns the number of rows of sections that did not fit at all. Short
// sections stay whole, and long ones share the rest equally.
func share(sections []section, room int, all string) (string, int) {
	order := make([]int, len(sections))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return sections[a].size() - sections[b].size() })
	written := make([]string, len(sections))
	missing := 0
	for n, i := range order {
		text, lost := sections[i].write(room/(len(sections)-n), all)
		written[i] = text
		room -= len(text)
		missing += lost
	}
	return strings.Join(written, ""), missing
}
