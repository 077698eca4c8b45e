package tree

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// maxHistory bounds how many commits LastChange looks at.
const maxHistory = 20_000

// LastChange returns the committer's time of the commit that gave a path the content it has at a commit,
// following first parents. It returns false for a path that is not there, for a revision that is not a commit, and
// where the history is longer than the limit or cut off.
func (o *Objects) LastChange(rev, path string) (time.Time, bool) {
	var at time.Time
	want := ""
	for range maxHistory {
		_, kind, data, err := o.object(rev)
		if err != nil || kind != "commit" {
			return time.Time{}, false
		}
		have := ""
		if e, err := (&Tree{objects: o, root: header(data, "tree")}).Entry(path); err == nil {
			have = e.ID
		}
		switch {
		case want == "" && have == "":
			return time.Time{}, false
		case want == "":
			want = have
		case have != want:
			return at, true
		}
		at, rev = committed(data), header(data, "parent")
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
