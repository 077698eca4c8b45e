package pattern

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// maxNumber is the longest text taken for a quantity or a duration. The longest int64 with a fraction
// and a suffix is far shorter.
const maxNumber = 64

// ParseQuantity parses a Kubernetes quantity such as 500m, 1.5Gi or 1e3. It returns false for other texts, for texts of
// more than 64 bytes, and for exponents of more than two digits, which would make comparisons arbitrarily expensive.
func ParseQuantity(s string) (resource.Quantity, bool) {
	if !startsNumber(s) {
		return resource.Quantity{}, false
	}
	if i := strings.LastIndexAny(s, "eE"); i >= 0 && i < len(s)-1 && len(strings.TrimLeft(s[i+1:], "+-0")) > 2 {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(s)
	return q, err == nil
}

// ParseDuration parses a Go duration such as 1h30m or -5s, and 0 without a unit. It returns false for other texts and
// for texts of more than 64 bytes.
func ParseDuration(s string) (time.Duration, bool) {
	// This is checked first because the errors of package time allocate, and most values are no durations.
	if !startsNumber(s) {
		return 0, false
	}
	if last := s[len(s)-1]; last != 's' && last != 'm' && last != 'h' && last != '0' {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// startsNumber reports whether a quantity or a duration could be parsed from s.
func startsNumber(s string) bool {
	if s == "" || len(s) > maxNumber {
		return false
	}
	c := s[0]
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+'
}

// durationOf reads a value as a duration. As in Kyverno, null counts as 0. Numbers have no unit, so only 0 is a
// duration.
func durationOf(value any) (time.Duration, bool) {
	switch typed := value.(type) {
	case nil:
		return 0, true
	case int64:
		return 0, typed == 0
	case string:
		return ParseDuration(typed)
	}
	return 0, false
}

// compareQuantity compares a value with the quantity of the operand. Null counts as 0.
func (t *term) compareQuantity(value any) (order int, ok bool) {
	switch typed := value.(type) {
	case nil:
		return -t.quantity.Sign(), true
	case int64:
		q := resource.Quantity{}
		q.Set(typed)
		return q.Cmp(t.quantity), true
	case float64:
		value = strconv.FormatFloat(typed, 'f', 6, 64) // six decimals, as Kyverno compares them
	}
	text, _ := value.(string)
	q, ok := ParseQuantity(text)
	return q.Cmp(t.quantity), ok
}

// rangePattern is two numbers with an optional sign, fraction and unit, and the operator between them.
var rangePattern = sync.OnceValue(func() *regexp.Regexp {
	const end = `([-+]?[0-9]+(?:\.[0-9]+)?[A-Za-z]*)`
	return regexp.MustCompile(`^` + end + `(!?-)` + end + `$`)
})

// SplitRange splits a range "a-b" or "a!-b" into its ends and its operator, "-" or "!-". Each end is a
// number with an optional sign, fraction and unit; anything else is not a range.
func SplitRange(s string) (left, right, op string, ok bool) {
	if m := rangePattern().FindStringSubmatch(s); m != nil {
		return m[1], m[3], m[2], true
	}
	return "", "", "", false
}
