package main

import "testing"

// The command that drafts exceptions asks the same rules about the same change.
func TestDraftCommandKeepsWhatWasAsked(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"-q", "--severity", "high", "-o", "json", "--color=never", "--fail-on", "warn", "--timeout", "1m", "--no-cache",
			"--group-by", "file", "--all-places", "--draft-exceptions", "x.yaml"}, ""},
		{[]string{"--defaults", "octo-org/.lintel", "--all"}, "--all --defaults octo-org/.lintel "},
		{[]string{"-p", "a", "-p", "b c", "--approve", "e.yaml"}, "--approve e.yaml --policy a --policy 'b c' "},
		{[]string{"apps/a", "Application/argocd/b", "--base", "v1", "--head", "it's"},
			`apps/a Application/argocd/b --base v1 --head 'it'\''s' `},
		{[]string{"--fix"}, "--worktree "},
		{[]string{"--fix=pull", "--worktree", "--offline", "--user", "octocat"}, "--offline --user octocat --worktree "},
		{[]string{"--worktree=false", "--repo", "../r", "--store", "s", "--sources", "s.yaml"}, "--sources s.yaml --worktree=false "},
		{[]string{"-p", "https://me:secret@example.com/o/p?ref=v1"}, "--policy 'https://example.com/o/p?ref=v1' "},
		{[]string{"--staged", "--base", "$(x)\n"}, `--base '$(x) ' --staged `},
	} {
		cmd := newCheckCommand()
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		if got, want := draftCommand(cmd, cmd.Flags().Args()), "lintel check "+c.want+"--draft-exceptions -"; got != want {
			t.Errorf("%q: %s, want %s", c.args, got, want)
		}
	}
}
