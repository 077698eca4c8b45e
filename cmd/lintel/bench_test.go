package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkProcess measures whole commands, start-up included: LINTEL_BINARY names the binary, as "make bench"
// does. CPU time is that of the process and its children.
func BenchmarkProcess(b *testing.B) {
	binary := os.Getenv("LINTEL_BINARY")
	if binary == "" {
		b.Skip("LINTEL_BINARY is not set: run make bench")
	}
	dir := b.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"},
			args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git: %v\n%s", err, out)
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	for _, sample := range []string{"sample", "sample-change"} {
		overwrite(b, filepath.Join("..", "..", "testdata", sample), dir)
		git("add", "--all")
		git("commit", "--quiet", "--allow-empty", "--message", sample)
	}
	policies := filepath.Join("testdata", "bench", "policies.yaml")
	resources, pod := filepath.Join(dir, "resources.yaml"), filepath.Join(dir, "pod.yaml")
	writeWorkload(b, resources, 320)
	if err := os.WriteFile(pod, []byte("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n"+
		"  - name: a\n    image: nginx:1\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	onePolicy, err := os.ReadFile(policies)
	if err != nil {
		b.Fatal(err)
	}
	first, _, _ := bytes.Cut(onePolicy, []byte("\n---\n"))
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, first, 0o600); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"version", []string{"version"}, 0},
		{"eval-1-policy-1-pod", []string{"eval", "-p", policy, "-r", pod, "-o", "json"}, 0},
		{"eval-18-policies-1000-resources", []string{"eval", "-p", policies, "-r", resources, "-o", "json"}, 0},
		{"check", []string{"check", "--repo", dir, "--base", "HEAD~1"}, 1},
		{"check-all", []string{"check", "--repo", dir, "--all"}, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			var cpu, peak float64
			for b.Loop() {
				cmd := exec.Command(binary, c.args...)
				out, _ := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() != c.code {
					b.Fatalf("exit code %d\n%s", cmd.ProcessState.ExitCode(), out)
				}
				cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
				peak = max(peak, maxRSS(cmd.ProcessState))
			}
			b.ReportMetric(cpu/float64(b.N)*1000, "cpu-ms/op")
			b.ReportMetric(peak/(1<<20), "peak-MiB")
		})
	}
}

// overwrite copies a folder over another.
func overwrite(b *testing.B, from, to string) {
	err := filepath.WalkDir(from, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			return err
		}
		return copyFile(p, filepath.Join(to, name))
	})
	if err != nil {
		b.Fatal(err)
	}
}
