package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/render/remote"
)

// Registrar registers an App from a manifest
// (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest). Unlike the rest of
// the client, it works without an App. It is safe for concurrent use.
type Registrar struct{ client *Client }

// NewRegistrar returns a Registrar for the GitHub at an address, see Config.URL. A nil transport is
// http.DefaultTransport. It makes no request.
func NewRegistrar(address string, transport http.RoundTripper) (*Registrar, error) {
	client, err := newStranger(address, transport)
	return &Registrar{client}, err
}

// FormURL returns the address to which a browser posts the manifest, as the form field "manifest". GitHub includes the
// state in its redirect. Without an organization, the person's own account owns the App.
func (r *Registrar) FormURL(organization, state string) string {
	account := ""
	if organization != "" {
		account = "/organizations/" + url.PathEscape(organization)
	}
	return r.client.web + account + "/settings/apps/new?" + url.Values{"state": {state}}.Encode()
}

const (
	// maxRegistration limits the size of GitHub's answer, which is a few kilobytes.
	maxRegistration = 1 << 20
	maxSecret       = 1 << 10
)

var (
	codePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_-]{1,255}$`) })
	slugPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_-]{1,100}$`) })
)

// Convert exchanges the code of GitHub's redirect for the App's credentials, and also returns the address where people
// install the App. NewClient accepts the private key. Without a client id, nobody can sign in. A code is valid for one
// hour and one exchange; for another code, the error is a *Gone. Any other error may be temporary. No error contains
// the code or more of GitHub's answer than its message.
// (https://docs.github.com/en/rest/apps/apps#create-a-github-app-from-a-manifest)
func (r *Registrar) Convert(ctx context.Context, code string) (_ *Credentials, installURL string, _ error) {
	const what = "the code of the App's registration"
	if !codePattern().MatchString(code) {
		return nil, "", &forge.Gone{What: what, Err: errors.New("malformed")}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, _, err := r.client.client(r.client.wire).Apps.CompleteAppManifest(ctx, code)
	var withAddress *url.Error // its text has the address, and thus the code
	switch {
	case forge.Is[*http.MaxBytesError](err):
		return nil, "", fmt.Errorf("%s: GitHub's answer is larger than %d MB", what, maxRegistration>>20)
	case errors.As(err, &withAddress):
		err = withAddress.Err
	}
	if err != nil {
		return nil, "", r.client.classify(what, err)
	}
	out := &Credentials{AppID: answer.GetID(), Slug: answer.GetSlug(), PrivateKey: answer.GetPEM(),
		WebhookSecret: answer.GetWebhookSecret()}
	if id, secret := answer.GetClientID(), answer.GetClientSecret(); clientIDPattern().MatchString(id) && secret != "" &&
		len(secret) <= maxSecret {
		out.ClientID, out.ClientSecret = id, secret
	}
	if out.AppID <= 0 || !slugPattern().MatchString(out.Slug) || out.WebhookSecret == "" || len(out.WebhookSecret) > maxSecret {
		return nil, "", fmt.Errorf("%s: GitHub's answer lacks the App's id, its slug or its webhook secret", what)
	}
	if _, err := NewClient(Config{URL: r.client.web, AppID: out.AppID, PrivateKey: []byte(out.PrivateKey)}); err != nil {
		return nil, "", fmt.Errorf("%s: GitHub's answer: %w", what, err)
	}
	return out, r.installURL(answer), nil
}

// installURL returns the address at which people install the App. The path of an App's page differs between kinds of
// GitHub.
func (r *Registrar) installURL(app *gh.AppConfig) string {
	page := strings.TrimRight(app.GetHTMLURL(), "/")
	if !strings.HasPrefix(page, r.client.web+"/") {
		page = r.client.web + "/apps/" + app.GetSlug()
	}
	return page + "/installations/new"
}

// Manifest describes the App to GitHub
// (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest#github-app-manifest-parameters).
type Manifest struct {
	Name        string `json:"name"` // a proposal: the person can change it on GitHub's page
	URL         string `json:"url"`
	Description string `json:"description"`
	Public      bool   `json:"public"` // false: only the account that owns the App can install it; true: every account
	Hook        Hook   `json:"hook_attributes"`
	RedirectURL string `json:"redirect_url"`
	// where GitHub may redirect people after they sign in to read a private repository's results
	CallbackURLs []string          `json:"callback_urls"`
	Permissions  map[string]string `json:"default_permissions"`
	Events       []string          `json:"default_events"`
}

// Hook is the address to which GitHub sends webhooks.
type Hook struct {
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

// NewManifest returns the manifest of Lintel's App for a server at an address without a trailing slash. It requests
// exactly the permissions and events that Lintel uses. A manifest does not list the events that every App receives:
// installation, installation_repositories and github_app_authorization.
func NewManifest(address string) Manifest {
	return Manifest{
		Name:         "Lintel",
		URL:          "https://github.com/lintel-bot/lintel",
		Description:  "Checks pull requests of GitOps repositories against your cluster's policies before they merge.",
		Hook:         Hook{URL: address + "/webhook", Active: true},
		RedirectURL:  address + callbackPath,
		CallbackURLs: []string{address + CallbackPath},
		Permissions: map[string]string{
			"checks":              "write",
			"contents":            "read",
			"members":             "read",
			mergeQueuesPermission: "read",
			"metadata":            "read",
			"pull_requests":       "read",
		},
		Events: []string{"check_run", "check_suite", mergeGroupEvent, "pull_request", "pull_request_review", "push",
			"repository"},
	}
}

// The event of merge queues, and the permission that it requires.
const mergeGroupEvent, mergeQueuesPermission = "merge_group", "merge_queues"

// withoutMergeQueues returns the manifest for an Enterprise Server. The events that GitHub documents for versions 3.17
// to 3.19 do not include merge_group
// (https://docs.github.com/en/enterprise-server@3.19/webhooks/webhook-events-and-payloads), and a server refuses a
// manifest with an unknown event.
func (m Manifest) withoutMergeQueues() Manifest {
	m.Permissions = maps.Clone(m.Permissions)
	delete(m.Permissions, mergeQueuesPermission)
	m.Events = slices.DeleteFunc(slices.Clone(m.Events), func(e string) bool { return e == mergeGroupEvent })
	return m
}

// Credentials are what a server needs to be a GitHub App. They must not be logged.
type Credentials struct {
	GitHubURL     string `json:"github_url"` // the GitHub that knows the App
	AppID         int64  `json:"app_id"`
	Slug          string `json:"slug"`
	PrivateKey    string `json:"private_key"` // PEM
	WebhookSecret string `json:"webhook_secret"`
	// These are for the sign-in of readers. They are empty for an App that was registered by a version without sign-in.
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
}

const (
	folderName     = "app"
	fileName       = "credentials.json"
	maxCredentials = 256 << 10
)

// ErrDamaged means that stored credentials cannot be used. They are never replaced without a notice, since their App
// may be installed.
var ErrDamaged = errors.New("the stored credentials of the App are damaged: restore " + folderName + "/" + fileName +
	" in the data directory, or remove it to register another App")

// LoadCredentials returns the credentials that a registration stored in the data directory, or nil if there are none.
// Errors contain neither the credentials nor the path.
func LoadCredentials(dataDir string) (*Credentials, error) {
	f, err := os.Open(filepath.Join(dataDir, folderName, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the stored credentials of the App cannot be read: %w", remote.WithoutPath(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCredentials+1))
	if err != nil {
		return nil, fmt.Errorf("the stored credentials of the App cannot be read: %w", remote.WithoutPath(err))
	}
	return decodeCredentials(data)
}

func decodeCredentials(data []byte) (*Credentials, error) {
	var c Credentials
	if len(data) > maxCredentials || json.Unmarshal(data, &c) != nil || c.GitHubURL == "" || c.AppID <= 0 ||
		c.PrivateKey == "" || c.WebhookSecret == "" {
		return nil, ErrDamaged
	}
	return &c, nil
}

// storeCredentials stores the credentials so that they survive a power failure and only this user can read them.
func storeCredentials(dataDir string, c *Credentials) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = writeDurably(dataDir, fileName, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("storing the App's credentials: %w", remote.WithoutPath(err))
	}
	return nil
}

// probeDataDir checks that storeCredentials can write, because GitHub issues the credentials only once.
func probeDataDir(dataDir string) error {
	const name = "probe"
	err := writeDurably(dataDir, name, nil)
	if err == nil {
		err = os.Remove(filepath.Join(dataDir, folderName, name))
	}
	if err != nil {
		return fmt.Errorf("the App's credentials could not be stored in the data directory: %w", remote.WithoutPath(err))
	}
	return nil
}

// writeDurably replaces a file atomically, and waits until it is on disk.
func writeDurably(dataDir, name string, data []byte) (err error) {
	folder := filepath.Join(dataDir, folderName)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(folder, name+"-*.tmp") // CreateTemp uses mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), filepath.Join(folder, name))
	}
	if err == nil {
		err = errors.Join(syncFolder(folder), syncFolder(dataDir))
	}
	return err
}

// syncFolder writes the names in a folder to disk.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
