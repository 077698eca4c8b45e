package tree

import (
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
		root, parent, when := parseCommit(string(data))
		have := ""
		if e, err := (&Tree{objects: o, root: root}).Entry(path); err == nil {
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
		if at = when; parent == "" {
			return at, true
		}
		rev = parent
	}
	return time.Time{}, false
}

// parseCommit reads the header of a commit object (git-cat-file(1)).
func parseCommit(data string) (root, parent string, when time.Time) {
	head, _, _ := strings.Cut(data, "\n\n")
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case name == "tree":
			root = value
		case name == "parent" && parent == "":
			parent = value
		case name == "committer":
			if fields := strings.Fields(value); len(fields) >= 2 {
				if seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64); err == nil {
					when = time.Unix(seconds, 0).UTC()
				}
			}
		}
	}
	return root, parent, when
}
