package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// suggestedChanges follows a pull request whose settings ask for suggestions: they come in one review that blocks nothing,
// none of them twice, and go with what they are about.
func suggestedChanges(t *testing.T, binary string) {
	const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        imagePullPolicy: PULL
      - name: two
        image: nginx:2
`
	const policies = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pull}
spec:
  rules:
  - name: pull
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {failureAction: Enforce, message: "pull @octocat", pattern: {spec: {containers: [{imagePullPolicy: Always}]}}}
`
	folder := t.TempDir()
	file := func(name, pull string) string {
		return strings.NewReplacer("NAME", name, "PULL", pull).Replace(deployment)
	}
	for name, text := range map[string]string{".lintel.yaml": "suggestions: review\n", "policies.yaml": policies,
		"app/old.yaml": file("old", "Never") + "# a\n# b\n# c\n# d\n# e\n# f\n# g\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/web", folder)
	p := serve(t, binary, hostingOf(hub), t.TempDir())
	hub.SetHook(p.url + "/webhook")
	comments := func(number int) (list []string, all []githubtest.Comment) {
		t.Helper()
		all, err := hub.Comments(s.repo, number)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			list = append(list, fmt.Sprintf("%s:%d-%d", c.Path, c.StartLine, c.Line))
		}
		return list, all
	}
	expect := func(number int, want ...string) []githubtest.Comment {
		t.Helper()
		list, all := comments(number)
		if !slices.Equal(list, want) {
			t.Errorf("suggestions %q, want %q", list, want)
		}
		return all
	}

	// Without the permission the check is what it is, and says what to grant.
	first := s.push("change", map[string]string{"app/a.yaml": file("a", "Never"), "app/b.yaml": file("b", "Always"),
		"app/old.yaml": file("old", "Never") + "# a\n# b\n# c\n# d\n# e\n# f\n# h\n"})
	number := s.open("change")
	run := s.completed(first)
	if run.Conclusion != "failure" || !strings.Contains(run.Summary, "*Pull requests: Read and write*") {
		t.Errorf("without the permission:\n%s", show(run))
	}
	expect(number)

	// With it, what the pull request shows can be committed: of one line, and of several.
	hub.Grant("pull_requests", "write")
	time.Sleep(1100 * time.Millisecond) // so old has a token to be before another one is asked for
	second := s.push("change", map[string]string{"app/a.yaml": file("a", "Never") + "# more\n"})
	run = s.completed(second)
	if run.Conclusion != "failure" || strings.Contains(run.Summary, "uggested change") {
		t.Errorf("with the permission:\n%s", show(run))
	}
	all := expect(number, "app/a.yaml:12-12", "app/a.yaml:14-14", "app/b.yaml:14-14")
	if body := all[0].Body; !strings.Contains(body, "```suggestion\n        imagePullPolicy: Always\n```\n") ||
		!strings.Contains(body, "**pull**: pull `@octocat.`") {
		t.Errorf("%s", body)
	}
	if body := all[1].Body; !strings.Contains(body, "        image: nginx:2\n        imagePullPolicy: Always\n```\n") {
		t.Errorf("%s", body)
	}

	// Asked again, nothing is posted twice.
	if err := hub.Rerequest(s.repo, run.ID); err != nil {
		t.Fatal(err)
	}
	s.await(second, newer(run))
	expect(number, "app/a.yaml:12-12", "app/a.yaml:14-14", "app/b.yaml:14-14")

	// One is mended, and all lines move: what stands stays, what is gone goes, unless somebody answered it.
	if err := hub.Reply(s.repo, number, all[1], "alice", "Why?"); err != nil {
		t.Fatal(err)
	}
	third := s.push("change", map[string]string{"app/a.yaml": "# top\n" + file("a", "Always") + "        imagePullPolicy: Always\n",
		"app/b.yaml": "# top\n" + file("b", "Always")})
	if run = s.completed(third); run.Conclusion != "failure" {
		t.Errorf("with one mended:\n%s", show(run))
	}
	expect(number, "app/a.yaml:14-14", "app/b.yaml:14-14", "app/a.yaml:14-14")

	// With nothing to suggest none is left but the answered one.
	fourth := s.push("change", map[string]string{"app/b.yaml": file("b", "Always") + "        imagePullPolicy: Always\n"})
	if run = s.completed(fourth); run.Conclusion != "success" {
		t.Errorf("mended:\n%s", show(run))
	}
	expect(number, "app/a.yaml:14-14", "app/a.yaml:14-14")
	clean(t, hub)
}
