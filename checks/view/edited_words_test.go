package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// marked writes spans with differing parts in brackets.
func marked(list []WordSpan) string {
	var b strings.Builder
	for _, s := range list {
		if s.Differs {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestWordsOf(t *testing.T) {
	for _, tc := range []struct{ was, now, a, b string }{
		{"", "", "", ""},
		{"same", "same", "same", "same"},
		{"", "new", "", "[new]"},
		{"replicas: 1", "replicas: 2", "replicas: [1]", "replicas: [2]"},
		{"image: acme/web:1.2.3", "image: acme/web:1.3.4", "image: acme/web:[1.2.3]", "image: acme/web:[1.3.4]"},
		{"a.b-c.d", "a.x-y.d", "a.[b-c].d", "a.[x-y].d"},
		{"  - --level=info", "  - --level=debug", "  - --level=[info]", "  - --level=[debug]"},
		{"a b c d", "a x c d", "a [b] c d", "a [x] c d"},
		{"one two three four", "one zwei three vier", "one [two] three [four]", "one [zwei] three [vier]"},
		{"sha256:3f1a9", "sha256:77b0c", "sha256:[3f1a9]", "sha256:[77b0c]"},
		{"x: aa-1-bb-2-cc", "x: dd-1-ee-2-ff", "x: [aa-1-bb-2-cc]", "x: [dd-1-ee-2-ff]"},
		{"x: yes", "x: \"yes\"", "x: yes", "x: [\"]yes[\"]"},
		{"größer", "größte", "[größer]", "[größte]"},
		{"a\xffb", "a\xffc", "a\xff[b]", "a\xff[c]"},
	} {
		a, b := WordsOf(tc.was, tc.now)
		if marked(a) != tc.a || marked(b) != tc.b {
			t.Errorf("%q, %q: %q, %q", tc.was, tc.now, marked(a), marked(b))
		}
	}
}

// The spans of a text together are the text, and equal spans are the same in both.
func TestSpansAreTheText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "bb", "ccc", " ", "  ", ".", ":", "-", "é", "\u0301", "日本", "\xff", "\x00", "1", "22"}
	check := func(was, now string) {
		t.Helper()
		a, b := WordsOf(was, now)
		texts := func(list []WordSpan) (all, same string) {
			for _, s := range list {
				if all += s.Text; !s.Differs {
					same += s.Text
				}
			}
			return all, same
		}
		old, kept := texts(a)
		new, stays := texts(b)
		if old != was || new != now || kept != stays {
			t.Fatalf("%q, %q: %q, %q", was, now, marked(a), marked(b))
		}
	}
	for range 20_000 {
		text := func() (s string) {
			for range r.IntN(12) {
				s += parts[r.IntN(len(parts))]
			}
			return s
		}
		check(text(), text())
	}
	long := strings.Repeat("日本 ", 4000)
	check(long+"日x"+long, long+"本x"+long)
	check(long, long+"x")
	check(long, strings.Repeat("x ", 9000))
}

// Comparing texts of any length takes a bounded time. Without the bound, that of the long ones is quadratic.
func TestWordsOfIsBounded(t *testing.T) {
	var was, now strings.Builder
	for i := range 200_000 {
		fmt.Fprint(&was, i, " ")
		fmt.Fprint(&now, i*7, " ")
	}
	for _, n := range []int{maxBytes, was.Len()} {
		start := time.Now()
		WordsOf(was.String()[:n], now.String()[:n])
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%d bytes took %s", n, d)
		}
	}
}

func TestLinePairs(t *testing.T) {
	for name, tc := range map[string]struct {
		lines []string
		want  []int
	}{
		"one":             {[]string{" a:", "-  b: 1", "+  b: 2", " c: 3"}, []int{-1, 2, 1, -1}},
		"another key":     {[]string{"-b: 1", "+c: 1"}, []int{-1, -1}},
		"several":         {[]string{"-a: 1", "-b: 1", "-c: 1", "+a: 2", "+c: 2"}, []int{3, -1, 4, 0, 2}},
		"moved words":     {[]string{"-allow from here to there", "+from there, allow to here"}, []int{1, 0}},
		"longer":          {[]string{"-- list", "+- list of all that there is"}, []int{-1, -1}},
		"text":            {[]string{"-  level is info now", "+  level is debug now"}, []int{1, 0}},
		"another text":    {[]string{"-- a", "+- b"}, []int{-1, -1}},
		"added":           {[]string{"+a: 1", "+b: 1"}, []int{-1, -1}},
		"added before":    {[]string{"+a: 1", "-a: 1"}, []int{-1, -1}},
		"with one beyond": {[]string{"-a: 1", " x: 1", "+a: 2"}, []int{-1, -1, -1}},
		"none":            {nil, []int{}},
	} {
		got := LinePairs(len(tc.lines), func(i int) (sign, text string) { return tc.lines[i][:1], tc.lines[i][1:] })
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// Pairing any number of lines of any length takes a bounded time.
func TestLinePairsIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, alphabet := range []string{"a ", "+/- .,", "abcdefghijklmnopqrstuvwxyz+/"} {
		lines := make([]string, 400)
		for i := range lines {
			text := make([]byte, maxBytes)
			for k := range text {
				text[k] = alphabet[r.IntN(len(alphabet))]
			}
			lines[i] = string(text)
		}
		start := time.Now()
		pairs := LinePairs(len(lines), func(i int) (sign, text string) { return "-+"[i/200 : i/200+1], lines[i] })
		for i, k := range pairs {
			if k > i {
				WordsOf(lines[i], lines[k])
			}
		}
		if d := time.Since(start); d > 10*time.Second { // it takes far less, also on a busy machine
			t.Errorf("%d lines of %q took %s", len(lines), alphabet, d)
		}
	}
}
