// Package queue keeps the jobs of the App: durable, one for each pull request, newest wins.
//
// A job is only a key (installation, repository, pull request); whoever works on it looks at the present
// state. The jobs live in a NATS JetStream work queue, embedded in the process or in a cluster that
// several servers share. What the package guarantees:
//
//   - Publish returns after the job is on disk. It survives a kill of this process at any later moment.
//   - Of several jobs of one key that nobody has begun, only the newest is left.
//   - A job published while an older one of its key is in work is delivered afterwards, never beside it:
//     in one process by a table of keys, across processes by a lease that its holder keeps renewing.
//   - A job whose worker dies is delivered again, and says how often that happened.
package queue

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// prefix is the first token of all subjects of jobs.
const prefix = "check."

// Key says what is to be checked. Either Number or Commit is set: a job for a commit stands for all open
// pull requests that have it as their head, for events that name no pull request.
type Key struct {
	Installation int64
	Repository   int64
	Number       int    // of the pull request, from 1
	Commit       string // full hexadecimal object id, lower case
}

// String is the key's part of the subject, such as "7.1296269.12"; logs show it.
func (k Key) String() string {
	last := strconv.Itoa(k.Number)
	if k.Commit != "" {
		last = "sha-" + k.Commit
	}
	return fmt.Sprintf("%d.%d.%s", k.Installation, k.Repository, last)
}

// Validate says what is wrong with a key that cannot be published.
func (k Key) Validate() error {
	switch {
	case k.Installation <= 0:
		return fmt.Errorf("installation id %d is not positive", k.Installation)
	case k.Repository <= 0:
		return fmt.Errorf("repository id %d is not positive", k.Repository)
	case k.Commit == "" && k.Number <= 0:
		return fmt.Errorf("pull request number %d is not positive", k.Number)
	case k.Commit != "" && k.Number != 0:
		return fmt.Errorf("a key has a pull request or a commit, not both")
	case k.Commit != "" && !isObjectID(k.Commit):
		return fmt.Errorf("%q is no object id", k.Commit)
	}
	return nil
}

func (k Key) subject() string { return prefix + k.String() }

// parseKey reads a subject back.
func parseKey(subject string) (Key, error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 || parts[0]+"." != prefix {
		return Key{}, fmt.Errorf("%q is no subject of a job", subject)
	}
	var k Key
	var err error
	if k.Installation, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return Key{}, fmt.Errorf("installation in subject %q: %w", subject, err)
	}
	if k.Repository, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return Key{}, fmt.Errorf("repository in subject %q: %w", subject, err)
	}
	if sha, ok := strings.CutPrefix(parts[3], "sha-"); ok {
		k.Commit = sha
	} else if k.Number, err = strconv.Atoi(parts[3]); err != nil {
		return Key{}, fmt.Errorf("pull request in subject %q: %w", subject, err)
	}
	return k, k.Validate()
}

// isObjectID accepts SHA-1 and SHA-256 object ids in lower case.
func isObjectID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }) < 0
}

// Message is what travels with a key: hints for logs and for addressing the repository. Nothing in it
// decides what a check comes to.
type Message struct {
	Delivery string    `json:"delivery,omitempty"` // GitHub's id of the webhook delivery
	Event    string    `json:"event"`              // "pull_request.opened", "sweep"
	Owner    string    `json:"owner"`              // of the repository, when the event was sent
	Name     string    `json:"name"`               // of the repository, when the event was sent
	Fresh    bool      `json:"fresh,omitempty"`    // a check run is wanted even if nothing changed since the last one
	At       time.Time `json:"at"`                 // when the event was accepted
}
