package pattern

import (
	"fmt"
	"testing"
)

func TestScalars(t *testing.T) {
	list := func(v ...any) any { return v }
	m := map[string]any{}
	tests := []struct {
		pattern any
		value   any
		want    bool
	}{
		// bool patterns match bools only
		{true, true, true},
		{true, false, false},
		{false, false, true},
		{true, "true", false},
		{false, nil, false},
		{true, int64(1), false},
		// whole numbers
		{int64(7), int64(7), true},
		{7, int64(7), true},
		{int64(7), int64(8), false},
		{int64(7), 7.0, true},
		{int64(7), 7.1, false},
		{int64(7), "7", true},
		{int64(7), "7.0", true},
		{int64(7), "seven", false},
		{int64(7), nil, false},
		{int64(0), nil, false},
		{int64(0), false, false},
		{int64(-3), "-3", true},
		{int64(7), m, false},
		// floats
		{7.5, 7.5, true},
		{7.5, 7.51, false},
		{7.0, int64(7), true},
		{7.5, int64(7), false},
		{7.5, "7.5", true},
		{7.5, "7.50", true},
		{7.5, "x", false},
		{7.5, true, false},
		{7.5, nil, false},
		// null: absent or zero
		{nil, nil, true},
		{nil, "", true},
		{nil, "x", false},
		{nil, int64(0), true},
		{nil, int64(1), false},
		{nil, 0.0, true},
		{nil, 0.5, false},
		{nil, false, true},
		{nil, true, false},
		{nil, m, false},
		{nil, list(), true},
		{nil, list("", nil, int64(0)), true},
		{nil, list("", "x"), false},
		// the empty string: not defined or no value
		{"", nil, false}, // unlike the pattern null
		{"", "", true},
		{"", "x", false},
		{"", int64(0), false},
		{"", false, false},
		{"", m, false},
		// text
		{"abc", "abc", true},
		{"abc", "abcd", false},
		{"abc", "ABC", false},
		{"abc", nil, false},
		{"abc", m, false},
		{" abc ", "abc", true},
		{" abc ", " abc ", true},
		{"abc", " abc", false},
		{"null", nil, false},
		{"null", "null", true},
		// text against bools and numbers
		{"true", true, true},
		{"false", false, true},
		{"false", true, false},
		{"!true", false, true},
		{"!true", true, false},
		{"t*", true, true},
		{"true | false", false, true},
		{"5", int64(5), true},
		{"5", int64(6), false},
		{"5", 5.0, true},
		{"5", 5.5, false},
		{"0", nil, true},
		{"1", nil, false},
		{"5", true, false},
		{"1?", int64(15), true},
		{"1?", int64(25), false},
		{"*", int64(25), true},
		{"*", false, true},
		{"*", nil, false},
		{"*", "", true},
		{"*", m, false},
		{"?*", "", false},
		{"?*", "x", true},
		{"?*", nil, false},
		{"?", "x", true},
		{"?", "xy", false},
		// wildcards
		{"*:latest", "nginx:latest", true},
		{"*:latest", "nginx:1", false},
		{"nginx:*", "nginx:", true},
		{"reg.io/*/app:?.?", "reg.io/team/app:1.2", true},
		{"reg.io/*/app:?.?", "reg.io/team/app:1.20", false},
		{"reg.io/*", "regxio/app", false},
		{`\*`, "*", false},
		{`\*`, `\x`, true},
		// not
		{"!abc", "abc", false},
		{"!abc", "abd", true},
		{"! abc", "abd", true},
		{"!*:latest", "nginx:1.2", true},
		{"!*:latest", "nginx:latest", false},
		{"!abc", nil, false},
		{"!abc", m, false},
		{"!5", int64(6), true},
		{"!5", int64(5), false},
		{"!5", nil, true},
		{"!0", nil, false},
		{"!", "!", true},
		{"!", "x", false},
		{"!!", "!", false},
		{"!?*", "", true},
		{"!?*", "x", false},
		// order of numbers
		{">5", int64(6), true},
		{">5", int64(5), false},
		{"> 5", int64(6), true},
		{">=5", int64(5), true},
		{">=5", int64(4), false},
		{"<5", int64(4), true},
		{"<5", int64(5), false},
		{"<=5", int64(5), true},
		{"<=5", int64(6), false},
		{"<=5", 5.0, true},
		{"<5", 4.999, true},
		{">5", 5.001, true},
		{">5", 5.0000001, false}, // six decimals count
		{">5", "6", true},
		{">5", "4", false},
		{">-5", int64(-4), true},
		{"<-5", int64(-6), true},
		{"<5", nil, true},
		{">5", nil, false},
		{">=0", nil, true},
		{">0", nil, false},
		{"<=-1", nil, false},
		{">5", true, false},
		{"<5", true, false},
		{">5", m, false},
		{">", ">", true},
		{">", int64(1), false},
		{">=", ">=", true},
		{">=", "5", false},
		// text has no order
		{">a", "b", false},
		{"<b", "a", false},
		{">=a", "a", false},
		{">=a", ">=a", true},
		// quantities
		{"1Gi", "1024Mi", true},
		{"1G", "1Gi", false},
		{"0.5", "500m", true},
		{"!1Gi", "1024Mi", false},
		{"<=1Gi", "512Mi", true},
		{"<=1Gi", "2Gi", false},
		{">1Gi", "2Gi", true},
		{">=1", "1000m", true},
		{"<1", "500m", true},
		{"<1", "1500m", false},
		{"<100m", nil, true},
		{">1k", int64(1001), true},
		{">1Ki", int64(1001), false},
		{"<4Gi & >1Gi", "2Gi", true},
		{"<4Gi & >1Gi", "1Gi", false},
		{"1e3", int64(1000), true},
		{"1E3", "1k", true},
		{"<1e99", int64(5), true},
		{"<1e999", int64(5), false}, // beyond the limit: no quantity
		{"512Mi", "512mi", false},
		// durations
		{"1h", "60m", true},
		{"1h", "61m", false},
		{"!1h", "60m", false},
		{">30s", "1m", true},
		{">30s", "29s", false},
		{"<=1h30m", "90m", true},
		{"<10s", int64(0), true},
		{"<10s", nil, true},
		{"<10s", int64(5), false}, // no unit, no duration
		{"<10s", "5", false},
		{">-1s", "0", true},
		{"<1m", "-1h", true},
		{">5m", "6m", true},
		{">5m", "6", true}, // 5m as a quantity is 0.005
		{"1d", "24h", false},
		// or, and
		{"a|b", "b", true},
		{"a|b", "c", false},
		{"a | b", "b", true},
		{"a|b", "a|b", true},
		{"1|3", int64(3), true},
		{"a&b", "a", false},
		{"a* & *z", "abcz", true},
		{"a* & *z", "abc", false},
		{"!a & !b", "c", true},
		{"!a & !b", "b", false},
		{">1 & <5 | 9", int64(9), true},
		{">1 & <5 | 9", int64(3), true},
		{">1 & <5 | 9", int64(7), false},
		{"<2 | >8", int64(9), true},
		{"", "|", false},
		{"|", "", true},
		{"a|", "", true},
		{"!a | !b", "a", true},
		{"?* | ", nil, false},
		// ranges
		{"1-10", int64(1), true},
		{"1-10", int64(10), true},
		{"1-10", int64(0), false},
		{"1-10", int64(11), false},
		{"1-10", 5.5, true},
		{"1-10", "5", true},
		{"1-10", "x", false},
		{"1-10", nil, false},
		{"0-10", nil, true},
		{"1!-10", int64(0), true},
		{"1!-10", int64(1), false},
		{"1!-10", int64(5), false},
		{"1!-10", int64(11), true},
		{"1!-10", nil, true},
		{"1!-10", "x", false},
		{"5-5", int64(5), true},
		{"10-1", int64(5), false},
		{"-10-8", int64(-9), true},
		{"-10--8", int64(-9), true},
		{"-10--8", int64(9), false},
		{"-10!--8", int64(-9), false},
		{"-10!--8", int64(-7), true},
		{"+1-+3", int64(2), true},
		{"0.5-1.5", int64(1), true},
		{"0.5-1.5", 1.6, false},
		{"128Mi-512Mi", "256Mi", true},
		{"128Mi-512Mi", "1Gi", false},
		{"128Mi!-512Mi", "1Gi", true},
		{"1h-3h", "120m", true},
		{"1h-3h", "4h", false},
		{"1h!-3h", "30m", true},
		{"10s-1m | 1h", "60m", true},
		{"1 - 10", int64(5), false}, // blanks make it text
		{"1-10-20", int64(5), false},
		{"1-10-20", "1-10-20", true},
		{"1-10", "1-10", true},
		{"a-z", "m", false},
		{"a-z", "a-z", true},
		{"1.-2", int64(1), false},
		{"-", "-", true},
		{"1-", "1-", true},
		{"1!-", "1!-", true},
		// lists: every element
		{"a*", list("ab", "ac"), true},
		{"a*", list("ab", "b"), false},
		{"a*", list(), true},
		{">1", list(int64(2), int64(3)), true},
		{true, list(true, true), true},
		{true, list(true, false), false},
		{"a", list(list("a")), false},
		{"!a", list("b", "c"), true},
		{"!a", list("b", "a"), false},
		// no leaves
		{m, m, true},
		{m, map[string]any{"a": "b"}, true},
		{m, "x", false},
		{m, nil, false},
		{list("a"), "a", false},
		{uint8(1), int64(1), false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%#v/%#v", tt.pattern, tt.value), func(t *testing.T) {
			if got := matches(tt.value, tt.pattern); got != tt.want {
				t.Errorf("%#v matches %#v: %v, want %v", tt.value, tt.pattern, got, tt.want)
			}
		})
	}
	if len(tests) < 200 {
		t.Errorf("%d rows", len(tests))
	}
}

func TestWildcard(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"*", "", true}, {"**", "", true}, {"?", "", false},
		{"*", "anything/at:all", true}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*c", "abbbc", true}, {"a*c", "abcb", false}, {"a*b*c", "aXbYc", true}, {"a*b*c", "acb", false},
		{"*ab", "aab", true}, {"*aab*", "xaaabx", true}, {"?a", "ba", true}, {"?a", "a", false}, {"??", "a", false},
		{"??", "ab", true}, {"*?", "", false}, {"*?", "a", true}, {"?*", "ab", true}, {"*??", "a", false},
		{"a?c", "abc", true}, {"a?c", "a/c", true}, {"?", "é", true}, {"??", "é", false}, {"*é", "café", true},
		{"a.c", "abc", false}, {"a[bc]", "ab", false}, {"a[bc]", "a[bc]", true}, {`a\*`, "a*", false}, {`a\*`, `a\b`, true},
		{"da*da*da*", "daaadabadmanda", true}, {"?a*da*d?*", "daaadabadmanda", true}, {"*", "\xff", true},
		{"?", "\xff", true},
	}
	for _, tt := range tests {
		if got := Wildcard(tt.pattern, tt.s); got != tt.want {
			t.Errorf("Wildcard(%q, %q) = %v, want %v", tt.pattern, tt.s, got, tt.want)
		}
	}
}

func TestSplitRange(t *testing.T) {
	tests := []struct{ in, left, right, op string }{
		{"1-2", "1", "2", "-"}, {"1!-2", "1", "2", "!-"}, {"-1--2", "-1", "-2", "-"}, {"+1!-+2", "+1", "+2", "!-"},
		{"1.5Gi-2Ti", "1.5Gi", "2Ti", "-"}, {"1h-2h", "1h", "2h", "-"},
		{"", "", "", ""}, {"1", "", "", ""}, {"-1", "", "", ""}, {"1-", "", "", ""}, {"-", "", "", ""}, {"a-b", "", "", ""},
		{"1-b", "", "", ""}, {"1h30m-2h", "", "", ""}, {"1-2-3", "", "", ""}, {"1.-2", "", "", ""}, {"1 -2", "", "", ""},
		{"1!2", "", "", ""},
		{"2024-01-02", "", "", ""}, {"nginx-1", "", "", ""},
	}
	for _, tt := range tests {
		left, right, op, ok := SplitRange(tt.in)
		if left != tt.left || right != tt.right || op != tt.op || ok != (tt.op != "") {
			t.Errorf("SplitRange(%q) = %q, %q, %q, %v", tt.in, left, right, op, ok)
		}
	}
}
