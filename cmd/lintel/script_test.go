package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// The check command starts its own binary as its child, which here is the test.
	if len(os.Args) == 2 && os.Args[1] == "sandbox" || os.Getenv("LINTEL_TEST_COMMAND") != "" {
		os.Exit(run())
	}
	testscript.Main(m, map[string]func(){"lintel": func() { os.Exit(run()) }})
}

// Each script is a git repository and what the command line says about it.
func TestScripts(t *testing.T) {
	cache := t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("XDG_CACHE_HOME", cache)
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				e.Setenv("GIT_"+who+"_NAME", "t")
				e.Setenv("GIT_"+who+"_EMAIL", "t@example.com")
				e.Setenv("GIT_"+who+"_DATE", "2024-01-02T03:04:05Z")
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"commit": commit,
		},
	})
}

// commit adds everything in the repository and commits it; the first call makes the repository.
func commit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: commit")
	}
	if _, err := os.Stat(ts.MkAbs(".git")); err != nil {
		ts.Check(ts.Exec("git", "init", "--quiet", "--initial-branch=main"))
	}
	ts.Check(ts.Exec("git", "add", "--all"))
	ts.Check(ts.Exec("git", "commit", "--quiet", "--allow-empty", "--message", "change"))
}
