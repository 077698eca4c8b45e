// Package mirror keeps a bare, partial copy of each checked repository, and reads single files from it. The copy is
// fetched with git over HTTP. It has all commits, folders and small files, and the large files of the commits that
// checks read.
//
// The fetched content comes from strangers: objects are verified on arrival, nothing is checked out, and no hook,
// filter, submodule or credential helper runs. The token for a fetch is in the environment of that process only; it is
// never an argument, on disk, or in an error.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/render/remote"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// Config is what New needs.
type Config struct {
	Dir      string       // where the mirrors are kept; made if absent, for this user only
	Git      string       // absolute path of git; empty: as gitcmd.Find finds it
	Client   forge.Client // required
	MaxBytes int64        // size of one mirror on disk at which a fetch is stopped; 0: 4 GiB
	// TotalBytes limits the size of all mirrors, also during a fetch. The least recently used ones are removed first,
	// but none that was used within Busy. 0: no limit.
	TotalBytes int64
	Busy       time.Duration // what a check takes at most that reads a mirror; 0: an hour
	Timeout    time.Duration // of one git process that uses the network; 0: 10 minutes
}

// Mirrors are the mirrors in one folder. It is safe for concurrent use, also by several processes.
type Mirrors struct {
	config Config
	git    runner

	mu    sync.Mutex
	repos map[string]forge.Repo // by the git directory that Fetch returned
	sizes map[string]int64      // in bytes, by the git directory, as far as they were measured
}

// New prepares the folder. Its errors name what is wrong with the configuration.
func New(c Config) (*Mirrors, error) {
	if c.Client == nil {
		return nil, errors.New("mirrors need a client")
	}
	if c.Dir == "" {
		return nil, errors.New("mirrors need a folder")
	}
	var err error
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, fmt.Errorf("the folder for mirrors: %w", err)
	}
	git, err := gitcmd.Find(c.Git)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for mirrors: %w", err)
	}
	c.MaxBytes, c.Busy, c.Timeout = cmp.Or(c.MaxBytes, 4<<30), cmp.Or(c.Busy, time.Hour), cmp.Or(c.Timeout, 10*time.Minute)
	return &Mirrors{config: c, git: runner{path: git, home: c.Dir},
		repos: map[string]forge.Repo{}, sizes: map[string]int64{}}, nil
}

// Want are the commits that are needed.
type Want struct {
	Number  int    // of the pull request; 0: none (a merge group, a branch)
	BaseRef string // name of the base branch; empty: BaseSHA alone
	BaseSHA string // tip of the base branch as GitHub knows it; empty: whatever it is
	HeadSHA string // required
	Also    string // a further commit of which the files are read, if the mirror has it then; empty: none
}

// State is what the mirror has after a fetch.
type State struct {
	GitDir    string // absolute; to be read, never to be changed
	MergeBase string // best common ancestor of BaseTip and the head
	BaseTip   string // tip of the base branch as of this fetch; BaseSHA if nothing had to be fetched
}

func (w Want) validate() error {
	if !gitcmd.IsObjectID(w.HeadSHA) {
		return fmt.Errorf("the head %q is not a full commit id", w.HeadSHA)
	}
	if w.BaseSHA != "" && !gitcmd.IsObjectID(w.BaseSHA) {
		return fmt.Errorf("the base %q is not a full commit id", w.BaseSHA)
	}
	if w.Also != "" && !gitcmd.IsObjectID(w.Also) {
		return fmt.Errorf("%q is not a full commit id", w.Also)
	}
	if w.BaseSHA == "" && w.BaseRef == "" {
		return errors.New("neither a base branch nor a base commit is given")
	}
	if w.BaseRef != "" && !gitcmd.IsRefName(w.BaseRef) {
		return fmt.Errorf("the base branch %q has no valid name", w.BaseRef)
	}
	return nil
}

// GitDir is the path of a repository's mirror, whether it exists or not. Checks of the repository read no other mirror.
func (m *Mirrors) GitDir(repo forge.Repo) string {
	return filepath.Join(m.config.Dir, strconv.FormatInt(repo.Installation, 10), strconv.FormatInt(repo.ID, 10)+".git")
}

// Fetch makes sure that the mirror has the wanted commits and all files of the head, the merge base and the base's tip,
// so that reading needs no network. It returns their merge base. If everything is there already, it does not use the
// network. A mirror that is corrupted, or too large with old content, is removed and cloned again once.
//
// Its errors are *Vanished, *NoMergeBase, *TooLarge, *Denied, *forge.RetryLater, those of the Client, or others that
// a later try may cure.
func (m *Mirrors) Fetch(ctx context.Context, repo forge.Repo, want Want) (State, error) {
	if repo.ID <= 0 {
		return State{}, errors.New("a repository without an id cannot be mirrored")
	}
	if err := want.validate(); err != nil {
		return State{}, err
	}
	unlock, err := m.lock(ctx, repo.ID)
	if err != nil {
		return State{}, err
	}
	defer unlock()
	s := &session{m: m, repo: repo, dir: m.GitDir(repo), want: want}
	state, err := m.fetch(ctx, s)
	if err == nil || ctx.Err() != nil {
		return state, err
	}
	// If a server refuses a partial clone, the whole repository is cloned.
	whole, large := m.refused(repo, err), forge.Is[*TooLarge](err)
	// If it is too large, what was there before may not be needed any more.
	if !large && !whole && !m.corrupted(ctx, repo, err) {
		return state, err
	}
	if problem := m.remove(repo); problem != nil {
		return State{}, problem
	}
	if large && s.made {
		return State{}, err
	}
	s = &session{m: m, repo: repo, dir: s.dir, want: want, whole: whole}
	state, again := m.fetch(ctx, s)
	if again != nil && (whole || forge.Is[*TooLarge](again)) {
		return State{}, errors.Join(again, m.remove(repo))
	}
	return state, again
}

func (m *Mirrors) remove(repo forge.Repo) error {
	m.grown(m.GitDir(repo), 0)
	if err := os.RemoveAll(m.GitDir(repo)); err != nil {
		return fmt.Errorf("removing the mirror of %s: %w", repo, remote.WithoutPath(err))
	}
	return nil
}

// refused reports whether an unexpected error prevented any fetch into a partial mirror.
func (m *Mirrors) refused(repo forge.Repo, err error) bool {
	if !forge.Is[*Failed](err) || !isPartial(m.GitDir(repo)) {
		return false
	}
	packs, err := packsOf(m.GitDir(repo))
	return err == nil && len(packs) == 0
}

// corrupted reports whether the mirror itself caused an unexpected error.
func (m *Mirrors) corrupted(ctx context.Context, repo forge.Repo, err error) bool {
	if !forge.Is[*Failed](err) {
		return false
	}
	dir := m.GitDir(repo)
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	look := []string{"fsck", "--connectivity-only", "--no-dangling", "--no-progress"}
	if isPartial(dir) { // of which git takes anything that is absent for promised
		look = []string{"rev-list", "--objects", "--filter=blob:none", "--quiet", "--all"}
	}
	_, err = m.git.run(ctx, call{dir: dir, args: look})
	return err != nil && ctx.Err() == nil
}

func (m *Mirrors) fetch(ctx context.Context, s *session) (State, error) {
	want := s.want
	if err := s.prepare(ctx); err != nil {
		return State{}, err
	}
	tip, err := s.commits(ctx)
	if err != nil {
		return State{}, err
	}
	base, err := s.mergeBase(ctx, tip)
	if err != nil {
		return State{}, err
	}
	read := []string{tip, base, want.HeadSHA}
	if want.Also != "" {
		missing, err := s.missing(ctx, want.Also)
		if err != nil {
			return State{}, err
		}
		if len(missing) == 0 {
			read = append(read, want.Also)
		}
	}
	if err := s.complete(ctx, read...); err != nil {
		return State{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.repos[s.dir] = s.repo
	return State{GitDir: s.dir, MergeBase: base, BaseTip: tip}, nil
}

// Ensure makes sure that the mirror has one commit with its folders, but not with all of its files. The commit may have
// been reviewed and then replaced by a push. It returns a *Vanished if GitHub does not have the commit any more.
func (m *Mirrors) Ensure(ctx context.Context, repo forge.Repo, sha string) error {
	if repo.ID <= 0 || !gitcmd.IsObjectID(sha) {
		return &Vanished{SHA: sha}
	}
	return m.use(ctx, repo, func(s *session) error { return s.exact(ctx, sha) })
}

// use calls do with the mirror of a repository while no other process uses it.
func (m *Mirrors) use(ctx context.Context, repo forge.Repo, do func(s *session) error) error {
	unlock, err := m.lock(ctx, repo.ID)
	if err != nil {
		return err
	}
	defer unlock()
	s := &session{m: m, repo: repo, dir: m.GitDir(repo)}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return do(s)
}

// used notes that a mirror is used now.
func (m *Mirrors) used(dir string) error {
	file, now := filepath.Join(dir, usedFile), time.Now()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	return os.Chtimes(file, now, now)
}
