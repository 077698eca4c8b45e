package condition

import (
	"strings"

	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/variable"
)

// Explain returns for each condition whether it is met, with the values of both sides. The variables were loaded when
// the set was evaluated.
func (s *Set) Explain(sc *variable.Scope, part explain.Part) (out []explain.Step) {
	for _, c := range s.conditions() {
		out = append(out, c.explain(sc, part))
	}
	return out
}

func (c *condition) explain(sc *variable.Scope, part explain.Part) explain.Step {
	step := explain.Step{Part: part, At: placeIn(c.at), Words: strings.TrimSpace(c.source + " " + c.name)}
	key, t, err := c.operands(sc)
	if err != nil {
		step.Err = err
		return step
	}
	step.Holds = t(key)
	step.Values = []explain.Value{{Name: "key", Value: key}}
	if value, err := c.value.Resolve(sc); err == nil {
		step.Values = append(step.Values, explain.Value{Name: "value", Value: value})
	}
	return step
}

// placeIn returns the end of a pointer, from the list that contains a condition: "/any/0".
func placeIn(pointer string) string {
	for _, list := range []string{"/any/", "/all/"} {
		if i := strings.LastIndex(pointer, list); i >= 0 {
			return pointer[i:]
		}
	}
	return pointer[strings.LastIndexByte(pointer, '/'):]
}
