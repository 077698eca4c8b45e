package mirror

import (
	"bytes"
	"context"
)

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
		if !objectID.MatchString(sha) {
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
