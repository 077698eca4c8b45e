package forge

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Target is the subject of a check run within its repository: a pull request, a branch, a merge group, or a preview of
// a pull request in other repositories.
type Target struct {
	Number  int    // of the pull request
	Branch  string // name
	Group   string // head commit of the merge group
	Preview int    // number of the pull request whose rules other repositories use
}

// String returns the target as the first part of an id.
func (s Target) String() string {
	switch {
	case s.Branch != "":
		return "branch-" + hex.EncodeToString([]byte(s.Branch)) // in hexadecimal, since a name may contain the characters that end a target
	case s.Group != "":
		return "group-" + s.Group
	case s.Preview != 0:
		return "outlook-" + strconv.Itoa(s.Preview)
	}
	return "pr-" + strconv.Itoa(s.Number)
}

// ParseTarget reads what String returns. It returns the zero Target for any other text.
func ParseTarget(text string) (t Target) {
	kind, name, _ := strings.Cut(text, "-")
	switch kind { // an invalid number or hexadecimal text gives a target with another String
	case "pr":
		t.Number, _ = strconv.Atoi(name)
	case "branch":
		branch, _ := hex.DecodeString(name)
		t.Branch = string(branch)
	case "group":
		t.Group = name
	case "outlook":
		t.Preview, _ = strconv.Atoi(name)
	}
	if t.String() != text {
		return Target{}
	}
	return t
}

// State is how far a run has come.
type State int

// The states.
const (
	Result    State = iota // it has a result, or will have the result of Digest, which may be empty
	HasBegun               // it has no result yet
	HasFailed              // it failed, and another attempt would fail in the same way
	Abandoned              // it ended without a result, for a reason outside the change; see Retry
)

// RunID is the external id of a check run: its subject, who requested it, and its result. GitHub stores the id with the
// run. It is all that a server knows about the runs of earlier jobs and of other servers:
//
//	pr-12/begun-7                  opened by job 7, without a result yet
//	pr-12+<delivery>/begun-7       likewise, because somebody asked for a fresh one
//	pr-12/<digest>                 a result: the digest is equal for equal inputs
//	pr-12/<digest>~success         likewise; the run itself shows the worse result of another subject of its commit
//	pr-12/<digest>!1767225600      likewise; the result is good until that second of Unix time
//	group-<commit>/failed-7-<sum>  ended by job 7 as a failure that another try does not change
//	outlook-12/<digest>            a result about what pull request 12 would change in other repositories
//	branch-<hex>/gave-up-2-7       ended by job 7 without a result, by no fault of the change, for the second time
type RunID struct {
	Target Target
	Demand string // identifies the request for a fresh run; "" for none. It contains no slash
	State  State
	Job    uint64 // the number of the job, unless the state is Result
	Times  int    // with Abandoned: how often this has happened to this head, from 1
	Digest string // hexadecimal hash: for a result of all its inputs, for a failure of its text
	Own    string // conclusion of a result, if the run shows another one's; otherwise "". Letters and _
	Until  int64  // Unix time at which a result may change without a new event; zero for never
}

// String returns the id as GitHub stores it.
func (id RunID) String() string {
	about := id.Target.String()
	if id.Demand != "" {
		about += "+" + id.Demand
	}
	about += "/" + id.Outcome()
	if id.Own != "" {
		about += "~" + id.Own
	}
	if id.Until != 0 {
		about += "!" + strconv.FormatInt(id.Until, 10)
	}
	return about
}

// Ends returns the time at which a result may change without a new event; the zero time for never.
func (id RunID) Ends() time.Time {
	if id.Until == 0 {
		return time.Time{}
	}
	return time.Unix(id.Until, 0)
}

// The words for the states without a result.
const (
	begunMark     = "begun-"
	failedMark    = "failed-"
	abandonedMark = "gave-up-"
)

// Outcome returns the part of the id that depends only on the state and result of the run, not on who requested it.
func (id RunID) Outcome() string {
	job := strconv.FormatUint(id.Job, 10)
	switch id.State {
	case HasBegun:
		return begunMark + job
	case HasFailed:
		return failedMark + job + "-" + id.Digest
	case Abandoned:
		return abandonedMark + strconv.Itoa(id.Times) + "-" + job
	}
	return id.Digest
}

// ParseRunID reads what String returns. It fails for an id that String did not write: the run belongs to another
// program, or to an unknown version.
func ParseRunID(text string) (RunID, error) {
	about, outcome, _ := strings.Cut(text, "/")
	subject, demand, _ := strings.Cut(about, "+")
	id := RunID{Target: ParseTarget(subject), Demand: demand}
	outcome, until, _ := strings.Cut(outcome, "!")
	id.Until, _ = strconv.ParseInt(until, 10, 64)
	outcome, id.Own, _ = strings.Cut(outcome, "~")
	id.readOutcome(outcome)
	switch {
	case id.Target == (Target{}), id.Target.Number < 0, id.Target.Preview < 0, id.State == Abandoned && id.Times < 1,
		id.Until < 0, id.State != Result && (id.Own != "" || id.Until != 0), strings.Contains(outcome, "/"),
		id.String() != text:
		return RunID{}, fmt.Errorf("%q is not the external id of a check run of Lintel", text)
	}
	return id, nil
}

// readOutcome ignores what it cannot parse; ParseRunID then finds that the id is not what String returns.
func (id *RunID) readOutcome(text string) {
	number := func(s string) (n uint64) { n, _ = strconv.ParseUint(s, 10, 64); return n }
	if rest, ok := strings.CutPrefix(text, begunMark); ok {
		id.State, id.Job = HasBegun, number(rest)
	} else if rest, ok := strings.CutPrefix(text, failedMark); ok {
		job, digest, _ := strings.Cut(rest, "-")
		id.State, id.Job, id.Digest = HasFailed, number(job), digest
	} else if rest, ok := strings.CutPrefix(text, abandonedMark); ok {
		times, job, _ := strings.Cut(rest, "-")
		id.State, id.Job = Abandoned, number(job)
		id.Times, _ = strconv.Atoi(times)
	} else {
		id.Digest = text
	}
}

// retries returns the pauses after which an abandoned head is tried again. After the last one, only a person, a push or
// another event starts a check.
func retries() []time.Duration {
	return []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}
}

// NextRetry returns when a result that lacks something is checked again, according to the pauses of retries. first is
// the time of the first such result. The zero time means no more attempts.
func NextRetry(first, now time.Time) time.Time {
	at := first
	for _, pause := range retries() {
		if at = at.Add(pause); at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// Retry returns the pause after which the head of a run is tried again automatically. It returns false for a result, an
// unfinished run, and a head that was abandoned too often.
func (id RunID) Retry() (pause time.Duration, again bool) {
	list := retries()
	if id.State != Abandoned || id.Times > len(list) {
		return 0, false
	}
	return list[id.Times-1], true
}
