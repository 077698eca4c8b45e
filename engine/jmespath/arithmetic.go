package jmespath

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
)

// numberFunctions are Kyverno's arithmetic: a number in backticks is a scalar, a string is a quantity or else a
// duration, and the two sides must fit (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/#add).
func numberFunctions() []function {
	two := []kind{kindAny, kindAny}
	return []function{
		{name: "add", params: two, run: operate(add)},
		{name: "subtract", params: two, run: operate(subtract)},
		{name: "multiply", params: two, run: operate(multiply)},
		{name: "divide", params: two, run: operate(divide)},
		{name: "modulo", params: two, run: operate(modulo)},
		{name: "sum", params: []kind{kindArray}, run: sum},
		{name: "round", params: []kind{kindNumber, kindNumber}, run: round},
	}
}

// operand is one side of an operation: exactly one of the three is set.
type operand struct {
	scalar   *number
	quantity *resource.Quantity
	duration *time.Duration
}

// maxOperand bounds a quantity as text: longer ones, and large exponents, make big numbers of any size.
const maxOperand = 64

func parseOperand(v any) (operand, bool) {
	if n, ok := asNumber(v); ok {
		return operand{scalar: &n}, true
	}
	s, ok := v.(string)
	if !ok || len(s) > maxOperand {
		return operand{}, false
	}
	if q, ok := parseQuantity(s); ok {
		return operand{quantity: &q}, true
	}
	if d, err := time.ParseDuration(s); err == nil {
		return operand{duration: &d}, true
	}
	return operand{}, false
}

// parseQuantity reads a quantity whose exponent has at most two digits.
func parseQuantity(s string) (resource.Quantity, bool) {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if len(strings.TrimLeft(s[i+1:], "+-0")) > 2 {
			return resource.Quantity{}, false
		}
	}
	q, err := resource.ParseQuantity(s)
	return q, err == nil
}

// operation computes; ok is false where the types of the two sides do not fit.
type operation func(c *call, a, b operand) (result any, ok bool, err error)

func operate(do operation) func(*call) (any, error) {
	return func(c *call) (any, error) { return c.apply(do, c.args[0], c.args[1]) }
}

func (c *call) apply(do operation, x, y any) (any, error) {
	a, okA := parseOperand(x)
	b, okB := parseOperand(y)
	if !okA || !okB {
		return nil, c.fail("invalid operands")
	}
	result, ok, err := do(c, a, b)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, c.fail("types mismatch")
	}
	return result, nil
}

func sum(c *call) (any, error) {
	list := c.list(0)
	if len(list) == 0 {
		return nil, c.fail("at least one element in the array is required")
	}
	total := list[0]
	for _, v := range list[1:] {
		if err := c.tick(); err != nil {
			return nil, err
		}
		var err error
		if total, err = c.apply(add, total, v); err != nil {
			return nil, err
		}
	}
	return total, nil
}

var (
	add = summing(func(x, y int64) int64 { return x + y }, func(x, y float64) float64 { return x + y },
		(*resource.Quantity).Add)
	subtract = summing(func(x, y int64) int64 { return x - y }, func(x, y float64) float64 { return x - y },
		(*resource.Quantity).Sub)
)

// summing is an operation on two sides of the same type, given for whole numbers, other numbers and quantities.
func summing(whole func(x, y int64) int64, float func(x, y float64) float64,
	quantity func(*resource.Quantity, resource.Quantity)) operation {
	return func(_ *call, a, b operand) (any, bool, error) {
		switch {
		case a.scalar != nil && b.scalar != nil:
			x, y := *a.scalar, *b.scalar
			exact, about := whole(x.i, y.i), float(x.float(), y.float())
			if x.whole && y.whole && math.Abs(float64(exact)-about) < 1<<62 { // else it does not fit into 64 bits
				return exact, true, nil
			}
			return about, true, nil
		case a.quantity != nil && b.quantity != nil:
			q := a.quantity.DeepCopy()
			quantity(&q, *b.quantity)
			return q.String(), true, nil
		case a.duration != nil && b.duration != nil:
			return time.Duration(whole(int64(*a.duration), int64(*b.duration))).String(), true, nil
		}
		return nil, false, nil
	}
}

func multiply(c *call, a, b operand) (any, bool, error) {
	if a.scalar == nil {
		a, b = b, a
	}
	switch {
	case a.scalar == nil:
		return nil, false, nil
	case b.scalar != nil:
		return multiplyScalars(*a.scalar, *b.scalar), true, nil
	case b.quantity != nil:
		factor, ok := scalarDec(*a.scalar)
		if !ok {
			return nil, false, c.fail("invalid operands")
		}
		var product inf.Dec
		product.Mul(b.quantity.AsDec(), factor)
		return resource.NewDecimalQuantity(product, b.quantity.Format).String(), true, nil
	default:
		return seconds(b.duration.Seconds() * a.scalar.float()), true, nil
	}
}

func multiplyScalars(x, y number) any {
	if x.whole && y.whole {
		if high, low := bits.Mul64(magnitude(x.i), magnitude(y.i)); high == 0 && low <= math.MaxInt64 {
			return x.i * y.i
		}
	}
	return x.float() * y.float()
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}

func divide(c *call, a, b operand) (any, bool, error) {
	zero := c.fail("divisor must be non-zero")
	if b.scalar != nil && b.scalar.float() == 0 {
		return nil, false, zero
	}
	switch {
	case a.scalar != nil && b.scalar != nil:
		return wholeIfExact(a.scalar.float() / b.scalar.float()), true, nil
	case a.quantity != nil && b.quantity != nil:
		divisor := b.quantity.AsApproximateFloat64()
		if divisor == 0 {
			return nil, false, zero
		}
		return wholeIfExact(a.quantity.AsApproximateFloat64() / divisor), true, nil
	case a.duration != nil && b.duration != nil:
		if *b.duration == 0 {
			return nil, false, zero
		}
		return wholeIfExact(a.duration.Seconds() / b.duration.Seconds()), true, nil
	case a.quantity != nil && b.scalar != nil:
		divisor, ok := scalarDec(*b.scalar)
		if !ok {
			return nil, false, c.fail("invalid operands")
		}
		dividend := a.quantity.AsDec()
		var quotient inf.Dec
		quotient.QuoRound(dividend, divisor, max(dividend.Scale(), divisor.Scale()), inf.RoundDown)
		return resource.NewDecimalQuantity(quotient, a.quantity.Format).String(), true, nil
	case a.duration != nil && b.scalar != nil:
		return seconds(a.duration.Seconds() / b.scalar.float()), true, nil
	}
	return nil, false, nil
}

func modulo(c *call, a, b operand) (any, bool, error) {
	switch {
	case a.scalar != nil && b.scalar != nil:
		x, okX := wholeOf(a.scalar.any())
		y, okY := wholeOf(b.scalar.any())
		r, err := remainder(c, x, y, okX && okY)
		return r, true, err
	case a.quantity != nil && b.quantity != nil:
		x, okX := wholeOf(a.quantity.AsApproximateFloat64())
		y, okY := wholeOf(b.quantity.AsApproximateFloat64())
		r, err := remainder(c, x, y, okX && okY)
		if err != nil {
			return nil, false, err
		}
		return resource.NewQuantity(r, a.quantity.Format).String(), true, nil
	case a.duration != nil && b.duration != nil:
		r, err := remainder(c, int64(*a.duration), int64(*b.duration), true)
		return time.Duration(r).String(), true, err
	}
	return nil, false, nil
}

func remainder(c *call, x, y int64, whole bool) (int64, error) {
	switch {
	case !whole:
		return 0, c.fail("arguments must be whole numbers")
	case y == 0:
		return 0, c.fail("divisor must be non-zero")
	case y == -1:
		return 0, nil
	}
	return x % y, nil
}

// wholeOf is a number as int64 where it is whole and fits.
func wholeOf(v any) (int64, bool) {
	n, _ := asNumber(v)
	if n.whole {
		return n.i, true
	}
	if n.f != math.Trunc(n.f) || math.Abs(n.f) >= math.MaxInt64 {
		return 0, false
	}
	return int64(n.f), true
}

// scalarDec is a number as a decimal.
func scalarDec(n number) (*inf.Dec, bool) {
	text := formatNumber(n)
	if !n.whole {
		text = strconv.FormatFloat(n.f, 'g', -1, 64)
	}
	q, ok := parseQuantity(text)
	return q.AsDec(), ok
}

// seconds is a duration as Go writes it.
func seconds(s float64) string { return time.Duration(s * float64(time.Second)).String() }

// round rounds half away from zero.
func round(c *call) (any, error) {
	places, ok := c.num(1).toInt()
	if !ok {
		return nil, c.fail("argument #2 is not a whole number")
	}
	if places < 0 {
		return nil, c.fail("argument #2 is negative")
	}
	n := c.num(0)
	shift := math.Pow(10, float64(places))
	shifted := n.float() * shift
	if n.whole || math.IsInf(shift, 0) || math.IsInf(shifted, 0) {
		return n.any(), nil // more places than the number has
	}
	return wholeIfExact(math.Round(shifted) / shift), nil
}
