package bump

import (
	"fmt"
	"slices"
	"strings"
)

const (
	around   = 3   // lines around a difference
	maxEdits = 600 // lines taken out and put in up to which the shortest difference is looked for
)

// edit is one line of a difference.
type edit struct {
	sign byte // ' ', '-' or '+'
	line string
}

// unified returns the difference of two texts in unified form, without the names of files, at most so many lines and
// bytes of it, and how many lines are left out.
func unified(was, now string, maxLines, maxBytes int) (text string, leftOut int) {
	linesOf := func(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }
	edits := difference(linesOf(was), linesOf(now))
	var b strings.Builder
	lines, old, new := 0, 1, 1 // old and new are the numbers of the next lines
	write := func(s string) {
		if leftOut > 0 || lines >= maxLines || b.Len()+len(s) >= maxBytes {
			leftOut++
			return
		}
		lines++
		b.WriteString(s + "\n")
	}
	for i := 0; i < len(edits); {
		first := i
		for first < len(edits) && edits[first].sign == ' ' {
			first++
		}
		if first == len(edits) {
			break
		}
		start := max(i, first-around)
		old, new = old+start-i, new+start-i
		end, quiet := first, 0
		for k := first; k < len(edits) && quiet <= 2*around; k++ {
			if quiet++; edits[k].sign != ' ' {
				end, quiet = k+1, 0
			}
		}
		end = min(end+around, len(edits))
		hunk := edits[start:end]
		count := func(not byte) (n int) {
			for _, e := range hunk {
				if e.sign != not {
					n++
				}
			}
			return n
		}
		write(fmt.Sprintf("@@ -%d,%d +%d,%d @@", old, count('+'), new, count('-')))
		for _, e := range hunk {
			write(string(e.sign) + e.line)
		}
		old, new, i = old+count('+'), new+count('-'), end
	}
	return b.String(), leftOut
}

// difference returns the lines of two texts with what happens to each.
func difference(was, now []string) (out []edit) {
	head := 0
	for head < len(was) && head < len(now) && was[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(was)-head && tail < len(now)-head && was[len(was)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	add := func(sign byte, lines []string) {
		for _, l := range lines {
			out = append(out, edit{sign, l})
		}
	}
	add(' ', was[:head])
	a, b := was[head:len(was)-tail], now[head:len(now)-tail]
	if middle := shortest(a, b); middle != nil {
		out = append(out, middle...)
	} else {
		add('-', a)
		add('+', b)
	}
	add(' ', was[len(was)-tail:])
	return out
}

// shortest finds the shortest difference (Myers, An O(ND) Difference Algorithm), nil where it has more than maxEdits
// lines.
func shortest(a, b []string) []edit {
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*limit+3) // by diagonal: how far in a
	zero := limit + 1
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(reach[zero-d-1:zero+d+2]))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && reach[zero+k-1] < reach[zero+k+1] {
				x = reach[zero+k+1]
			} else {
				x = reach[zero+k-1] + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			if reach[zero+k] = x; x >= len(a) && x-k >= len(b) {
				return walk(a, b, trace)
			}
		}
	}
	return nil
}

// walk goes back through the steps of shortest.
func walk(a, b []string, trace [][]int) []edit {
	out := []edit{}
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		at := func(k int) int { return trace[d][k+d+1] }
		k := x - y
		before := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			before = k + 1
		}
		px := at(before)
		py := px - before
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			out = append(out, edit{' ', a[x]})
		}
		switch {
		case d == 0:
		case x == px:
			y--
			out = append(out, edit{'+', b[y]})
		default:
			x--
			out = append(out, edit{'-', a[x]})
		}
	}
	slices.Reverse(out)
	return out
}
