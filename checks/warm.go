package checks

import (
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/cache"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
)

// Checker runs checks and keeps, from one to the next, what object ids make safe to keep. It runs one check at a
// time; the zero value is ready.
type Checker struct {
	mu   sync.Mutex
	kept []*warm // those used last first
}

// warm is what is kept of one repository.
type warm struct {
	gitDir, cache string
	store         tree.Store
	graphs        graph.Cache
	renders       render.Kept
}

const maxWarm = 4 // repositories

// of answers what is kept of a change's repository.
func (c *Checker) of(change Change) *warm {
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
				w.renders = render.Kept{Disk: disk, Repository: change.GitDir}
			}
		}
	}
	c.kept = slices.Insert(c.kept, 0, w)
	c.kept = c.kept[:min(len(c.kept), maxWarm)]
	return w
}
