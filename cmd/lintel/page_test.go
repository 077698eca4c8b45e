package main

import "testing"

func TestWebAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"":                                       "",
		"https://github.com/o/r.git":             "https://github.com/o/r",
		"https://user:secret@github.com/o/r.git": "https://github.com/o/r",
		"git@github.com:o/r.git":                 "https://github.com/o/r",
		"ssh://git@ssh.github.com:443/o/r.git":   "https://github.com/o/r",
		"https://github.example.com/o/r/":        "https://github.example.com/o/r",
		"git@corp.ghe.com:o/r":                   "https://corp.ghe.com/o/r",
		"https://gitlab.com/o/r.git":             "",
		"https://notgithub.com/o/r":              "",
		"/srv/git/o/r.git":                       "",
		"file:///srv/github.com/o/r":             "",
		"https://github.com/o":                   "",
		"https://github.com/o/r/../../x":         "",
		"javascript://github.com/o/r":            "",
		"https://github.com/o/a\"b":              "https://github.com/o/a%22b",
	} {
		if got := webAddress(remoteURL(remote)); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
