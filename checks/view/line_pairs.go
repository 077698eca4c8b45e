package view

import "strings"

// maxAhead is the number of added lines that are compared with a removed one.
const maxAhead = 50

// LinePairs pairs the edited lines of a difference: for each line the index of the line that replaces it, or that it
// replaces, or -1. line returns the sign and the text of a line.
func LinePairs(n int, line func(i int) (sign, text string)) []int {
	out, lines := make([]int, n), make([]candidate, n)
	signs := make([]string, n)
	for i := range out {
		out[i] = -1
		signs[i], lines[i].text = line(i)
	}
	for i := 0; i < n; {
		if signs[i] != "-" {
			i++
			continue
		}
		olds := i
		for i < n && signs[i] == "-" {
			i++
		}
		news := i
		for i < n && signs[i] == "+" {
			i++
		}
		next := news
		for k := olds; k < news; k++ {
			for j := next; j < min(i, next+maxAhead); j++ {
				if lines[k].alike(&lines[j]) {
					out[k], out[j], next = j, k, j+1
					break
				}
			}
		}
	}
	return out
}

// candidate is a line that may be another version of another line.
type candidate struct {
	text   string
	known  bool // the other fields are set
	key    string
	words  map[string]int // number of each word
	weight int
}

// maxAlike is the number of bytes of a line that are compared.
const maxAlike = 1 << 10

func (c *candidate) count() {
	c.known = true
	if c.key = keyOf(c.text); c.key != "" {
		return
	}
	c.words = map[string]int{}
	list := split(strings.TrimSpace(c.text[:min(len(c.text), maxAlike)]))
	for _, w := range list {
		c.words[w]++
	}
	c.weight = weight(list)
}

// alike reports whether two lines are versions of one: they set the same key, or share most of their words. The order
// of the words is ignored, since each line is compared with many.
func (c *candidate) alike(other *candidate) bool {
	for _, one := range []*candidate{c, other} {
		if !one.known {
			one.count()
		}
	}
	if c.key != "" || other.key != "" {
		return c.key == other.key
	}
	common := 0
	for w, n := range c.words {
		if n = min(n, other.words[w]); n > 0 {
			common += n * weight([]string{w})
		}
	}
	return common > 0 && common*2 >= max(c.weight, other.weight)
}

// keyOf returns the key that a line of YAML sets, with its indentation; empty if it sets none.
func keyOf(s string) string {
	key, _, ok := strings.Cut(s+" ", ": ")
	if !ok || strings.ContainsAny(key, `"'{}[]`) {
		return ""
	}
	return key
}
