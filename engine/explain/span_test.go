package explain_test

import (
	"testing"

	"github.com/lintel-bot/lintel/engine/explain"
)

func cutOut(text string, p explain.Span) string {
	if p == (explain.Span{}) {
		return ""
	}
	return text[p.From:p.To]
}

func TestLike(t *testing.T) {
	for _, c := range []struct{ text, pattern, want string }{
		{"registry/app:latest", "*:latest", "latest"},
		{"registry/app:latest", "*latest*", "latest"},
		{"docker.io/team/app:1", "docker.io/*", "docker.io"},
		{"docker.io/team/app:1", "*/team/*", "team"},
		{"docker.io/team/app:latest", "docker.io/*:latest", ""}, // all of it
		{"latest:latest", "*:latest", "latest"},
		{"app:1", "app:1", ""},
		{"app:1", "*", ""},
		{"app:1", "?*", ""},
		{"äpp:latest", "*:latest", "latest"},
	} {
		if got := cutOut(c.text, explain.Like(c.text, c.pattern)); got != c.want {
			t.Errorf("%s like %s: %q, want %q", c.text, c.pattern, got, c.want)
		}
	}
	if p := explain.Like("latest:latest", "*:latest"); p.From != 7 {
		t.Errorf("the first word is meant: %v", p)
	}
}

func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          explain.Span
	}{
		{"docker.io/app:1", "registry.corp/*", explain.Span{From: 0, To: 1}},
		{"registry.corp/other/app:1", "registry.corp/team/*", explain.Span{From: 14, To: 15}},
		{"registry.corp/app:latest", "registry.corp/*:v1", explain.Span{From: 23, To: 24}},
		{"registry.corp/app:1", "registry.corp/app:2", explain.Span{From: 18, To: 19}},
		{"registry.corp/app", "*:*", explain.Span{}}, // what is missing is nowhere
		{"registry.corp", "registry.corp/*", explain.Span{}},
		{"a", "b", explain.Span{}},
	} {
		if got := explain.Against(c.text, c.pattern); got != c.want {
			t.Errorf("%s against %s: %v, want %v", c.text, c.pattern, got, c.want)
		}
	}
}

func TestIn(t *testing.T) {
	for _, c := range []struct {
		text, of string
		part     explain.Span
		want     string
	}{
		{"registry/app:1.0", "1.0", explain.Span{}, "1.0"},
		{"registry/app:1.0", "registry", explain.Span{}, "registry"},
		{"1.0/app:1.0", "1.0", explain.Span{}, "1.0"},
		{"app/app/app:1", "app", explain.Span{}, "app"},
		{"team/app:1", "latest", explain.Span{}, ""}, // nobody wrote it
		{"team/app:1", "docker.io", explain.Span{}, "team/app"},
		{"host:5000/app@sha256:1", "index.docker.io", explain.Span{}, "host:5000/app"},
		{"registry/app:1.0-debug", "1.0-debug", explain.Span{From: 4, To: 9}, "debug"},
		{"registry/app:1", "registry/app:1", explain.Span{From: 0, To: 8}, "registry"},
		{"registry/app:1", "registry/app:1", explain.Span{}, ""},
		{"registry/app:1", "", explain.Span{}, ""},
	} {
		if got := cutOut(c.text, explain.Requirement{Of: c.of, Part: c.part}.In(c.text)); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.of, c.text, got, c.want)
		}
	}
	if p := (explain.Requirement{Of: "1.0"}).In("1.0/app:1.0"); p.From != 8 {
		t.Errorf("the tag is meant: %v", p)
	}
}

func TestFurthest(t *testing.T) {
	a, b := explain.Span{From: 0, To: 1}, explain.Span{From: 9, To: 10}
	if got := explain.Furthest(a, b); got != b {
		t.Error(got)
	}
	if got := explain.Furthest(b, explain.Span{}); got != (explain.Span{}) {
		t.Error(got)
	}
	if got := explain.Furthest(); got != (explain.Span{}) {
		t.Error(got)
	}
}
