package hint_test

import (
	"testing"

	"github.com/lintel-bot/lintel/engine/hint"
)

func cutOut(text string, p hint.Part) string {
	if p == (hint.Part{}) {
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
		if got := cutOut(c.text, hint.Like(c.text, c.pattern)); got != c.want {
			t.Errorf("%s like %s: %q, want %q", c.text, c.pattern, got, c.want)
		}
	}
	if p := hint.Like("latest:latest", "*:latest"); p.From != 7 {
		t.Errorf("the first word is meant: %v", p)
	}
}

func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          hint.Part
	}{
		{"docker.io/app:1", "registry.corp/*", hint.Part{From: 0, To: 1}},
		{"registry.corp/other/app:1", "registry.corp/team/*", hint.Part{From: 14, To: 15}},
		{"registry.corp/app:latest", "registry.corp/*:v1", hint.Part{From: 23, To: 24}},
		{"registry.corp/app:1", "registry.corp/app:2", hint.Part{From: 18, To: 19}},
		{"registry.corp/app", "*:*", hint.Part{}}, // what is missing is nowhere
		{"registry.corp", "registry.corp/*", hint.Part{}},
		{"a", "b", hint.Part{}},
	} {
		if got := hint.Against(c.text, c.pattern); got != c.want {
			t.Errorf("%s against %s: %v, want %v", c.text, c.pattern, got, c.want)
		}
	}
}

func TestIn(t *testing.T) {
	for _, c := range []struct {
		text, of string
		part     hint.Part
		want     string
	}{
		{"registry/app:1.0", "1.0", hint.Part{}, "1.0"},
		{"registry/app:1.0", "registry", hint.Part{}, "registry"},
		{"1.0/app:1.0", "1.0", hint.Part{}, "1.0"},
		{"app/app/app:1", "app", hint.Part{}, "app"},
		{"team/app:1", "latest", hint.Part{}, ""}, // nobody wrote it
		{"team/app:1", "docker.io", hint.Part{}, "team/app"},
		{"host:5000/app@sha256:1", "index.docker.io", hint.Part{}, "host:5000/app"},
		{"registry/app:1.0-debug", "1.0-debug", hint.Part{From: 4, To: 9}, "debug"},
		{"registry/app:1", "registry/app:1", hint.Part{From: 0, To: 8}, "registry"},
		{"registry/app:1", "registry/app:1", hint.Part{}, ""},
		{"registry/app:1", "", hint.Part{}, ""},
	} {
		if got := cutOut(c.text, hint.Hint{Of: c.of, Part: c.part}.In(c.text)); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.of, c.text, got, c.want)
		}
	}
	if p := (hint.Hint{Of: "1.0"}).In("1.0/app:1.0"); p.From != 8 {
		t.Errorf("the tag is meant: %v", p)
	}
}

func TestFurthest(t *testing.T) {
	a, b := hint.Part{From: 0, To: 1}, hint.Part{From: 9, To: 10}
	if got := hint.Furthest(a, b); got != b {
		t.Error(got)
	}
	if got := hint.Furthest(b, hint.Part{}); got != (hint.Part{}) {
		t.Error(got)
	}
	if got := hint.Furthest(); got != (hint.Part{}) {
		t.Error(got)
	}
}
