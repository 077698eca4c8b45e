package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

const (
	// packs is the number of packs after which they are joined. Each fetch adds one.
	packs = 100
	// unused is the time after which unused content is removed.
	unused = 90 * 24 * time.Hour
	// forgotten is the time after which even the digest of removed content is forgotten.
	forgotten = 2 * 365 * 24 * time.Hour
	// abandoned is the time after which a scratch repository has no owner, as nothing takes that long.
	abandoned = 6 * time.Hour
)

// Maintain removes unused content, content over the limit, and what killed processes left. It waits until nothing is
// written, and writers wait for it. Notes are kept, so that a version that comes back with other content is noticed.
func (s *Store) Maintain(ctx context.Context) error { return s.MakeRoom(ctx, s.o.MaxBytes) }

// MakeRoom is Maintain with another limit in bytes.
func (s *Store) MakeRoom(ctx context.Context, limit int64) error {
	unlock, err := s.wait(ctx, cleaning, false)
	if err != nil {
		return err
	}
	defer unlock()
	s.sweep()
	gone, err := s.evict(limit)
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(s.GitDir(), "objects", "pack", "*.pack"))
	if err != nil || (gone == 0 && len(found) <= packs && !s.stale()) {
		return err
	}
	// Unreferenced objects are kept for a while, because a running check may read them.
	prune := fmt.Sprintf("--prune=%d.seconds.ago", int(s.o.InUse.Seconds()))
	if _, err := s.run(ctx, gitcmd.Call{Args: []string{"gc", "--quiet", prune}}); err != nil {
		return fmt.Errorf("cleaning the store up: %w", err)
	}
	return nil
}

// Size returns the size of the store, and of its unreferenced objects, which are removed once no check can read them.
func (s *Store) Size() (all, garbage int64) {
	for _, f := range s.garbage() {
		garbage += f.Size()
	}
	return Size(s.o.Dir), garbage
}

// garbage lists the files with unreferenced objects. Git keeps these separately, loose or in cruft packs (git-gc(1)).
// Fetched objects arrive in packs, except for a few folders before packs are joined.
func (s *Store) garbage() (list []fs.FileInfo) {
	objects := filepath.Join(s.GitDir(), "objects")
	loose, _ := filepath.Glob(filepath.Join(objects, "??", "*")) // the pattern is valid
	cruft, _ := filepath.Glob(filepath.Join(objects, "pack", "*.mtimes"))
	for i, path := range cruft {
		cruft[i] = strings.TrimSuffix(path, ".mtimes") + ".pack"
	}
	for _, path := range append(loose, cruft...) {
		if info, err := os.Stat(path); err == nil {
			list = append(list, info)
		}
	}
	return list
}

// stale reports whether git would remove any garbage.
func (s *Store) stale() bool {
	return slices.ContainsFunc(s.garbage(), func(f fs.FileInfo) bool { return time.Since(f.ModTime()) > s.o.InUse })
}

// Due reports whether Maintain has something to do.
func (s *Store) Due() bool {
	found, err := filepath.Glob(filepath.Join(s.GitDir(), "objects", "pack", "*.pack"))
	return err == nil && (len(found) > packs || Size(filepath.Join(s.GitDir(), "objects")) > s.o.MaxBytes ||
		Size(filepath.Join(s.o.Dir, filesDir)) > maxFiles(s.o.MaxBytes))
}

// sweep removes what killed processes left in the scratch folder, and git locks that no process can hold.
func (s *Store) sweep() {
	for _, f := range s.aged(scratchDir) {
		if time.Since(f.at) > abandoned {
			_ = os.RemoveAll(filepath.Join(s.o.Dir, scratchDir, f.name))
		}
	}
	stale, _ := filepath.Glob(filepath.Join(s.GitDir(), "*.lock"))
	for _, path := range stale {
		_ = os.Remove(path)
	}
}

// held is a note with a tree.
type held struct {
	key  string
	note Note
	used time.Time
}

// evict removes references until the size is within the limit, and returns how many.
func (s *Store) evict(limit int64) (gone int, err error) {
	var all []held
	var sum int64
	var old []string
	now := s.Now()
	err = s.Notes(func(key string, n Note, used time.Time) {
		switch {
		case n.Tree != "" && n.Content == "":
			all = append(all, held{key, n, used})
			sum += n.Bytes
		case now.Sub(used) > forgotten || (n.First == "" && now.Sub(used) > unused):
			old = append(old, key) // a failure, or an earlier result for a want
		}
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b held) int { return a.used.Compare(b.used) })
	var problems []error
	for _, h := range all {
		age := now.Sub(h.used)
		if age < s.o.InUse || (age < unused && sum <= limit) {
			continue
		}
		went, err := s.letGo(h)
		if problems = append(problems, err); went {
			sum -= h.note.Bytes
			gone++
		}
	}
	for _, key := range old {
		problems = append(problems, ignoreGone(os.Remove(s.notePath(key))))
	}
	s.evictFiles(now, limit)
	return gone, errors.Join(problems...)
}

// letGo removes the tree of a note, unless it is being fetched or was used since it was listed. It reports whether it
// did.
func (s *Store) letGo(h held) (bool, error) {
	unlock, err := s.tryLock(h.key, false)
	if errors.Is(err, ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	if info, err := os.Stat(s.notePath(h.key)); err != nil || !info.ModTime().Equal(h.used) {
		return false, ignoreGone(WithoutPath(err))
	}
	return true, s.Forget(h.key, h.note)
}

// Forget removes the tree of a note, but keeps the note.
func (s *Store) Forget(key string, n Note) error {
	n.Tree, n.Bytes, n.Asked, n.ETag = "", 0, time.Time{}, ""
	if err := s.Put(key, n); err != nil {
		return err
	}
	_, err := s.run(context.Background(), gitcmd.Call{Args: []string{"update-ref", "-d", refsDir + "/" + key}})
	return ignoreGone(WithoutPath(err))
}

// maxFiles is the maximum size of indexes, which only save requests.
func maxFiles(limit int64) int64 { return limit / 4 }

// evictFiles removes the oldest indexes over the limit, and locks that were not used for long.
func (s *Store) evictFiles(now time.Time, limit int64) {
	files := s.aged(filesDir)
	var sum int64
	for _, f := range files {
		sum += f.size
	}
	for _, f := range files {
		if sum > maxFiles(limit) || now.Sub(f.at) > unused {
			_ = os.Remove(filepath.Join(s.o.Dir, filesDir, f.name))
			sum -= f.size
		}
	}
	for _, f := range s.aged(locksDir) {
		if f.name == cleaning || now.Sub(f.at) < unused {
			continue
		}
		if unlock, err := s.tryLock(f.name, false); err == nil {
			_ = os.Remove(filepath.Join(s.o.Dir, locksDir, f.name))
			unlock()
		}
	}
}

// aged is a file in one of the folders.
type aged struct {
	name string
	size int64
	at   time.Time
}

// aged lists the files of a folder, oldest first.
func (s *Store) aged(dir string) (list []aged) {
	entries, err := os.ReadDir(filepath.Join(s.o.Dir, dir))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			list = append(list, aged{e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b aged) int { return a.at.Compare(b.at) })
	return list
}

// lockPoll is how often a held lock is tried again.
const lockPoll = 20 * time.Millisecond

// ErrLocked means that another process holds a lock.
var ErrLocked = errors.New("another process holds the lock")

// Lock takes the lock of a key, among goroutines and processes. It ends with the process.
func (s *Store) Lock(ctx context.Context, key string) (unlock func(), err error) {
	return s.wait(ctx, key, false)
}

// using takes a shared lock against Maintain: many may write at the same time, but not while it runs.
func (s *Store) using(ctx context.Context) (unlock func(), err error) {
	return s.wait(ctx, cleaning, true)
}

// cleaning is the key of Maintain's lock.
const cleaning = "maintain"

func (s *Store) wait(ctx context.Context, key string, shared bool) (func(), error) {
	return WaitForLock(ctx, "another process that fetches the same", func() (func(), error) { return s.tryLock(key, shared) })
}

// WaitForLock tries to take a lock until that does not return ErrLocked. what is what it waits for, for the error of ctx.
func WaitForLock(ctx context.Context, what string, try func() (unlock func(), err error)) (unlock func(), err error) {
	for {
		unlock, err := try()
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

// tryLock takes a lock without waiting.
func (s *Store) tryLock(key string, shared bool) (func(), error) {
	f, err := LockFile(filepath.Join(s.o.Dir, locksDir, key), shared)
	if err != nil {
		return nil, fmt.Errorf("locking the store: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// LockFile creates a file, if it does not exist, and takes its lock without waiting, exclusively or shared. The lock
// ends with the process, or when the file is closed. Its holder may remove the file. Errors are ErrLocked and those of
// the file system, without the path. Without flock(2) an exclusive lock holds among goroutines only, and a shared one has
// no effect.
func LockFile(path string, shared bool) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, WithoutPath(err)
	}
	lock, err := flock(f, shared)
	if err == nil {
		mine, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
			err = ErrLocked // of a file that was removed meanwhile
		}
	}
	if err != nil {
		_ = lock.Close()
		return nil, WithoutPath(err)
	}
	return lock, nil
}
