package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/render/remote"
)

// plainWord matches what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-][A-Za-z0-9@%+=:,./_~-]*$`)

// draftCommand is the command that drafts exceptions for what the same check finds, to be run in the repository: it has all
// flags that the user gave but those that say how the check goes on, where folders of this machine are, and what is shown.
// What may be a password is left out.
func draftCommand(cmd *cobra.Command, names []string) string {
	words := []string{"lintel", "check"}
	add := func(word string) {
		if word = remote.Redacted(word); !plainWord.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	for _, name := range names {
		add(name)
	}
	without := []string{"all-places", "color", "draft-exceptions", "fail-on", "fix", "group-by", "no-cache", "output", "quiet",
		"repo", "severity", "store", "timeout"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, several := f.Value.(pflag.SliceValue)
		switch {
		case f.Name == "fix" && !cmd.Flags().Changed("worktree"):
			words = append(words, "--worktree")
		case slices.Contains(without, f.Name):
		case f.Value.Type() == "bool":
			add("--" + f.Name + strings.TrimSuffix("="+f.Value.String(), "=true"))
		case several:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name)
				add(value)
			}
		default:
			words = append(words, "--"+f.Name)
			add(f.Value.String())
		}
	})
	return output.LogLine(strings.Join(append(words, "--draft-exceptions", "-"), " "))
}
