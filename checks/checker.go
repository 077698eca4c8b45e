// Package checks runs one check of one change: it renders what the change reaches at both commits, turns every
// difference into an admission review, evaluates the policies, and puts each finding on the line a person must edit.
//
// It knows no GitHub: a Change goes in, a Report comes out.
package checks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// Checker runs checks and keeps, between them, results that are keyed by object ids and therefore stay valid. It runs
// one check at a time; the zero value is ready to use.
type Checker struct {
	PreviewTime time.Duration // time limit of a preview; 0: 90 s, negative: no preview

	mu   sync.Mutex
	kept []*kept // most recently used first
}

// maxKept is the number of repositories for which a checker keeps results.
const maxKept = 4

// kept holds the results that are kept for one repository.
type kept struct {
	gitDir, cache string
	blobs         tree.Store
	fetched       tree.Store // objects of the fetched sources
	graphs        graph.Cache
	others        map[string]*graph.Cache // of other repositories that contain rules, by address
	renderings    render.Cache
	compiler      rules.Compiler
}

// of returns the kept results of a repository, new ones where there are none yet.
func (c *Checker) of(gitDir, folder string) *kept {
	i := slices.IndexFunc(c.kept, func(k *kept) bool { return k.gitDir == gitDir && k.cache == folder })
	k := &kept{gitDir: gitDir, cache: folder}
	if i >= 0 {
		k = c.kept[i]
		c.kept = slices.Delete(c.kept, i, i+1)
	} else {
		k.graphs.Repository = gitDir
		if folder != "" {
			if disk, err := env.OpenDisk(folder, 0); err == nil { // without a disk cache, checks only take longer
				k.graphs.Disk = disk
				k.renderings = render.Cache{Disk: disk, Repository: gitDir}
				k.graphs.Memory = k.renderings.Memory()
			}
		}
	}
	c.kept = slices.Insert(c.kept, 0, k)
	c.kept = c.kept[:min(len(c.kept), maxKept)]
	return k
}

// forgetAfter drops the kept results of a repository after an error: those that were made of files that could not be read
// would stay valid.
func (c *Checker) forgetAfter(err *error, k *kept) {
	if *err != nil {
		c.kept = slices.DeleteFunc(c.kept, func(other *kept) bool { return other == k })
	}
}

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
	return disk.Scope("report", k.gitDir), fmt.Sprintf("%x", sha256.Sum256(data)), true
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
		return o.some((*rules.Sources).MayAskTime)
	})
}
