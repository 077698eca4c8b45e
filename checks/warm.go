package checks

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/cache"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
)

// Checker runs checks and keeps, from one to the next, what object ids make safe to keep. It runs one check at a
// time; the zero value is ready.
type Checker struct {
	Tests       TestRunner    // runs the policy tests beside what a change does to its policies; nil: none is run, and the report says so
	PreviewTime time.Duration // how long a preview may look at resources; 0: 90 s, negative: not at all. The report counts what it did not see

	mu   sync.Mutex
	kept []*warm // those used last first
}

// warm is what is kept of one repository.
type warm struct {
	gitDir, cache string
	store         tree.Store
	graphs        graph.Cache
	renders       render.Cache
	policies      []compiled // those used last first
}

// compiled are policies, by the digest of their files.
type compiled struct {
	digest   [sha256.Size]byte
	policies *engine.Policies
	problems []policy.Problem
}

const maxCompiled = 4 // sets of policies

// compile compiles policies unless the same files were compiled before.
func (w *warm) compile(sources []policy.Source, options engine.Options) (*engine.Policies, []policy.Problem) {
	h := sha256.New()
	for _, s := range sources {
		fmt.Fprintf(h, "%q %d ", s.Path, len(s.Data))
		h.Write(s.Data)
		for line := range bytes.Count(s.Data, []byte("\n")) {
			if s.Line != nil {
				fmt.Fprintln(h, s.Line(line+1))
			}
		}
	}
	digest := [sha256.Size]byte(h.Sum(nil))
	i := slices.IndexFunc(w.policies, func(c compiled) bool { return c.digest == digest })
	if i >= 0 {
		c := w.policies[i]
		w.policies = slices.Insert(slices.Delete(w.policies, i, i+1), 0, c)
		return c.policies.At(options.Now), c.problems
	}
	policies, problems := engine.CompilePolicies(sources, options)
	w.policies = slices.Insert(w.policies, 0, compiled{digest, policies, problems})
	w.policies = w.policies[:min(len(w.policies), maxCompiled)]
	return policies, problems
}

const maxWarm = 4 // repositories

// of answers what is kept of a change's repository.
func (c *Checker) of(change report.Change) *warm {
	i := slices.IndexFunc(c.kept, func(w *warm) bool { return w.gitDir == change.GitDir && w.cache == change.Cache })
	w := &warm{gitDir: change.GitDir, cache: change.Cache}
	if i >= 0 {
		w = c.kept[i]
		c.kept = slices.Delete(c.kept, i, i+1)
	} else {
		w.graphs.Repository = change.GitDir
		if change.Cache != "" {
			if disk, err := cache.Open(change.Cache, 0); err == nil { // else nothing is kept: that costs time only
				w.graphs.Disk = disk
				w.renders = render.Cache{Disk: disk, Repository: change.GitDir}
			}
		}
	}
	c.kept = slices.Insert(c.kept, 0, w)
	c.kept = c.kept[:min(len(c.kept), maxWarm)]
	return w
}
