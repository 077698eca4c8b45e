package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Each commit is asked about with the policies laid over its parent, and nothing is written to the repository.
func TestReplay(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: IMAGE}]}\n"
	policies := t.TempDir()
	policy := "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: latest}\n" +
		"spec:\n  rules:\n  - name: tag\n" +
		"    match: {any: [{resources: {kinds: [Pod]}}]}\n" +
		"    validate: {failureAction: Enforce, message: m, pattern: {spec: {containers: [{image: '!*:latest'}]}}}\n"
	if err := os.WriteFile(filepath.Join(policies, "p.yaml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	r := treetest.New(t)
	for _, image := range []string{"a:1", "a:2", "a:latest"} {
		r.Commit("-- app/pod.yaml --\n" + strings.Replace(pod, "IMAGE", image, 1))
	}
	before := r.Git("count-objects", "-v")
	var out strings.Builder
	reports := filepath.Join(t.TempDir(), "reports")
	if err := replay(t.Context(), &out, options{repo: r.Dir, policies: policies, head: "HEAD", n: 9, verbose: true,
		reports: reports}); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?s)^[0-9a-f]{10} .* 1 roots +1 resources success: 1 resource checked, no violations\n` +
		`[0-9a-f]{10} .* failure: 1 new violation in 1 root\n` +
		`first check \S+ \(nothing known\)\n2 checks, 2 roots, 2 resources, map\[failure:1 success:1\]\n` +
		`time    median \S+  p95 \S+  max \S+\n` +
		`cpu     median \S+  p95 \S+  max \S+\nmemory  median \d+ MiB  p95 \d+ MiB  max \d+ MiB\n$`)
	if !want.MatchString(out.String()) {
		t.Error(out.String())
	}
	for _, suffix := range []string{".txt", ".json"} {
		data, err := os.ReadFile(filepath.Join(reports, r.Rev("HEAD")[:10]+suffix))
		if err != nil || !strings.Contains(string(data), "app/pod.yaml") {
			t.Errorf("the report is %q: %v", data, err)
		}
	}
	if after := r.Git("count-objects", "-v"); after != before {
		t.Errorf("the repository has %s, had %s", after, before)
	}
}

func TestReplayNothing(t *testing.T) {
	r := treetest.New(t)
	r.Commit("-- a --\n")
	for name, o := range map[string]options{
		"one commit": {repo: r.Dir, n: 1}, "no repository": {repo: t.TempDir(), n: 1}, "no commits": {repo: r.Dir},
		"no policies": {repo: r.Dir, n: 1, policies: filepath.Join(r.Dir, "none")},
	} {
		if err := replay(t.Context(), &strings.Builder{}, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
