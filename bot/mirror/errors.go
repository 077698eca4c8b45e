package mirror

import (
	"fmt"
	"strings"
)

// Vanished means that GitHub does not have a commit (any more), for example after a forced push.
type Vanished struct{ SHA string }

func (e *Vanished) Error() string { return "commit " + e.SHA + " is not on GitHub any more" }

// NoBranch means that the base branch does not exist (any more) and no commit was given in its place.
type NoBranch struct{ Name string }

func (e *NoBranch) Error() string { return "branch " + e.Name + " does not exist" }

// NoMergeBase means that head and base have no common history.
type NoMergeBase struct{ Base, Head string }

func (e *NoMergeBase) Error() string {
	return fmt.Sprintf("the head %.12s and the base branch (%.12s) have no commit in common, so there is nothing to "+
		"compare with", e.Head, e.Base)
}

// TooLarge means that the repository exceeds the size that a mirror may have.
type TooLarge struct {
	Repo  string
	Limit int64 // bytes
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s is larger than the limit of %d MB for a mirror", e.Repo, e.Limit>>20)
}

// Denied means that the server refuses access to the repository or does not have it.
type Denied struct {
	Repo   string
	Status int // of the HTTP answer
}

func (e *Denied) Error() string {
	return fmt.Sprintf("%s is not there or the App may not read it (HTTP %d)", e.Repo, e.Status)
}

// NoFile means that a commit has no regular file at a path.
type NoFile struct{ Commit, Path string }

func (e *NoFile) Error() string { return fmt.Sprintf("%s is not a file in %.12s", e.Path, e.Commit) }

// Failed is a git process that did not succeed, with git's own reason. It contains no token, no address and
// no path of this machine.
type Failed struct {
	Command string // "fetch"
	Code    int    // -1: killed
	Reason  string
	Err     error
}

func (e *Failed) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("git %s failed (exit code %d)", e.Command, e.Code)
	}
	return "git " + e.Command + ": " + e.Reason
}
func (e *Failed) Unwrap() error { return e.Err }

// reason makes one line of what git wrote to stderr and takes out the secrets, in any form they take.
func reason(stderr string, secrets []string) string {
	var said []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal:", "error:", "remote:"} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				if rest = strings.TrimSpace(rest); rest != "" {
					said = append(said, rest)
				}
			}
		}
	}
	text := strings.Join(said, "; ")
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	if r := []rune(text); len(r) > 500 {
		text = string(r[:499]) + "…"
	}
	return text
}
