package main

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/remote"
)

func TestParseAddress(t *testing.T) {
	git := func(url, ref, dir string) address {
		return address{want: remote.Want{Kind: remote.Git, URL: url, Ref: ref}, dir: dir}
	}
	const repo = "https://h.example/o/r"
	for _, c := range []struct {
		text, branch string
		want         address
		wrong        string
	}{
		{repo, "", git(repo, "", "."), ""},
		{repo + "/", "", git(repo, "", "."), ""},
		{repo + "/release/1.2", "", git(repo, "release/1.2", "."), ""},
		{repo + "/a/b/", "main", git(repo, "main", "a/b"), ""},
		{repo, "main", git(repo, "main", "."), ""},
		{repo + "/../../x", "main", git(repo, "main", "../../x"), ""}, // which no path of a tree is below
		{repo + "/a/b.yaml", "main", git(repo, "main", "a/b.yaml"), ""},
		{"https://h.example/a/b/c.git/v1", "", git("https://h.example/a/b/c.git", "v1", "."), ""},
		{repo + "/p.yaml", "", address{want: remote.Want{Kind: remote.File, URL: repo + "/p.yaml"}}, ""},
		{"https://h.example/o", "", address{}, "the address of policies must be"},
		{"https://h.example", "main", address{}, "the address of policies must be"},
		{"http://h.example/o/r", "", address{}, "use https"},
		{"file:///etc/passwd", "", address{}, "use https"},
		{"ssh://git@h.example/o/r", "", address{}, "contains credentials"},
		{"https://u:hunter2@h.example/o/r", "", address{}, "contains credentials"},
		{"https://h.example/o/r?depth=1", "", address{}, "--git-branch"},
		{repo + "?ref=v1", "", git(repo, "v1", "."), ""},
		{repo + "//a/b?ref=v1", "", git(repo, "v1", "a/b"), ""},
		{repo + "//a/b.yaml", "", git(repo, "", "a/b.yaml"), ""},
		{"https://h.example/a/b/c//d/", "", git("https://h.example/a/b/c", "", "d"), ""},
		{repo + "//a?ref=v1&x=y", "", address{}, "no query but ?ref="},
		{repo + "/tree/main/a/b", "", git(repo, "main", "a/b"), ""},
		{repo + "/tree/main", "", git(repo, "main", "."), ""},
		{repo + "/blob/v1/a/b.yaml", "", git(repo, "v1", "a/b.yaml"), ""},
		{"https://hunter2\x7f@h/o/r", "", address{}, "is not valid"},
	} {
		got, err := parseAddress(c.text, c.branch)
		switch {
		case c.wrong == "" && (err != nil || got != c.want):
			t.Errorf("%q %q: %+v, %v", c.text, c.branch, got, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%q %q: %v, want %q", c.text, c.branch, err, c.wrong)
		}
	}
}
