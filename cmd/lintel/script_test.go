package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

func TestMain(m *testing.M) {
	// The check command starts its own binary as its child, which here is the test.
	if len(os.Args) == 2 && os.Args[1] == "sandbox" || os.Getenv("LINTEL_TEST_COMMAND") != "" {
		os.Exit(run())
	}
	if len(os.Args) == 2 && os.Args[1] == "act-as-intruder" {
		os.Exit(actAsIntruder())
	}
	testscript.Main(m, map[string]func(){"lintel": func() { os.Exit(run()) }})
}

// Each script is a git repository and what the command line says about it.
func TestScripts(t *testing.T) {
	cache := t.TempDir()
	project, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("XDG_CACHE_HOME", cache)
			e.Setenv("PROJECT", project)
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				e.Setenv("GIT_"+who+"_NAME", "t")
				e.Setenv("GIT_"+who+"_EMAIL", "t@example.com")
				e.Setenv("GIT_"+who+"_DATE", "2024-01-02T03:04:05Z")
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"commit": commit, "change": change, "unpack": unpack, "exits": exits, "event": event, "outside": startRemote,
			"charts": charts, "plays": plays,
		},
	})
}

// commit adds everything in the repository and commits it; the first call makes the repository. What the folders
// .next and .want hold is for the script alone.
func commit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: commit")
	}
	if _, err := os.Stat(ts.MkAbs(".git")); err != nil {
		ts.Check(ts.Exec("git", "init", "--quiet", "--initial-branch=main"))
		ts.Check(os.WriteFile(ts.MkAbs(".git/info/exclude"), []byte("/.next/\n/.want/\n/.outside/\n/.store/\n"), 0o600))
	}
	ts.Check(ts.Exec("git", "add", "--all"))
	ts.Check(ts.Exec("git", "commit", "--quiet", "--allow-empty", "--message", "change"))
}

// change commits everything, then writes the files of .next over it.
func change(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: change")
	}
	commit(ts, false, nil)
	err := filepath.WalkDir(ts.MkAbs(".next"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(ts.MkAbs(".next"), p)
		if err != nil {
			return err
		}
		to := ts.MkAbs(name)
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), copyFile(p, to))
	})
	ts.Check(err)
}

// unpack writes the files of an archive of testdata/repository, those that the script has itself excepted.
func unpack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unpack NAME")
	}
	archive, err := txtar.ParseFile(filepath.Join(ts.Getenv("PROJECT"), "cmd/lintel/testdata/repository", args[0]+".txtar"))
	ts.Check(err)
	for _, f := range archive.Files {
		name := ts.MkAbs(f.Name)
		if _, err := os.Stat(name); err == nil {
			continue
		}
		ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
		ts.Check(os.WriteFile(name, f.Data, 0o644))
	}
}

// exits runs a command that ends with an exit code: exits 2 lintel check --base none.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	code := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// event has a workflow of GitHub Actions run in the folder, for an event of which it says the name and the JSON; <REV> in
// that is a commit.
func event(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: event NAME JSON")
	}
	commit := func(rev string) string {
		ts.Check(ts.Exec("git", "rev-parse", "--verify", rev))
		return strings.TrimSpace(ts.ReadFile("stdout"))
	}
	text := regexp.MustCompile(`<([^>]+)>`).ReplaceAllStringFunc(args[1], func(m string) string { return commit(m[1 : len(m)-1]) })
	file := filepath.Join(ts.Getenv("WORK"), ".git", "event.json")
	ts.Check(os.WriteFile(file, []byte(text), 0o600))
	for name, value := range map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": args[0], "GITHUB_EVENT_PATH": file,
		"GITHUB_SHA": commit("HEAD")} {
		ts.Setenv(name, value)
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
