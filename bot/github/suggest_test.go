package github

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/githubtest"
	"github.com/lintel-bot/lintel/checks/report"
)

// suggestScene returns a pull request that adds a file of 40 lines and edits the fifth line of another one.
func suggestScene(t *testing.T) (hub *githubtest.Server, client *Client, repo forge.Repo, head string) {
	t.Helper()
	hub, err := githubtest.New(githubtest.Config{KeyBits: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	hub.Grant("pull_requests", "write")
	const name = "octo-org/fleet"
	push := func(c githubtest.Commit) string {
		sha, err := hub.Push(t.Context(), name, c)
		if err != nil {
			t.Fatal(err)
		}
		return sha
	}
	if _, err := hub.AddRepo(t.Context(), name, ""); err != nil {
		t.Fatal(err)
	}
	push(githubtest.Commit{Branch: "main", Files: map[string]string{"old.yaml": numbered(40)}})
	head = push(githubtest.Commit{Branch: "change", Files: map[string]string{"new.yaml": numbered(40),
		"old.yaml": strings.Replace(numbered(40), "line 5\n", "five\n", 1)}})
	if _, err := hub.OpenPull(t.Context(), name, githubtest.Pull{Head: "change"}); err != nil {
		t.Fatal(err)
	}
	app := hub.App()
	if client, err = NewClient(Config{URL: hub.URL(), AppID: app.ID, PrivateKey: app.PrivateKey}); err != nil {
		t.Fatal(err)
	}
	repo = forge.Repo{Owner: "octo-org", Name: "fleet"}
	repo.ID, repo.Installation = hub.RepositoryID(name)
	return hub, client, repo, head
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func suggestion(path string, from, to int, lines ...string) report.Replacement {
	return report.Replacement{Path: path, StartLine: from, EndLine: to, Was: []string{"x"}, Lines: lines, Why: "why"}
}

func TestSuggest(t *testing.T) {
	hub, client, repo, head := suggestScene(t)
	suggest := func(list ...report.Replacement) int {
		t.Helper()
		left, err := client.Suggest(t.Context(), repo, 1, head, list)
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	there := func(want ...string) []githubtest.Comment {
		t.Helper()
		all, err := hub.Comments(repo.String(), 1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range all {
			got = append(got, fmt.Sprintf("%s:%d-%d", c.Path, c.StartLine, c.Line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		return all
	}
	suggest()
	there()

	// Suggestions for lines that the page of changes does not show, or shows in two hunks, are not posted.
	suggest(suggestion("old.yaml", 30, 30, "a"), suggestion("old.yaml", 8, 9, "a"), suggestion("none.yaml", 1, 1, "a"),
		suggestion("old.yaml", 7, 8, "a"), suggestion("new.yaml", 40, 41, "a"), suggestion("new.yaml", 2, 3, "a `x`", "```", "````"))
	all := there("old.yaml:7-8", "new.yaml:2-3")
	if !strings.Contains(all[1].Body, "why\n\n`````suggestion\na `x`\n```\n````\n`````\n") {
		t.Errorf("%s", all[1].Body)
	}
	if all[0].Review != all[1].Review || all[0].Commit != head {
		t.Errorf("%+v are not one review of the head", all)
	}

	// An existing suggestion stays, and a different one is deleted. A comment of a person stays, even if it copies a
	// suggestion.
	if err := hub.Reply(repo.String(), 1, githubtest.Comment{Path: "new.yaml", StartLine: 9, Line: 9, Commit: head}, "mallory",
		all[0].Body); err != nil {
		t.Fatal(err)
	}
	suggest(suggestion("old.yaml", 7, 8, "a"), suggestion("new.yaml", 2, 3, "b"), suggestion("new.yaml", 9, 9))
	after := there("old.yaml:7-8", "new.yaml:9-9", "new.yaml:2-3", "new.yaml:9-9")
	if after[0].ID != all[0].ID || after[1].User != "mallory" || !strings.Contains(after[3].Body, "```suggestion\n```\n") {
		t.Errorf("%+v", after)
	}

	// At most forge.MaxSuggestions are posted.
	var many []report.Replacement
	for i := range 35 {
		many = append(many, suggestion("new.yaml", i+1, i+1, "z"))
	}
	if left := suggest(many...); left != 5 {
		t.Errorf("%d are too many, want 5", left)
	}
	all, err := hub.Comments(repo.String(), 1)
	if err != nil || len(all) != forge.MaxSuggestions+1 {
		t.Errorf("%d comments, want the suggestions and mallory's: %v", len(all), err)
	}
	suggest()
	there("new.yaml:9-9")
	for _, v := range hub.Violations() {
		t.Errorf("GitHub would not like this: %s", v)
	}
}

// Without the permission to write, no request is made that GitHub would refuse. The missing permission is reported only
// if there are suggestions.
func TestSuggestNeedsThePermission(t *testing.T) {
	hub, client, repo, head := suggestScene(t)
	hub.Grant("pull_requests", "read")
	for _, c := range []struct {
		list  []report.Replacement
		lacks bool
	}{{nil, false}, {[]report.Replacement{suggestion("old.yaml", 30, 30, "a")}, false},
		{[]report.Replacement{suggestion("new.yaml", 1, 1, "a")}, true}} {
		left, err := client.Suggest(t.Context(), repo, 1, head, c.list)
		var lacks *forge.NotGranted
		if left != 0 || errors.As(err, &lacks) != c.lacks || err != nil && !c.lacks {
			t.Errorf("%v: %d, %v", c.list, left, err)
		}
	}
	for _, v := range hub.Violations() {
		t.Errorf("GitHub would not like this: %s", v)
	}
}
