package github

import (
	"maps"
	"slices"
)

// Manifest describes the App to GitHub
// (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest#github-app-manifest-parameters).
type Manifest struct {
	Name        string `json:"name"` // a proposal: the person can change it on GitHub's page
	URL         string `json:"url"`
	Description string `json:"description"`
	Public      bool   `json:"public"` // false: only the account that owns the App can install it; true: every account
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

// The event of merge queues, and the permission that it needs.
const mergeGroupEvent, mergeQueuesPermission = "merge_group", "merge_queues"

// withoutMergeQueues is a manifest for an Enterprise Server: what GitHub publishes of 3.17 to 3.19 has no such event
// (https://docs.github.com/en/enterprise-server@3.19/webhooks/webhook-events-and-payloads), and a manifest with an event
// that the server does not know is refused as a whole.
func (m Manifest) withoutMergeQueues() Manifest {
	m.Permissions = maps.Clone(m.Permissions)
	delete(m.Permissions, mergeQueuesPermission)
	m.Events = slices.DeleteFunc(slices.Clone(m.Events), func(e string) bool { return e == mergeGroupEvent })
	return m
}
