package checks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
)

// TestReplay checks the last commits of a repository, one after the other, as changes to their first parents, with a
// folder of policies laid over it, and prints what that costs. "make replay" runs it: LINTEL_REPLAY_REPO is the
// repository, LINTEL_REPLAY_N the number of commits, LINTEL_REPLAY_POLICIES the folder, LINTEL_REPLAY_CACHE a folder
// to keep things in (default: none, all checks in one process).
func TestReplay(t *testing.T) {
	repo := os.Getenv("LINTEL_REPLAY_REPO")
	if repo == "" {
		t.Skip("LINTEL_REPLAY_REPO is not set: run make replay")
	}
	n, err := strconv.Atoi(os.Getenv("LINTEL_REPLAY_N"))
	if err != nil {
		t.Fatalf("LINTEL_REPLAY_N: %v", err)
	}
	p := newReplay(t, repo, os.Getenv("LINTEL_REPLAY_POLICIES"))
	commits := strings.Fields(p.git(nil, "rev-list", "--first-parent", "-n", strconv.Itoa(n+1), "HEAD"))
	slices.Reverse(commits)
	if quiet, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		defer func(stderr *os.File) { os.Stderr = stderr }(os.Stderr)
		os.Stderr = quiet // kustomize warns of deprecated fields in every build
	}
	var c checks.Checker
	var times []time.Duration
	var peaks []int
	count := map[report.Conclusion]int{}
	roots, resources := 0, 0
	for i := 1; i < len(commits); i++ {
		change := report.Change{GitDir: p.gitDir, Alternates: []string{p.objects}, Cache: os.Getenv("LINTEL_REPLAY_CACHE"),
			Rules: p.overlay(commits[i-1]), Base: commits[i-1], Head: commits[i], Now: time.Now()}
		resetPeak()
		begun := time.Now()
		rep, err := c.Run(t.Context(), change)
		if err != nil {
			t.Fatalf("%s: %v", commits[i], err)
		}
		took := time.Since(begun)
		times, peaks = append(times, took), append(peaks, peak())
		count[rep.Conclusion]++
		roots += rep.Stats.Roots
		resources += rep.Stats.Resources
		if testing.Verbose() {
			t.Logf("%.10s %8s %4d MiB %4d roots %5d resources %s", commits[i], took.Round(time.Millisecond), peak()>>10, rep.Stats.Roots, rep.Stats.Resources, rep.Title)
		}
	}
	if len(times) == 0 {
		t.Fatal("the repository has one commit")
	}
	fmt.Printf("first check %s (nothing known)\n", times[0].Round(time.Millisecond))
	slices.Sort(times)
	slices.Sort(peaks)
	at := func(q float64) int { return min(len(times)-1, int(q*float64(len(times)))) }
	fmt.Printf("%d checks, %d roots, %d resources, %v\n", len(times), roots, resources, count)
	fmt.Printf("time    median %s  p95 %s  max %s\n", times[at(0.5)].Round(time.Millisecond), times[at(0.95)].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
	fmt.Printf("memory  median %d MiB  p95 %d MiB  max %d MiB\n", peaks[at(0.5)]>>10, peaks[at(0.95)]>>10, peaks[len(peaks)-1]>>10)
}

// replay is a repository with policies laid over its commits; what that adds is written elsewhere.
type replay struct {
	t                *testing.T
	gitDir, objects  string
	index            string
	policies, prefix string
}

func newReplay(t *testing.T, repo, policies string) *replay {
	p := &replay{t: t, gitDir: repo, index: filepath.Join(t.TempDir(), "index"), prefix: "lintel-replay-policies/"}
	out, err := exec.Command("git", "-C", repo, "rev-parse", "--absolute-git-dir").Output()
	if err != nil {
		t.Fatalf("%s is no git repository: %v", repo, err)
	}
	p.gitDir = strings.TrimSpace(string(out))
	p.objects = t.TempDir()
	if policies == "" {
		return p
	}
	if policies, err = filepath.Abs(policies); err != nil {
		t.Fatal(err)
	}
	p.git([]string{"GIT_WORK_TREE=" + policies}, "add", "--all", "--force", ".")
	p.policies = p.git(nil, "write-tree")
	return p
}

func (p *replay) git(environment []string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir", p.gitDir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+p.index, "GIT_OBJECT_DIRECTORY="+p.objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(p.gitDir, "objects"))
	cmd.Env = append(cmd.Env, environment...)
	for _, e := range environment {
		if dir, ok := strings.CutPrefix(e, "GIT_WORK_TREE="); ok {
			cmd.Dir = dir
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

// overlay answers the tree of a commit with the policies in a folder of their own.
func (p *replay) overlay(commit string) string {
	if p.policies == "" {
		return commit
	}
	p.git(nil, "read-tree", commit)
	p.git(nil, "read-tree", "--prefix="+p.prefix, p.policies)
	return p.git(nil, "write-tree")
}

// resetPeak starts the measurement of peak over; where the system has none, peak is 0 (proc(5), clear_refs).
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peak is the largest resident size since resetPeak, in KiB.
func peak() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return n
		}
	}
	return 0
}
