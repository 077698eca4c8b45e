package view

import "slices"

// maxEdits is the maximum number of added and removed texts for which the shortest difference is searched; the cost
// grows with its square.
const maxEdits = 600

// LineEdits returns the edits from one list of texts to another: the sign of each line, ' ', '-' or '+'.
func LineEdits(was, now []string) []byte { return edits(was, now, maxEdits) }

func edits(was, now []string, most int) []byte {
	head := SameHead(was, now)
	tail := SameTail(was[head:], now[head:])
	a, b := was[head:len(was)-tail], now[head:len(now)-tail]
	middle := shortest(a, b, most)
	if middle == nil {
		middle = append(slices.Repeat([]byte{'-'}, len(a)), slices.Repeat([]byte{'+'}, len(b))...)
	}
	return slices.Concat(slices.Repeat([]byte{' '}, head), middle, slices.Repeat([]byte{' '}, tail))
}

// SameHead returns the length of the common beginning of two lists.
func SameHead[T comparable](a, b []T) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// SameTail returns the length of the common end of two lists.
func SameTail[T comparable](a, b []T) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// shortest finds the shortest difference (Myers, An O(ND) Difference Algorithm); nil if it has more than most texts.
func shortest(a, b []string, most int) []byte {
	limit := min(len(a)+len(b), most)
	reach := make([]int, 2*limit+3) // by diagonal: the furthest position in a
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
				return back(len(a), len(b), trace)
			}
		}
	}
	return nil
}

// back follows the steps of shortest back to the beginning.
func back(x, y int, trace [][]int) []byte {
	out := []byte{}
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
			out = append(out, ' ')
		}
		switch {
		case d == 0:
		case x == px:
			y--
			out = append(out, '+')
		default:
			x--
			out = append(out, '-')
		}
	}
	slices.Reverse(out)
	return out
}
