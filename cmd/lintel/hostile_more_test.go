package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

var soak = flag.Bool("soak", false, "also run what takes minutes: repositories of a million files")

// lintel runs the program in a repository and returns what it said.
func lintel(t *testing.T, r *treetest.Repo, limit time.Duration, args ...string) (string, *os.ProcessState) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Args = append([]string{"lintel", args[0], "--repo", r.Dir}, args[1:]...)
	cmd.Env = append(os.Environ(), "LINTEL_TEST_COMMAND=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("it did not end in time:\n%s", clip(out.String()))
	}
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState
}

// gitInput runs git in a repository on some input and returns its output.
func gitInput(t *testing.T, r *treetest.Repo, input io.Reader, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", r.Dir}, args...)...)
	cmd.Stdin = input
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", args[0], err)
	}
	return strings.TrimSpace(string(out))
}

// commitTree makes a commit of a tree object the branch's tip.
func commitTree(r *treetest.Repo, tree string) {
	r.Git("update-ref", "refs/heads/main", r.Git("commit-tree", "-m", "x", tree))
}

// A few hundred bytes of git objects say that there are 10^12 files, or folders without end.
func TestHostileTrees(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	for _, c := range []struct {
		name         string
		width, depth int
		want         string
	}{
		{"bomb", 10, 12, "the repository has more than the limit of 2000000 files and folders"},
		{"deep", 1, 3000, "is nested more than 255 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit("-- cm.yaml --\n" + configMap)
			tree := r.Git("rev-parse", "HEAD^{tree}")
			for range c.depth {
				var folder strings.Builder
				for i := range c.width {
					fmt.Fprintf(&folder, "040000 tree %s\td%d\n", tree, i)
				}
				tree = gitInput(t, r, strings.NewReader(folder.String()), "mktree", "--missing")
			}
			commitTree(r, tree)
			out, state := lintel(t, r, time.Minute, "check", "--all", "--no-cache")
			if state.ExitCode() == 0 || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %q:\n%s", state.ExitCode(), c.want, clip(out))
			}
			tellsNothing(t, out, r.Dir)
		})
	}
}

// The limits of the base apply, whatever a change says about them.
func TestLimitsOfTheBaseApply(t *testing.T) {
	r := treetest.New(t)
	r.Commit("-- .lintel.yaml --\nlimits: {resources: 2}\n-- apps/a.yaml --\n" + configMap)
	r.Git("checkout", "--quiet", "-b", "change")
	r.Commit("-- .lintel.yaml --\nlimits: {resources: 1000}\n-- apps/b.yaml --\n" + strings.Repeat(configMap+"---\n", 3))
	out, state := lintel(t, r, time.Minute, "check", "--no-cache", "--base", "main")
	if state.ExitCode() != 1 || !strings.Contains(out, "the limit of 2 resources") || !strings.Contains(out, "apps/b.yaml") {
		t.Errorf("exit code %d:\n%s", state.ExitCode(), clip(out))
	}
	r.Commit("-- .lintel.yaml --\nlimits:\n  resource: 1000\n")
	out, state = lintel(t, r, time.Minute, "check", "--no-cache", "--base", "main")
	if state.ExitCode() != 1 || !strings.Contains(out, `did you mean "resources"?`) ||
		!strings.Contains(out, ".lintel.yaml:2") {
		t.Errorf("exit code %d:\n%s", state.ExitCode(), clip(out))
	}
}

// What kustomize takes for an address in spite of its spelling is refused before it is asked for, by "check" with its
// line, and by "blame", which has no box.
func TestHostileSpellings(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	url := server.URL + "/x"
	base := "-- app/cm.yaml --\n" + configMap + "-- app/kustomization.yaml --\n"
	for _, c := range []struct{ name, archive, want string }{
		{"capitals", base + "Resources: [\"" + url + "\"]\n", "app/kustomization.yaml:1"},
		{"long s", base + "re\u017fources: [\"" + url + "\"]\n", "app/kustomization.yaml:1"},
		{"capitals below", base + "resources: [cm.yaml]\npatches: [{Path: \"" + url + "\"}]\n", "app/kustomization.yaml:2"},
		{"the second of two", base + "resources: [cm.yaml]\nresources: [\"" + url + "\"]\n", "app/kustomization.yaml:2"},
		{"two spellings", base + "resources: [cm.yaml]\nRESOURCES: [\"" + url + "\"]\n", "in two spellings"},
		{"merged over", base + "x: &x {resources: [\"" + url + "\"]}\nresources: [cm.yaml]\n<<: *x\n",
			"app/kustomization.yaml:3"},
		{"like a document", base + "patchesStrategicMerge: [\"" + url + "?{a: b}\"]\n", "app/kustomization.yaml:1"},
		{"like a map", base + "resources: [\"" + url + "?a: b\"]\n", "app/kustomization.yaml:1"},
		{"a file of that name", base + "resources: [\"" + strings.Replace(url, "//", "/", 1) + "\"]\n-- app/" +
			strings.Replace(url, "//", "/", 1) + " --\n" + configMap, "app/kustomization.yaml:1"},
		{"base64", base + "resources: [!!binary " + "aHR0cDovLzEyNy4wLjAuMTo5L3g=" + "]\n", "!!binary"},
		{"plugin in the file", base + "resources: [cm.yaml]\n" +
			"transformers: [\"apiVersion: builtin\\nkind: PatchTransformer\\nmetadata: {name: p}\\nPATH: " + url + "\\n\"]\n",
			"app/kustomization.yaml:2"},
		{"plugin in a folder", base + "resources: [cm.yaml]\ntransformers: [t]\n-- app/t/kustomization.yaml --\n" +
			"resources: [p.yaml]\n-- app/t/p.yaml --\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\n" +
			"path: " + url + "\n", "app/"},
		{"repository", base + "resources: [\"git@127.0.0.1:o/r: x\"]\n", "app/kustomization.yaml:1"},
		{"schema", base + "resources: [cm.yaml]\nOPENAPI: {PATH: \"" + url + "\"}\n", "app/kustomization.yaml:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(c.archive)
			out, state := lintel(t, r, time.Minute, "check", "--all", "--no-cache")
			if state.ExitCode() != 1 && !strings.Contains(out, "not checked") || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %q:\n%s", state.ExitCode(), c.want, clip(out))
			}
			tellsNothing(t, out, r.Dir)
			out, state = lintel(t, r, time.Minute, "blame", "app", "--rev", "main")
			if state.ExitCode() == 0 {
				t.Errorf("blame renders it:\n%s", clip(out))
			}
		})
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests reached the network", hits.Load())
	}
}

// Links to links to links end like a path that does not exist, and cost nothing.
func TestSymlinkFarm(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	r := treetest.New(t)
	var folder strings.Builder
	target := func(text string) string {
		return gitInput(t, r, strings.NewReader(text), "hash-object", "-w", "--stdin")
	}
	up, loop := target(strings.Repeat("../", 1300)+"etc/passwd"), target("loop")
	for i := range 2000 {
		fmt.Fprintf(&folder, "120000 blob %s\tl%d.yaml\n", target(fmt.Sprintf("l%d.yaml", i+1)), i)
		fmt.Fprintf(&folder, "120000 blob %s\tup%d.yaml\n", up, i)
	}
	fmt.Fprintf(&folder, "120000 blob %s\tloop\n", loop)
	fmt.Fprintf(&folder, "100644 blob %s\tkustomization.yaml\n",
		target("resources: [l0.yaml, l1995.yaml, up7.yaml, loop, l1999.yaml]\n"))
	commitTree(r, gitInput(t, r, strings.NewReader(folder.String()), "mktree", "--missing"))
	out, state := lintel(t, r, time.Minute, "check", "--all", "--no-cache")
	if state.ExitCode() != 1 || strings.Count(out, "does not exist") != 5 {
		t.Errorf("exit code %d:\n%s", state.ExitCode(), clip(out))
	}
	tellsNothing(t, out, r.Dir)
}

// Names and values that are commands, markup or escapes reach no output as such.
func TestHostileNames(t *testing.T) {
	r := treetest.New(t)
	const name = "::error file=x::\x1b[31m<b>@octocat %0A##[error]"
	r.Write("app/"+name+"/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n")
	r.Write("app/"+name+"/kustomization.yaml", "resources: [cm.yaml, \"\\e]0;x\\a::add-mask::x\\n::error::y\"]\n")
	r.Snapshot()
	for _, form := range output.Names[*report.Report]() {
		t.Run(form, func(t *testing.T) {
			out, state := lintel(t, r, time.Minute, "check", "--all", "--no-cache", "-o", form)
			if state.ExitCode() != 1 {
				t.Errorf("exit code %d:\n%s", state.ExitCode(), clip(out))
			}
			if i := strings.IndexFunc(out, func(c rune) bool { return c < ' ' && c != '\n' }); i >= 0 {
				t.Errorf("a control character at %d: %q", i, clip(out))
			}
			for line := range strings.Lines(out) {
				line = strings.TrimSpace(line)
				ours := form == "github" && (strings.HasPrefix(line, "::error file=app/%3A%3Aerror file=x") ||
					strings.HasPrefix(line, "::warning file=app/%3A%3Aerror file=x"))
				if strings.HasPrefix(line, "::") && !ours || strings.Contains(line, "##[") {
					t.Errorf("a command: %q", line)
				}
			}
			if form == "markdown" && (strings.Contains(out, "<b>") || strings.Contains(out, " @octocat")) {
				t.Errorf("markup: %s", clip(out))
			}
		})
	}
}

// A million small files cost time once, and hardly anything the next time; in one folder they are refused.
func TestAMillionFiles(t *testing.T) {
	if !*soak {
		t.Skip("takes minutes: run it with -soak")
	}
	const count = 1_000_000
	t.Run("in folders", func(t *testing.T) {
		r := treetest.New(t)
		pipe, stream := io.Pipe()
		go func() {
			fmt.Fprint(stream, "commit refs/heads/main\ncommitter t <t@example.com> 0 +0000\ndata 1\nx\n")
			for i := range count {
				text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
				fmt.Fprintf(stream, "M 644 inline d%d/f%d.yaml\ndata %d\n%s\n", i/1000, i, len(text), text)
			}
			text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c5, labels: {a: b}}\n"
			fmt.Fprintf(stream, "commit refs/heads/change\ncommitter t <t@example.com> 0 +0000\ndata 1\ny\n"+
				"from refs/heads/main\nM 644 inline d0/f5.yaml\ndata %d\n%s\n", len(text), text)
			stream.Close()
		}()
		gitInput(t, r, pipe, "fast-import", "--quiet")
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		for _, run := range []struct {
			name  string
			limit time.Duration
		}{{"cold", 4 * time.Minute}, {"warm", 10 * time.Second}} {
			begun := time.Now()
			out, state := lintel(t, r, run.limit, "check", "--base", "main", "--head", "change")
			if state.ExitCode() != 0 || !strings.Contains(out, "1 resource in 1 root") {
				t.Errorf("%s: exit code %d:\n%s", run.name, state.ExitCode(), clip(out))
			}
			t.Logf("%s: %s, peak memory %d MiB", run.name, time.Since(begun).Round(time.Millisecond), int(maxRSS(state))>>20)
		}
	})
	t.Run("in one folder", func(t *testing.T) {
		r := treetest.New(t)
		blob := gitInput(t, r, strings.NewReader(configMap), "hash-object", "-w", "--stdin")
		var folder bytes.Buffer
		for i := range count {
			fmt.Fprintf(&folder, "100644 blob %s\tf%d.yaml\n", blob, i)
		}
		commitTree(r, gitInput(t, r, &folder, "mktree"))
		begun := time.Now()
		out, state := lintel(t, r, 4*time.Minute, "check", "--all", "--no-cache")
		if state.ExitCode() != 1 || !strings.Contains(out, "more than 20000 resources") {
			t.Errorf("exit code %d:\n%s", state.ExitCode(), clip(out))
		}
		t.Logf("%s, peak memory %d MiB", time.Since(begun).Round(time.Millisecond), int(maxRSS(state))>>20)
	})
}
