package jmespath

import (
	"math"

	"github.com/jmespath-community/go-jmespath/pkg/parsing"
)

// operations are the arithmetic operators of the community's dialect.
var operations = map[parsing.TokType]byte{
	parsing.TOKPlus: '+', parsing.TOKMinus: '-', parsing.TOKMultiply: '*', parsing.TOKStar: '*',
	parsing.TOKDivide: '/', parsing.TOKModulo: '%', parsing.TOKDiv: 'd',
}

// arithmetic evaluates an arithmetic operator, whose operands are numbers. Whole results are whole numbers.
func (m *machine) arithmetic(n *node, v any) (any, error) {
	operands := make([]float64, len(n.kids))
	for i, kid := range n.kids {
		value, err := m.eval(kid, v)
		if err != nil {
			return nil, err
		}
		x, ok := asNumber(value)
		if !ok {
			return nil, &FunctionError{Function: operatorName(n.arithmetic), Message: "the operand is not a number"}
		}
		operands[i] = x.float()
	}
	if len(operands) == 1 {
		if n.arithmetic == '-' {
			operands[0] = -operands[0]
		}
		return wholeIfExact(operands[0]), nil
	}
	a, b := operands[0], operands[1]
	if b == 0 && (n.arithmetic == '/' || n.arithmetic == 'd' || n.arithmetic == '%') {
		return nil, &FunctionError{Function: operatorName(n.arithmetic), Message: "division by zero"}
	}
	switch n.arithmetic {
	case '+':
		a += b
	case '-':
		a -= b
	case '*':
		a *= b
	case '/':
		a /= b
	case 'd':
		a = math.Floor(a / b)
	case '%':
		a = math.Mod(a, b)
	}
	return wholeIfExact(a), nil
}

func operatorName(c byte) string {
	if c == 'd' {
		return "//"
	}
	return string(rune(c))
}
