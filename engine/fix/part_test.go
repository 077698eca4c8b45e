package fix_test

import (
	"testing"

	"github.com/lintel-bot/lintel/engine/fix"
)

func cutOut(text string, p fix.Part) string {
	if p == (fix.Part{}) {
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
		if got := cutOut(c.text, fix.Like(c.text, c.pattern)); got != c.want {
			t.Errorf("%s like %s: %q, want %q", c.text, c.pattern, got, c.want)
		}
	}
	if p := fix.Like("latest:latest", "*:latest"); p.From != 7 {
		t.Errorf("the first word is meant: %v", p)
	}
}

func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          fix.Part
	}{
		{"docker.io/app:1", "registry.corp/*", fix.Part{From: 0, To: 1}},
		{"registry.corp/other/app:1", "registry.corp/team/*", fix.Part{From: 14, To: 15}},
		{"registry.corp/app:latest", "registry.corp/*:v1", fix.Part{From: 23, To: 24}},
		{"registry.corp/app:1", "registry.corp/app:2", fix.Part{From: 18, To: 19}},
		{"registry.corp/app", "*:*", fix.Part{}}, // what is missing is nowhere
		{"registry.corp", "registry.corp/*", fix.Part{}},
		{"a", "b", fix.Part{}},
	} {
		if got := fix.Against(c.text, c.pattern); got != c.want {
			t.Errorf("%s against %s: %v, want %v", c.text, c.pattern, got, c.want)
		}
	}
}

func TestIn(t *testing.T) {
	for _, c := range []struct {
		text, of string
		part     fix.Part
		want     string
	}{
		{"registry/app:1.0", "1.0", fix.Part{}, "1.0"},
		{"registry/app:1.0", "registry", fix.Part{}, "registry"},
		{"1.0/app:1.0", "1.0", fix.Part{}, "1.0"},
		{"app/app/app:1", "app", fix.Part{}, "app"},
		{"team/app:1", "latest", fix.Part{}, ""}, // nobody wrote it
		{"team/app:1", "docker.io", fix.Part{}, "team/app"},
		{"host:5000/app@sha256:1", "index.docker.io", fix.Part{}, "host:5000/app"},
		{"registry/app:1.0-debug", "1.0-debug", fix.Part{From: 4, To: 9}, "debug"},
		{"registry/app:1", "registry/app:1", fix.Part{From: 0, To: 8}, "registry"},
		{"registry/app:1", "registry/app:1", fix.Part{}, ""},
		{"registry/app:1", "", fix.Part{}, ""},
	} {
		if got := cutOut(c.text, fix.Requirement{Of: c.of, Part: c.part}.In(c.text)); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.of, c.text, got, c.want)
		}
	}
	if p := (fix.Requirement{Of: "1.0"}).In("1.0/app:1.0"); p.From != 8 {
		t.Errorf("the tag is meant: %v", p)
	}
}

func TestFurthest(t *testing.T) {
	a, b := fix.Part{From: 0, To: 1}, fix.Part{From: 9, To: 10}
	if got := fix.Furthest(a, b); got != b {
		t.Error(got)
	}
	if got := fix.Furthest(b, fix.Part{}); got != (fix.Part{}) {
		t.Error(got)
	}
	if got := fix.Furthest(); got != (fix.Part{}) {
		t.Error(got)
	}
}
