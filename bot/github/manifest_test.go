package github

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/githubtest"
	"github.com/lintel-bot/lintel/checks/report"
)

// The manifest for people who register the App by hand is the one that the page posts. UPDATE_MANIFEST=1 writes it.
func TestManifestFile(t *testing.T) {
	want, err := json.MarshalIndent(NewManifest("https://lintel.example.com"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	file := filepath.Join("..", "..", "deploy", "app-manifest.json")
	if os.Getenv("UPDATE_MANIFEST") != "" {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("deploy/app-manifest.json (-want +got):\n%s", diff)
	}
}

// The App subscribes to exactly the events that the webhook handler reads, beside those that GitHub sends to every App
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads#installation).
func TestManifestEvents(t *testing.T) {
	var handled []string
	for _, event := range gh.MessageTypes() {
		if _, err := WorkOf(event, []byte("no JSON")); err != nil {
			handled = append(handled, event)
		}
	}
	want := append([]string{"github_app_authorization", "installation", "installation_repositories"}, NewManifest("").Events...)
	slices.Sort(want)
	if diff := cmp.Diff(want, handled); diff != "" {
		t.Errorf("subscribed to and always sent, or handled (-subscribed +handled):\n%s", diff)
	}
}

// eventPermissions is what an App needs to get an event
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads, "Availability" of each).
var eventPermissions = map[string]string{
	"check_run": "checks", "check_suite": "checks", "merge_group": "merge_queues", "pull_request": "pull_requests",
	"pull_request_review": "pull_requests", "push": "contents", "repository": "metadata",
}

// The App asks for exactly the permissions that its events and the calls of the client need; suggestions need one more,
// and do without where it is not granted.
func TestManifestPermissions(t *testing.T) {
	hub := newSetupHub(t)
	const repo = "octo-org/fleet"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte("a: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := hub.AddRepo(t.Context(), repo, folder); err != nil {
		t.Fatal(err)
	}
	head, err := hub.Push(t.Context(), repo, githubtest.Commit{Branch: "change",
		Files: map[string]string{"a.yaml": "a: 2\n"}})
	if err != nil {
		t.Fatal(err)
	}
	number, err := hub.OpenPull(t.Context(), repo, githubtest.Pull{Head: "change"})
	if err != nil {
		t.Fatal(err)
	}
	app := hub.App()
	client, err := NewClient(Config{URL: hub.URL(), AppID: app.ID, PrivateKey: app.PrivateKey})
	if err != nil {
		t.Fatal(err)
	}
	callAll(t, client, head, number)

	needed := hub.Used()
	for _, event := range NewManifest("").Events {
		permission := eventPermissions[event]
		if permission == "" {
			t.Errorf("which permission does the event %s need?", event)
		} else if needed[permission] == "" {
			needed[permission] = "read"
		}
	}
	if diff := cmp.Diff(needed, NewManifest("").Permissions); diff != "" {
		t.Errorf("permissions (-needed +asked for):\n%s", diff)
	}
	for _, v := range hub.Violations() {
		if v.Severity == "error" {
			t.Error(v)
		}
	}
}

// callAll calls every method of the client; what GitHub answers does not matter.
func callAll(t *testing.T, client *Client, head string, number int) {
	t.Helper()
	list, err := client.Installations(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("installations: %v, %v", list, err)
	}
	repo := forge.Repo{Installation: list[0].ID, Owner: "octo-org", Name: "fleet"}
	calls := map[string]func(ctx context.Context){
		"PullRequest":          func(ctx context.Context) { _, _ = client.PullRequest(ctx, repo, number) },
		"PullRequestsOfCommit": func(ctx context.Context) { _, _ = client.PullRequestsOfCommit(ctx, repo, head) },
		"OpenPullRequests":     func(ctx context.Context) { _, _ = client.OpenPullRequests(ctx, repo, "") },
		"Repository":           func(ctx context.Context) { _, _ = client.Repository(ctx, repo) },
		"Branch":               func(ctx context.Context) { _, _ = client.Branch(ctx, repo, "main") },
		"Reviews":              func(ctx context.Context) { _, _ = client.Reviews(ctx, repo, number) },
		"MergeGroups":          func(ctx context.Context) { _, _ = client.MergeGroups(ctx, repo, "main", number) },
		"Commits":              func(ctx context.Context) { _, _ = client.Commits(ctx, repo, number) },
		"Permission":           func(ctx context.Context) { _, _ = client.Permission(ctx, repo, "alice") },
		"TeamMember":           func(ctx context.Context) { _, _ = client.TeamMember(ctx, repo, "octo-org/security", "bob") },
		"CheckRuns":            func(ctx context.Context) { _, _ = client.CheckRuns(ctx, repo, head) },
		"Publish": func(ctx context.Context) {
			_ = client.Publish(ctx, repo, &forge.CheckRun{HeadSHA: head, Status: "in_progress", Title: "t", Summary: "s",
				ExternalID: "x"})
		},
		"Suggest": func(ctx context.Context) {
			_, _ = client.Suggest(ctx, repo, number, head, []report.Replacement{suggestion("a.yaml", 1, 1, "a: 3")})
		},
		"Present": func(ctx context.Context) { _, _ = client.Present(ctx, repo) },
		"MayRead": func(ctx context.Context) {
			_, _ = client.MayRead(ctx, repo, forge.Account{ID: 1, Login: "alice"})
		},
		"GitToken":         func(ctx context.Context) { _, _ = client.GitToken(ctx, repo) },
		"CloneURL":         func(context.Context) { client.CloneURL(repo) },
		"Installations":    func(context.Context) {}, // above
		"Repositories":     func(ctx context.Context) { _, _ = client.Repositories(ctx, repo.Installation) },
		"FailedDeliveries": func(ctx context.Context) { _, _ = client.FailedDeliveries(ctx, time.Time{}) },
		"Budget":           func(context.Context) {}, // what earlier answers said
		"Budgets":          func(context.Context) {},
		"Redeliver":        func(ctx context.Context) { _ = client.Redeliver(ctx, 1) },
		"SetPrivateKey":    func(context.Context) {}, // which asks for nothing
		"ShareWith":        func(context.Context) {},
		"Admit":            func(context.Context) {},
	}
	methods := reflect.TypeFor[*Client]()
	for i := range methods.NumMethod() {
		if calls[methods.Method(i).Name] == nil {
			t.Errorf("%s is not called here", methods.Method(i).Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		calls[name](t.Context())
	}
}

func newSetupHub(t *testing.T) *githubtest.Server {
	t.Helper()
	hub, err := githubtest.New(githubtest.Config{KeyBits: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return hub
}
