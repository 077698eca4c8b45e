package github

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

const (
	secret = "s3cret-of-the-app"
	sha    = "0123456789abcdef0123456789abcdef01234567"
	old    = "76543210fedcba9876543210fedcba9876543210"
	where  = `"installation":{"id":7},"repository":{"id":11,"name":"fleet","owner":{"login":"octo-org"}}`
)

func TestEventsToJobs(t *testing.T) {
	repo := store.Key{Installation: 7, Repository: 11}
	at := func(set func(*store.Key)) []store.Key { k := repo; set(&k); return []store.Key{k} }
	one := at(func(k *store.Key) { k.Number = 3 })
	commit := at(func(k *store.Key) { k.Commit = sha })
	left := at(func(k *store.Key) { k.Commit = old })
	group := at(func(k *store.Key) { k.Group = sha })
	all := at(func(k *store.Key) { k.All = true })
	branch := func(name string) []store.Key { return at(func(k *store.Key) { k.Branch = name }) }
	pull := `"number":3,"pull_request":{"number":3,"updated_at":"2026-03-01T12:00:00Z","head":{"sha":"` + sha + `"}}`
	listed := `"head_sha":"` + sha + `","pull_requests":[{"number":3,"base":{"repo":{"id":11}}},{"number":3,"base":{"repo":{"id":11}}},{"number":8,"base":{"repo":{"id":99}}}]`
	unlisted := `"head_sha":"` + sha + `","pull_requests":[]`
	queued := `"merge_group":{"head_sha":"` + sha + `","head_ref":"refs/heads/gh-readonly-queue/main/pr-3-` + sha +
		`","base_sha":"` + sha + `","base_ref":"refs/heads/main"}`
	updated := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seen := store.Message{Head: sha, Updated: updated}
	fresh := store.Message{Fresh: true, Head: sha}
	missing := store.Message{Missing: true}
	ofRun := func(id string) string { return `"check_run":{"external_id":"` + id + `",` + listed + `}` }
	for _, c := range []struct {
		event, action, rest string
		keys                []store.Key
		message             store.Message
	}{
		{"pull_request", "opened", pull, one, seen},
		{"pull_request", "synchronize", pull, one, seen},
		{"pull_request", "synchronize", pull + `,"before":"` + old + `"`, append(one, left...), seen},
		{"pull_request", "reopened", pull, one, seen},
		{"pull_request", "ready_for_review", pull, one, seen},
		{"pull_request", "closed", pull, append(one, commit...), seen},
		{"pull_request", "edited", pull + `,"changes":{"base":{"ref":{"from":"main"}}}`, one,
			store.Message{Head: sha, Updated: updated, Fresh: true}},
		{"pull_request", "edited", pull + `,"changes":{"title":{"from":"x"}}`, nil, store.Message{}},
		{"pull_request", "labeled", pull, nil, store.Message{}},
		{"pull_request_review", "submitted", pull, one, seen},
		{"pull_request_review", "submitted", pull + `,"review":{"state":"approved","user":{"type":"Bot"}}`, one, seen},
		{"pull_request_review", "submitted", pull + `,"review":{"state":"commented","user":{"type":"User"}}`, one, seen},
		{"pull_request_review", "submitted", pull + `,"review":{"state":"commented","user":{"type":"Bot"}}`, nil,
			store.Message{}}, // such as our own review
		{"pull_request_review", "edited", pull, one, seen},
		{"pull_request_review", "dismissed", pull, one, seen},
		{"check_run", "rerequested", `"check_run":{` + listed + `}`, one, fresh},
		{"check_run", "rerequested", `"check_run":{` + unlisted + `}`, commit, fresh},
		{"check_run", "rerequested", `"check_run":{"app":{"created_at":"2018-04-25 20:42:10"},` + unlisted + `}`, commit,
			fresh}, // as in GitHub's own examples
		{"check_run", "rerequested", ofRun("pr-8/x"), at(func(k *store.Key) { k.Number = 8 }), fresh},
		{"check_run", "rerequested", ofRun("pr-8+d-1/x"), at(func(k *store.Key) { k.Number = 8 }), fresh},
		{"check_run", "rerequested", ofRun("branch-612f62/x"), branch("a/b"), fresh},
		{"check_run", "rerequested", ofRun("group-" + sha + "/x"), group, fresh},
		{"check_run", "rerequested", ofRun("pr-0/x"), one, fresh},
		{"check_run", "requested_action", `"requested_action":{"identifier":"rerun"},"check_run":{` + listed + `}`, one,
			fresh},
		{"check_run", "requested_action", `"requested_action":{"identifier":"draft-exceptions"},"check_run":{` + listed +
			`}`, one, fresh},
		{"check_run", "requested_action", `"requested_action":{"identifier":"other"},"check_run":{` + listed + `}`, nil,
			store.Message{}},
		{"check_run", "created", `"check_run":{` + listed + `}`, nil, store.Message{}},
		{"check_suite", "rerequested", `"check_suite":{` + listed + `}`, one, fresh},
		{"check_suite", "rerequested", `"check_suite":{` + unlisted + `}`, commit, fresh},
		{"check_suite", "requested", `"check_suite":{` + listed + `}`, one, missing},
		{"check_suite", "requested", `"check_suite":{` + unlisted + `}`, nil, store.Message{}},
		{"check_suite", "completed", `"check_suite":{` + listed + `}`, nil, store.Message{}},
		{"push", "", `"ref":"refs/heads/main","after":"` + sha + `"`, branch("main"), store.Message{Head: sha}},
		{"push", "", `"ref":"refs/heads/a/b.c"`, branch("a/b.c"), store.Message{}},
		{"push", "", `"ref":"refs/heads/new","created":true`, nil, store.Message{}},
		{"push", "", `"ref":"refs/heads/old","deleted":true`, nil, store.Message{}},
		{"push", "", `"ref":"refs/heads/gh-readonly-queue/main/pr-3-` + sha + `"`, nil, store.Message{}},
		{"push", "", `"ref":"refs/tags/v1"`, nil, store.Message{}},
		{"merge_group", "checks_requested", queued, group,
			store.Message{Head: sha, Group: &store.Group{Base: sha, BaseRef: "main", Number: 3}}},
		{"merge_group", "destroyed", queued, nil, store.Message{}},
		{"installation", "created", `"x":0`, []store.Key{{Installation: 7, All: true}}, store.Message{}},
		{"installation", "unsuspend", `"x":0`, []store.Key{{Installation: 7, All: true}}, store.Message{}},
		{"repository", "renamed", `"x":0`, all, missing},
		{"repository", "transferred", `"x":0`, all, missing},
		{"repository", "unarchived", `"x":0`, all, missing},
		{"repository", "edited", `"changes":{"default_branch":{"from":"x"}}`, all, missing},
		{"repository", "edited", `"changes":{}`, nil, store.Message{}},
		{"ping", "", `"zen":"x"`, nil, store.Message{}},
	} {
		t.Run(c.event+"."+c.action, func(t *testing.T) {
			from, owner, name := where, "octo-org", "fleet"
			if c.event == "installation" { // the payload has no repository
				from, owner, name = `"installation":{"id":7}`, "", ""
			}
			w, err := WorkOf(c.event, []byte(`{"action":"`+c.action+`",`+from+`,`+c.rest+`}`))
			if err != nil {
				t.Fatal(err)
			}
			var keys []store.Key
			for _, job := range w.Jobs {
				keys = append(keys, job.Key)
				want := c.message
				if want.Head != "" && c.event == "pull_request" && job.Key.Commit != "" { // other pull requests may have the previous head
					want = store.Message{Head: job.Key.Commit}
				}
				want.Event, want.Owner, want.Name = strings.TrimSuffix(c.event+"."+c.action, "."), owner, name
				if diff := cmp.Diff(want, job.Message); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
			}
			if !slices.Equal(keys, c.keys) || len(w.Drop) > 0 {
				t.Errorf("keys %v, drop %v; want keys %v", keys, w.Drop, c.keys)
			}
		})
	}
}

func TestRepositoriesComeAndGo(t *testing.T) {
	list := `"repositories_added":[{"id":21,"name":"a","full_name":"octo-org/a"},{"id":22,"name":"b","full_name":"octo-org/b"}],"repositories_removed":[{"id":23,"name":"c","full_name":"octo-org/c"}]`
	w, err := WorkOf("installation_repositories", []byte(`{"action":"added","installation":{"id":7},`+list+`}`))
	if err != nil || len(w.Jobs) != 2 {
		t.Fatalf("%+v, %v", w, err)
	}
	second := w.Jobs[1]
	if second.Key != (store.Key{Installation: 7, Repository: 22, All: true}) || second.Message.Owner != "octo-org" ||
		second.Message.Name != "b" || second.Message.Missing {
		t.Errorf("job %+v", second)
	}
	// The repository with the organisation's settings changes the rules of all others.
	for _, way := range []string{"added", "removed"} {
		w, err := WorkOf("installation_repositories", []byte(`{"action":"`+way+`","installation":{"id":7},"repositories_`+way+
			`":[{"id":24,"name":".Lintel","full_name":"octo-org/.Lintel"}]}`))
		if err != nil || len(w.Jobs) == 0 {
			t.Fatalf("%+v, %v", w, err)
		}
		if last := w.Jobs[len(w.Jobs)-1]; last.Key != (store.Key{Installation: 7, All: true}) || !last.Message.Rules {
			t.Errorf("%s: job %+v", way, last)
		}
	}
	if want := []Scope{{7, 23}}; !slices.Equal(w.Drop, want) || !w.Gone {
		t.Errorf("drop %v, gone %v", w.Drop, w.Gone)
	}
	for event, want := range map[string]Scope{
		"installation.suspend": {7, 0}, "installation.deleted": {7, 0}, "repository.archived": {7, 11},
		"repository.deleted": {7, 11},
	} {
		name, action, _ := strings.Cut(event, ".")
		w, err := WorkOf(name, []byte(`{"action":"`+action+`",`+where+`}`))
		if err != nil || len(w.Jobs) > 0 || !slices.Equal(w.Drop, []Scope{want}) {
			t.Errorf("%s: %+v, %v", event, w, err)
		}
		if gone := action == "deleted"; gone != w.Gone {
			t.Errorf("%s: results are removed: %t", event, w.Gone)
		}
	}
}

// After a revoked authorization, the sessions end before GitHub receives its answer. If this fails, GitHub receives a
// 503.
func TestRevokedAuthorization(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		fail error
		code int
		who  string
	}{
		"revoked by user":     {`{"action":"revoked","sender":{"id":583231,"login":"octocat"}}`, nil, 202, "583231"},
		"with installation":   {`{"action":"revoked","installation":{"id":7},"sender":{"id":583231}}`, nil, 202, "583231"},
		"no sender":           {`{"action":"revoked"}`, nil, 400, ""},
		"negative account id": {`{"action":"revoked","sender":{"id":-1}}`, nil, 400, ""},
		"other action":        {`{"action":"granted","sender":{"id":583231}}`, nil, 204, ""},
		"store fails":         {`{"action":"revoked","sender":{"id":583231}}`, errors.New("no answer"), 503, "583231"},
	} {
		t.Run(name, func(t *testing.T) {
			f, who := newWebhookFixture(t), ""
			f.config.Revoked = func(_ context.Context, account int64) error {
				who += fmt.Sprint(account)
				return c.fail
			}
			r := request(c.body)
			r.Header.Set("X-GitHub-Event", "github_app_authorization")
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if w.Code != c.code || who != c.who || len(f.jobs) > 0 {
				t.Errorf("code %d, %q is signed out, jobs %v; want %d, %q", w.Code, who, f.jobs, c.code, c.who)
			}
		})
	}
}

// An account that the App does not serve gets 202, and only removals are done.
func TestServes(t *testing.T) {
	const account = `"installation":{"id":7,"account":{"login":"Mallory"}}`
	stranger := strings.Replace(where, "octo-org", "mallory", 1)
	for name, c := range map[string]struct {
		event, body            string
		jobs, dropped, refused int
	}{
		"served":                             {"pull_request", opened, 1, 0, 0},
		"served, other case":                 {"pull_request", strings.Replace(opened, "octo-org", "Octo-Org", 1), 1, 0, 0},
		"unserved pull request":              {"pull_request", strings.Replace(opened, "octo-org", "mallory", 1), 0, 0, 1},
		"unserved installation":              {"installation", `{"action":"created",` + account + `}`, 0, 0, 1},
		"unserved uninstallation":            {"installation", `{"action":"deleted",` + account + `}`, 0, 1, 1},
		"unserved repository archived":       {"repository", `{"action":"archived",` + stranger + `}`, 0, 1, 1},
		"unserved repositories added":        {"installation_repositories", `{"action":"added",` + account + `,"repositories_added":[{"id":21,"full_name":"mallory/a"}]}`, 0, 0, 1},
		"no account":                         {"installation", `{"action":"created","installation":{"id":7}}`, 0, 0, 1},
		"nothing to do":                      {"pull_request", `{"action":"labeled",` + stranger + `}`, 0, 0, 0},
		"authorization revoked":              {"github_app_authorization", `{"action":"revoked","sender":{"id":1,"login":"mallory"}}`, 0, 0, 0},
		"repository added to served account": {"installation_repositories", `{"action":"added","installation":{"id":7},"repositories_added":[{"id":21,"full_name":"octo-org/a"}]}`, 1, 0, 0},
		"unserved push":                      {"push", `{"ref":"refs/heads/x","after":"` + sha + `","sender":{"login":"m"},` + stranger + `}`, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWebhookFixture(t)
			refused := 0
			f.config.Serves = func(login string) bool { return strings.EqualFold(login, "octo-org") }
			f.config.Unserved = func() { refused++ }
			f.queue.pushed = func(store.Push) error {
				if c.refused > 0 {
					t.Error("it is remembered who pushed")
				}
				return nil
			}
			r := request(c.body)
			r.Header.Set("X-GitHub-Event", c.event)
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if code := w.Code; code != 202 && (name != "nothing to do" || code != 204) || len(f.jobs) != c.jobs || f.queue.dropped != c.dropped ||
				refused != c.refused {
				t.Errorf("code %d, jobs %v, dropped %d, refused %d; want %+v", w.Code, f.jobs, f.queue.dropped, refused, c)
			}
		})
	}
}

func TestWhoPushed(t *testing.T) {
	for event, want := range map[string]bool{"pull_request.opened": true, "pull_request.synchronize": true,
		"pull_request.reopened": false,
		"pull_request.closed":   false, "pull_request.ready_for_review": false, "pull_request_review.submitted": false} {
		name, action, _ := strings.Cut(event, ".")
		w, err := WorkOf(name, []byte(`{"action":"`+action+`",`+where+`,"sender":{"login":"mallory"},"pull_request":{"number":3}}`))
		if err != nil || (w.Push != nil) != want || want && *w.Push != (store.Push{Repository: 11, Number: 3, Login: "mallory"}) {
			t.Errorf("%s: %+v, %v", event, w.Push, err)
		}
	}
}

// A push event records who pushed a commit, which the commit does not name. That person must not approve it as the head
// of a pull request.
func TestWhoPushedCommits(t *testing.T) {
	by := func(author, committer string) string {
		return `,"head_commit":{"author":{"name":"a","username":"` + author + `"},"committer":{"username":"` + committer +
			`"}}`
	}
	for rest, want := range map[string]bool{
		by("alice", "alice"):             true,
		by("Mallory", "web-flow"):        false,
		by("alice", "mallory"):           false,
		by("", ""):                       true,
		``:                               true,
		by("x", "y") + `,"deleted":true`: false,
	} {
		for _, branch := range []string{`"refs/heads/new","created":true`, `"refs/heads/main"`} {
			w, err := WorkOf("push", []byte(`{"ref":`+branch+`,"after":"`+sha+`",`+where+`,"sender":{"login":"mallory"}`+rest+`}`))
			again := slices.ContainsFunc(w.Jobs, func(j Job) bool { return j.Key.Commit == sha })
			if err != nil || (w.Push != nil) != want || want && *w.Push != (store.Push{Repository: 11, Commit: sha, Login: "mallory"}) || again != want {
				t.Errorf("%s%s: %+v, %v, want %v", branch, rest, w, err, want)
			}
		}
	}
	f := newWebhookFixture(t)
	told := ""
	f.queue.pushed = func(p store.Push) error {
		told = fmt.Sprint(p.Repository, p.Commit, p.Login, len(f.jobs))
		return nil
	}
	r := request(`{"ref":"refs/heads/new","created":true,"after":"` + sha + `",` + where +
		`,"sender":{"login":"mallory"}}`)
	r.Header.Set("X-GitHub-Event", "push")
	if f.ServeHTTP(httptest.NewRecorder(), r); told != fmt.Sprint(11, sha, "mallory", 0) || len(f.jobs) != 1 {
		t.Errorf("remembered %q, jobs %v", told, f.jobs)
	}
}

// Unknown senders that send large bodies slowly, with an invalid signature, do not delay GitHub's deliveries.
func TestSlowSendersDelayNoDelivery(t *testing.T) {
	f := newWebhookFixture(t)
	release := make(chan struct{})
	var slow sync.WaitGroup
	for range 2 * maxLarge {
		reading := make(chan struct{})
		slow.Go(func() {
			head := strings.NewReader(strings.Repeat(" ", smallBody))
			r := httptest.NewRequest(http.MethodPost, "/webhook",
				io.MultiReader(head, &stuckReader{reading: reading, release: release}))
			r.ContentLength = -1
			r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
			f.ServeHTTP(httptest.NewRecorder(), r)
		})
		if len(f.large) < maxLarge {
			<-reading
		}
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, request(`{"action":"opened",`+where+`,"pull_request":{"number":3}}`))
	close(release)
	slow.Wait()
	if w.Code != http.StatusAccepted {
		t.Errorf("code %d", w.Code)
	}
}

// stuckReader signals its first read, and ends when it is released.
type stuckReader struct {
	reading, release chan struct{}
	once             sync.Once
}

func (s *stuckReader) Read([]byte) (int, error) {
	s.once.Do(func() { close(s.reading) })
	<-s.release
	return 0, io.EOF
}

// The pusher is stored before the job, because the job needs to know who pushed.
func TestPusherIsStoredBeforeJob(t *testing.T) {
	f := newWebhookFixture(t)
	var order []string
	f.queue.pushed = func(p store.Push) error {
		order = append(order, fmt.Sprintf("%d %d %s", p.Repository, p.Number, p.Login))
		if len(f.jobs) > 0 {
			t.Error("the job was stored first")
		}
		return errors.New("no answer")
	}
	body := `{"action":"synchronize",` + where + `,"sender":{"login":"mallory"},"pull_request":{"number":3}}`
	w := httptest.NewRecorder()
	f.ServeHTTP(w, request(body))
	if w.Code != http.StatusServiceUnavailable || len(f.jobs) != 0 || !slices.Equal(order, []string{"11 3 mallory"}) {
		t.Errorf("code %d, jobs %v, pushers %v; a pusher that cannot be remembered must come again", w.Code, f.jobs, order)
	}
}

// The button for drafts requests them for that commit. The request is stored before the job.
func TestDraftRequestIsStoredBeforeJob(t *testing.T) {
	f := newWebhookFixture(t)
	var order []string
	f.queue.drafts = func(repository int64, head string) error {
		order = append(order, fmt.Sprint("drafts ", repository, " ", head))
		return nil
	}
	f.queue.publish = func(store.Key, store.Message, string) error {
		order = append(order, "job")
		return nil
	}
	press := func(button string) {
		r := request(`{"action":"requested_action",` + where + `,"requested_action":{"identifier":"` + button +
			`"},"check_run":{"head_sha":"` + sha + `","external_id":"pr-3/x"}}`)
		r.Header.Set("X-GitHub-Event", "check_run")
		f.ServeHTTP(httptest.NewRecorder(), r)
	}
	press("rerun")
	press("draft-exceptions")
	if want := []string{"job", "drafts 11 " + sha, "job"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

func TestBadPayloads(t *testing.T) {
	for name, data := range map[string]string{
		"empty":           ``,
		"no object":       `[]`,
		"wrong type":      `{"action":"opened",` + where + `,"pull_request":{"number":"3"}}`,
		"nothing":         `{"action":"opened"}`,
		"no repository":   `{"action":"opened","installation":{"id":1},"pull_request":{"number":3}}`,
		"no pull request": `{"action":"opened",` + where + `}`,
		"zero number":     `{"action":"opened",` + where + `,"pull_request":{"number":0}}`,
	} {
		if w, err := WorkOf("pull_request", []byte(data)); err == nil {
			t.Errorf("%s: %+v", name, w)
		}
	}
	// A webhook of a repository, rather than of the App, has no installation.
	if w, err := WorkOf("pull_request",
		[]byte(`{"action":"opened","repository":{"id":1},"pull_request":{"number":3}}`)); err != nil || len(w.Jobs) > 0 {
		t.Errorf("no installation: %+v, %v", w, err)
	}
	for name, data := range map[string]string{
		"no suite": `{"action":"rerequested",` + where + `}`,
		"bad sha":  `{"action":"rerequested",` + where + `,"check_suite":{"head_sha":"a.b > *"}}`,
	} {
		if w, err := WorkOf("check_suite", []byte(data)); err == nil {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// Unused fields of a payload may be added or change their type without failing a delivery.
func TestFieldsOfOtherTypes(t *testing.T) {
	repo := strings.Replace(where, `"id":11,`, `"id":11,"custom_properties":{"teams":["a","b"]},"size":"large",`, 1)
	w, err := WorkOf("pull_request", []byte(`{"action":"opened",`+repo+`,"pull_request":{"number":3,"labels":"none"}}`))
	if err != nil || len(w.Jobs) != 1 || w.Jobs[0].Key != (store.Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 3}}) {
		t.Errorf("%+v, %v", w, err)
	}
	w, err = WorkOf("push", []byte(`{"ref":"refs/heads/main",`+repo+`}`))
	if err != nil || len(w.Jobs) != 1 || w.Jobs[0].Message.Name != "fleet" {
		t.Errorf("%+v, %v", w, err)
	}
}

// A push to any branch names the default branch, so no request is needed to find it.
func TestPushNamesTheDefaultBranch(t *testing.T) {
	repo := strings.Replace(where, `"id":11,`, `"id":11,"default_branch":"main",`, 1)
	for branch, want := range map[string]string{"main": "", "feature": "main"} {
		w, err := WorkOf("push", []byte(`{"ref":"refs/heads/`+branch+`",`+repo+`}`))
		if err != nil || len(w.Jobs) != 1 || w.Jobs[0].Message.Default != want {
			t.Errorf("%s: %+v, %v", branch, w, err)
		}
	}
}

type published struct {
	key store.Key
	m   store.Message
	id  string
}

// queueDouble is a Queue that calls its functions, if they are not nil.
type queueDouble struct {
	publish func(store.Key, store.Message, string) error
	pushed  func(store.Push) error
	drafts  func(repository int64, head string) error
	dropped int
}

func (q *queueDouble) Publish(_ context.Context, key store.Key, m store.Message, id string) error {
	return q.publish(key, m, id)
}

func (q *queueDouble) AddPush(_ context.Context, p store.Push) error {
	if q.pushed == nil {
		return nil
	}
	return q.pushed(p)
}

func (q *queueDouble) AskDrafts(_ context.Context, repository int64, head string) error {
	return q.drafts(repository, head)
}

func (q *queueDouble) Drop(context.Context, int64, int64) error {
	q.dropped++
	return nil
}

// webhookFixture is a handler with a queue double and a log.
type webhookFixture struct {
	*Webhook
	queue *queueDouble
	jobs  []published
	err   error
	log   bytes.Buffer
}

func newWebhookFixture(t *testing.T) *webhookFixture {
	t.Helper()
	f := &webhookFixture{}
	f.queue = &queueDouble{publish: func(key store.Key, m store.Message, id string) error {
		if f.err == nil {
			f.jobs = append(f.jobs, published{key, m, id})
		}
		return f.err
	}}
	h, err := NewWebhook(WebhookConfig{
		Secret: []byte(secret),
		Queue:  f.queue,
		Log:    slog.New(slog.NewJSONHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Webhook = h
	return f
}

func sign(body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func request(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "pull_request")
	r.Header.Set("X-GitHub-Delivery", "d-1")
	r.Header.Set("X-Hub-Signature-256", sign(body))
	return r
}

// After a rotation, the previous secret is accepted for five minutes, and no earlier one.
func TestSetSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWebhookFixture(t)
		send := func(secret string) int {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(opened))
			r, w := request(opened), httptest.NewRecorder()
			r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
			f.ServeHTTP(w, r)
			return w.Code
		}
		set := func(secret string, want bool) {
			t.Helper()
			if changed, err := f.SetSecret([]byte(secret)); err != nil || changed != want {
				t.Fatalf("changed %v, %v", changed, err)
			}
		}
		expect := func(when string, codes map[string]int) {
			t.Helper()
			for secret, code := range codes {
				if got := send(secret); got != code {
					t.Errorf("%s: %d, want %d for %q", when, got, code, secret)
				}
			}
		}
		if _, err := f.SetSecret(nil); !errors.Is(err, ErrNoSecret) {
			t.Errorf("an empty secret: %v", err)
		}
		expect("before", map[string]int{secret: 202, "two": 401, "": 401})
		set("two", true)
		expect("at once", map[string]int{secret: 202, "two": 202, "": 401})
		time.Sleep(retiredGrace - time.Second)
		set("two", false) // does not extend the grace period
		expect("just before the end", map[string]int{secret: 202, "two": 202})
		time.Sleep(time.Second)
		expect("at the end", map[string]int{secret: 401, "two": 202, "": 401})
		set("three", true)
		set("four", true)
		expect("after two rotations", map[string]int{secret: 401, "two": 401, "three": 202, "four": 202})
		f.until = f.until.Add(time.Hour) // the clock was wrong
		set("five", true)
		time.Sleep(retiredGrace)
		expect("with another clock", map[string]int{"four": 401, "five": 202})
		if strings.Contains(f.log.String(), secret) {
			t.Error("the log has a secret")
		}
	})
}

const opened = `{"action":"opened",` + where + `,"pull_request":{"number":3,"title":"confidential"}}`

func TestAnswers(t *testing.T) {
	form := "payload=" + url.QueryEscape(opened)
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
		fail   error
		code   int
		jobs   int
	}{
		"json": {body: opened, code: 202, jobs: 1},
		"json with charset": {body: opened, change: func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json; charset=utf-8")
		}, code: 202, jobs: 1},
		"form": {body: form, change: func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}, code: 202, jobs: 1},
		"ping": {body: `{"zen":"x"}`, change: func(r *http.Request) { r.Header.Set("X-GitHub-Event", "ping") },
			code: 204},
		"GET": {body: opened, change: func(r *http.Request) { r.Method = http.MethodGet }, code: 405},
		"no signature": {body: opened, change: func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") },
			code: 401},
		"old signature only": {body: opened, change: func(r *http.Request) {
			r.Header.Set("X-Hub-Signature-256", "sha1=00")
		}, code: 401},
		"short signature": {body: opened, change: func(r *http.Request) {
			r.Header.Set("X-Hub-Signature-256", "sha256=00")
		}, code: 401},
		"wrong signature": {body: opened, change: func(r *http.Request) {
			r.Header.Set("X-Hub-Signature-256", sign(opened+" "))
		}, code: 401},
		"other body": {body: opened, change: func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(opened + " "))
		}, code: 401},
		"malformed": {body: `{"action":`, code: 400},
		"unknown type": {body: opened, change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
			code: 400},
		"form without payload": {body: "x=1", change: func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}, code: 400},
		"no event": {body: opened, change: func(r *http.Request) { r.Header.Del("X-GitHub-Event") }, code: 400},
		"bad delivery id": {body: opened, change: func(r *http.Request) { r.Header.Set("X-GitHub-Delivery", "a\nb") },
			code: 400},
		"cut short": {body: opened, change: func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), brokenReader{}))
		}, code: 400},
		"queue down": {body: opened, fail: errors.New("no answer"), code: 503},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWebhookFixture(t)
			f.err = c.fail
			r := request(c.body)
			if c.change != nil {
				c.change(r)
			}
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if w.Code != c.code || len(f.jobs) != c.jobs {
				t.Errorf("code %d with %d jobs, want %d with %d: %s", w.Code, len(f.jobs), c.code, c.jobs, w.Body)
			}
			for _, job := range f.jobs {
				if job.id != "d-1" || job.m.Delivery != "d-1" || job.m.At.IsZero() {
					t.Errorf("published %+v; the delivery id is what makes it unique", job)
				}
			}
			for _, hidden := range []string{secret, "confidential", sign(c.body)} {
				if strings.Contains(f.log.String()+w.Body.String(), hidden) {
					t.Errorf("%q is in the log or the answer", hidden)
				}
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// endless is an endless body that counts how much was read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }

func TestOversize(t *testing.T) {
	f := newWebhookFixture(t)
	declared := request(opened)
	body := &endless{}
	declared.Body, declared.ContentLength = io.NopCloser(body), maxBody+1
	w := httptest.NewRecorder()
	f.ServeHTTP(w, declared)
	if w.Code != http.StatusRequestEntityTooLarge || body.read != 0 {
		t.Errorf("declared: code %d after %d bytes, want 413 without reading", w.Code, body.read)
	}
	chunked := request(opened)
	chunked.Body, chunked.ContentLength = io.NopCloser(body), -1
	w = httptest.NewRecorder()
	f.ServeHTTP(w, chunked)
	if w.Code != http.StatusRequestEntityTooLarge || body.read > 2*maxBody {
		t.Errorf("chunked: code %d after %d bytes, want 413 soon after the limit", w.Code, body.read)
	}
	unsigned := request(opened)
	body.read = 0
	unsigned.Body = io.NopCloser(body)
	unsigned.Header.Del("X-Hub-Signature-256")
	f.ServeHTTP(httptest.NewRecorder(), unsigned)
	if body.read != 0 {
		t.Errorf("%d bytes of an unsigned body were read", body.read)
	}
}

func TestEmptySecretIsRefused(t *testing.T) {
	if _, err := NewWebhook(WebhookConfig{}); !errors.Is(err, ErrNoSecret) {
		t.Errorf("New without a secret: %v", err)
	}
}

// FuzzJobs: whatever is sent, nothing panics and every key can be published.
func FuzzJobs(f *testing.F) {
	f.Add("pull_request", opened)
	f.Add("check_suite", `{"action":"rerequested",`+where+`,"check_suite":{"head_sha":"`+sha+`"}}`)
	f.Add("check_run", `{"action":"requested_action",`+where+`,"requested_action":{"identifier":"rerun"},"check_run":{"pull_requests":[{"number":1}]}}`)
	f.Add("pull_request", `{"action":"opened","installation":null,"repository":{"id":1e99}}`)
	f.Add("push", `{"ref":"refs/heads/a.*",`+where+`}`)
	f.Add("merge_group", `{"action":"checks_requested",`+where+`,"merge_group":{"head_sha":"`+sha+`","base_sha":"`+sha+`"}}`)
	f.Add("installation_repositories", `{"installation":{"id":7},"repositories_added":[{"id":-1}]}`)
	f.Fuzz(func(t *testing.T, event, body string) {
		w, err := WorkOf(event, []byte(body))
		if err != nil {
			return
		}
		for _, job := range w.Jobs {
			if err := job.Key.Validate(); err != nil {
				t.Errorf("%s %q: %v", event, body, err)
			}
		}
	})
}

// FuzzHandler: an unsigned request never becomes a job.
func FuzzHandler(f *testing.F) {
	f.Add("application/json", "sha256=00", opened)
	f.Add("application/x-www-form-urlencoded", "", "payload=%7B")
	f.Fuzz(func(t *testing.T, contentType, signature, body string) {
		if signature == sign(body) {
			return // it is signed
		}
		fx := newWebhookFixture(t)
		r := request(body)
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("X-Hub-Signature-256", signature)
		w := httptest.NewRecorder()
		fx.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || len(fx.jobs) != 0 {
			t.Errorf("code %d, jobs %v", w.Code, fx.jobs)
		}
	})
}
