package setup

import "github.com/lintel-bot/lintel/bot/access"

// Manifest describes the App to GitHub
// (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest#github-app-manifest-parameters).
type Manifest struct {
	Name        string `json:"name"` // a proposal: the person can change it on GitHub's page
	URL         string `json:"url"`
	Description string `json:"description"`
	Public      bool   `json:"public"` // false: only the account that owns the App can install it
	Hook        Hook   `json:"hook_attributes"`
	RedirectURL string `json:"redirect_url"`
	// where GitHub may send people who sign in to read a private repository's results
	CallbackURLs []string          `json:"callback_urls"`
	Permissions  map[string]string `json:"default_permissions"`
	Events       []string          `json:"default_events"`
}

// Hook is where GitHub sends webhooks.
type Hook struct {
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

// NewManifest is the App that Lintel needs, with exactly the permissions and events it uses, for a server at an
// address without a trailing slash. Events that every App gets (installation, installation_repositories and
// github_app_authorization) are not part of a manifest.
func NewManifest(address string) Manifest {
	return Manifest{
		Name:         "Lintel",
		URL:          "https://github.com/lintel-bot/lintel",
		Description:  "Checks pull requests of GitOps repositories against your cluster's policies before they merge.",
		Hook:         Hook{URL: address + "/webhook", Active: true},
		RedirectURL:  address + callbackPath,
		CallbackURLs: []string{address + access.CallbackPath},
		Permissions: map[string]string{
			"checks":        "write",
			"contents":      "read",
			"members":       "read",
			"merge_queues":  "read",
			"metadata":      "read",
			"pull_requests": "read",
		},
		Events: []string{"check_run", "check_suite", "merge_group", "pull_request", "pull_request_review", "push",
			"repository"},
	}
}
