package words

import "strings"

// maxAhead is how many lines that are put in are looked at for one that is taken out.
const maxAhead = 50

// Pairs finds in the lines of a difference those that were edited: for each the index of the line that replaces it, or
// that it replaces, -1 where there is none such. line returns the sign and the text of a line.
func Pairs(n int, line func(i int) (sign, text string)) []int {
	out := make([]int, n)
	signs, texts := make([]string, n), make([]string, n)
	for i := range out {
		out[i] = -1
		signs[i], texts[i] = line(i)
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
				if alike(texts[k], texts[j]) {
					out[k], out[j], next = j, k, j+1
					break
				}
			}
		}
	}
	return out
}

// alike reports whether two lines are versions of one: they set the same key, or begin and end mostly alike.
func alike(was, now string) bool {
	if key := keyOf(was); key != "" || keyOf(now) != "" {
		return key == keyOf(now)
	}
	was, now = strings.TrimSpace(was), strings.TrimSpace(now)
	if len(was) > maxBytes || len(now) > maxBytes {
		return true
	}
	common, all := 0, 0
	a, b := Of(was, now)
	for _, s := range a {
		if n := weight(split(s.Text)); !s.Differs {
			common += n
		} else {
			all += n
		}
	}
	news := 0
	for _, s := range b {
		if s.Differs {
			news += weight(split(s.Text))
		}
	}
	return common*2 >= common+max(all, news) && common > 0
}

// keyOf is the key that a line of YAML sets, with its indentation; empty where it sets none.
func keyOf(s string) string {
	key, _, ok := strings.Cut(s+" ", ": ")
	if !ok || strings.ContainsAny(key, `"'{}[]`) {
		return ""
	}
	return key
}
