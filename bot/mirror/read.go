package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// maxBlob bounds a file that Blob reads; the files it is for are far smaller.
const maxBlob = 16 << 20

// maxAnswer bounds what git says about one object, in bytes.
const maxAnswer = 128

// missing returns those of the commits that a repository does not have.
func (r runner) missing(ctx context.Context, gitDir string, shas ...string) ([]string, error) {
	kinds, err := r.kinds(ctx, gitDir, shas, "^{commit}")
	return pick(shas, func(i int) bool { return kinds[i] != "commit" }), err
}

// lacking returns those of the objects that a repository does not have.
func (r runner) lacking(ctx context.Context, gitDir string, ids []string) ([]string, error) {
	kinds, err := r.kinds(ctx, gitDir, ids, "")
	return pick(ids, func(i int) bool { return isMissing(kinds[i]) }), err
}

func isMissing(kind string) bool { return strings.HasSuffix(kind, " missing") }

// kinds returns what each of the objects is, by git's machine-readable answer, which ends with " missing" for what is
// not there. Suffix says what each is taken for. On an error there are none.
func (r runner) kinds(ctx context.Context, gitDir string, ids []string, suffix string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var ask strings.Builder
	for _, id := range ids {
		ask.WriteString(id + suffix + "\n")
	}
	out, err := r.run(ctx, call{dir: gitDir, args: []string{"cat-file", "--batch-check=%(objecttype)"},
		stdin: ask.String(), max: int64(len(ids)) * maxAnswer})
	if err != nil {
		return make([]string, len(ids)), err
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(ids) {
		return make([]string, len(ids)), &Failed{Command: "cat-file", Reason: "unexpected answer"}
	}
	return answers, nil
}

func pick(list []string, want func(i int) bool) (out []string) {
	for i, s := range list {
		if want(i) {
			out = append(out, s)
		}
	}
	return out
}

// BlobID returns the object id of the regular file at a path of a commit. Symbolic links do not count: their
// id says nothing about the content behind them. Errors are *Vanished if the repository does not have the
// commit, *NoFile if that has no such file, or others.
func (m *Mirrors) BlobID(ctx context.Context, gitDir, commit, path string) (string, error) {
	if err := m.have(ctx, gitDir, commit); err != nil {
		return "", err
	}
	if path == "" || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return "", &NoFile{Commit: commit, Path: path}
	}
	out, err := m.git.run(ctx, call{dir: gitDir, args: []string{"ls-tree", "-z", "--full-tree", commit, "--", path}})
	if err != nil {
		return "", fmt.Errorf("looking for a file: %w", err)
	}
	// "<mode> <type> <id>\t<path>\0"
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		meta, name, ok := strings.Cut(string(entry), "\t")
		fields := strings.Fields(meta)
		if ok && name == path && len(fields) == 3 && fields[1] == "blob" && strings.HasPrefix(fields[0], "100") {
			return fields[2], nil
		}
	}
	return "", &NoFile{Commit: commit, Path: path}
}

// Blob returns the content and the object id of the regular file at a path of a commit, of at most 16 MB.
// Its errors are those of BlobID.
func (m *Mirrors) Blob(ctx context.Context, gitDir, commit, path string) (content []byte, id string, err error) {
	id, err = m.BlobID(ctx, gitDir, commit, path)
	if err != nil {
		return nil, "", err
	}
	content, err = m.git.run(ctx, call{dir: gitDir, args: []string{"cat-file", "blob", id}, max: maxBlob})
	if errors.Is(err, gitcmd.ErrTooMuch) {
		return nil, "", fmt.Errorf("%s is larger than %d MB: %w", path, maxBlob>>20, err)
	}
	return content, id, err
}

// maxNames bounds the output of a comparison: far more than a push ever changes.
const maxNames = 64 << 20

// Changed returns the paths that differ between two commits of a mirror, renames as two paths. A commit that
// the mirror does not have is a *Vanished.
func (m *Mirrors) Changed(ctx context.Context, gitDir, old, now string) ([]string, error) {
	if err := m.have(ctx, gitDir, old, now); err != nil {
		return nil, err
	}
	out, err := m.git.run(ctx, call{dir: gitDir, args: []string{"diff-tree", "-r", "-z", "--no-renames", "--name-only",
		old, now}, max: maxNames})
	if err != nil {
		return nil, err
	}
	return split(out, 0), nil
}

// Commits returns the commits that now has and old has not, of at most a million.
func (m *Mirrors) Commits(ctx context.Context, gitDir, old, now string) ([]string, error) {
	if err := m.have(ctx, gitDir, old, now); err != nil {
		return nil, err
	}
	out, err := m.git.run(ctx, call{dir: gitDir, args: []string{"rev-list", "--max-count=1000000", now, "^" + old},
		max: maxNames})
	if err != nil {
		return nil, err
	}
	return split(out, '\n'), nil
}

// have returns a *Vanished for the first commit that is not in the mirror.
func (m *Mirrors) have(ctx context.Context, gitDir string, shas ...string) error {
	for _, sha := range shas {
		if !gitcmd.IsObjectID(sha) {
			return &Vanished{SHA: sha}
		}
	}
	missing, err := m.git.missing(ctx, gitDir, shas...)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return &Vanished{SHA: missing[0]}
	}
	return nil
}

func split(out []byte, by byte) (list []string) {
	for part := range bytes.SplitSeq(out, []byte{by}) {
		if len(part) > 0 {
			list = append(list, string(part))
		}
	}
	return list
}
