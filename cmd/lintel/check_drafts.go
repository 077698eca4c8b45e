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

// plainWord matches a word that a shell does not change.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-][A-Za-z0-9@%+=:,./_~-]*$`)

// draftCommand returns the command that drafts exceptions for the findings of the same check, to run in the repository.
// It has all flags that the user gave, except those for how the check runs, for folders of this machine, and for the
// output. Values that may be passwords are left out.
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
