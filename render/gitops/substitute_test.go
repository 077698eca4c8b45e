package gitops

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/envsubst"
)

var substituted = map[string]Value{
	"a": {Text: "Hello World"}, "b": {Text: "foo/bar.foo"}, "e": {}, "n": {Text: "4"}, "m": {Text: "-2"},
	"u": {Text: "üÄö"}, "s": {Text: "*o"},
}

// asFlux compares the result for a text with that of Flux' library.
func asFlux(t *testing.T, text string) {
	t.Helper()
	want, wantErr := func() (out string, err error) {
		defer func() {
			if recover() != nil {
				err = errors.New("Flux panics")
			}
		}()
		return envsubst.Eval(text, func(name string) (string, bool) { return substituted[name].Text, true })
	}()
	e := &expansion{text: text, variables: substituted, limit: 1 << 20}
	got, err := e.run()
	if limit := (*unknowable)(nil); errors.As(err, &limit) {
		return
	}
	if (err == nil) != (wantErr == nil) || err == nil && got != want {
		t.Errorf("%q: %q (%v), Flux has %q (%v)", text, got, err, want, wantErr)
	}
}

func TestSubstituteAsFlux(t *testing.T) {
	for _, text := range []string{
		"${b/#foo/x}", "${b/%foo/}", "${a/#/pre-}", "${a/%/-post}", "${a///x}", "${b//${e}/x}", "${a:0:-2}", "${a:${m}}",
		"${a:2:${n}}", "${a#${s}}", "${a%%${s}}",
		"${a,^}", "${a^,}", "${u^}", "${u%ö}", "${u:1}", "${a//o/}", `${b/\//\\}`, "${b/$$/x}", "${b/f}/o}", "${b/}}/x}",
		"$${a}", "$$$", "a$", "${a:9223372036854775807:9}", "${a:1:9223372036854775807}",
		"${e:=}", "${e:=x${e:=y}z}", "${e:=}}", "${#e}", "${#}", "${#a#}", "${a###o}", "${a?x}", "${e:?x}", "${e:+x}",
		"${1}", "${_}", "${ü}", "${a b}", "${a#[}", "${a%[a-}", `${a#\}`, "${a##[^H]}", "${a#[]}",
	} {
		asFlux(t, text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 30_000 {
		asFlux(t, expressionOf(random, 0)+text(random)+expressionOf(random, 0))
	}
	parts := []string{"${", "}", "$", "$$", "a", "b", "e", "n", ":", "=", "-", "#", "%", "/", "^", ",", `\`, "[", "]",
		"*", "?", "ü", " ", "1"}
	for range 100_000 {
		b := "${a"
		for range random.IntN(12) {
			b += parts[random.IntN(len(parts))]
		}
		asFlux(t, b+"}")
	}
}

func text(random *rand.Rand) string {
	return []string{"o", "x y", "/", "*", "f*", "$$", "[a-z]", "?", "", "lo", "ü", "1", "-3", `\/`}[random.IntN(14)]
}

func expressionOf(random *rand.Rand, depth int) string {
	arg := func() string {
		if depth < 4 && random.IntN(3) == 0 {
			return expressionOf(random, depth+1)
		}
		return text(random)
	}
	name := []string{"a", "b", "e", "n", "m", "u", "s", "gone"}[random.IntN(8)]
	operator := []string{"", "", "^", "^^", ",", ",,", ":=", ":-", "=", ":?", ":+", "#", "##", "%", "%%", ":", "/", "//",
		"/#", "/%"}[random.IntN(20)]
	switch {
	case random.IntN(20) == 0:
		return "${#" + name + "}"
	case operator == "" || strings.Contains("^^,,", operator):
		return "${" + name + operator + "}"
	case operator[0] == '/':
		return "${" + name + operator + arg() + "/" + arg() + "}"
	case operator == ":" && random.IntN(2) == 0:
		return "${" + name + ":" + arg() + ":" + arg() + "}"
	case operator[len(operator)-1] == '=':
		return "${" + name + operator + arg() + arg() + "}"
	}
	return "${" + name + operator + arg() + "}"
}

// TestUnclosedSubstitutionOverTheLimit has texts that exceed a limit before the end of an unclosed substitution is reached.
func TestUnclosedSubstitutionOverTheLimit(t *testing.T) {
	e := &expansion{text: "${a/" + strings.Repeat("x}", 1<<17), variables: substituted, limit: 1 << 20}
	if _, err := e.run(); !errors.Is(err, errSubstitution) {
		t.Error(err)
	}
}

func TestHostileSubstitutionIsLimited(t *testing.T) {
	long := map[string]Value{"a": {Text: strings.Repeat("x", 60_000)}, "b": {Text: strings.Repeat("x", 3000)}}
	nested := "x"
	for range 20 {
		nested = "${a//x/" + nested + "}"
	}
	for name, text := range map[string]string{
		"braces": "${a/" + strings.Repeat("}", 1<<20) + "/x}", "escapes": "${a/" + strings.Repeat("$$", 1<<18) + "}/x}",
		"open":   strings.Repeat("${a:=", 1<<17) + "}",
		"growth": nested, "wide": strings.Repeat("${a}", 1<<10), "pattern": "${a#" + strings.Repeat("*x", 1000) + "y}",
		"patterns": strings.Repeat("${b%%"+strings.Repeat("*x", 20)+"y}", 1000),
		"default":  "${e:=" + strings.Repeat("${a}", 900) + "}",
	} {
		start := time.Now()
		got, err := (&expansion{text: text, variables: long, limit: 1 << 20}).run()
		if limit := (*unknowable)(nil); !errors.As(err, &limit) || time.Since(start) > 30*time.Second {
			t.Errorf("%s: %d bytes in %s, %v", name, len(got), time.Since(start), err)
		}
	}
}
