package tree

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// maxHistory limits how many commits LastChange reads.
const maxHistory = 20_000

// LastChange returns the committer's time of the commit since which holds has been true without interruption, following
// first parents up to rev. found is false where holds is false at rev, for a revision that is not a commit, and where
// the history is longer than the limit or incomplete.
func (o *Objects) LastChange(rev string, holds func(*Tree) bool) (at time.Time, found bool) {
	for range maxHistory {
		_, kind, data, err := o.object(rev)
		if err != nil || kind != "commit" {
			return time.Time{}, false
		}
		if !holds(&Tree{objects: o, root: header(data, "tree")}) {
			return at, found
		}
		at, found, rev = committed(data), true, header(data, "parent")
		if rev == "" {
			return at, true
		}
	}
	return time.Time{}, false
}

// header returns the first value of a field of a commit or tag (git-cat-file(1)), empty where it has none.
func header(object []byte, field string) string {
	head, _, _ := bytes.Cut(object, []byte("\n\n"))
	for line := range bytes.Lines(head) {
		if value, ok := bytes.CutPrefix(line, []byte(field+" ")); ok {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// committed returns the committer's time of a commit, the zero time where it has none.
func committed(commit []byte) time.Time {
	if fields := strings.Fields(header(commit, "committer")); len(fields) >= 2 {
		if seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64); err == nil {
			return time.Unix(seconds, 0).UTC()
		}
	}
	return time.Time{}
}
