package gitops

import (
	"errors"
	"math"
	"reflect"
	"regexp/syntax"
	"slices"
	"strings"
)

const (
	maxValueNodes = 20_000   // of an argument or a result
	maxValueBytes = 64 << 10 // of a text that a function returns
)

var (
	errTooLarge = unknown("a value grows larger than the limit allows")
	errTooLong  = unknown("a template's text is longer than the limit allows")
	errTooMuch  = unknown("its templates need more computation than the limit allows")
)

// spend adds work, and fails when the limit is reached.
func (t *templates) spend(n int) error {
	if t.steps += n; t.steps > t.limits.Steps || n < 0 {
		return errTooMuch
	}
	return nil
}

// spendValue adds the number of values in a value as work, and fails where it is too large.
func (t *templates) spendValue(v reflect.Value) error {
	n, err := sizeOf(v)
	if err != nil {
		return err
	}
	return t.spend(n)
}

// sizeOf counts the values in a value. It fails where there are too many, they are nested too deeply, or a text is too
// long.
func sizeOf(v reflect.Value) (n int, err error) {
	err = measure(v, &n, 0)
	return n, err
}

func measure(v reflect.Value, n *int, depth int) error {
	if *n++; *n > maxValueNodes || depth > MaxDepth {
		return errTooLarge
	}
	switch v.Kind() {
	case reflect.Interface:
		*n--
		return measure(v.Elem(), n, depth+1)
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := errors.Join(measure(each.Key(), n, depth+1), measure(each.Value(), n, depth+1)); err != nil {
				return errTooLarge
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := measure(v.Index(i), n, depth+1); err != nil {
				return err
			}
		}
	case reflect.String:
		if v.Len() > maxValueBytes {
			return errTooLarge
		}
		*n += v.Len() / 256
	}
	return nil
}

// itself is for copies of values.
func itself(v any) any { return v }

// beforeCall checks a call by its arguments. It fails where the result would be too large. It returns the work of
// functions that do more than read each argument once. Arguments of a wrong type are ignored, because the function
// itself reports them.
func beforeCall(name string, args []any) (work int, err error) {
	text := func(i int) string {
		if i < 0 || i >= len(args) {
			return ""
		}
		s, _ := args[i].(string)
		return s
	}
	number := func(i int) float64 {
		if i >= len(args) {
			return 0
		}
		n, _ := args[i].(int)
		return float64(n)
	}
	last := len(args) - 1
	size := 0.0 // bytes of the result

	if after, ok := strings.CutPrefix(name, "must"); ok { // the function without "must" does the same, but panics or ignores errors
		name = strings.ToLower(after[:1]) + after[1:]
	}
	switch name {
	case "repeat":
		size = number(0) * float64(len(text(1)))
	case "indent", "nindent":
		size = float64(len(text(1))) + number(0)*float64(strings.Count(text(1), "\n")+1)
	case "replace":
		size = float64(len(text(2))) + float64(strings.Count(text(2), text(0)))*float64(len(text(1)))
	case "wrap", "wrapWith":
		size = float64(len(text(last))) * float64(1+len(text(1))) / max(1, number(0))
	case "join":
		size = float64(lengthOf(args[last])) * float64(len(text(0)))
	case "until", "untilStep", "seq":
		err = checkRange(args)
	case "uniq":
		work, err = pairs(args[0], lengthOf(args[0]))
	case "without":
		work, err = pairs(args[0], len(args))
	case "add1f", "addf", "subf", "divf", "mulf":
		if len(args) > 64 { // decimals get longer with every operand
			err = errTooLarge
		}
	case "printf":
		err = checkFormat(text(0), args[1:])
	}
	if strings.HasPrefix(name, "regex") && name != "regexQuoteMeta" {
		return regexWork(name, text(0), text(1), text(2))
	}
	if size > maxValueBytes {
		err = errTooLarge
	}
	return work, err
}

func lengthOf(v any) int {
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
		return list.Len()
	}
	return 0
}

// pairs returns the work of comparing each element of a list with n values.
func pairs(list any, n int) (int, error) {
	size, err := sizeOf(reflect.ValueOf(list))
	return size * n / 32, err
}

// checkRange limits the numbers that until, untilStep and seq list. Far from 0, sprig's steps would overflow and never
// end.
func checkRange(args []any) error {
	var n [3]float64
	for i, arg := range args[:min(len(args), 3)] {
		whole, _ := arg.(int)
		if whole > math.MaxInt32 || whole < math.MinInt32 {
			return errTooLarge
		}
		n[i] = float64(whole)
	}
	count := math.Abs(n[0])
	switch len(args) {
	case 2:
		count = math.Abs(n[1] - n[0])
	case 3: // the step is the second argument of seq, and the third of untilStep
		count = max(math.Abs(n[2]-n[0])/max(1, math.Abs(n[1])), math.Abs(n[1]-n[0])/max(1, math.Abs(n[2])))
	}
	if count > maxValueNodes {
		return errTooLarge
	}
	return nil
}

// checkFormat limits the result of fmt.Sprintf: the widths and precisions in the format, and how often it can print its
// longest argument.
func checkFormat(format string, args []any) error {
	digits, verbs := 0, strings.Count(format, "%")
	for _, c := range format {
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		if digits > 3 || c == '*' {
			return unknown("printf: the format asks for a width that Lintel does not evaluate")
		}
	}
	for _, arg := range args {
		n, err := sizeOf(reflect.ValueOf(arg))
		if n *= 256; err != nil || verbs > 100 || verbs*n > 256*maxValueBytes {
			return errTooLarge
		}
	}
	return nil
}

// maxProgram limits the size of a regular expression with its repetitions expanded.
const maxProgram = 10_000

// regexWork returns the work of a regular expression on a text: linear, or quadratic if it searches for all matches.
func regexWork(name, pattern, text, by string) (int, error) {
	if len(pattern) > maxPattern {
		return 0, errTooLarge
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, nil // the function itself reports an invalid expression
	}
	size := programSize(re)
	if size > maxProgram {
		return 0, errTooLarge
	}
	work := size * float64(len(text)+1) / 64
	if name != "regexMatch" && name != "regexFind" && unbounded(re) {
		work *= float64(len(text) + 1)
	}
	// A replacement can contain each group several times, and a group matches at most the whole text.
	if strings.HasPrefix(name, "regexReplace") {
		made := float64(len(text)+1) * float64(len(by))
		if name == "regexReplaceAll" {
			made += float64(strings.Count(by, "$")) * float64(len(text))
		}
		if made > 16*maxValueBytes {
			return 0, errTooLarge
		}
	}
	return int(min(work, math.MaxInt32)), nil
}

// unbounded reports whether each search of an expression may read the whole text without a match.
func unbounded(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0 ||
		slices.ContainsFunc(re.Sub, unbounded)
}

func programSize(re *syntax.Regexp) float64 {
	size := 1.0 + float64(len(re.Rune))
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= float64(max(re.Min, re.Max, 1))
	}
	return size
}
