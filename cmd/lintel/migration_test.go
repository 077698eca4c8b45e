package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// section is the part of engine/README.md that says how to move from the kyverno command.
func section(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../../engine/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(readme), "\n## Move from the Kyverno CLI\n")
	if !ok {
		t.Fatal("engine/README.md has no such section")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// tableOf is the rows of the table of a section whose header begins so, each as the code in its cells.
func tableOf(t *testing.T, header string) (rows [][2][]string) {
	t.Helper()
	code := regexp.MustCompile("`([^`]+)`")
	_, text, ok := strings.Cut(section(t), "| "+header)
	if !ok {
		t.Fatalf("no table %q", header)
	}
	text, _, _ = strings.Cut(text, "\n\n")
	for _, line := range strings.Split(text, "\n")[2:] {
		var row [2][]string
		for i, cell := range strings.Split(strings.Trim(line, "| "), " | ") {
			for _, m := range code.FindAllStringSubmatch(cell, -1) {
				row[min(i, 1)] = append(row[min(i, 1)], m[1])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// sampleFiles is what the commands of engine/README.md run on: all of them succeed.
func sampleFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"policies/latest.yaml": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: latest}\nspec:\n  rules:\n" +
			"  - name: tag\n    match: {any: [{resources: {kinds: [Pod]}}]}\n" +
			"    validate: {message: m, failureAction: Enforce, pattern: {spec: {containers: [{image: \"!*:latest\"}]}}}\n",
		"policies/test/kyverno-test.yaml": "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: latest}\n" +
			"policies: [../latest.yaml]\nresources: [pods.yaml]\n" +
			"results: [{policy: latest, rule: tag, kind: Pod, resources: [a], result: fail}]\n",
		"policies/test/pods.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: \"a:latest\"}]}\n",
		"pod.yaml":                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: \"a:1\"}]}\n",
		"values.yaml":             "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValues: {who: jane}\n",
		"user.yaml":               "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nuserInfo: {username: jane}\n",
		"exceptions/a.yaml": "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: default}\n" +
			"spec:\n  exceptions: [{policyName: latest, ruleNames: [tag]}]\n  match: {any: [{resources: {kinds: [Pod], names: [b]}}]}\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runLintel runs the program in a folder.
func runLintel(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LINTEL_TEST_COMMAND=1", "XDG_CACHE_HOME="+filepath.Join(dir, ".cache"), "LINTEL_STORE=", "LINTEL_SOURCES=")
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), bad.String()
}

// words are those of a command as a shell splits it.
func words(command string) (out []string) {
	for i, part := range strings.Split(command, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// Each row of engine/README.md works: with the words of the kyverno command, and with those of ours.
func TestMigrationTable(t *testing.T) {
	dir := sampleFiles(t)
	ran := 0
	run := func(args []string) {
		t.Helper()
		ran++
		if code, _, stderr := runLintel(t, dir, args...); code != 0 {
			t.Errorf("lintel %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
		}
	}
	for _, row := range tableOf(t, "with Kyverno ") {
		if len(row[0]) == 0 {
			t.Errorf("a row without a command: %q", row)
		}
		for _, command := range row[0] {
			args := words(command)
			if args[0] != "kyverno" {
				t.Errorf("%q is no command of Kyverno", command)
			}
			same := len(args) > 2 && (args[1] == "apply" || args[1] == "test")
			if same && !strings.Contains(command, "://") { // which scripts try with a repository of theirs
				run(args[1:])
			}
		}
		for _, command := range row[1] {
			args := words(command)
			switch {
			case args[0] != "lintel": // a flag of the command before it
				if f := newEvalCommand().Flags(); f.Lookup(strings.TrimLeft(args[0], "-")) == nil && f.ShorthandLookup(args[0][1:2]) == nil {
					t.Errorf("%q is no flag of eval", command)
				}
			case args[1] == "check" || args[1] == "init": // they need a repository, and have scripts of their own
				if cmd, _, err := newRootCommand().Find(args[1:]); err != nil || cmd.ParseFlags(args[2:]) != nil {
					t.Errorf("%q is no command: %v", command, err)
				}
			case args[len(args)-1] == "--watch": // it does not end
				run(args[1 : len(args)-1])
			default:
				run(args[1:])
			}
		}
	}
	if ran < 12 {
		t.Errorf("only %d commands of the table were run", ran)
	}
}

// The flags that engine/README.md lists as having something else in their place are those that the program refuses, with the
// words that the program has, and no others.
func TestMigrationFlags(t *testing.T) {
	dir := sampleFiles(t)
	listed := map[string]bool{}
	for _, row := range tableOf(t, "flags that say") {
		command := "apply"
		for _, name := range row[0] {
			if name == "test" {
				command = "test"
				continue
			}
			listed[command+" "+name] = true
		}
	}
	if len(listed) < 15 {
		t.Fatalf("only %v are listed", listed)
	}
	for command, args := range map[string][]string{"apply": {"apply", "policies/", "-r", "pod.yaml"}, "test": {"test", "policies/"}} {
		for i, f := range foreignFlags(command) {
			if testing.Short() && f.instead == "" && i%4 > 0 {
				continue // a whole run for each flag that is taken: make test-all
			}
			given := "--" + f.name
			with := append(args[:len(args):len(args)], given)
			if f.takes {
				with[len(with)-1] += "=1"
			}
			code, stdout, stderr := runLintel(t, dir, with...)
			switch {
			case f.instead == "" && (code != 0 || listed[command+" "+given]):
				t.Errorf("%s %s is not taken: %d %s", command, given, code, stderr)
			case f.instead != "" && (code == 0 || stdout != "" || stderr != "lintel: "+given+": "+f.instead+"\n"):
				t.Errorf("%s %s: %d %q %q", command, given, code, stdout, stderr)
			case f.instead != "" && !listed[command+" "+given]:
				t.Errorf("engine/README.md does not list %s of %s", given, command)
			}
			delete(listed, command+" "+given)
		}
	}
	for name := range listed {
		t.Errorf("engine/README.md lists %s, which is not refused", name)
	}
}

// The words and exit codes of outcomes are those that engine/README.md has.
func TestMigrationOutcomes(t *testing.T) {
	const head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p%s}\nspec:\n  rules:\n  - name: r\n" +
		"    match: {any: [{resources: {kinds: [Pod]}}]}\n"
	policies := map[string][2]string{ // annotations and the rule
		"enforces": {"", "    validate: {failureAction: Enforce, message: m, pattern: {metadata: {name: x}}}\n"},
		"audits":   {"", "    validate: {message: m, pattern: {metadata: {name: x}}}\n"},
		"scored": {`, annotations: {policies.kyverno.io/scored: "false"}`,
			"    validate: {failureAction: Enforce, message: m, pattern: {metadata: {name: x}}}\n"},
		"cluster": {"", "    context: [{name: c, configMap: {name: c, namespace: d}}]\n" +
			"    validate: {failureAction: Enforce, deny: {conditions: {any: [{key: '{{ c.data.a }}', operator: Equals, value: b}]}}}\n"},
	}
	dir := sampleFiles(t)
	for name, p := range policies {
		text := strings.Replace(head, "%s", p[0], 1) + p[1]
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"apply enforces.yaml -r pod.yaml", "fail: 1, warn: 0, error: 0", 1},
		{"eval -p enforces.yaml -r pod.yaml", "1 fail\n", 1},
		{"apply audits.yaml -r pod.yaml", "fail: 1, warn: 0, error: 0", 1},
		{"apply audits.yaml -r pod.yaml --audit-warn", "fail: 0, warn: 1, error: 0", 0},
		{"eval -p audits.yaml -r pod.yaml", "1 warn\n", 0},
		{"apply scored.yaml -r pod.yaml", "fail: 0, warn: 1, error: 0", 0},
		{"eval -p scored.yaml -r pod.yaml", "1 fail\n", 1},
		{"apply cluster.yaml -r pod.yaml", "fail: 0, warn: 0, error: 1", 1},
		{"eval -p cluster.yaml -r pod.yaml", "1 unknown\n", 0},
		{"eval -p enforces.yaml -r none.yaml", "", 2},
		{"apply enforces.yaml -r none.yaml --warn-exit-code 2", "", 1},
	} {
		if code, stdout, stderr := runLintel(t, dir, strings.Fields(c.args)...); code != c.code || !strings.Contains(stdout, c.want) {
			t.Errorf("lintel %s: exit code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
}
