package pattern

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Scalar is a compiled leaf of a pattern: a bool, a number, null, or a string with operators and
// wildcards (https://kyverno.io/docs/policy-types/cluster-policy/validate/#operators). It is immutable and safe for
// concurrent use.
type Scalar struct {
	raw any
	// one alternative has to match, with all of its terms; strings only
	alternatives [][]term
}

// CompileScalar compiles a leaf: nil, bool, int, int64, float64 or string, where every string is a pattern. It returns
// false for other types.
func CompileScalar(pattern any) (*Scalar, bool) {
	switch typed := pattern.(type) {
	case nil, bool, int64, float64:
		return &Scalar{raw: typed}, true
	case int:
		return &Scalar{raw: int64(typed)}, true
	case string:
		s := &Scalar{raw: typed}
		for either := range strings.SplitSeq(typed, "|") {
			var all []term
			for each := range strings.SplitSeq(strings.Trim(either, " "), "&") {
				all = append(all, compileTerm(strings.Trim(each, " ")))
			}
			s.alternatives = append(s.alternatives, all)
		}
		return s, true
	}
	return nil, false
}

// Matches compares a value with the leaf. A list matches when all its elements do.
func (s *Scalar) Matches(value any) bool {
	if list, ok := value.([]any); ok {
		return !slices.ContainsFunc(list, func(element any) bool { return !s.matchOne(element) })
	}
	return s.matchOne(value)
}

func (s *Scalar) matchOne(value any) bool {
	switch typed := s.raw.(type) {
	case nil:
		return isEmpty(value)
	case bool:
		b, ok := value.(bool)
		return ok && b == typed
	case int64:
		return equalsInt(value, typed)
	case float64:
		return equalsFloat(value, typed)
	case string:
		return s.matchString(value, typed)
	}
	return false
}

// isEmpty matches the pattern null: the field is missing or has the zero value of its type. Maps and lists are never
// empty in this sense.
func isEmpty(value any) bool {
	switch typed := value.(type) {
	case nil:
		return true
	case float64:
		return typed == 0
	case int64:
		return typed == 0
	case string:
		return typed == ""
	case bool:
		return !typed
	}
	return false
}

// equalsInt compares with a whole number, which is a float in Kyverno like all numbers of a pattern.
func equalsInt(value any, want int64) bool {
	if got, ok := value.(int64); ok {
		return got == int64(float64(want))
	}
	return equalsFloat(value, float64(want))
}

func equalsFloat(value any, want float64) bool {
	switch typed := value.(type) {
	case int64:
		return float64(typed) == want
	case float64:
		return typed == want
	case string:
		got, err := strconv.ParseFloat(typed, 64)
		return err == nil && got == want
	}
	return false
}

func (s *Scalar) matchString(value any, pattern string) bool {
	if text, ok := value.(string); ok && text == pattern {
		return true
	}
	return slices.ContainsFunc(s.alternatives, func(all []term) bool { return matchAll(all, value) })
}

func matchAll(terms []term, value any) bool {
	return !slices.ContainsFunc(terms, func(t term) bool { return !t.match(value) })
}

// operator compares a value with an operand.
type operator byte

const (
	equal operator = iota
	notEqual
	more
	less
	moreEqual
	lessEqual
	within  // a-b, both ends included
	outside // a!-b, both ends excluded
)

// term is one comparison of a string pattern.
type term struct {
	op      operator
	operand string
	wild    bool

	isDuration bool
	duration   time.Duration
	isQuantity bool
	quantity   resource.Quantity

	ends *[2]term // of a range
}

func compileTerm(text string) term {
	if left, right, op, ok := SplitRange(text); ok {
		ends := [2]term{compileOperand(moreEqual, left), compileOperand(lessEqual, right)}
		if op == "!-" {
			ends = [2]term{compileOperand(less, left), compileOperand(more, right)}
			return term{op: outside, operand: text, ends: &ends}
		}
		return term{op: within, operand: text, ends: &ends}
	}
	op, operand := splitOperator(text)
	return compileOperand(op, operand)
}

// splitOperator splits the operator off a term. A single character is never an operator.
func splitOperator(text string) (operator, string) {
	if len(text) < 2 {
		return equal, text
	}
	for _, o := range []struct {
		sign string
		op   operator
	}{{">=", moreEqual}, {"<=", lessEqual}, {">", more}, {"<", less}, {"!", notEqual}} {
		if operand, ok := strings.CutPrefix(text, o.sign); ok {
			return o.op, operand
		}
	}
	return equal, text
}

func compileOperand(op operator, operand string) term {
	operand = strings.TrimSpace(operand)
	t := term{op: op, operand: operand, wild: HasWildcard(operand)}
	t.duration, t.isDuration = ParseDuration(operand)
	t.quantity, t.isQuantity = ParseQuantity(operand)
	return t
}

// match compares as durations if both sides are durations, otherwise as quantities if both are, otherwise as text,
// which has no order.
func (t *term) match(value any) bool {
	switch t.op {
	case within:
		return t.ends[0].match(value) && t.ends[1].match(value)
	case outside:
		return t.ends[0].match(value) || t.ends[1].match(value)
	}
	if t.isDuration {
		if d, ok := durationOf(value); ok {
			return t.holds(cmp.Compare(d, t.duration))
		}
	}
	if t.isQuantity {
		if order, ok := t.compareQuantity(value); ok {
			return t.holds(order)
		}
	}
	return t.matchText(value)
}

// holds reports whether the operator accepts the order of value and operand.
func (t *term) holds(order int) bool {
	switch t.op {
	case equal:
		return order == 0
	case notEqual:
		return order != 0
	case more:
		return order > 0
	case less:
		return order < 0
	case moreEqual:
		return order >= 0
	case lessEqual:
		return order <= 0
	}
	return false
}

func (t *term) matchText(value any) bool {
	if t.op != equal && t.op != notEqual {
		return false
	}
	var text string
	switch typed := value.(type) {
	case string:
		text = typed
	case bool:
		text = strconv.FormatBool(typed)
	case int64:
		text = strconv.FormatInt(typed, 10)
	case float64:
		text = strconv.FormatFloat(typed, 'E', -1, 64)
	default:
		return false // null, maps and lists equal no text, and do not differ from one either
	}
	matches := text == t.operand || t.wild && Wildcard(t.operand, text)
	return matches == (t.op == equal)
}
