package github

import (
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/githubtest"
)

// A repository and a reader are found by their ids.
func TestPresentAndMayRead(t *testing.T) {
	hub, err := githubtest.New(githubtest.Config{KeyBits: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	if _, err := hub.AddRepo(t.Context(), "octo-org/fleet", ""); err != nil {
		t.Fatal(err)
	}
	app := hub.App()
	client, err := NewClient(Config{URL: hub.URL(), AppID: app.ID, PrivateKey: app.PrivateKey})
	if err != nil {
		t.Fatal(err)
	}
	repo := forge.Repo{Owner: "octo-org", Name: "fleet"}
	repo.ID, repo.Installation = hub.RepositoryID("octo-org/fleet")
	present := func(want string, private bool) {
		t.Helper()
		got, err := client.Present(t.Context(), repo)
		if err != nil || got.String() != want || got.ID != repo.ID || got.Installation != repo.Installation ||
			got.Private != private {
			t.Errorf("%+v, %v, want %s", got, err, want)
		}
	}
	present("octo-org/fleet", true)
	if err := hub.SetPublic("octo-org/fleet", true); err != nil {
		t.Fatal(err)
	}
	present("octo-org/fleet", false)
	if err := hub.RenameRepo("octo-org/fleet", "armada"); err != nil {
		t.Fatal(err)
	}
	present("octo-org/armada", false)
	if _, err := hub.AddRepo(t.Context(), "octo-org/fleet", ""); err != nil {
		t.Fatal(err)
	}
	present("octo-org/armada", false)
	for _, gone := range []forge.Repo{{Installation: repo.Installation, ID: 1, Owner: "octo-org", Name: "none"},
		{Installation: repo.Installation, Owner: "octo-org", Name: "none"},
		{Installation: 1, ID: repo.ID, Owner: "a", Name: "b"}} {
		if got, err := client.Present(t.Context(), gone); !forge.IsGone(err) {
			t.Errorf("%+v: %+v, %v", gone, got, err)
		}
	}

	repo.Name = "armada"
	if err := hub.SetPermission("octo-org/armada", "mallory", "none"); err != nil {
		t.Fatal(err)
	}
	alice, mallory := accountOf(t, client, repo, "alice"), accountOf(t, client, repo, "mallory")
	for _, c := range []struct {
		account forge.Account
		may     bool
	}{
		{alice, true}, {mallory, false}, {forge.Account{ID: alice.ID, Login: "../mallory"}, false}, {forge.Account{ID: 1, Login: "alice"}, false},
	} {
		if may, err := client.MayRead(t.Context(), repo, c.account); may != c.may || err != nil {
			t.Errorf("%+v: %t, %v", c.account, may, err)
		}
	}
	hub.RenameAccount("alice", "ally")
	if may, err := client.MayRead(t.Context(), repo, alice); !may || err != nil {
		t.Errorf("a new login: %t, %v", may, err)
	}
	hub.TakeLogin("alice")
	if err := hub.SetPermission("octo-org/armada", "ally", "none"); err != nil {
		t.Fatal(err)
	}
	if may, err := client.MayRead(t.Context(), repo, alice); may || err != nil {
		t.Errorf("an old login of somebody else: %t, %v", may, err)
	}
	hub.Inject(githubtest.Fault{Path: "/permission", Status: 502, Times: -1})
	if may, err := client.MayRead(t.Context(), repo, alice); may || err == nil || forge.IsGone(err) {
		t.Errorf("GitHub fails: %t, %v", may, err)
	}
}

// accountOf is the account that has a login now.
func accountOf(t *testing.T, client *Client, repo forge.Repo, login string) forge.Account {
	t.Helper()
	id, _, err := client.permission(t.Context(), repo, login, login)
	if err != nil || id == 0 {
		t.Fatalf("%s: %d, %v", login, id, err)
	}
	return forge.Account{ID: id, Login: login}
}

// Only what everybody may read is public: a repository that all of an enterprise may read is not
// (https://docs.github.com/en/rest/repos/repos#get-a-repository).
func TestPresentVisibility(t *testing.T) {
	for name, c := range map[string]struct {
		private    any
		visibility string
		want, ok   bool
	}{
		"public":               {false, "public", false, true},
		"private":              {true, "private", true, true},
		"internal":             {true, "internal", true, true},
		"internal, and public": {false, "internal", true, true},
		"private, and public":  {true, "public", true, true},
		"old server":           {false, "", false, true},
		"old server, private":  {true, "", true, true},
		"does not say":         {nil, "public", false, false},
	} {
		h := newHub(t)
		h.answer("GET /repos/octo/svc", 200, map[string]any{"id": 42, "name": "svc", "owner": map[string]any{"login": "octo"},
			"private": c.private, "visibility": c.visibility})
		got, err := h.app().Present(t.Context(), testRepo)
		if (err == nil) != c.ok || err == nil && got.Private != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// GitHub's word counts however a person came to read a repository: as a collaborator, by a team, by the base permission
// of members, by a role of the organization's own. What is no such word is a no, and no answer is an error.
func TestMayReadLevels(t *testing.T) {
	alice := forge.Account{ID: 7, Login: "alice"}
	user := func(id int64) map[string]any { return map[string]any{"id": id, "login": "alice"} }
	for name, c := range map[string]struct {
		status int
		body   map[string]any
		want   bool
		fails  bool
	}{
		"read":            {200, map[string]any{"permission": "read", "role_name": "read", "user": user(7)}, true, false},
		"triage":          {200, map[string]any{"permission": "read", "role_name": "triage", "user": user(7)}, true, false},
		"maintain":        {200, map[string]any{"permission": "write", "role_name": "maintain", "user": user(7)}, true, false},
		"a role":          {200, map[string]any{"permission": "read", "role_name": "auditors", "user": user(7)}, true, false},
		"admin":           {200, map[string]any{"permission": "admin", "user": user(7)}, true, false},
		"none":            {200, map[string]any{"permission": "none", "role_name": "", "user": user(7)}, false, false},
		"a role, none":    {200, map[string]any{"permission": "none", "role_name": "auditors", "user": user(7)}, false, false},
		"a new word":      {200, map[string]any{"permission": "glance", "user": user(7)}, false, false},
		"nothing":         {200, map[string]any{"user": user(7)}, false, false},
		"somebody else":   {200, map[string]any{"permission": "admin", "user": user(8)}, false, false},
		"nobody":          {200, map[string]any{"permission": "admin"}, false, false},
		"no such login":   {404, nil, false, false},
		"limited":         {429, nil, false, true},
		"out of order":    {502, nil, false, true},
		"not for the App": {403, nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.answer("GET /repos/octo/svc/collaborators/alice/permission", c.status, c.body)
			h.answer("GET /user/7", 200, user(7))
			may, err := h.app().MayRead(t.Context(), testRepo, alice)
			if may != c.want || (err != nil) != c.fails {
				t.Errorf("%t, %v", may, err)
			}
		})
	}
}
