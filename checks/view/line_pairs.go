package view

import "strings"

// maxAhead is how many lines that are put in are looked at for one that is taken out.
const maxAhead = 50

// LinePairs finds in the lines of a difference those that were edited: for each the index of the line that replaces it, or
// that it replaces, -1 where there is none such. line returns the sign and the text of a line.
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

// candidate is a line that may be a version of another.
type candidate struct {
	text   string
	known  bool // the others are set
	key    string
	words  map[string]int // how often it has which
	weight int
}

// maxAlike is how much of a line is compared with others.
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

// alike reports whether two lines are versions of one: they set the same key, or have most of their words in common.
// Which words stand where is not looked at: each line is compared with many.
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

// keyOf is the key that a line of YAML sets, with its indentation; empty where it sets none.
func keyOf(s string) string {
	key, _, ok := strings.Cut(s+" ", ": ")
	if !ok || strings.ContainsAny(key, `"'{}[]`) {
		return ""
	}
	return key
}
