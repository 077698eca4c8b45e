package forge

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Target is what a check run is about, within its repository: one of a pull request, a branch, a merge group, and what
// a pull request would change in other repositories.
type Target struct {
	Number  int    // of the pull request
	Branch  string // name
	Group   string // head commit of the merge group
	Preview int    // number of the pull request whose rules other repositories take
}

// String is the subject as an id has it.
func (s Target) String() string {
	switch {
	case s.Branch != "":
		return "branch-" + hex.EncodeToString([]byte(s.Branch)) // its name may hold the signs that end a subject
	case s.Group != "":
		return "group-" + s.Group
	case s.Preview != 0:
		return "outlook-" + strconv.Itoa(s.Preview)
	}
	return "pr-" + strconv.Itoa(s.Number)
}

// ParseTarget reads what String wrote; the zero Target for anything else.
func ParseTarget(text string) (t Target) {
	kind, name, _ := strings.Cut(text, "-")
	switch kind { // what is not a number, or not hexadecimal, is not written back
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
	Result    State = iota // it has a result, or will have the one of Digest; the digest may be empty
	HasBegun               // it has none yet
	HasFailed              // it is a failure that another try does not change
	Abandoned              // it ended without a result by no fault of the change, see Retry
)

// RunID is the external id of a check run: what the run is about, who asked for it, and what it came to. GitHub
// keeps it with the run and hands it back, so it is all that is known about the runs of earlier jobs and other servers:
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
	Demand string // tells the wish for a fresh run from others; "" for none. It holds no slash
	State  State
	Job    uint64 // unless it is a result: the number of the job
	Times  int    // with Abandoned: how often that has happened to this head, from 1
	Digest string // of a result: of all that it depends on; of a failure: of its words. It is hexadecimal
	Own    string // of a result: its conclusion, where the run shows another's; "" elsewhere. Letters and _
	Until  int64  // of a result: the Unix time at which it may become another by itself; zero for never
}

// String is the id as GitHub keeps it.
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

// Ends returns when a result may become another by itself; the zero time for never.
func (id RunID) Ends() time.Time {
	if id.Until == 0 {
		return time.Time{}
	}
	return time.Unix(id.Until, 0)
}

// The marks of the states that are not results.
const (
	begunMark     = "begun-"
	failedMark    = "failed-"
	abandonedMark = "gave-up-"
)

// Outcome is the part of the id that depends on what the run came to, and not on who asked for it or what else is
// there.
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

// ParseRunID reads what String wrote. The error says that an id was not written by it: the run is another's, or of a version
// that is not known.
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

// readOutcome leaves out what it does not understand, which Parse notices.
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

// retries are the pauses after which a head that was given up is tried again. After the last it takes a
// person, a push or another event.
func retries() []time.Duration {
	return []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}
}

// NextRetry returns when a result that lacks something is looked at again by itself, as many times and after the pauses that
// retries have; first is when there was such a result for the first time. The zero time: no more.
func NextRetry(first, now time.Time) time.Time {
	at := first
	for _, pause := range retries() {
		if at = at.Add(pause); at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// Retry returns the pause after which the head of a run is tried again by itself; false for one that is not: a result,
// a run that is not at its end, and one that was given up too often.
func (id RunID) Retry() (pause time.Duration, again bool) {
	list := retries()
	if id.State != Abandoned || id.Times > len(list) {
		return 0, false
	}
	return list[id.Times-1], true
}
