package mirror

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/remote"

	"github.com/lintel-bot/lintel/bot/forge"
)

// usedFile in a mirror has the time of its last use.
const usedFile = "lintel-used"

// Suffixes of repositories beside a mirror: one that is not complete yet, and one for a probe.
const newSuffix, probeSuffix = ".new", ".probe"

// session is one use of one mirror, under its lock.
type session struct {
	m       *Mirrors
	repo    forge.Repo
	dir     string
	want    Want
	whole   bool      // a mirror that is made is no partial one
	partial bool      // the mirror is
	made    bool      // the mirror was not there before
	room    time.Time // when others were last removed to make room for it

	address string // where the repository is, after redirects; empty until the network is used
	server  string // its scheme and host, which redirects do not change
	token   string
}

// prepare creates an empty mirror if there is none, and removes what a killed git left behind, which no process uses.
func (s *session) prepare(ctx context.Context) error {
	var err error
	if _, absent := os.Stat(filepath.Join(s.dir, "HEAD")); errors.Is(absent, fs.ErrNotExist) {
		err = s.create(ctx)
	} else {
		err = s.sweep()
	}
	if err == nil {
		s.partial = isPartial(s.dir)
		err = s.m.used(s.dir)
	}
	if err == nil || forge.Is[*Failed](err) {
		return err
	}
	return fmt.Errorf("a mirror of %s: %w", s.repo, remote.WithoutPath(err))
}

// create creates the mirror in two steps, so that a folder with the final name is always a complete repository.
func (s *session) create(ctx context.Context) error {
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o700); err != nil {
		return err
	}
	if os.Rename(filepath.Join(s.m.config.Dir, filepath.Base(s.dir)), s.dir) == nil {
		return s.sweep() // of a version without a folder for each installation
	}
	fresh := s.dir + newSuffix
	if err := s.initRepo(ctx, fresh); err != nil {
		return err
	}
	if !s.whole {
		if err := os.WriteFile(filepath.Join(fresh, partialFile), nil, 0o600); err != nil {
			return err
		}
	}
	s.made = true
	return os.Rename(fresh, s.dir)
}

// initRepo makes an empty repository in place of what is there.
func (s *session) initRepo(ctx context.Context, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	_, err := s.m.git.run(ctx, call{args: []string{"init", "--quiet", "--bare", "--template=", dir}, hide: []string{dir}})
	return err
}

// sweep removes stale lock files and unfinished packs.
func (s *session) sweep() error {
	top, err := filepath.Glob(filepath.Join(s.dir, "*.lock"))
	if err != nil {
		return err
	}
	unfinished, err := filepath.Glob(filepath.Join(s.dir, "objects", "pack", "tmp_*"))
	if err != nil {
		return err
	}
	for _, path := range append(top, unfinished...) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return filepath.WalkDir(filepath.Join(s.dir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && strings.HasSuffix(path, ".lock") {
			return os.Remove(path)
		}
		return nil
	})
}

// commits gets the wanted commits into the mirror and returns the tip of the base branch.
func (s *session) commits(ctx context.Context) (tip string, err error) {
	if s.want.BaseSHA != "" {
		missing, err := s.missing(ctx, s.want.BaseSHA, s.want.HeadSHA)
		if err != nil {
			return "", err
		}
		if len(missing) == 0 {
			return s.want.BaseSHA, nil
		}
	}
	baseRef, err := s.refs(ctx)
	if err != nil {
		return "", err
	}
	if err := s.exact(ctx, s.want.HeadSHA); err != nil {
		return "", err
	}
	if s.want.BaseSHA != "" {
		if err := s.exact(ctx, s.want.BaseSHA); err != nil {
			// If the base branch was force-pushed, its present tip counts.
			if !forge.Is[*Vanished](err) || baseRef == "" {
				return "", err
			}
		}
	}
	if baseRef == "" {
		if s.want.BaseSHA == "" {
			return "", fmt.Errorf("branch %s does not exist", s.want.BaseRef)
		}
		return s.want.BaseSHA, nil
	}
	out, err := s.m.git.run(ctx, call{dir: s.dir, args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options",
		baseRef + "^{commit}"}})
	return strings.TrimSpace(string(out)), err
}

// refs fetches the base branch and the pull request's head, as far as they exist, and returns the local name
// of the base branch, or "".
func (s *session) refs(ctx context.Context) (baseRef string, err error) {
	base := "refs/heads/" + s.want.BaseRef
	remote := map[string]string{} // remote name -> local name
	if s.want.BaseRef != "" {
		// The name is hashed, because a deleted branch "a" would conflict with a branch "a/b".
		remote[base] = fmt.Sprintf("refs/lintel/heads/%x", sha256.Sum256([]byte(s.want.BaseRef)))
	}
	if s.want.Number > 0 {
		n := strconv.Itoa(s.want.Number)
		remote["refs/pull/"+n+"/head"] = "refs/lintel/pull/" + n
	}
	if len(remote) == 0 {
		return "", nil
	}
	err = s.online(ctx, request{specs: specs(remote)})
	if forge.Is[*Failed](err) {
		// If one of the two does not exist, the whole fetch fails: fetch those that exist.
		there, listErr := s.list(ctx, remote)
		if listErr != nil || len(there) == len(remote) {
			return "", errors.Join(listErr, err)
		}
		if remote = there; len(remote) == 0 {
			return "", nil
		}
		err = s.online(ctx, request{specs: specs(remote)})
	}
	return remote[base], err
}

func specs(refs map[string]string) []string {
	var out []string
	for from, to := range refs {
		out = append(out, "+"+from+":"+to)
	}
	return out
}

// list returns those of the refs that exist at the remote.
func (s *session) list(ctx context.Context, refs map[string]string) (map[string]string, error) {
	args := slices.AppendSeq([]string{"ls-remote", "--quiet", "--end-of-options", s.address}, maps.Keys(refs))
	out, err := s.m.git.run(ctx, s.network(args))
	if err != nil {
		return nil, err
	}
	there := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && refs[name] != "" {
			there[name] = refs[name]
		}
	}
	return there, nil
}

// exact fetches one commit by its id, unless the mirror has it. GitHub serves any commit of the repository, also one
// without a branch, until it is cleaned up.
func (s *session) exact(ctx context.Context, sha string) error {
	missing, err := s.missing(ctx, sha)
	if err != nil || len(missing) == 0 {
		return err
	}
	err = s.online(ctx, request{specs: []string{"+" + sha + ":refs/lintel/commits/" + sha}})
	if !forge.Is[*Failed](err) {
		return err
	}
	if missing, checkErr := s.missing(ctx, sha); checkErr != nil || len(missing) == 0 {
		return errors.Join(err, checkErr)
	}
	return s.whether(ctx, []string{sha}, err)
}

// gone reports whether a server that answers at the right address, which online has verified, does not serve a commit.
func (s *session) gone(ctx context.Context, sha string) (bool, error) {
	if _, err := s.m.git.run(ctx, s.network([]string{"ls-remote", "--quiet", "--end-of-options", s.address,
		"HEAD"})); err != nil {
		return false, err
	}
	for range servedTries {
		if served, err := s.served(ctx, sha); err != nil || served {
			return false, err
		}
	}
	return true, nil
}

// servedTries is how often the server must refuse a commit before it counts as gone, since git reports a broken
// connection in the same way.
const servedTries = 2

// served reports whether the server serves a commit. It fetches that one object into a temporary repository.
func (s *session) served(ctx context.Context, sha string) (bool, error) {
	scratch := s.dir + probeSuffix
	defer os.RemoveAll(scratch)
	if err := s.initRepo(ctx, scratch); err != nil {
		return false, remote.WithoutPath(err)
	}
	c := s.network([]string{"fetch", "--quiet", "--no-tags", "--depth=1", "--filter=tree:0", "--end-of-options",
		s.address, sha})
	c.dir = scratch
	_, err := s.m.git.run(ctx, c)
	if forge.Is[*Failed](err) {
		return false, nil
	}
	return err == nil, err
}

// missing returns those of the commits that the mirror does not have.
func (s *session) missing(ctx context.Context, shas ...string) ([]string, error) {
	return s.m.git.missing(ctx, s.dir, shas...)
}

// mergeBase returns the best common ancestor of the base's tip and the head.
func (s *session) mergeBase(ctx context.Context, tip string) (string, error) {
	out, err := s.m.git.run(ctx, call{dir: s.dir, args: []string{"merge-base", tip, s.want.HeadSHA}})
	if failed, ok := errors.AsType[*Failed](err); ok && failed.Code == 1 {
		return "", &NoMergeBase{Base: tip, Head: s.want.HeadSHA}
	}
	return strings.TrimSpace(string(out)), err
}
