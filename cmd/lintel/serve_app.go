package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/bot/worker"
)

// maxSecretFile limits the size of the files with the key and the secret.
const maxSecretFile = 64 << 10

// identity is the GitHub App as which the server runs.
type identity struct {
	id     int64
	client *github.Client
	secret []byte         // of webhooks
	signIn *github.SignIn // of people; nil: they cannot
}

// app returns the App of the settings, or, if they have none, the one that was registered on this server; nil if there
// is none yet.
func (o *serveOptions) app() (*identity, error) {
	if o.appID != "" || o.keyFile != "" || o.secret != "" || o.secretFile != "" {
		return o.configured()
	}
	stored, err := github.LoadCredentials(o.dataDir)
	if err != nil {
		return nil, fmt.Errorf("LINTEL_DATA_DIR: %w", err)
	}
	if stored != nil {
		return o.registered(stored)
	}
	if o.natsURL != "" {
		return nil, errors.New("LINTEL_GITHUB_APP_ID is not set: servers that share LINTEL_NATS_URL need the App in " +
			"their settings")
	}
	return nil, nil
}

// configured returns the App of the settings, which have to be complete.
func (o *serveOptions) configured() (*identity, error) {
	switch {
	case o.appID == "":
		return nil, errors.New("LINTEL_GITHUB_APP_ID is not set: it is on the App's settings page")
	case o.keyFile == "":
		return nil, errors.New("LINTEL_GITHUB_PRIVATE_KEY_FILE is not set: name the file with the App's private key")
	case o.secret != "" && o.secretFile != "":
		return nil, errors.New("LINTEL_GITHUB_WEBHOOK_SECRET and LINTEL_GITHUB_WEBHOOK_SECRET_FILE are both set: set one")
	}
	id, err := strconv.ParseInt(o.appID, 10, 64)
	if err != nil || id <= 0 {
		return nil, errors.New("LINTEL_GITHUB_APP_ID is not a positive number")
	}
	key, err := readSecret("LINTEL_GITHUB_PRIVATE_KEY_FILE", o.keyFile)
	if err != nil {
		return nil, err
	}
	secret := []byte(o.secret)
	if o.secretFile != "" {
		if secret, err = readSecret("LINTEL_GITHUB_WEBHOOK_SECRET_FILE", o.secretFile); err != nil {
			return nil, err
		}
		secret = bytes.TrimSpace(secret) // editors end files with a line break
	}
	if len(secret) == 0 {
		return nil, errors.New("LINTEL_GITHUB_WEBHOOK_SECRET is not set: without it anybody could send webhooks")
	}
	return o.identity(id, key, secret, nil)
}

// readSecret returns the content of the file that a setting names.
func readSecret(setting, name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxSecretFile {
		return nil, fmt.Errorf("the file in %s is too large", setting)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the file in %s cannot be read: %w", setting, err)
	}
	return data, nil
}

// registered returns the App of the stored credentials. They are used only with the GitHub host where the App was
// registered: another one does not know the App, and must not see its signature.
func (o *serveOptions) registered(c *github.Credentials) (*identity, error) {
	if !strings.EqualFold(strings.TrimRight(c.GitHubURL, "/"), strings.TrimRight(o.githubURL, "/")) {
		return nil, errors.New("the App in the data directory was registered at another GitHub than LINTEL_GITHUB_URL: correct the address, or use another data directory")
	}
	return o.identity(c.AppID, []byte(c.PrivateKey), []byte(c.WebhookSecret), c)
}

func (o *serveOptions) identity(id int64, key, secret []byte, stored *github.Credentials) (*identity, error) {
	client, err := github.NewClient(github.Config{URL: o.githubURL, AppID: id, PrivateKey: key})
	if err != nil {
		return nil, fmt.Errorf("the GitHub App cannot be used: %w", err)
	}
	signIn, err := o.signIn(stored)
	if err != nil {
		return nil, err
	}
	return &identity{id, client, secret, signIn}, nil
}

func (o *serveOptions) newSetup(log *slog.Logger) (*github.Setup, error) {
	registrar, err := github.NewRegistrar(o.githubURL, nil)
	if err != nil {
		return nil, fmt.Errorf("LINTEL_GITHUB_URL cannot be used: %w", err)
	}
	page, err := github.NewSetup(github.SetupConfig{Registrar: registrar, GitHubURL: o.githubURL, DataDir: o.dataDir,
		PublicURL: o.publicURL, Log: log})
	if err != nil {
		return nil, fmt.Errorf("LINTEL_DATA_DIR cannot be used: %w", err)
	}
	return page, nil
}

// registerFirst serves the page that registers the App. Afterwards it runs the server as this App, on the same
// listener.
func (o *serveOptions) registerFirst(ctx context.Context, listener net.Listener, page *github.Setup, jobs *store.Queue,
	out io.Writer, log *slog.Logger) error {
	front := &worker.Front{}
	front.Set(page)
	o.invite(out, page.Link(listener.Addr()))
	log.Info("waiting for a GitHub App", "listen", listener.Addr().String())
	return worker.Serve(ctx, listener, front, log, func(ctx context.Context) error {
		credentials, err := page.Wait(ctx)
		if err != nil {
			return err // the end of ctx
		}
		app, err := o.registered(credentials)
		if err != nil {
			return err
		}
		return o.work(ctx, listener, front, app, jobs, log)
	})
}

// invite prints the link to the page. It is not logged, since everybody who has the link can register the App.
func (o *serveOptions) invite(out io.Writer, link string) {
	fmt.Fprintf(out, "\nThis server has no GitHub App yet. To register one, open this link within an hour:\n\n  %s\n\n",
		link)
	if o.publicURL == "" {
		origin, _, _ := strings.Cut(link, "/setup")
		fmt.Fprintf(out, "To open the link on another machine, replace %s by the address of this server.\n\n", origin)
	}
}

// client returns the App's client id and secret for signing in: those of the settings, otherwise those that GitHub
// returned when the App was registered here; both are empty if there are none.
func (o *serveOptions) client(stored *github.Credentials) (id, secret string, err error) {
	switch {
	case o.clientID != "" && o.clientSecretFile == "":
		return "", "", errors.New("LINTEL_GITHUB_CLIENT_SECRET_FILE is not set: name the file with the App's client secret")
	case o.clientID == "" && o.clientSecretFile != "":
		return "", "", errors.New("LINTEL_GITHUB_CLIENT_ID is not set: it is on the App's settings page")
	case o.clientID != "":
		data, err := readSecret("LINTEL_GITHUB_CLIENT_SECRET_FILE", o.clientSecretFile)
		if err != nil {
			return "", "", err
		}
		if secret = string(bytes.TrimSpace(data)); secret == "" {
			return "", "", errors.New("the file in LINTEL_GITHUB_CLIENT_SECRET_FILE is empty")
		}
		return strings.TrimSpace(o.clientID), secret, nil
	case stored != nil:
		return stored.ClientID, stored.ClientSecret, nil
	}
	return "", "", nil
}

// signIn returns how people sign in as users of the App, nil without a client id.
func (o *serveOptions) signIn(stored *github.Credentials) (*github.SignIn, error) {
	id, secret, err := o.client(stored)
	if err != nil || id == "" {
		return nil, err
	}
	s, err := github.NewSignIn(github.SignInConfig{URL: o.githubURL, ClientID: id, ClientSecret: secret})
	if err != nil {
		return nil, fmt.Errorf("LINTEL_GITHUB_CLIENT_ID or LINTEL_GITHUB_CLIENT_SECRET_FILE cannot be used: %w", err)
	}
	return s, nil
}

// access describes who may see a page.
func (o *serveOptions) access(ctx context.Context, app *identity, jobs *store.Queue,
	log *slog.Logger) (*results.Access, error) {
	c := results.AccessConfig{Hub: app.client, PublicURL: o.publicURL, TTL: o.pageAccessTTL, Log: log}
	if app.signIn != nil && o.publicURL != "" {
		sessions, used, err := jobs.Sessions(ctx)
		if err != nil {
			return nil, err
		}
		c.SignIn, c.Sessions, c.Used = app.signIn, sessions, used
	}
	return results.NewAccess(c)
}

// login matches the logins that GitHub allows, and slightly more.
var login = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)

// parseAccounts parses a list of accounts, nil for an empty one. The letter case of logins does not matter on GitHub.
func parseAccounts(list string) (func(string) bool, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	named := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); !login.MatchString(name) {
			return nil, errors.New("LINTEL_ACCOUNTS must be names of organizations and users, separated by commas")
		}
		named[strings.ToLower(name)] = true
	}
	return func(login string) bool { return named[strings.ToLower(login)] }, nil
}

// rotateEvery is the time between readings of the files with credentials: at most three small files. File systems do
// not report all changes, and especially not those of a Kubernetes secret, which are changes of a symbolic link.
const rotateEvery = 10 * time.Second

// rotation applies credentials when their files change.
type rotation struct {
	files []*rotated
	again <-chan os.Signal // asks for a look at once
	log   *slog.Logger
}

// rotated is one file with a credential.
type rotated struct {
	setting, name string
	set           func([]byte) (changed bool, err error) // applies it, or leaves the present one
	seen, judged  [sha256.Size]byte                      // the content at the last look, and that given to set last
	said          string                                 // the problem that was logged last
}

// rotation returns a rotation of the files that the settings name. The credentials of an App that was registered here
// have no files.
func (o *serveOptions) rotation(app *identity, intake *github.Webhook, log *slog.Logger) *rotation {
	r := &rotation{again: o.again, log: log}
	r.add("LINTEL_GITHUB_PRIVATE_KEY_FILE", o.keyFile, app.client.SetPrivateKey)
	r.add("LINTEL_GITHUB_WEBHOOK_SECRET_FILE", o.secretFile, intake.SetSecret)
	if app.signIn != nil {
		r.add("LINTEL_GITHUB_CLIENT_SECRET_FILE", o.clientSecretFile,
			func(secret []byte) (bool, error) { return app.signIn.SetSecret(string(secret)) })
	}
	return r
}

func (r *rotation) add(setting, name string, set func([]byte) (bool, error)) {
	if name != "" {
		r.files = append(r.files, &rotated{setting: setting, name: name, set: set})
	}
}

// run checks the files until ctx ends.
func (r *rotation) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.again:
			r.look(true)
		case <-time.After(rotateEvery):
			r.look(false)
		}
	}
}

// look reads each file. Since a secret may be only half written, new content counts when two readings in a row found
// it; at once if the operator asks for it.
func (r *rotation) look(asked bool) {
	for _, f := range r.files {
		problem := ""
		changed, err := f.look(asked)
		if err != nil {
			problem = err.Error()
		}
		switch {
		case changed:
			r.log.Info("a credential changed; the new one is in use", "setting", f.setting)
		case problem != "" && problem != f.said:
			r.log.Error("a credential cannot be used; the previous one stays in use", "setting", f.setting, "error", problem)
		}
		f.said = problem
	}
}

func (f *rotated) look(asked bool) (changed bool, err error) {
	data, err := readSecret(f.setting, f.name)
	if err != nil {
		return false, err
	}
	data = bytes.TrimSpace(data)
	sum := sha256.Sum256(data)
	settled := sum == f.seen
	f.seen = sum
	if sum == f.judged || !settled && !asked {
		return false, nil
	}
	changed, err = f.set(data)
	f.judged = sum
	return changed, err
}
