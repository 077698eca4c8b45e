package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Findings and broken files are exit code 1; what cannot be done at all is another error, which is exit code 2.
func TestFileCommandExitCodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	policy := write("policy.yaml", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec:\n  rules:\n  - name: a\n"+
		"    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    validate: {failureAction: Enforce, message: Not good., pattern: {metadata: {name: good}}}\n")
	good := write("good.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n")
	bad := write("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\n")
	broken := write("broken.yaml", "kind: [\n")
	values := write("values.yaml", "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nvalues: 1\n")
	const head = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: [../policy.yaml]\nresources: [../bad.yaml]\n"
	write("passes/kyverno-test.yaml", head+"results: [{policy: a, rule: a, resources: [bad], result: fail}]\n")
	write("fails/kyverno-test.yaml", head+"results: [{policy: a, rule: a, resources: [bad], result: pass}]\n")
	write("broken/kyverno-test.yaml", "a: [\n")
	for name, c := range map[string]struct {
		args []string
		code exitCode
	}{
		"clean":           {[]string{"eval", "-p", policy, "-r", good}, 0},
		"blocked":         {[]string{"eval", "-p", policy, "-r", bad}, exitBlocked},
		"broken resource": {[]string{"eval", "-p", policy, "-r", good, "-r", broken}, exitBlocked},
		"broken policy":   {[]string{"eval", "-p", broken, "-r", good}, exitBlocked},
		"broken values":   {[]string{"eval", "-p", policy, "-r", good, "--values", values}, exitUnable},
		"no such file":    {[]string{"eval", "-p", policy, "-r", filepath.Join(dir, "none")}, exitUnable},
		"no resources":    {[]string{"eval", "-p", policy}, exitUnable},
		"tests pass":      {[]string{"test", filepath.Join(dir, "passes")}, 0},
		"a test fails":    {[]string{"test", dir}, exitBlocked},
		"a broken test":   {[]string{"test", filepath.Join(dir, "passes"), filepath.Join(dir, "broken")}, exitBlocked},
		"no such folder":  {[]string{"test", filepath.Join(dir, "none")}, exitUnable},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newRootCommand()
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			cmd.SetArgs(c.args)
			code := exitCode(0)
			if err := cmd.ExecuteContext(t.Context()); err != nil && !errors.As(err, &code) {
				code = exitUnable // as run does
			}
			if code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, out.String())
			}
		})
	}
}
