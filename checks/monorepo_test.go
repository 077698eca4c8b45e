package checks_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// monorepo is a repository of many applications in three environments each. Each has a base and overlays, which patch
// the base and use a component that all share. Some overlays also include a base that 10, 100 or 1,000 overlays share.
type monorepo struct {
	gitDir string
	base   string   // the commit all changes start from
	edits  []string // commits that each change one file of one application
	shared map[int]string
}

var environments = []string{"dev", "staging", "prod"}

// newMonorepo writes the objects in one git process.
func newMonorepo(tb testing.TB, apps, edits int) *monorepo {
	tb.Helper()
	m := &monorepo{gitDir: filepath.Join(tb.TempDir(), "repo.git"), shared: map[int]string{}}
	m.git(tb, nil, "init", "--quiet", "--bare", "--initial-branch=main", m.gitDir)
	var stream bytes.Buffer
	commit := func(ref, from string) {
		fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter t <t@example.com> 1700000000 +0000\ndata 1\nx\n", ref)
		if from != "" {
			fmt.Fprintf(&stream, "from refs/heads/%s\n", from)
		}
	}
	file := func(name, text string) {
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	commit("base", "")
	policies, err := filepath.Glob("../testdata/sample/policies/*.yaml")
	if err != nil || len(policies) == 0 {
		tb.Fatalf("no policies: %v", err)
	}
	for _, p := range policies {
		data, err := os.ReadFile(p)
		if err != nil {
			tb.Fatal(err)
		}
		file("policies/"+filepath.Base(p), string(data))
	}
	file("platform/namespaces.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: dev}\n---\napiVersion: "+
		"v1\nkind: Namespace\nmetadata: {name: staging}\n"+
		"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: prod}\n")
	file("components/team/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: "+
		"[{pairs: {team: a}, includeSelectors: false}]\n")
	counts := []int{10, 100, 1000}
	for _, k := range counts {
		file(fmt.Sprintf("shared/base-%d/kustomization.yaml", k), "resources: [config.yaml]\n")
		file(fmt.Sprintf("shared/base-%d/config.yaml", k), fmt.Sprintf(sharedConfig, k, "one"))
	}
	for i := range apps {
		app := fmt.Sprintf("apps/app-%04d", i)
		file(app+"/base/kustomization.yaml", "resources:\n- deployment.yaml\n- service.yaml\n")
		file(app+"/base/deployment.yaml", deployment(i, "1.0.0"))
		file(app+"/base/service.yaml", fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata:\n  name: app-%d\nspec:\n  "+
			"selector: {app: app-%d}\n  ports: [{port: 80}]\n", i, i))
		for e, env := range environments {
			text := "namespace: " + env + "\nresources:\n- ../base\n"
			for _, k := range counts {
				if e == 2 && i < k { // the overlays of one environment include the shared base
					text += fmt.Sprintf("- ../../../shared/base-%d\n", k)
				}
			}
			text += fmt.Sprintf("components: [../../../components/team]\npatches: [{path: patch.yaml}]\nnameSuffix: -x%d\n", i)
			file(app+"/"+env+"/kustomization.yaml", text)
			file(app+"/"+env+"/patch.yaml",
				fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-%d\nspec:\n  replicas: %d\n", i, e+2))
		}
	}
	for i := range edits {
		name := fmt.Sprintf("edit-%d", i)
		app := i * 7 % apps
		commit(name, "base")
		file(fmt.Sprintf("apps/app-%04d/base/deployment.yaml", app), deployment(app, fmt.Sprintf("1.1.%d", i)))
	}
	for _, k := range counts {
		commit(fmt.Sprintf("shared-%d", k), "base")
		file(fmt.Sprintf("shared/base-%d/config.yaml", k), fmt.Sprintf(sharedConfig, k, "two"))
	}
	m.git(tb, &stream, "--git-dir", m.gitDir, "fast-import", "--quiet")
	m.base = m.git(tb, nil, "--git-dir", m.gitDir, "rev-parse", "base")
	for i := range edits {
		m.edits = append(m.edits, m.git(tb, nil, "--git-dir", m.gitDir, "rev-parse", fmt.Sprintf("edit-%d", i)))
	}
	for _, k := range counts {
		m.shared[k] = m.git(tb, nil, "--git-dir", m.gitDir, "rev-parse", fmt.Sprintf("shared-%d", k))
	}
	return m
}

const sharedConfig = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shared-%d\ndata:\n  mode: %s\n"

func deployment(app int, version string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%d
  labels: {app: app-%d}
spec:
  replicas: 1
  selector:
    matchLabels: {app: app-%d}
  template:
    metadata:
      labels: {app: app-%d}
    spec:
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: main
        image: registry.example.com/apps/app-%d:%s
        ports: [{containerPort: 8080}]
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits: {memory: 256Mi}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
`, app, app, app, app, app, version)
}

func (m *monorepo) git(tb testing.TB, in *bytes.Buffer, args ...string) string {
	tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if in != nil {
		cmd.Stdin = in
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}
