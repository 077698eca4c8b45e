package forge

import (
	"errors"
	"fmt"
	"time"
)

// RetryLater is the answer while GitHub asks us to wait (rate limits) or cannot serve: the job is to be
// put back until then, not slept on.
type RetryLater struct {
	After  time.Duration
	Reason string
	Err    error
}

func (e *RetryLater) Error() string {
	return fmt.Sprintf("github asks to wait %s: %s", e.After.Round(time.Second), e.Reason)
}
func (e *RetryLater) Unwrap() error { return e.Err }

// Gone means that the thing asked for does not exist (any more) or the App has no access to it: trying
// again does not help.
type Gone struct {
	What string
	Err  error
}

func (e *Gone) Error() string { return e.What + " is not there or the App has no access to it" }
func (e *Gone) Unwrap() error { return e.Err }

// IsGone reports whether an error is a *Gone.
func IsGone(err error) bool {
	var gone *Gone
	return errors.As(err, &gone)
}

// TooMany is returned in place of a list that is longer than anything a check can work with. A list is
// never cut silently, because what is missing could be the one entry that matters.
type TooMany struct {
	What  string
	Limit int
}

func (e *TooMany) Error() string { return fmt.Sprintf("%s: more than %d", e.What, e.Limit) }

// Budget is what GitHub said about the hourly rate limit of an installation in its latest answer, and what is left of
// its limits that no answer tells of.
type Budget struct {
	Limit     int
	Remaining int
	Reset     time.Time     // by GitHub's clock
	CheckRuns int           // that this process may still create within the hour
	Wait      time.Duration // until a check may begin; zero: at once
}

// Account is a person's account. The login can change, the id stays.
type Account struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}
