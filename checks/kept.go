package checks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/render/remote"
)

// A report is kept as what it rests on is: the commits, what was fetched, the settings of the check, the program. The time
// is among that only if a rule asks for it, and then the report is not kept.

// maxKeptWork is how long a check takes at most whose report is kept. No part of it ran into a limit of time then, the
// shortest of which are longer.
const maxKeptWork = 50 * time.Second

// keptAt returns where the report of a change is kept, false where none is: nothing is kept of the repository, or the
// answer depends on the clock.
func (k *kept) keptAt(change report.Change, previewTime time.Duration) (scope, name string, ok bool) {
	disk := k.renderings.Disk
	if disk == nil || change.Drafts {
		return "", "", false
	}
	change.Now, change.Cache, change.Git = time.Time{}, "", ""
	var fetched string
	first, last := false, false
	if s := change.Sources; s != nil {
		var lock remote.Lock
		if json.Unmarshal(s.Lock, &lock) != nil {
			return "", "", false
		}
		fetched, first, last, change.Sources = remote.New(lock, nil).ID()+s.GitDir, s.First, s.Last, nil
	}
	data, err := json.Marshal(struct {
		Change  report.Change
		Fetched string
		First   bool
		Last    bool
		Preview time.Duration
	}{change, fetched, first, last, previewTime})
	if err != nil {
		return "", "", false
	}
	sum := sha256.Sum256(data)
	return disk.Scope("report", k.gitDir), hex.EncodeToString(sum[:]), true
}

// report returns the kept report of a change, nil where there is none.
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
	if json.Unmarshal(data, &of) != nil || lacksSource(&of.Report) && of.Last != k.renderings.LastDigest() {
		return nil
	}
	if of.Report.Work != nil {
		of.Report.Work = &report.Work{}
	}
	return &of.Report
}

// keptReport is a report as it is kept.
type keptReport struct {
	Report report.Report
	Last   string // see render.Cache.LastDigest: it counts where a source could not be had
}

func lacksSource(r *report.Report) bool {
	return slices.ContainsFunc(r.Causes, func(c report.Cause) bool { return c.Kind == report.CauseSource })
}

// keep keeps a report that was begun at a time and that the time has no part in.
func (k *kept) keep(ctx context.Context, change report.Change, previewTime time.Duration, out *report.Report, begun time.Time) {
	took, most := time.Since(begun), maxKeptWork
	if previewTime > 0 {
		most = min(most, previewTime)
	}
	end, limited := ctx.Deadline()
	if ctx.Err() != nil || took > most || limited && time.Until(end) < 2*took {
		return
	}
	if scope, name, ok := k.keptAt(change, previewTime); ok {
		if data, err := json.Marshal(keptReport{*out, k.renderings.LastDigest()}); err == nil {
			_ = k.renderings.Disk.Put(scope, name, data) // without it, the next check works it out again
		}
	}
}

// askTime reports whether what the rules come to may depend on the time: those in effect, and those that the change
// proposes.
func askTime(outcomes []*outcome) bool {
	return slices.ContainsFunc(outcomes, func(o *outcome) bool {
		return slices.ContainsFunc(append(o.rules.proposals, o.rules.before), (*rules.Sources).MayAskTime)
	})
}
