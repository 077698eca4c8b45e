package checks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/render/remote"
)

// A report is kept as long as its inputs are the same: the commits, the fetched sources, what is known of other sources,
// the settings of the check and the program. A report that depends on the time is not kept.

// maxKeptWork limits how long the check of a kept report may take. Every limit of time in a check is longer, so none of
// them can have changed the report.
const maxKeptWork = 50 * time.Second

// keptAt returns where the report of a change is kept. It is false without a disk cache, for drafts of exceptions, and
// for a lock that cannot be read.
func (k *kept) keptAt(change report.Change, previewTime time.Duration) (scope, name string, ok bool) {
	disk := k.renderings.Disk
	if disk == nil || change.Drafts {
		return "", "", false
	}
	change.Now, change.Cache, change.Git = time.Time{}, "", ""
	var fetched string
	last := false
	if s := change.Sources; s != nil {
		var lock remote.Lock
		if json.Unmarshal(s.Lock, &lock) != nil {
			return "", "", false
		}
		fetched, last, change.Sources = remote.New(lock, nil).ID()+s.GitDir, s.Last, nil
	}
	data, err := json.Marshal(struct {
		Change  report.Change
		Fetched string
		Last    bool
		Preview time.Duration
	}{change, fetched, last, previewTime})
	if err != nil {
		return "", "", false
	}
	sum := sha256.Sum256(data)
	return disk.Scope("report", k.gitDir), hex.EncodeToString(sum[:]), true
}

// report returns the kept report of a change, nil if there is none.
func (k *kept) report(change report.Change, previewTime time.Duration) *report.Report {
	scope, name, ok := k.keptAt(change, previewTime)
	if !ok {
		return nil
	}
	data, ok := k.renderings.Disk.Get(scope, name)
	if !ok {
		return nil
	}
	var of keptReport
	if json.Unmarshal(data, &of) != nil || lacksSource(&of.Report) && of.Last != k.renderings.LastDigest() ||
		!of.Answers.Same(change.Sources) {
		return nil
	}
	if of.Report.Work != nil {
		of.Report.Work = &report.Work{}
	}
	return &of.Report
}

// keptReport is the stored form of a report.
type keptReport struct {
	Report  report.Report
	Last    string        // see render.Cache.LastDigest; it is compared if a source could not be fetched
	Answers *diff.Answers // see report.Sources.Ask
}

func lacksSource(r *report.Report) bool {
	return slices.ContainsFunc(r.Causes, func(c report.Cause) bool { return c.Kind == report.CauseSource })
}

// keep stores a report whose check began at a time. It stores none whose check took longer than maxKeptWork.
func (k *kept) keep(ctx context.Context, change report.Change, previewTime time.Duration, out *report.Report, answers *diff.Answers, begun time.Time) {
	took, most := time.Since(begun), maxKeptWork
	if previewTime > 0 {
		most = min(most, previewTime)
	}
	end, limited := ctx.Deadline()
	if ctx.Err() != nil || took > most || limited && time.Until(end) < 2*took {
		return
	}
	if scope, name, ok := k.keptAt(change, previewTime); ok {
		if data, err := json.Marshal(keptReport{*out, k.renderings.LastDigest(), answers}); err == nil {
			_ = k.renderings.Disk.Put(scope, name, data) // if storing fails, the next check runs again
		}
	}
}

// askTime reports whether the result of the rules, in effect or proposed, may depend on the time.
func askTime(outcomes []*outcome) bool {
	return slices.ContainsFunc(outcomes, func(o *outcome) bool {
		return slices.ContainsFunc(append(o.rules.proposals, o.rules.before), (*rules.Sources).MayAskTime)
	})
}
