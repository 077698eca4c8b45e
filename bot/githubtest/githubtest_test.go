package githubtest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"
)

const fleet = "octo-org/fleet"

// start returns a Server with the repository fleet, which has one file.
func start(t *testing.T) *Server {
	t.Helper()
	s, err := New(Config{KeyBits: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte("a: 1\nb: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddRepo(t.Context(), fleet, folder); err != nil {
		t.Fatal(err)
	}
	return s
}

// client returns a go-github client of the first installation.
func client(t *testing.T, s *Server) (*github.Client, *ghinstallation.Transport) {
	t.Helper()
	inst, _, err := appClient(t, s).Apps.ListInstallations(t.Context(), nil)
	if err != nil || len(inst) != 1 {
		t.Fatalf("installations: %v, %v", inst, err)
	}
	tr, err := ghinstallation.New(http.DefaultTransport, s.App().ID, inst[0].GetID(), s.App().PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	tr.BaseURL = s.URL() + "/api/v3"
	c, err := github.NewClient(&http.Client{Transport: tr}).WithEnterpriseURLs(s.URL(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	return c, tr
}

func appClient(t *testing.T, s *Server) *github.Client {
	t.Helper()
	tr, err := ghinstallation.NewAppsTransport(http.DefaultTransport, s.App().ID, s.App().PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	tr.BaseURL = s.URL() + "/api/v3"
	c, err := github.NewClient(&http.Client{Transport: tr}).WithEnterpriseURLs(s.URL(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open pushes a branch and opens a pull request from it.
func open(t *testing.T, s *Server) (number int, sha string) {
	t.Helper()
	sha, err := s.Push(t.Context(), fleet, Commit{Branch: "change",
		Files: map[string]string{"a.yaml": "a: 2\nb: 2\n", "n/b.yaml": "c: 3\n"}})
	if err != nil {
		t.Fatal(err)
	}
	number, err = s.OpenPull(t.Context(), fleet, Pull{Head: "change", Title: "A change"})
	if err != nil {
		t.Fatal(err)
	}
	return number, sha
}

func TestReading(t *testing.T) {
	s := start(t)
	s.SetTeam("octo-org/security", "Bob")
	if err := s.SetPermission(fleet, "bob", "write"); err != nil {
		t.Fatal(err)
	}
	number, sha := open(t, s)
	c, _ := client(t, s)
	ctx := t.Context()
	pr, _, err := c.PullRequests.Get(ctx, "octo-org", "fleet", number)
	if err != nil {
		t.Fatal(err)
	}
	main, err := s.Resolve(ctx, fleet, "main")
	if err != nil {
		t.Fatal(err)
	}
	if pr.GetHead().GetSHA() != sha || pr.GetBase().GetSHA() != main || pr.GetUser().GetLogin() != "alice" ||
		pr.GetState() != "open" {
		t.Errorf("pull request: %v", pr)
	}
	if _, err := s.Review(fleet, number, "bob", "APPROVED"); err != nil {
		t.Fatal(err)
	}
	reviews, _, err := c.PullRequests.ListReviews(ctx, "octo-org", "fleet", number, nil)
	if err != nil || len(reviews) != 1 || reviews[0].GetCommitID() != sha || reviews[0].GetState() != "APPROVED" {
		t.Errorf("reviews: %v, %v", reviews, err)
	}
	commits, _, err := c.PullRequests.ListCommits(ctx, "octo-org", "fleet", number, nil)
	if err != nil || len(commits) != 1 || commits[0].GetAuthor().GetLogin() != "alice" {
		t.Errorf("commits: %v, %v", commits, err)
	}
	level, _, err := c.Repositories.GetPermissionLevel(ctx, "octo-org", "fleet", "bob")
	if err != nil || level.GetPermission() != "write" {
		t.Errorf("permission: %v, %v", level, err)
	}
	if m, _, err := c.Teams.GetTeamMembershipBySlug(ctx, "octo-org", "security", "bob"); err != nil ||
		m.GetState() != "active" {
		t.Errorf("membership: %v, %v", m, err)
	}
	var e *github.ErrorResponse
	if _, _, err := c.Teams.GetTeamMembershipBySlug(ctx, "octo-org", "security", "eve"); !errors.As(err, &e) ||
		e.Response.StatusCode != http.StatusNotFound {
		t.Errorf("membership of a stranger: %v", err)
	}
	if v := s.Violations(); len(v) != 0 {
		t.Errorf("violations: %v", v)
	}
}

func TestCredentials(t *testing.T) {
	s := start(t)
	other, err := New(Config{KeyBits: 1024})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tr, err := ghinstallation.NewAppsTransport(http.DefaultTransport, s.App().ID, other.App().PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	c, err := github.NewClient(&http.Client{Transport: tr}).WithEnterpriseURLs(s.URL(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	var e *github.ErrorResponse
	if _, _, err := c.Apps.ListInstallations(t.Context(), nil); !errors.As(err, &e) ||
		e.Response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a JWT of another key: %v", err)
	}
	good, tokens := client(t, s)
	tokens.InstallationTokenOptions = &github.InstallationTokenOptions{
		Permissions: &github.InstallationPermissions{Contents: github.String("read")}}
	if _, _, err := good.PullRequests.List(t.Context(), "octo-org", "fleet", nil); !errors.As(err, &e) ||
		e.Response.StatusCode != http.StatusForbidden {
		t.Errorf("a token without pull_requests: %v", err)
	}
}

func TestCheckRuns(t *testing.T) {
	s := start(t)
	_, sha := open(t, s)
	c, _ := client(t, s)
	ctx := t.Context()
	run, _, err := c.Checks.CreateCheckRun(ctx, "octo-org", "fleet",
		github.CreateCheckRunOptions{Name: "lint", HeadSHA: sha, Status: github.String("in_progress")})
	if err != nil {
		t.Fatal(err)
	}
	note := &github.CheckRunAnnotation{Path: github.String("a.yaml"), StartLine: github.Int(1), EndLine: github.Int(1),
		AnnotationLevel: github.String("failure"), Message: github.String("no")}
	output := &github.CheckRunOutput{Title: github.String("T"), Summary: github.String("S"),
		Annotations: []*github.CheckRunAnnotation{note}}
	for range 2 {
		_, _, err = c.Checks.UpdateCheckRun(ctx, "octo-org", "fleet", run.GetID(),
			github.UpdateCheckRunOptions{Name: "lint", Conclusion: github.String("failure"), Status: github.String("completed"),
				Output: output})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.WaitRun(ctx, fleet, sha, nil)
	if err != nil || got.Conclusion != "failure" || len(got.Annotations) != 2 || got.CompletedAt.IsZero() {
		t.Errorf("run: %+v, %v", got, err)
	}
	list, _, err := c.Checks.ListCheckRunsForRef(ctx, "octo-org", "fleet", sha,
		&github.ListCheckRunsOptions{AppID: github.Int64(s.App().ID)})
	if err != nil || list.GetTotal() != 1 || list.CheckRuns[0].GetOutput().GetAnnotationsCount() != 2 {
		t.Errorf("list: %v, %v", list, err)
	}
	if v := s.Violations(); len(v) != 0 {
		t.Errorf("violations: %v", v)
	}
}

func TestLimits(t *testing.T) {
	text, one, two := strings.Repeat("é", maxText/2+1), 1, 2
	good := Annotation{Path: "a", StartLine: 1, EndLine: 1, Level: "failure", Message: "m"}
	with := func(change func(*Annotation)) *runInput {
		a := good
		change(&a)
		return output("s", a)
	}
	for name, tc := range map[string]struct {
		in   *runInput
		want string // "" means accepted
	}{
		"valid":            {output("s", good), ""},
		"summary in bytes": {output(text), "output.summary has"},
		"51 annotations":   {output("s", make([]Annotation, 51)...), "51 annotations"},
		"line 0":           {with(func(a *Annotation) { a.StartLine = 0 }), "lines count from 1"},
		"end before start": {with(func(a *Annotation) { a.StartLine = 3 }), "before start_line"},
		"columns over lines": {with(func(a *Annotation) { a.EndLine, a.StartColumn, a.EndColumn = 2, &one, &two }),
			"more than one line"},
		"start column only": {with(func(a *Annotation) { a.StartColumn = &one }), "only one"},
		"no message":        {with(func(a *Annotation) { a.Message = " " }), "message is blank"},
		"long title":        {with(func(a *Annotation) { a.Title = strings.Repeat("x", 256) }), "title has 256"},
		"no conclusion":     {&runInput{Status: ptr("completed")}, "needs a conclusion"},
		"bad conclusion":    {&runInput{Conclusion: ptr("stale")}, "is not one of"},
		"details_url":       {&runInput{DetailsURL: ptr("ftp://x")}, "details_url"},
		"long label":        {&runInput{Actions: &[]Action{{strings.Repeat("x", 21), "d", "i"}}}, "actions/0/label"},
	} {
		got := strings.Join(tc.in.problems(false), "\n")
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func ptr(s string) *string { return &s }

func output(summary string, a ...Annotation) *runInput {
	in := &runInput{}
	in.Output = &struct {
		Title       *string      `json:"title"`
		Summary     *string      `json:"summary"`
		Text        *string      `json:"text"`
		Annotations []Annotation `json:"annotations"`
	}{Title: ptr("T"), Summary: &summary, Annotations: a}
	return in
}

func TestGit(t *testing.T) {
	s := start(t)
	_, sha := open(t, s)
	_, tokens := client(t, s)
	tok, err := tokens.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(secret string) error {
		dir := t.TempDir()
		url := strings.Replace(s.URL(), "http://", "http://x-access-token:"+secret+"@", 1) + "/" + fleet + ".git"
		for _, args := range [][]string{{"init", "-q", "--bare", dir}, {"--git-dir=" + dir, "fetch", "-q", url, sha},
			{"--git-dir=" + dir, "cat-file", "-e", sha + ":n/b.yaml"}} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null")
			if out, err := cmd.CombinedOutput(); err != nil {
				return errors.New(string(out))
			}
		}
		return nil
	}
	if err := fetch(tok); err != nil {
		t.Errorf("with a token: %v", err)
	}
	if err := fetch("wrong"); err == nil {
		t.Error("fetched with a wrong token")
	}
	old := sha
	if sha, err = s.Push(t.Context(), fleet, Commit{Branch: "change", Parent: "main",
		Files: map[string]string{"a.yaml": "a: 3\n"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Vanish(t.Context(), fleet); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resolve(t.Context(), fleet, old); err == nil {
		t.Error("the old head is still there")
	}
	if _, err := s.Resolve(t.Context(), fleet, sha); err != nil {
		t.Errorf("the new head: %v", err)
	}
}

func TestWebhooks(t *testing.T) {
	s := start(t)
	type hook struct {
		event, action, guid string
		signed              bool
	}
	got := make(chan hook, 100)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(s.App().Secret))
		mac.Write(body)
		event, err := github.ParseWebHook(github.WebHookType(r), body)
		if err != nil {
			t.Errorf("the payload: %v", err)
		}
		h := hook{event: r.Header.Get("X-GitHub-Event"), guid: r.Header.Get("X-GitHub-Delivery"),
			signed: r.Header.Get("X-Hub-Signature-256") == "sha256="+hex.EncodeToString(mac.Sum(nil))}
		if e, ok := event.(interface{ GetAction() string }); ok {
			h.action = e.GetAction()
		}
		got <- h
		w.WriteHeader(http.StatusAccepted)
	}))
	defer app.Close()
	s.SetHook(app.URL)
	s.TamperHook(HookFault{Event: "pull_request", Action: "opened", Do: Drop})
	s.TamperHook(HookFault{Event: "pull_request", Action: "synchronize", Do: Duplicate})
	s.TamperHook(HookFault{Event: "pull_request_review", Do: BadSignature})
	number, _ := open(t, s)
	if _, err := s.Push(t.Context(), fleet, Commit{Branch: "change",
		Files: map[string]string{"a.yaml": "a: 3\n"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Review(fleet, number, "bob", "APPROVED"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.WaitHooks(ctx); err != nil {
		t.Fatal(err)
	}
	want := []hook{{"push", "", "", true}, {"push", "", "", true}, {"pull_request", "synchronize", "", true},
		{"pull_request", "synchronize", "", true}, {"pull_request_review", "submitted", "", false}}
	for i, w := range want {
		h := <-got
		h.guid = ""
		if h != w {
			t.Errorf("webhook %d: %+v, want %+v", i, h, w)
		}
	}
	// The dropped webhook is listed as failed, and can be delivered again.
	c := appClient(t, s)
	list, _, err := c.Apps.ListHookDeliveries(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if d.GetStatusCode() == http.StatusBadGateway {
			var accepted *github.AcceptedError // go-github's word for 202
			if _, _, err := c.Apps.RedeliverHookDelivery(ctx, d.GetID()); err != nil && !errors.As(err, &accepted) {
				t.Fatal(err)
			}
			if h := <-got; h.guid != d.GetGUID() || h.action != "opened" {
				t.Errorf("redelivered: %+v", h)
			}
			return
		}
	}
	t.Errorf("no failed delivery in %v", list)
}

func TestFaults(t *testing.T) {
	s := start(t)
	_, sha := open(t, s)
	c, _ := client(t, s)
	create := func() error {
		_, _, err := c.Checks.CreateCheckRun(t.Context(), "octo-org", "fleet",
			github.CreateCheckRunOptions{Name: "lint", HeadSHA: sha})
		return err
	}
	s.Inject(Fault{Method: "POST", Path: "/check-runs", Status: http.StatusBadGateway, Commit: true})
	if err := create(); err == nil || len(s.Runs(fleet)) != 1 {
		t.Errorf("a lost answer: %v, %d runs", err, len(s.Runs(fleet)))
	}
	s.Inject(Fault{Path: "/check-runs", Truncate: true})
	if err := create(); err == nil || len(s.Runs(fleet)) != 2 {
		t.Errorf("a truncated answer: %v, %d runs", err, len(s.Runs(fleet)))
	}
	s.Inject(SecondaryLimit(time.Minute))
	var abuse *github.AbuseRateLimitError
	if err := create(); !errors.As(err, &abuse) || abuse.GetRetryAfter() != time.Minute {
		t.Errorf("secondary limit: %v", err)
	}
	if c, _ = client(t, s); create() != nil { // go-github remembers the limit
		t.Error("the limit stays")
	}
	s.Inject(PrimaryLimit(time.Now().Add(time.Hour)))
	var limit *github.RateLimitError
	if err := create(); !errors.As(err, &limit) {
		t.Errorf("primary limit: %v", err)
	}
}

// A person who signs in is asked for consent if the App requests it. After the person revokes the authorization,
// existing tokens are invalid.
func TestSignInOfPeople(t *testing.T) {
	s, err := New(Config{KeyBits: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	const callback = "https://lintel.example.com/auth/callback"
	s.SetCallbackURLs(callback)
	told := make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- r.Header.Get("X-GitHub-Event") + " " + string(body)
	}))
	t.Cleanup(hook.Close)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	do := func(method, address string, form url.Values, header ...string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	const verifier = "a verifier"
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{"client_id": {s.App().ClientID}, "redirect_uri": {callback}, "state": {strings.Repeat("s", 16)},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
	authorize := s.URL() + "/login/oauth/authorize?" + query.Encode()
	if res, body := do(http.MethodGet, authorize+"&prompt=select_account", nil, "Cookie", sessionCookie+"=alice"); res.StatusCode !=
		http.StatusOK || !strings.Contains(body, "Sign in to GitHub") || strings.Contains(body, "select_account") {
		t.Errorf("with a choice: %d %s", res.StatusCode, body)
	}
	res, _ := do(http.MethodGet, authorize, nil, "Cookie", sessionCookie+"=alice")
	back, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	_, body := do(http.MethodPost, s.URL()+"/login/oauth/access_token", url.Values{"client_id": {s.App().ClientID},
		"client_secret": {s.App().ClientSecret}, "code": {back.Query().Get("code")}, "code_verifier": {verifier},
		"redirect_uri": {callback}})
	answer, err := url.ParseQuery(body)
	if err != nil || answer.Get("access_token") == "" {
		t.Fatalf("%v %s", err, body)
	}
	known := func() int {
		res, _ := do(http.MethodGet, s.URL()+"/api/v3/user", nil, "Authorization", "Bearer "+answer.Get("access_token"))
		return res.StatusCode
	}
	if got := known(); got != http.StatusOK {
		t.Errorf("alice's token: %d", got)
	}
	s.SetHook(hook.URL)
	s.RevokeAuthorization("alice")
	if got := <-told; !strings.HasPrefix(got, "github_app_authorization ") || !strings.Contains(got, `"action":"revoked"`) ||
		!strings.Contains(got, `"login":"alice"`) || strings.Contains(got, "installation") {
		t.Errorf("told %s", got)
	}
	if got := known(); got != http.StatusUnauthorized {
		t.Errorf("alice's token, revoked: %d", got)
	}
}
