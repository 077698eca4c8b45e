package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// prefix is the first token of all subjects of jobs.
const prefix = "check."

// Key is the subject of a job. Exactly one of Target, Commit and All is set.
type Key struct {
	Installation int64
	Repository   int64  // zero only with All: every repository of the installation
	forge.Target        // what check runs for the key are about; of a branch also the open pull requests that go into it
	Commit       string // full hexadecimal object id, lower case: all open pull requests that have it as their head
	All          bool   // everything open in the repository, as far as it has not been checked
}

// String is the key's part of the subject, such as "7.1296269.12"; logs show it.
func (k Key) String() string {
	last := strings.TrimPrefix(k.Target.String(), pullMark)
	switch {
	case k.Commit != "":
		last = commitMark + k.Commit
	case k.All:
		last = allMark
	}
	return fmt.Sprintf("%d.%d.%s", k.Installation, k.Repository, last)
}

// Prefixes of the last token of a subject that is no target. A number is a pull request, whose target has a prefix.
const (
	commitMark = "sha-"
	allMark    = "all"
	pullMark   = "pr-"
)

// maxBranch is GitHub's limit for the name of a branch, in bytes.
const maxBranch = 255

// Validate returns an error for a key that cannot be published.
func (k Key) Validate() error {
	kinds := 0
	for _, set := range []bool{k.Number != 0, k.Commit != "", k.Branch != "", k.Group != "", k.Preview != 0, k.All} {
		if set {
			kinds++
		}
	}
	switch {
	case k.Installation <= 0:
		return fmt.Errorf("installation id %d is not positive", k.Installation)
	case k.Repository < 0 || k.Repository == 0 && !k.All:
		return fmt.Errorf("repository id %d is not positive", k.Repository)
	case kinds == 0 || k.Number < 0 || k.Preview < 0:
		return fmt.Errorf("pull request number %d is not positive", min(k.Number, k.Preview))
	case kinds > 1:
		return fmt.Errorf("a key has one of pull request, commit, branch, group, preview and all")
	case k.Commit != "" && !gitcmd.IsObjectID(k.Commit):
		return fmt.Errorf("%q is not an object id", k.Commit)
	case k.Group != "" && !gitcmd.IsObjectID(k.Group):
		return fmt.Errorf("%q is not an object id", k.Group)
	case len(k.Branch) > maxBranch:
		return fmt.Errorf("the name of the branch has %d bytes", len(k.Branch))
	}
	return nil
}

// Of returns the key of a check run's subject in the repository of k. It fails for an invalid subject.
func (k Key) Of(about forge.Target) (Key, error) {
	key := Key{Installation: k.Installation, Repository: k.Repository, Target: about}
	return key, key.Validate()
}

func (k Key) natsSubject() string { return prefix + k.String() }

// parseKey parses a subject.
func parseKey(subject string) (Key, error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 || parts[0]+"." != prefix {
		return Key{}, fmt.Errorf("%q is not the subject of a job", subject)
	}
	var k Key
	var err error
	if k.Installation, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return Key{}, fmt.Errorf("installation in subject %q: %w", subject, err)
	}
	if k.Repository, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return Key{}, fmt.Errorf("repository in subject %q: %w", subject, err)
	}
	last := parts[3]
	if sha, ok := strings.CutPrefix(last, commitMark); ok {
		k.Commit = sha
	} else if last == allMark {
		k.All = true
	} else if _, bad := strconv.Atoi(last); bad == nil {
		k.Target = forge.ParseTarget(pullMark + last)
	} else if k.Target = forge.ParseTarget(last); k.Number != 0 {
		k.Target = forge.Target{} // of a pull request, there is the number alone
	}
	return k, k.Validate()
}

// Message is published with a key. It has hints for logs, for the address of the repository, and about the event. It
// does not affect the result of a check, except for a merge group, which nothing else describes.
type Message struct {
	Delivery string `json:"delivery,omitempty"` // GitHub's id of the webhook delivery
	Event    string `json:"event"`              // "pull_request.opened", "sweep"
	Owner    string `json:"owner"`              // of the repository, when the event was sent
	Name     string `json:"name"`               // of the repository, when the event was sent
	Fresh    bool   `json:"fresh,omitempty"`    // a check run is wanted even if nothing changed since the last one
	// with Fresh: what tells this wish from others; the delivery's id by default
	Demand  string `json:"demand,omitempty"`
	Missing bool   `json:"missing,omitempty"` // a check is wanted only if the head has no completed one
	Rules   bool   `json:"rules,omitempty"`   // rules of another repository changed at At, whatever has been checked before
	Head    string `json:"head,omitempty"`    // commit that the event is about
	// name of the repository's default branch, with a push to another one
	Default string `json:"default,omitempty"`
	// when the pull request last changed, as the event saw it, by GitHub's clock
	Updated time.Time `json:"updated,omitzero"`
	Group   *Group    `json:"group,omitempty"` // with a key of a merge group
	At      time.Time `json:"at"`              // when the event was accepted
	After   time.Time `json:"after,omitzero"`  // with Rules: it is not begun before
}

// Revokes reports whether the event may take a good result away from a head that has one. A push does not: its head has
// none yet.
func (m Message) Revokes() bool {
	event, action, _ := strings.Cut(m.Event, ".")
	return event == "pull_request_review" ||
		event == "pull_request" && slices.Contains([]string{"edited", "reopened", "ready_for_review"}, action)
}

// Group is the merge group of a merge queue.
type Group struct {
	Base    string `json:"base"`    // commit it is put on
	BaseRef string `json:"baseRef"` // name of the branch it is to be merged into
	Number  int    `json:"number"`  // last pull request of the group; zero if unknown
}
