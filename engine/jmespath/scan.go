package jmespath

import "strings"

// rewriteRawStrings makes the parser read raw strings as Kyverno does: there a backslash is itself unless
// a quote follows, while the community's dialect also takes \\ as one backslash
// (https://jmespath.org/specification.html#raw-string-literals). A regular expression written '\\.' would
// otherwise change its meaning. back maps an offset of the rewritten text to one of the source.
func rewriteRawStrings(source string) (text string, back func(int) int, err *SyntaxError) {
	same := func(i int) int { return i }
	if !strings.Contains(source, `'`) {
		return source, same, nil
	}
	var b strings.Builder
	var added []int // where in the rewritten text a backslash was added
	for i := 0; i < len(source); i++ {
		switch c := source[i]; c {
		case '`', '"':
			end := i + 1
			for end < len(source) && source[end] != c {
				if source[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(source)-1)
			b.WriteString(source[i : end+1])
			i = end
		case '\'':
			b.WriteByte(c)
			i++
			for ; i < len(source) && source[i] != '\''; i++ {
				b.WriteByte(source[i])
				if source[i] != '\\' {
					continue
				}
				if i+1 < len(source) && source[i+1] == '\'' {
					i++
					b.WriteByte('\'')
					continue
				}
				added = append(added, b.Len())
				b.WriteByte('\\')
			}
			if i >= len(source) {
				return "", nil, &SyntaxError{Offset: len(source), Message: "the string that starts with ' does not end"}
			}
			b.WriteByte('\'')
		default:
			b.WriteByte(c)
		}
	}
	if len(added) == 0 {
		return source, same, nil
	}
	return b.String(), func(i int) int {
		n := 0
		for n < len(added) && added[n] < i {
			n++
		}
		return i - n
	}, nil
}
