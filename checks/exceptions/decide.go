// Package exceptions decides which exceptions count: merged ones, and those of the change that were approved in review,
// unless they have expired. It also drafts exceptions that are as narrow as their kinds allow.
package exceptions

import (
	"cmp"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
)

// Input is the input of a decision.
type Input struct {
	Merged   []*engine.Exception // in effect at the tip of the base branch
	Proposed []*engine.Exception // in files that the change adds or edits
	Narrowed []*engine.Exception // merged ones as the change has them, which let through less
	// Removed reports whether the change removes a merged exception; nil: it removes none.
	Removed func(e *engine.Exception) bool
	Blob    func(path string) string
	Terms   func(e *engine.Exception) []string // see report.Exception; required with Reviews
	Reviews []report.Review
	Approve []string // files that count as approved with any content
	Now     time.Time
	// Since returns when an exception got its present content, on the side that it is from. Durations in the label
	// cleanup.kyverno.io/ttl count from there. It returns false if that is unknown.
	Since func(e *engine.Exception) (time.Time, bool)
}

// Decision has the exceptions of a check by their effect.
type Decision struct {
	Effective []*engine.Exception // merged or approved, not expired
	// Inactive are pending, refused, expired or removed. They cover nothing, but the report says what they would cover.
	Inactive []*engine.Exception
	Proposed []*engine.Exception // all exceptions of the change
	fates    map[*engine.Exception]fate
}

type fate struct {
	state report.State
	by    []string
	ends  time.Time
}

// State returns the state of an exception.
func (d *Decision) State(e *engine.Exception) report.State { return d.fates[e].state }

// By returns who approved an exception.
func (d *Decision) By(e *engine.Exception) []string { return d.fates[e].by }

// Ends returns when an exception expires or has expired. It is the zero time for one that never expires, and for one
// with a duration whose start is unknown, which [Decide] treats as expired.
func (d *Decision) Ends(e *engine.Exception) time.Time { return d.fates[e].ends }

// NextEnd returns when the first exception in effect expires; the zero time if none does.
func (d *Decision) NextEnd() (first time.Time) {
	for _, e := range d.Effective {
		first = earlier(first, d.Ends(e))
	}
	return first
}

// Decide decides which exceptions count. A merged exception that the change edits covers only what its new content covers, once
// that is approved or needs no approval, and one that the change removes covers nothing: what deploys both edits or prunes it
// first.
func Decide(in Input) *Decision {
	d := &Decision{Proposed: in.Proposed, fates: map[*engine.Exception]fate{}}
	replaced := map[string]bool{}
	for _, e := range in.Proposed {
		f := fate{state: report.Pending}
		if slices.Contains(in.Approve, e.Path) {
			f = fate{state: report.Approved, by: []string{"--approve"}}
		}
		for _, r := range in.Reviews {
			verdict := r.State()
			if verdict != report.Pending && r.Blob != "" && r.Path == e.Path && r.Of(e.Path, in.Blob(e.Path), in.Terms(e)) {
				f = fate{state: verdict, by: r.By()}
			}
		}
		replaced[key(e)] = true
		d.add(e, f, in)
	}
	for _, e := range in.Narrowed {
		f, stays := fate{state: report.Merged}, false
		for _, m := range in.Merged {
			if key(m) != key(e) || in.Removed != nil && in.Removed(m) {
				continue
			}
			end, over := ends(m, in)
			if stays = true; over {
				f.state = report.Expired
			}
			f.ends = earlier(f.ends, end)
		}
		if stays { // and ends when the merged one does
			replaced[key(e)] = true
			d.add(e, f, in)
		}
	}
	for _, e := range in.Merged {
		switch {
		case replaced[key(e)]:
		case in.Removed != nil && in.Removed(e):
			if slices.ContainsFunc(in.Proposed, func(o *engine.Exception) bool { return o.ID() == e.ID() }) {
				continue // it moves
			}
			d.add(e, fate{state: report.Dropped}, in)
		default:
			d.add(e, fate{state: report.Merged}, in)
		}
	}
	return d
}

func key(e *engine.Exception) string { return e.Path + "\x00" + e.ID() }

func (d *Decision) add(e *engine.Exception, f fate, in Input) {
	end, over := ends(e, in)
	if f.ends = earlier(f.ends, end); over {
		f.state = report.Expired
	}
	d.fates[e] = f
	if f.state == report.Merged || f.state == report.Approved {
		d.Effective = append(d.Effective, e)
	} else {
		d.Inactive = append(d.Inactive, e)
	}
}

// IsProposed reports whether the change introduces an exception.
func (d *Decision) IsProposed(e *engine.Exception) bool { return slices.Contains(d.Proposed, e) }

// merged returns the exceptions that the change does not introduce.
func (d *Decision) merged(lists ...[]*engine.Exception) []*engine.Exception {
	return slices.DeleteFunc(slices.Concat(lists...), d.IsProposed)
}

func byPlace(list []*engine.Exception) []*engine.Exception {
	return slices.SortedStableFunc(slices.Values(list), func(a, b *engine.Exception) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
}

func covers(e *engine.Exception, f report.Finding) bool {
	x := f.Exemption
	return x != nil && x.Path == e.Path && x.Exception == e.FullName()
}

// ends returns when an exception expires, and whether it has expired. It expires at spec.expiresAt or at the end of the
// label cleanup.kyverno.io/ttl (https://kyverno.io/docs/policy-types/cleanup-policy/#cleanup-label), whichever is
// first. A duration whose start is unknown has expired, since only a known end may count.
func ends(e *engine.Exception, in Input) (at time.Time, over bool) {
	at = e.Expires
	if e.TTL > 0 {
		since, ok := in.Since(e)
		if !ok {
			return at, true
		}
		at = earlier(at, since.Add(e.TTL))
	}
	return at, !at.IsZero() && !in.Now.Before(at)
}

// earlier returns the earlier of two times; the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
