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
