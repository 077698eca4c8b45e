package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The chart of the App keeps deploy/policies in each of its modes, as this program renders it; and a rule bites in it.
func TestChartKeepsPolicies(t *testing.T) {
	deploy, dir := filepath.Join("..", "..", "deploy"), t.TempDir()
	policies, err := filepath.Glob(filepath.Join(deploy, "policies", "*.yaml"))
	if err != nil || len(policies) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	for _, file := range policies {
		writeFile(t, filepath.Join(dir, "policies", filepath.Base(file)), readFile(t, file))
	}
	// A chart that nobody deploys is checked with its own values.
	modes := map[string]string{"single": "mode: single", "register": "register: true", "replicated": "mode: replicated",
		"monitoring": "monitoring: true"}
	write := func(mode, changed string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(dir, mode)); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, mode), os.DirFS(filepath.Join(deploy, "chart"))); err != nil {
			t.Fatal(err)
		}
		values := filepath.Join(dir, mode, "values.yaml")
		setting, _, _ := strings.Cut(changed, ": ")
		text := regexp.MustCompile(`(?m)^`+setting+`: .*$`).ReplaceAllLiteralString(readFile(t, values), changed)
		if !strings.Contains(text, changed+"\n") {
			t.Fatalf("the values have no %q", setting)
		}
		writeFile(t, values, text)
	}
	for mode, changed := range modes {
		write(mode, changed)
	}
	// The charts are alternatives.
	writeFile(t, filepath.Join(dir, ".lintel.yaml"), "policies: [policies]\nblock: all\nunrendered: failure\nchecks: {deployed-twice: \"off\"}\n")
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "chart")
	check := func() (code int, conclusion string, out string) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "check", "--all", "--worktree", "--no-cache", "-o", "json")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LINTEL_TEST_COMMAND=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		data, err := cmd.Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			code, out = failed.ExitCode(), string(failed.Stderr)
		} else if err != nil {
			t.Fatal(err)
		}
		var rep struct {
			Conclusion string
			Stats      struct{ Roots int }
		}
		if err := json.Unmarshal(data, &rep); err != nil {
			t.Fatalf("%v\n%s%s", err, data, out)
		}
		if rep.Stats.Roots != len(modes) {
			t.Errorf("%d roots, want %d", rep.Stats.Roots, len(modes))
		}
		return code, rep.Conclusion, string(data) + out
	}
	if code, conclusion, out := check(); code != 0 || conclusion != "success" {
		t.Errorf("exit code %d, %s:\n%s", code, conclusion, out)
	}
	write("single", "resources: {limits: {memory: 1Gi}}")
	if code, conclusion, out := check(); code != 1 || conclusion != "failure" || !strings.Contains(out, "memory-for-two-checks") {
		t.Errorf("with too little memory: exit code %d, %s:\n%s", code, conclusion, out)
	}
}
