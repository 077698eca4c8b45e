package pattern

import (
	"strings"

	"github.com/lintel-bot/lintel/engine/explain"
)

// anchor is the kind of an anchor (https://kyverno.io/docs/policy-types/cluster-policy/validate/#anchors).
type anchor byte

const (
	anchorNone        anchor = 0
	anchorConditional anchor = '('
	anchorGlobal      anchor = '<'
	anchorEquality    anchor = '='
	anchorExistence   anchor = '^'
	anchorNegation    anchor = 'X'
	anchorAdd         anchor = '+'
)

// parseKey splits the key of a pattern into its anchor and the name of the field. It returns a text if the key looks
// like an anchor but is none: such a key would be compared literally and never match.
func parseKey(raw string) (kind anchor, name, problem string) {
	key := strings.TrimSpace(raw)
	open := strings.IndexByte(key, '(')
	if open < 0 || open > 1 {
		return anchorNone, raw, ""
	}
	kind = anchorConditional
	if open == 1 {
		switch c := anchor(key[0]); c {
		case anchorGlobal, anchorEquality, anchorExistence, anchorNegation, anchorAdd:
			kind = c
		default:
			if isWordByte(key[0]) {
				return anchorNone, raw, ""
			}
			return anchorNone, raw, "unknown anchor " + Quote(key) + ": validation patterns have (), =(), ^(), X() and <()"
		}
	}
	if !strings.HasSuffix(key, ")") {
		return anchorNone, raw, "malformed anchor " + Quote(key) + ": the closing parenthesis is missing"
	}
	name = key[open+1 : len(key)-1]
	if name == "" || strings.ContainsRune(name, '\n') {
		return anchorNone, raw, "malformed anchor " + Quote(key) + ": it names no field"
	}
	if kind == anchorAdd {
		return anchorNone, raw, "the anchor " + Quote(key) + " is for mutation only"
	}
	return kind, name, ""
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// Quote returns a token of a policy for a message, shortened for people to read.
func Quote(token string) string { return "`" + explain.Clip(token, 80) + "`" }
