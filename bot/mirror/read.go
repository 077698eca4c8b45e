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

// missing returns those of the commits that a repository does not have, by git's machine-readable answer.
func (r runner) missing(ctx context.Context, gitDir string, shas ...string) ([]string, error) {
	var ask strings.Builder
	for _, sha := range shas {
		ask.WriteString(sha + "^{commit}\n")
	}
	out, err := r.run(ctx, call{dir: gitDir, args: []string{"cat-file", "--batch-check=%(objecttype)"},
		stdin: ask.String()})
	if err != nil {
		return nil, err
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(shas) {
		return nil, &Failed{Command: "cat-file", Reason: "unexpected answer"}
	}
	var missing []string
	for i, answer := range answers {
		if answer != "commit" {
			missing = append(missing, shas[i])
		}
	}
	return missing, nil
}

// BlobID returns the object id of the regular file at a path of a commit. Symbolic links do not count: their
// id says nothing about the content behind them. Errors are *Vanished if the repository does not have the
// commit, *NoFile if that has no such file, or others.
func (m *Mirrors) BlobID(ctx context.Context, gitDir, commit, path string) (string, error) {
	if !objectID.MatchString(commit) {
		return "", &Vanished{SHA: commit}
	}
	if path == "" || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return "", &NoFile{Commit: commit, Path: path}
	}
	missing, err := m.git.missing(ctx, gitDir, commit)
	if err != nil {
		return "", err
	}
	if len(missing) > 0 {
		return "", &Vanished{SHA: commit}
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
