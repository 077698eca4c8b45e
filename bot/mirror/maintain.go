package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

// packs is the number of packs above which Maintain joins them: each fetch adds one or two.
const packs = 30

// usedMirror is a mirror on disk.
type usedMirror struct {
	dir  string
	id   int64 // of the repository
	used time.Time
	size int64 // bytes
}

// Maintain removes mirrors that were not used since a time, packs those with many fetches, and then makes room within
// Config.TotalBytes. It skips mirrors in use. A whole mirror keeps unreferenced objects for two weeks; a partial one
// drops the large files of commits that were not read recently.
func (m *Mirrors) Maintain(ctx context.Context, unusedSince time.Time) error {
	var problems []error
	for suffix, tidy := range map[string]func(dir string) error{
		"": func(dir string) error { return m.maintain(ctx, dir, unusedSince) },
		// What a killed process left.
		newSuffix: os.RemoveAll, probeSuffix: os.RemoveAll,
	} {
		all, err := m.list(suffix)
		problems = append(problems, err)
		for _, k := range all {
			unlock, err := m.tryLock(k.id)
			if err != nil {
				continue
			}
			problems = append(problems, remote.WithoutPath(tidy(k.dir)))
			unlock()
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return errors.Join(append(problems, m.makeRoom(ctx))...)
}

// list returns the mirrors, or the repositories beside them with a suffix, without their sizes.
func (m *Mirrors) list(suffix string) (all []usedMirror, err error) {
	for _, pattern := range []string{"*.git" + suffix, filepath.Join("*", "*.git"+suffix)} {
		found, err := filepath.Glob(filepath.Join(m.config.Dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, dir := range found {
			id, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(dir), ".git"+suffix), 10, 64)
			if err != nil {
				continue
			}
			all = append(all, usedMirror{dir: dir, id: id, used: lastUse(dir)})
		}
	}
	return all, nil
}

// lastUse returns when a mirror was last used; the zero time if that is not known.
func lastUse(dir string) (at time.Time) {
	if info, err := os.Stat(filepath.Join(dir, usedFile)); err == nil {
		at = info.ModTime()
	}
	return at
}

func (m *Mirrors) maintain(ctx context.Context, dir string, unusedSince time.Time) error {
	if lastUse(dir).Before(unusedSince) {
		return os.RemoveAll(dir)
	}
	found, err := packsOf(dir)
	if err != nil || len(found) <= packs {
		return err
	}
	if isPartial(dir) {
		return (&session{m: m, dir: dir, partial: true}).pack(ctx, found)
	}
	_, err = m.git.run(ctx, call{dir: dir, args: []string{"gc", "--quiet", "--prune=2.weeks.ago"}})
	return err
}

// makeRoom measures all mirrors, and removes the least recently used ones until the rest is within the limit. It keeps
// those that a check may read.
func (m *Mirrors) makeRoom(ctx context.Context) error {
	all, err := m.list("")
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	var sum int64
	for i, k := range all {
		all[i].size = remote.Size(k.dir)
		sizes[k.dir] = all[i].size
		sum += all[i].size
	}
	slices.SortFunc(all, func(a, b usedMirror) int { return a.used.Compare(b.used) })
	var problems []error
	for _, k := range all {
		if m.config.TotalBytes == 0 || sum <= m.config.TotalBytes || ctx.Err() != nil {
			break
		}
		gone, err := m.evict(k)
		problems = append(problems, err)
		if gone {
			sum -= k.size
			delete(sizes, k.dir)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sizes = sizes
	return errors.Join(problems...)
}

// evict removes a mirror that no process uses.
func (m *Mirrors) evict(k usedMirror) (gone bool, err error) {
	unlock, err := m.tryLock(k.id)
	if errors.Is(err, remote.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	if lastUse(k.dir).After(time.Now().Add(-m.config.Busy)) {
		return false, nil
	}
	err = os.RemoveAll(k.dir)
	return err == nil, remote.WithoutPath(err)
}

// grown records the size of a mirror during a fetch, and reports whether all mirrors are over the limit.
func (m *Mirrors) grown(dir string, size int64) (over bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sizes[dir] = size
	return m.config.TotalBytes > 0 && m.sum() > m.config.TotalBytes
}

// Bytes is how much all mirrors take on disk, as of the last Maintain and the fetches since.
func (m *Mirrors) Bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum()
}

// sum adds the sizes up. The lock is held.
func (m *Mirrors) sum() (sum int64) {
	for _, size := range m.sizes {
		sum += size
	}
	return sum
}

// maxPacked limits the size in bytes of the list of objects to pack: six million objects. Larger mirrors are not packed
// until they are evicted.
const maxPacked = 256 << 20

// pack joins all commits, folders and small files of a partial mirror, and all files of recently read commits, into one
// pack, and removes the old packs. Git's own "gc" keeps every object that was ever fetched into a partial clone
// (git-repack(1), promisor packs).
func (s *session) pack(ctx context.Context, old []string) error {
	known, err := s.known()
	if err != nil {
		return err
	}
	var history, trees strings.Builder
	for _, c := range known {
		history.WriteString(c + "\n")
		trees.WriteString(c + "^{tree}\n")
	}
	list := func(max int64, stdin string, args ...string) (string, error) {
		out, err := s.m.git.run(ctx, call{dir: s.dir, stdin: stdin, max: max, args: append([]string{"rev-list", "--objects",
			"--no-object-names", "--ignore-missing", "--stdin"}, args...)})
		return string(out), err
	}
	ids, err := list(maxPacked, history.String(), "--filter="+smallFiles, "--missing=allow-any", "--all")
	if err != nil {
		return err
	}
	files, err := list(maxPacked, trees.String(), "--missing=print")
	if err != nil {
		return err
	}
	if strings.Contains(files, "?") { // what is noted is wrong: it is found out again, and nothing is lost meanwhile
		return remote.WithoutPath(os.Remove(filepath.Join(s.dir, completeFile)))
	}
	into := filepath.Join(s.dir, "objects", "pack", "pack")
	out, err := s.m.git.run(ctx, call{dir: s.dir, args: []string{"pack-objects", "--quiet", "--delta-base-offset", into},
		stdin:  ids + files,
		config: []string{"core.bigFileThreshold", "1m", "pack.windowMemory", "64m", "pack.threads", "1"}})
	if err != nil {
		return err
	}
	name := "pack-" + strings.TrimSpace(string(out))
	at := func(base, ext string) string { return filepath.Join(s.dir, "objects", "pack", base+ext) }
	if err := os.WriteFile(at(name, ".promisor"), nil, 0o600); err != nil {
		return remote.WithoutPath(err)
	}
	var problems []error
	for _, o := range old {
		base := strings.TrimSuffix(o, ".pack")
		if base == name {
			continue
		}
		for _, ext := range []string{".idx", ".rev", ".promisor", ".pack"} { // without the index it is no pack any more
			if err := os.Remove(at(base, ext)); !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, remote.WithoutPath(err))
			}
		}
	}
	return errors.Join(append(problems, s.remember(known))...)
}

// lock takes the lock of a repository's mirror, among goroutines and processes. The kernel releases it when its owner
// dies.
func (m *Mirrors) lock(ctx context.Context, id int64) (unlock func(), err error) {
	return remote.WaitForLock(ctx, "a mirror", func() (func(), error) { return m.tryLock(id) })
}

// tryLock is lock without waiting; it returns remote.ErrLocked if the lock is held.
func (m *Mirrors) tryLock(id int64) (unlock func(), err error) {
	f, err := remote.LockFile(filepath.Join(m.config.Dir, strconv.FormatInt(id, 10)+".lock"), false)
	if err != nil {
		return nil, fmt.Errorf("the lock of a mirror: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
