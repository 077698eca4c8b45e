package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

// diskLimits is how much the server may keep on disk to do its work with, for all installations together.
type diskLimits struct {
	mirrors, mirror, sources, cache size // mirror: of one repository
}

// The defaults leave room for jobs and results on a volume of 10 GiB.
func newDiskLimits() diskLimits {
	return diskLimits{mirrors: 5 << 30, mirror: 4 << 30, sources: 1 << 30, cache: 1 << 30}
}

const minDisk, maxDisk = 64 << 20, 64 << 40

func (l *diskLimits) flags(f *pflag.FlagSet) {
	*l = newDiskLimits()
	f.Var(&l.mirrors, "mirror-max-bytes", "how much the copies of all repositories may take; those that were used longest "+
		"ago go first")
	f.Var(&l.mirror, "mirror-max-repository", "how much the copy of one repository may take; larger ones are not checked")
	f.Var(&l.sources, "sources-max-bytes", "how much of what was fetched from outside is kept")
	f.Var(&l.cache, "cache-max-bytes", "how much of what was worked out is kept")
}

// validate returns the first thing that is wrong, as one sentence that says what to set. One copy may take as much as
// all of them.
func (l *diskLimits) validate() error {
	for _, s := range []struct {
		name  string
		value size
	}{{"LINTEL_MIRROR_MAX_BYTES", l.mirrors}, {"LINTEL_MIRROR_MAX_REPOSITORY", l.mirror},
		{"LINTEL_SOURCES_MAX_BYTES", l.sources}, {"LINTEL_CACHE_MAX_BYTES", l.cache}} {
		if s.value < minDisk || s.value > maxDisk {
			return fmt.Errorf("%s must be from 64MiB to 64TiB", s.name)
		}
	}
	l.mirror = min(l.mirror, l.mirrors)
	return nil
}
