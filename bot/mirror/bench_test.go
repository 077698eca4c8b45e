package mirror

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/remote"
)

// history puts into a server a repository with many files, of which one is large and was replaced by each commit, and
// pull requests that change one file each. It returns the tip and the heads.
func history(b *testing.B, s *server, files, commits, pulls int) (tip string, heads []string) {
	b.Helper()
	var in strings.Builder
	write := func(path, content string) {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	commit := func(ref, from string) {
		fmt.Fprintf(&in, "commit %s\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nc\n%s", ref, from)
	}
	for c := range commits {
		commit(mainRef, "")
		write("bin/tool", noise(int64(c), 256<<10))
		for f := range files {
			if c == 0 || f == c {
				write(fmt.Sprintf("apps/t%d/app%d/deployment.yaml", f%50, f), fmt.Sprintf("name: app%d\nversion: %d\n", f, c))
			}
		}
	}
	for p := range pulls {
		ref := fmt.Sprintf("refs/pull/%d/head", p+1)
		commit(ref, "from "+mainRef+"\n")
		write(fmt.Sprintf("apps/t%d/app%d/deployment.yaml", p%50, p), fmt.Sprintf("pull: %d\n", p))
	}
	cmd := exec.Command("git", "-C", s.dir, "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(in.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for p := range pulls {
		heads = append(heads, s.git(s.dir, "rev-parse", fmt.Sprintf("refs/pull/%d/head", p+1)))
	}
	return s.git(s.dir, "rev-parse", mainRef), heads
}

// BenchmarkFetch fetches for the first time, for a later pull request, and again for the same one, in a repository whose
// history is mostly what no check reads. It also says how much the mirror takes, and the repository.
func BenchmarkFetch(b *testing.B) {
	const files, commits, pulls = 5000, 40, 200
	s := newServer(b)
	tip, heads := history(b, s, files, commits, pulls)
	fetch := func(b *testing.B, m *Mirrors, pull int) string {
		b.Helper()
		got, err := m.Fetch(b.Context(), testRepo, Want{Number: pull + 1, BaseRef: "main", BaseSHA: tip, HeadSHA: heads[pull]})
		if err != nil {
			b.Fatal(err)
		}
		return got.GitDir
	}
	for name, filter := range map[string]string{"partial": "true", "whole": "false"} {
		b.Run(name, func(b *testing.B) {
			s.git(s.dir, "config", "uploadpack.allowFilter", filter)
			b.Run("first", func(b *testing.B) {
				var dir string
				for b.Loop() {
					m := s.mirrors()
					dir = fetch(b, m, 0)
					b.StopTimer()
					b.ReportMetric(float64(remote.Size(dir)), "mirror-bytes")
					if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(remote.Size(s.dir)), "repository-bytes")
			})
			b.Run("later", func(b *testing.B) {
				m, n := s.mirrors(), 0
				fetch(b, m, 0)
				for b.Loop() {
					n++
					fetch(b, m, 1+n%(pulls-1))
				}
			})
			b.Run("again", func(b *testing.B) {
				m := s.mirrors()
				fetch(b, m, 0)
				for b.Loop() {
					fetch(b, m, 0)
				}
			})
		})
	}
}
