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

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// A partial mirror has all commits, folders and small files, but larger files of the commits that checks read only. Git
// is configured for that (gitformat-pack(5), promisor packs) in fetching calls only. For other calls an absent object
// is absent, so that reading never fetches.
const (
	// partialFile in a mirror marks it as partial. Mirrors of earlier versions, and of servers without partial clones,
	// are whole.
	partialFile = "lintel-partial"
	// completeFile in a partial mirror lists the commits with all files, one a line, oldest first, after the packs that
	// contained them.
	completeFile = "lintel-complete"
	// origin is the name under which git knows the server of a partial mirror while it fetches.
	origin = "lintel"
)

const (
	// maxComplete bounds what is remembered of complete commits; files of others may go when a mirror is packed.
	maxComplete = 64
	// maxNear is the number of complete commits that are compared with a new one: the newest are the most similar.
	maxNear = 8
	// smallFiles and noFiles are filters of a fetch (git-rev-list(1)). Checks mostly read small texts. With all small
	// files of the history, a later check needs one request only, and git stores them as differences from each other.
	// Larger files make up most of a large history.
	smallFiles, noFiles = "blob:limit=64k", "blob:none"
	// atOnce is the number of objects in one request. Git's work grows with its square: one request for 100,000 takes
	// five seconds, five requests for 20,000 take half of that.
	atOnce = 20_000
	// postBuffer is large enough for such a request, since servers and proxies may reject chunked requests.
	postBuffer = 2 << 20
	// maxListed bounds the list of the files of a commit, in bytes: three million.
	maxListed = 128 << 20
	// maxRounds is how often a server is asked for the objects of a commit. Once is enough, unless the server omits
	// folders.
	maxRounds = 3
)

// isPartial reports whether a mirror is a partial one.
func isPartial(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, partialFile))
	return err == nil
}

// complete gets commits, unless they are there, and their files. A *Vanished means that GitHub does not have them any
// more.
func (s *session) complete(ctx context.Context, commits ...string) error {
	if !s.partial {
		return nil
	}
	known, err := s.known()
	if err != nil {
		return err
	}
	var lack []string
	for _, c := range commits {
		if !slices.Contains(known, c) && !slices.Contains(lack, c) {
			lack = append(lack, c)
		}
	}
	if len(lack) == 0 {
		return nil
	}
	missing, err := s.missing(ctx, lack...)
	if err != nil {
		return err
	}
	for _, c := range missing {
		if err := s.exact(ctx, c); err != nil {
			return err
		}
	}
	if err := s.files(ctx, lack, known[max(0, len(known)-maxNear):]); err != nil {
		return err
	}
	known = slices.DeleteFunc(known, func(c string) bool { return slices.Contains(commits, c) })
	return s.remember(append(known, slices.Compact(slices.Sorted(slices.Values(commits)))...))
}

// files gets all objects of the trees of commits that the trees of other, complete ones do not have.
func (s *session) files(ctx context.Context, commits, have []string) error {
	for range maxRounds {
		absent, err := s.listed(ctx, commits, have)
		if err == nil {
			absent, err = s.m.git.lacking(ctx, s.dir, absent)
		}
		if err != nil || len(absent) == 0 {
			return err
		}
		if err := s.objects(ctx, absent); err != nil {
			return s.whether(ctx, commits, err)
		}
		kinds, err := s.m.git.kinds(ctx, s.dir, absent, "")
		if err != nil || !slices.Contains(kinds, "tree") && !slices.ContainsFunc(kinds, isMissing) {
			return err
		}
	}
	return &Failed{Command: "fetch", Reason: "the server does not send all files of a commit"}
}

// listed lists the files in the trees of commits that the trees of have lack, and the missing folders. It reads each
// folder once.
func (s *session) listed(ctx context.Context, commits, have []string) (ids []string, err error) {
	var ask strings.Builder
	for _, c := range commits {
		ask.WriteString(c + "^{tree}\n")
	}
	for _, c := range have {
		ask.WriteString("^" + c + "^{tree}\n")
	}
	out, err := s.m.git.run(ctx, call{dir: s.dir, stdin: ask.String(), max: maxListed, args: []string{"rev-list",
		"--objects", "--quiet", "--missing=print", "--filter=blob:none", "--filter-print-omitted", "--ignore-missing",
		"--stdin"}})
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if len(line) == 0 || !strings.Contains("~?", line[:1]) || !gitcmd.IsObjectID(line[1:]) {
			return nil, &Failed{Command: "rev-list", Reason: "unexpected answer"}
		}
		ids = append(ids, line[1:])
	}
	return ids, nil
}

// objects fetches objects by their ids, and nothing else.
func (s *session) objects(ctx context.Context, ids []string) error {
	for part := range slices.Chunk(ids, atOnce) {
		if err := s.online(ctx, request{ids: part}); err != nil {
			return err
		}
	}
	return nil
}

// whether finds out whether an error means that the server does not have one of the commits any more.
func (s *session) whether(ctx context.Context, commits []string, err error) error {
	if !forge.Is[*Failed](err) {
		return err
	}
	for _, sha := range commits {
		switch gone, probeErr := s.gone(ctx, sha); {
		case probeErr != nil:
			return probeErr
		case gone:
			return &Vanished{SHA: sha}
		}
	}
	return err
}

// known lists the commits with all files, the most recently used last. It is empty if one of the recorded packs is
// missing or has another size; then whole trees are compared.
func (s *session) known() (commits []string, err error) {
	data, err := os.ReadFile(filepath.Join(s.dir, completeFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("a mirror: %w", remote.WithoutPath(err))
	}
	packs, err := s.packs()
	if err != nil {
		return nil, err
	}
	for word := range strings.FieldsSeq(string(data)) {
		switch {
		case gitcmd.IsObjectID(word):
			commits = append(commits, word)
		case !slices.Contains(packs, word):
			return nil, nil
		}
	}
	return commits, nil
}

// remember notes the complete commits of the mirror, and the packs in which they are.
func (s *session) remember(known []string) error {
	packs, err := s.packs()
	if err != nil {
		return err
	}
	lines := slices.Concat(packs, known[max(0, len(known)-maxComplete):])
	file := filepath.Join(s.dir, completeFile)
	err = os.WriteFile(file+".lock", []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	if err == nil {
		err = os.Rename(file+".lock", file)
	}
	if err != nil {
		return fmt.Errorf("a mirror: %w", remote.WithoutPath(err))
	}
	return nil
}

// packs describes the packs of the mirror, a word for each.
func (s *session) packs() (words []string, err error) {
	names, err := packsOf(s.dir)
	for _, name := range names {
		word := name
		for _, ext := range []string{".pack", ".idx"} {
			path := filepath.Join(s.dir, "objects", "pack", strings.TrimSuffix(name, ".pack")+ext)
			if info, err := os.Stat(path); err == nil { // what is not there is another word, too
				word += ":" + strconv.FormatInt(info.Size(), 10)
			}
		}
		words = append(words, word)
	}
	return words, err
}

// packsOf lists the packs of a mirror by their file names.
func packsOf(dir string) (names []string, err error) {
	found, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	return names, err
}

// Complete fetches objects that a check found missing in a mirror of Fetch: all files of the commits that it reads, and
// other objects. Its errors are those of Fetch.
func (m *Mirrors) Complete(ctx context.Context, gitDir string, commits, objects []string) error {
	for _, id := range slices.Concat(commits, objects) {
		if !gitcmd.IsObjectID(id) {
			return fmt.Errorf("%q is not a full object id", id)
		}
	}
	m.mu.Lock()
	repo, ok := m.repos[gitDir]
	m.mu.Unlock()
	if !ok {
		return errors.New("nothing is fetched into a repository that is not a mirror")
	}
	return m.use(ctx, repo, func(s *session) error {
		if !s.partial {
			err := &Failed{Command: "fetch", Reason: "a complete mirror lacks an object"}
			if m.corrupted(ctx, repo, err) {
				return errors.Join(err, remote.WithoutPath(os.RemoveAll(s.dir)))
			}
			return err
		}
		// A recorded commit is incomplete, since the check found an object missing.
		if err := os.Remove(filepath.Join(s.dir, completeFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a mirror: %w", remote.WithoutPath(err))
		}
		if err := s.complete(ctx, commits...); err != nil {
			return err
		}
		absent, err := m.git.lacking(ctx, s.dir, objects)
		if err != nil {
			return err
		}
		return s.objects(ctx, absent)
	})
}
