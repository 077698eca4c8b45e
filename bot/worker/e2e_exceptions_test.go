package worker_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// exceptionsByReview follows a pull request that breaks policies: its author has exceptions drafted, commits them,
// and the check waits for a review, which turns it within seconds, in each direction.
func exceptionsByReview(t *testing.T, binary string) {
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir())
	hub.SetHook(p.url + "/webhook")
	hub.SetTeam("octo-org/security", "bob")

	broken := s.push("change", map[string]string{patchPath: read(t, sampleChange, patchPath)})
	number := s.open("change")
	run := s.completed(broken)
	if run.Conclusion != "failure" || !strings.Contains(run.Summary, "What to do") ||
		!strings.Contains(run.Text, "Details") || strings.Contains(run.Text, "PolicyException") {
		t.Errorf("the broken change:\n%s", show(run))
	}
	if !slices.ContainsFunc(run.Actions, func(a githubtest.Action) bool { return a.Identifier == "draft-exceptions" }) {
		t.Fatalf("there is no button for drafts: %+v", run.Actions)
	}
	if err := hub.RequestAction(s.repo, run.ID, "draft-exceptions"); err != nil {
		t.Fatal(err)
	}
	run = s.await(broken, newer(run))
	files := draftsOf(run.Text)
	if run.Conclusion != "failure" || len(files) != 1 { // one for the resource, with two exceptions
		t.Fatalf("%d drafts, want one:\n%s", len(files), show(run))
	}

	waits := s.push("change", files)
	run = s.completed(waits)
	if run.Conclusion != "action_required" || !strings.Contains(run.Title, "2 exceptions wait for @octo-org/security") ||
		strings.Contains(run.Text, "kind: PolicyException") || strings.Contains(run.Summary, "leaves open") {
		t.Errorf("the exceptions are not shown as waiting:\n%s", show(run))
	}
	if slices.ContainsFunc(run.Actions, func(a githubtest.Action) bool { return a.Identifier == "draft-exceptions" }) {
		t.Errorf("there is nothing to draft: %+v", run.Actions)
	}
	review := func(login, state string, want ...string) {
		t.Helper()
		if _, err := hub.Review(s.repo, number, login, state); err != nil {
			t.Fatal(err)
		}
		run = s.await(waits, newer(run))
		text := show(run)
		if run.Conclusion != want[0] {
			t.Errorf("after %s said %s: %s, want %s:\n%s", login, state, run.Conclusion, want[0], text)
		}
		for _, part := range want[1:] {
			if !strings.Contains(text, part) {
				t.Errorf("after %s said %s, it does not say %q:\n%s", login, state, part, text)
			}
		}
	}
	review("carol", "APPROVED", "action_required", "carol at "+waits[:7], "not among those who may approve")
	review("bob", "CHANGES_REQUESTED", "failure", "changes requested by `bob at "+waits[:7]+"`")
	review("bob", "APPROVED", "success", "approved by `bob at "+waits[:7]+"`")

	// A later push keeps the approval unless it changes what the exception comes to, in whichever file.
	const list = "exceptions/kustomization.yaml"
	resources := "resources: [" + strings.TrimPrefix(slices.Collect(maps.Keys(files))[0], "exceptions/") + "]\n"
	patch := resources + "patches:\n- target: {kind: PolicyException}\n" +
		"  patch: '- {op: add, path: /metadata/labels, value: {cleanup.kyverno.io/ttl: 99h}}'\n"
	for _, then := range []struct{ path, text, conclusion, says string }{
		{"notes.md", "x\n", "success", "approved by `bob at " + waits[:7] + "`"},
		{list, patch, "action_required", "it was not waiting for approval as it is now"},
		{list, resources, "success", "approved by `bob at " + waits[:7] + "`"},
	} {
		run = s.completed(s.push("change", map[string]string{then.path: then.text}))
		if text := show(run); run.Conclusion != then.conclusion || !strings.Contains(text, then.says) {
			t.Errorf("after a push of %s: %s, want %s and %q:\n%s", then.path, run.Conclusion, then.conclusion, then.says, text)
		}
	}
	clean(t, hub)
}

// plantedException: content that somebody pushed under the author's name, before the pull request was opened, is not
// approved by the one who pushed it.
func plantedException(t *testing.T, binary string) {
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir())
	hub.SetHook(p.url + "/webhook")
	hub.SetTeam("octo-org/security", "bob", "carol")
	half := strings.Replace(read(t, sampleChange, patchPath), "privileged: true", "privileged: false", 1)
	head, err := hub.Push(s.ctx, s.repo, githubtest.Commit{Branch: "change",
		Files: map[string]string{patchPath: half, "exceptions/shop.yaml": standinException}, Author: "alice", Pusher: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	number := s.open("change")
	run := s.completed(head)
	for _, by := range []struct{ login, want string }{{"bob", "action_required"}, {"carol", "success"}} {
		if _, err := hub.Review(s.repo, number, by.login, "APPROVED"); err != nil {
			t.Fatal(err)
		}
		run = s.await(head, newer(run))
		if run.Conclusion != by.want || !strings.Contains(show(run), "somebody who pushed to the pull request cannot approve") {
			t.Errorf("approved by %s: %s, want %s:\n%s", by.login, run.Conclusion, by.want, show(run))
		}
	}
	clean(t, hub)
}

var draftBlock = regexp.MustCompile("(?s)`(exceptions/[^`]+)`: [^\n]*\n\n```yaml\n(.*?)```")

// draftsOf are the drafts in the text of a check run, by path.
func draftsOf(text string) map[string]string {
	files := map[string]string{}
	for _, m := range draftBlock.FindAllStringSubmatch(text, -1) {
		files[m[1]] = m[2]
	}
	return files
}

// objectsByReview follows a pull request that alters, in two places, an object that a policy looks up: one review approves
// both, and counts on until one of them changes.
func objectsByReview(t *testing.T, binary string) {
	hub, folder := newHub(t), t.TempDir()
	allows := func(team string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: allowed, namespace: ops}\ndata: {team: " + team + "}\n"
	}
	const policy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: allowed}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ServiceAccount]}}]}
    context: [{name: allowed, configMap: {name: allowed, namespace: ops}}]
    validate:
      failureAction: Enforce
      message: Not allowed.
      deny: {conditions: {all: [{key: "{{ request.object.metadata.labels.team }}", operator: NotEquals,
        value: "{{ allowed.data.team }}"}]}}
`
	for file, text := range map[string]string{"policies/team.yaml": policy, "dev/cm.yaml": allows("red"), "prod/cm.yaml": allows("red"),
		"CODEOWNERS": "* @octo-org/security\n"} {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newScene(t, hub, "octo-org/fleet", folder)
	p := serve(t, binary, hostingOf(hub), t.TempDir())
	hub.SetHook(p.url + "/webhook")
	hub.SetTeam("octo-org/security", "bob")
	if err := hub.SetPermission(s.repo, "bob", "write"); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"dev/cm.yaml": allows("blue"), "prod/cm.yaml": allows("blue"), "apps/sa.yaml": "apiVersion: v1\n" +
		"kind: ServiceAccount\nmetadata: {name: web, namespace: shop, labels: {team: blue}}\n"}
	head := s.push("change", files)
	number := s.open("change")
	run := s.completed(head)
	if run.Conclusion != "action_required" || !strings.Contains(run.Title, "2 exceptions wait for @octo-org/security") {
		t.Errorf("both places wait:\n%s", show(run))
	}
	if _, err := hub.Review(s.repo, number, "bob", "APPROVED"); err != nil {
		t.Fatal(err)
	}
	if run = s.await(head, newer(run)); run.Conclusion != "success" {
		t.Errorf("one review approves both:\n%s", show(run))
	}
	for _, then := range []struct {
		what       string
		commit     githubtest.Commit
		conclusion string
	}{
		{"another file", githubtest.Commit{Files: map[string]string{"notes.md": "x\n"}}, "success"},
		{"one of the places", githubtest.Commit{Files: map[string]string{"prod/cm.yaml": allows("blue, more: x")}}, "action_required"},
		{"what it was", githubtest.Commit{Files: map[string]string{"prod/cm.yaml": allows("blue")}}, "success"},
		{"a forced push of the same", githubtest.Commit{Files: files, Parent: "main"}, "success"},
	} {
		then.commit.Branch = "change"
		head, err := hub.Push(s.ctx, s.repo, then.commit)
		if err != nil {
			t.Fatal(err)
		}
		if run = s.completed(head); run.Conclusion != then.conclusion {
			t.Errorf("after a push of %s: %s, want %s:\n%s", then.what, run.Conclusion, then.conclusion, show(run))
		}
	}
	// The base branch moves, and the same head is checked again.
	s.push("main", map[string]string{"policies/team.yaml": policy + "# why\n"})
	if err := hub.Rerequest(s.repo, run.ID); err != nil {
		t.Fatal(err)
	}
	if run = s.await(run.HeadSHA, newer(run)); run.Conclusion != "success" {
		t.Errorf("after the base branch moved:\n%s", show(run))
	}
	clean(t, hub)
}
