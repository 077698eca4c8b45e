package output

import (
	"strings"
	"unicode/utf8"
)

// tableRow is a row of a table. The last cell is colored. A note is below the row, over the whole width.
type tableRow struct {
	cells []string
	tone  string // "": none
	note  string
}

// minColumn is the minimum width of a column.
const minColumn = 6

// table writes rows that fit the width. The widest columns are narrowed, and their cells wrapped.
func (t *text) table(header []string, rows []tableRow) {
	widths := t.columns(header, rows)
	t.tableRow(header, widths, func(_ int, s string) string { return t.paint.bold(s) })
	var rule strings.Builder
	for _, width := range widths {
		rule.WriteString("│" + strings.Repeat("─", width+2))
	}
	t.line(rule.String())
	for _, row := range rows {
		t.tableRow(row.cells, widths, func(i int, s string) string {
			if i == len(widths)-1 && row.tone != "" {
				return t.paint.with(row.tone).mark(s)
			}
			return s
		})
		if row.note != "" {
			indent := "│" + strings.Repeat(" ", widths[0]+2) + "│ "
			for _, part := range Wrap(lines(row.note), t.width-textWidth(indent)) {
				t.line(indent + part)
			}
		}
	}
}

// columns returns the widths of columns that fit the width together, and makes the cells safe to show.
func (t *text) columns(header []string, rows []tableRow) []int {
	widths := make([]int, len(header))
	for i, h := range header {
		widths[i] = textWidth(h)
	}
	for r := range rows {
		cells := make([]string, len(rows[r].cells))
		for i, c := range rows[r].cells {
			cells[i] = Line(c)
			widths[i] = max(widths[i], textWidth(cells[i]))
		}
		rows[r].cells = cells
	}
	narrow(widths, t.width-3*len(widths))
	return widths
}

// fitting returns the first rows that together take at most a number of lines; at least one row.
func (t *text) fitting(header []string, rows []tableRow, most int) []tableRow {
	for len(rows) > 1 {
		lines, widths := 0, t.columns(header, rows)
		for _, row := range rows {
			height := 1
			for i, c := range row.cells {
				height = max(height, len(folded(c, widths[i])))
			}
			lines += height
		}
		if lines <= most {
			break
		}
		rows = rows[:len(rows)-1]
	}
	return rows
}

// narrow narrows the widest columns until all columns fit in room.
func narrow(widths []int, room int) {
	for {
		sum, widest := 0, 0
		for i, w := range widths {
			sum += w
			if w > widths[widest] {
				widest = i
			}
		}
		if sum <= room || widths[widest] <= minColumn {
			return
		}
		widths[widest]--
	}
}

// tableRow writes a row on as many lines as its cells need.
func (t *text) tableRow(cells []string, widths []int, paint func(i int, s string) string) {
	parts := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		parts[i] = folded(c, widths[i])
		height = max(height, len(parts[i]))
	}
	for n := range height {
		var b strings.Builder
		for i := range cells {
			s := ""
			if n < len(parts[i]) {
				s = parts[i][n]
			}
			if pad := widths[i] - textWidth(s); pad > 0 && i < len(cells)-1 {
				s += strings.Repeat(" ", pad)
			}
			b.WriteString("│ " + paint(i, s) + " ")
		}
		t.line(b.String())
	}
}

// folded splits a text into parts of at most width columns, if possible after a slash, dash, dot or space in the second
// half.
func folded(s string, width int) (out []string) {
	runes := []rune(s)
	for textWidth(string(runes)) > width {
		n, columns := 0, 0
		for n < len(runes) && columns+runeWidth(runes[n]) <= width {
			columns += runeWidth(runes[n])
			n++
		}
		n = max(n, 1)
		head := string(runes[:n])
		if at := utf8.RuneCountInString(head[:strings.LastIndexAny(head, "/-. _")+1]); at > n/2 {
			n = at
		}
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return append(out, string(runes))
}
