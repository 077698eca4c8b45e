package checks

import (
	"slices"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
)

// Checker runs checks and keeps, from one to the next, what object ids make safe to keep. It runs one check at a time;
// the zero value is ready.
type Checker struct {
	PreviewTime time.Duration // how long a preview may look at resources; 0: 90 s, negative: not at all

	mu   sync.Mutex
	kept []*kept // those used last first
}

// maxKept is of how many repositories a checker keeps something.
const maxKept = 4

// kept is what is kept of one repository.
type kept struct {
	gitDir, cache string
	blobs         tree.Store
	fetched       tree.Store // of the store of what was fetched
	graphs        graph.Cache
	others        map[string]*graph.Cache // of other repositories that rules are in, by address
	renderings    render.Cache
	compiler      rules.Compiler
}

// of returns what is kept of a repository.
func (c *Checker) of(gitDir, folder string) *kept {
	i := slices.IndexFunc(c.kept, func(k *kept) bool { return k.gitDir == gitDir && k.cache == folder })
	k := &kept{gitDir: gitDir, cache: folder}
	if i >= 0 {
		k = c.kept[i]
		c.kept = slices.Delete(c.kept, i, i+1)
	} else {
		k.graphs.Repository = gitDir
		if folder != "" {
			if disk, err := env.OpenDisk(folder, 0); err == nil { // else nothing is kept: that costs time only
				k.graphs.Disk = disk
				k.renderings = render.Cache{Disk: disk, Repository: gitDir}
			}
		}
	}
	c.kept = slices.Insert(c.kept, 0, k)
	c.kept = c.kept[:min(len(c.kept), maxKept)]
	return k
}
