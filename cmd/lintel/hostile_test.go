package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// checkRepo runs "lintel check --all" as a process, with the box as its child, and returns what it said.
func checkRepo(t *testing.T, r *treetest.Repo) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Args[0] = "lintel"
	cmd.Args = append(cmd.Args, "check", "--all", "--repo", r.Dir)
	cmd.Env = append(os.Environ(), "LINTEL_TEST_COMMAND=1", "XDG_CACHE_HOME="+t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("it did not end in time:\n%s", out.String())
	}
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// What a stranger commits ends in an error with a file, whatever it is; nothing is fetched, nothing hangs, nothing
// crashes, and the words name neither the machine nor what the files hold.
func TestHostileRepositories(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	url := server.URL + "/x.yaml"
	base := "-- app/cm.yaml --\n" + configMap + "-- app/kustomization.yaml --\nresources: [cm.yaml]\n"
	plugin := func(field, text string) string {
		return base + field + ": [p.yaml]\n-- app/p.yaml --\n" + text
	}
	cases := []struct{ name, archive, want string }{
		{"alias bomb in a manifest", "-- app/cm.yaml --\n" + configMap + aliasBomb(), "app/cm.yaml"},
		{"alias bomb in a policy", "-- p.yaml --\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\n" + aliasBomb(), "p.yaml"},
		{"alias bomb in the settings", "-- .lintel.yaml --\n" + aliasBomb(), ".lintel.yaml"},
		{"alias bomb in a kustomization", "-- app/kustomization.yaml --\n" + aliasBomb(), "app/kustomization.yaml"},
		{"anchor in itself", "-- app/cm.yaml --\n" + configMap + "data: &a {b: *a}\n", "app/cm.yaml:4"},
		{"anchor in itself in the settings", "-- .lintel.yaml --\nroots: &a {include: *a}\n", ".lintel.yaml:1"},
		{"deep nesting", "-- app/cm.yaml --\n" + configMap + "data: " + strings.Repeat("[", 100_000) + "\n", "app/cm.yaml:4"},
		{"deep blocks", "-- app/cm.yaml --\n" + configMap + deepBlocks(2000), "app/cm.yaml"},
		{"huge file", "-- app/cm.yaml --\n" + configMap + "data: {a: \"" + strings.Repeat("x", 17<<20) + "\"}\n",
			"more than the limit"},
		{"NUL", "-- app/cm.yaml --\n" + configMap + "data: {a: \"\x00\"}\n", "app/cm.yaml:4"},
		{"invalid UTF-8", "-- app/cm.yaml --\n" + configMap + "data: {a: \"\xff\"}\n", "app/cm.yaml:4"},
		{"helm", "-- app/kustomization.yaml --\nhelmCharts: [{name: x, repo: \"" + url + "\"}]\n",
			"app/kustomization.yaml:1"},
		{"exec plugin", plugin("generators",
			"apiVersion: x/v1\nkind: Gen\nmetadata:\n  name: g\n"+
				"  annotations: {config.kubernetes.io/function: \"exec: {path: ./run.sh}\"}\n"), "app/p.yaml"},
		{"container plugin", plugin("transformers",
			"apiVersion: x/v1\nkind: Gen\nmetadata:\n  name: g\n  annotations:\n    config.kubernetes.io/function: |\n"+
				"      container: {image: x}\n"), "app/p.yaml"},
		{"built-in plugin with a URL", plugin("generators",
			"apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: [\"k="+url+"\"]\n"), "app/"},
		{"built-in patch with a URL", plugin("transformers",
			"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: g}\n"+
				"path: \""+url+"\"\ntarget: {kind: ConfigMap}\n"), "app/"},
		{"bad schema", base + "openapi: {path: schema.json}\n" +
			"patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}'}]\n" +
			"-- app/schema.json --\n{\"definitions\": \n", "app/kustomization.yaml"},
		{"null target", base + "replacements: [{source: {kind: ConfigMap}, targets: [null]}]\n", "app/kustomization.yaml"},
		{"null everywhere", base + "patches: [null]\nimages: [null]\nlabels: [null]\nreplicas: [null]\n",
			"app/kustomization.yaml"},
		{"cycle", "-- a/kustomization.yaml --\nresources: [../b]\n-- b/kustomization.yaml --\nresources: [../a]\n",
			"includes itself"},
		{"doubling bases", doubling(30), "is one of more than"},
		{"expression without end", "-- p.yaml --\n" + doublingPolicy + base, "p"},
	}
	for _, field := range []string{"resources", "bases", "components", "crds", "configurations", "generators",
		"transformers", "validators", "patchesStrategicMerge"} {
		cases = append(cases, struct{ name, archive, want string }{"URL in " + field, "-- app/kustomization.yaml --\n" +
			field + ": [\"" + url + "\"]\n", "app/kustomization.yaml:1"})
	}
	for _, field := range []string{"patches: [{path: URL}]", "patchesJson6902: [{path: URL}]",
		"replacements: [{path: URL}]", "openapi: {path: URL}",
		"configMapGenerator: [{name: a, files: [URL]}]", "configMapGenerator: [{name: a, envs: [URL]}]",
		"configMapGenerator: [{name: a, env: URL}]", "secretGenerator: [{name: a, files: [k=URL]}]"} {
		cases = append(cases, struct{ name, archive, want string }{field, "-- app/kustomization.yaml --\n" +
			strings.ReplaceAll(field, "URL", "\""+url+"\"") + "\n", "app/kustomization.yaml:1"})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			archive := strings.ReplaceAll(c.archive, "k=\""+url+"\"", "\"k="+url+"\"")
			r.Commit(archive)
			out, code := checkRepo(t, r)
			// What others have is named, what is wrong fails.
			if code != 1 && !strings.Contains(out, "not checked") || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want 1 and %q:\n%s", code, c.want, clip(out))
			}
			tellsNothing(t, out, r.Dir)
		})
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests reached the network", hits.Load())
	}
}

func TestHostileLinks(t *testing.T) {
	r := treetest.New(t)
	r.Symlink("/etc/passwd", "app/cm.yaml")
	r.Symlink("loop", "app/loop")
	r.Symlink("../../../../../../etc", "app/out")
	r.Commit("-- app/kustomization.yaml --\nresources: [cm.yaml, loop, out]\n")
	out, code := checkRepo(t, r)
	if code != 1 || strings.Count(out, "does not exist") != 3 {
		t.Errorf("exit code %d:\n%s", code, clip(out))
	}
	tellsNothing(t, out, r.Dir)
}

// Many files cost time and nothing else.
func TestManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 50,000 files")
	}
	r := treetest.New(t)
	var stream bytes.Buffer
	stream.WriteString("commit refs/heads/main\ncommitter t <t@example.com> 0 +0000\ndata 1\nx\n")
	for i := range 50_000 {
		fmt.Fprintf(&stream, "M 644 inline d%d/f%d.yaml\ndata 2\na:\n", i/100, i)
	}
	cmd := exec.Command("git", "-C", r.Dir, "fast-import", "--quiet")
	cmd.Stdin = &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, code := checkRepo(t, r); code != 0 || !strings.Contains(out, "No policies") {
		t.Errorf("exit code %d:\n%s", code, clip(out))
	}
}

// tellsNothing looks for what no output may hold: the machine's paths, a stack, what files outside hold.
func tellsNothing(t *testing.T, out, dir string) {
	t.Helper()
	for _, word := range []string{"goroutine", "panic", "runtime.", "/repository/", "root:", filepath.Dir(dir),
		os.TempDir() + "/"} {
		if strings.Contains(out, word) {
			t.Errorf("says %q:\n%s", word, clip(out))
		}
	}
}

func clip(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "..."
	}
	return s
}

func aliasBomb() string {
	var s strings.Builder
	s.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&s, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return s.String()
}

func deepBlocks(n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return s.String()
}

// doubling makes layers of two kustomizations, each of which includes both of the next.
func doubling(n int) string {
	var s strings.Builder
	s.WriteString("-- app/kustomization.yaml --\nresources: [../l0a, ../l0b]\n")
	for i := range n {
		for _, side := range []string{"a", "b"} {
			fmt.Fprintf(&s, "-- l%d%s/kustomization.yaml --\nresources: [../l%da, ../l%db]\n", i, side, i+1, i+1)
		}
	}
	return s.String()
}

// doublingPolicy doubles a string forty times.
var doublingPolicy = func() string {
	var s strings.Builder
	s.WriteString("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n" +
		"    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    context:\n" +
		"    - {name: v0, variable: {value: xxxxxxxxxxxxxxxx}}\n")
	for i := range 40 {
		fmt.Fprintf(&s, "    - {name: v%d, variable: {value: \"{{ v%d }}{{ v%d }}\"}}\n", i+1, i, i)
	}
	s.WriteString("    validate:\n      failureAction: Enforce\n      message: m\n" +
		"      deny: {conditions: {all: [{key: \"{{ v40 }}\", operator: Equals, value: y}]}}\n")
	return s.String()
}()
