package github

import (
	"testing"

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
	repo := Repo{Owner: "octo-org", Name: "fleet"}
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
	for _, gone := range []Repo{{Installation: repo.Installation, ID: 1, Owner: "octo-org", Name: "none"},
		{Installation: repo.Installation, Owner: "octo-org", Name: "none"},
		{Installation: 1, ID: repo.ID, Owner: "a", Name: "b"}} {
		if got, err := client.Present(t.Context(), gone); !IsGone(err) {
			t.Errorf("%+v: %+v, %v", gone, got, err)
		}
	}

	repo.Name = "armada"
	if err := hub.SetPermission("octo-org/armada", "mallory", "none"); err != nil {
		t.Fatal(err)
	}
	alice, mallory := accountOf(t, client, repo, "alice"), accountOf(t, client, repo, "mallory")
	for _, c := range []struct {
		account Account
		may     bool
	}{
		{alice, true}, {mallory, false}, {Account{alice.ID, "../mallory"}, false}, {Account{1, "alice"}, false},
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
	if may, err := client.MayRead(t.Context(), repo, alice); may || err == nil || IsGone(err) {
		t.Errorf("GitHub fails: %t, %v", may, err)
	}
}

// accountOf is the account that has a login now.
func accountOf(t *testing.T, client *Client, repo Repo, login string) Account {
	t.Helper()
	id, _, err := client.mayRead(t.Context(), repo, login)
	if err != nil || id == 0 {
		t.Fatalf("%s: %d, %v", login, id, err)
	}
	return Account{ID: id, Login: login}
}
