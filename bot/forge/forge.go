// Package forge is what a forge such as GitHub has, in the nouns of the App: repositories, pull requests, reviews, check
// runs with their external ids, and the errors that say whether another try helps. Package github is the implementation.
package forge

import "time"

// Repo addresses a repository within an installation of the App. Owner and Name may be outdated after a
// rename; ID stays.
type Repo struct {
	Installation int64  `json:"installation"`
	ID           int64  `json:"id"`
	Owner        string `json:"owner"`
	Name         string `json:"name"`
}

// String is owner/name.
func (r Repo) String() string { return r.Owner + "/" + r.Name }

// Repository is a repository as it was at some time: when GitHub was asked, or something about it was stored.
type Repository struct {
	Repo
	Private bool `json:"private"` // not everybody may read it; so is an internal one
}

// PullRequest is the present state of a pull request, as far as a check depends on it.
type PullRequest struct {
	Number  int
	State   string // open or closed
	Draft   bool
	Title   string
	Author  string
	BaseRef string // branch name
	BaseSHA string // tip of the base branch as GitHub knows it
	HeadSHA string
	HeadRef string
	// HeadRepo is where the head's branch is, "owner/name"; empty where that is gone.
	HeadRepo string
	Fork     bool
	Updated  time.Time // by GitHub's clock; older than an event's tells that GitHub answers from the past
}

// Settings of a repository, as far as a check depends on them.
type Settings struct {
	ID            int64
	Owner, Name   string // at present
	Private       bool   // not everybody may read it
	DefaultBranch string
	Archived      bool // takes no check runs
}

// The states of a check run, and the conclusion of one that nobody needs any more.
const (
	Queued     = "queued"
	InProgress = "in_progress"
	Completed  = "completed"
	Cancelled  = "cancelled"
)

// CheckRun is a check run to create or update. ID is zero before it is created.
type CheckRun struct {
	ID int64
	// what the run's name says behind the App's, in parentheses; "" for the run that merging may require
	Part        string
	HeadSHA     string
	Status      string // Queued, InProgress or Completed
	Conclusion  string // with completed
	ExternalID  string
	DetailsURL  string
	StartedAt   time.Time
	CompletedAt time.Time
	Title       string
	Summary     string // markdown; cut to GitHub's limit with a count, see Fit
	Text        string
	Annotations []Annotation // any number; sent in batches of 50
	Actions     []Action     // at most 3
}

// The levels of an annotation.
const (
	LevelNotice  = "notice"
	LevelWarning = "warning"
	LevelFailure = "failure"
)

// Annotation is a note on lines of a file.
type Annotation struct {
	Path        string
	StartLine   int
	EndLine     int
	StartColumn int // only sent when StartLine equals EndLine
	EndColumn   int
	Level       string
	Title       string
	Message     string
	RawDetails  string
}

// Action is a button on a check run: GitHub allows 20, 40 and 20 characters.
type Action struct{ Label, Description, Identifier string }

// Review is one review of a pull request, oldest first in lists.
type Review struct {
	User      string
	State     string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING
	CommitSHA string
	Submitted time.Time
}

// Delivery is a webhook delivery that GitHub recorded.
type Delivery struct {
	ID         int64
	GUID       string
	Event      string
	StatusCode int
	At         time.Time
	Redelivery bool
}

// Installation is an account that installed the App.
type Installation struct {
	ID        int64
	Account   string
	Suspended bool
}
