package main

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is the part of an action.yml that a runner of GitHub Actions reads
// (https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax).
type action struct {
	folder  string
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Name, Shell, Run string
			Env                  map[string]string
		}
	}
}

func readAction(t *testing.T, folder string) *action {
	t.Helper()
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	a := &action{folder: folder}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("this runner runs composite actions, not %q of %d steps", a.Runs.Using, len(a.Runs.Steps))
	}
	return a
}

// runner is what a runner of GitHub Actions is to the steps of an action: folders, variables, and the contexts of its
// expressions.
type runner struct {
	workspace string
	temp      string
	env       map[string]string // besides those that every job has
	github    map[string]string // "event.before"
	inputs    map[string]string
}

// ran is what became of an action.
type ran struct {
	code    int
	log     string
	outputs map[string]string
	summary string
	path    []string
}

// expression is a value of a context, with a text in place of one that is empty, perhaps.
var expression = regexp.MustCompile(`\$\{\{\s*([A-Za-z_.-]+)(?:\s*\|\|\s*'([^']*)')?\s*\}\}`)

// run runs the steps as a runner does: each with bash, in the workspace, until one fails.
func (r *runner) run(t *testing.T, a *action) ran {
	t.Helper()
	result := ran{outputs: map[string]string{}}
	steps := map[string]string{} // "id.output"
	value := func(text string) string {
		return expression.ReplaceAllStringFunc(text, func(m string) string {
			parts := expression.FindStringSubmatch(m)
			context, name, _ := strings.Cut(parts[1], ".")
			switch context {
			case "github":
				return r.github[name]
			case "inputs":
				in, known := a.Inputs[name]
				if !known {
					t.Errorf("%s is not among the inputs", m)
				}
				if given, ok := r.inputs[name]; ok {
					return given
				}
				return in.Default
			case "steps":
				return cmp.Or(steps[strings.Replace(name, ".outputs.", ".", 1)], parts[2])
			}
			t.Errorf("this runner does not know %s", m)
			return ""
		})
	}
	for name := range r.inputs {
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("there is no input %q", name)
		}
	}
	for _, step := range a.Runs.Steps {
		if step.Shell != "bash" || strings.Contains(step.Run, "${{") {
			t.Errorf("step %q: values reach a script as variables only", step.Name)
		}
		files := map[string]string{"GITHUB_OUTPUT": "", "GITHUB_PATH": "", "GITHUB_STEP_SUMMARY": ""}
		env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": r.temp, "GITHUB_ACTIONS": "true", "CI": "true",
			"GITHUB_WORKSPACE": r.workspace, "GITHUB_ACTION_PATH": a.folder, "RUNNER_TEMP": r.temp, "RUNNER_OS": "Linux",
			"RUNNER_ARCH": "X64", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1"}
		for name := range files {
			file := filepath.Join(t.TempDir(), name)
			writeFile(t, file, "")
			files[name], env[name] = file, file
		}
		script := filepath.Join(t.TempDir(), "script.sh")
		writeFile(t, script, step.Run)
		maps.Copy(env, r.env)
		for name, text := range step.Env {
			env[name] = value(text)
		}
		env["PATH"] = strings.Join(append(result.path, env["PATH"]), string(os.PathListSeparator))
		cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
		cmd.Dir = r.workspace
		for name, text := range env {
			cmd.Env = append(cmd.Env, name+"="+text)
		}
		out, err := cmd.CombinedOutput()
		result.log += string(out)
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			result.code = failed.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(readFile(t, files["GITHUB_OUTPUT"])) {
			name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			if !ok {
				t.Errorf("step %q: %q is no output", step.Name, line)
			}
			steps[step.ID+"."+name] = text
		}
		for line := range strings.Lines(readFile(t, files["GITHUB_PATH"])) {
			result.path = append(result.path, strings.TrimSuffix(line, "\n"))
		}
		result.summary += readFile(t, files["GITHUB_STEP_SUMMARY"])
		if result.code != 0 {
			break
		}
	}
	for name, out := range a.Outputs {
		result.outputs[name] = value(out.Value)
	}
	return result
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
