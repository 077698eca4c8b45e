package report

import (
	"encoding/json"
	"time"
)

// SettingsPath is where a repository keeps its settings.
const SettingsPath = ".lintel.yaml"

// Change is the input of a check. It is plain data that can be passed to a child process, and contains no credentials.
type Change struct {
	GitDir     string   `json:"gitDir"`               // the repository's git directory (bare or not), absolute
	Alternates []string `json:"alternates,omitempty"` // further object folders, absolute; work trees have one
	Git        string   `json:"git,omitempty"`        // the git binary, absolute; empty: in the usual places
	Cache      string   `json:"cache,omitempty"`      // absolute; what is kept, to delete at any time; empty: none
	Rules      string   `json:"rules"`                // commit whose rules apply: the tip of the base branch
	Base       string   `json:"base"`                 // merge base; empty: there is none, with All and for a first commit
	Head       string   `json:"head"`                 // commit (or tree) to check
	All        bool     `json:"all,omitempty"`        // check every root of the head, not only what changed
	// Roots limits the check to these roots among those that the change affects; empty: all.
	Roots []RootName `json:"roots,omitempty"`
	// Repository is the names by which objects of Argo CD and Flux refer to the repository: its clone URLs,
	// "owner/name" or name. Without names, every object whose folder exists refers to it.
	Repository []string `json:"repository,omitempty"`
	// Branches are the names of the base branch. What objects of Argo CD and Flux deploy from other revisions is not
	// checked. Without names, every revision that may be a branch counts as the base branch.
	Branches []string `json:"branches,omitempty"`
	// Sources is the fetched remote sources; nil: nothing is fetched, and roots with remote sources are not checked.
	Sources *Sources `json:"sources,omitempty"`

	// Host is the host of repositories with names like "owner/name": "https://github.com".
	Host string `json:"host,omitempty"`
	// Defaults is the address of the repository with the organisation's settings; empty: there is none. Its policies
	// always apply.
	Defaults string `json:"defaults,omitempty"`
	// Policies and PolicyFiles are evaluated besides the policies of the repository.
	Policies    []PolicySource `json:"policies,omitempty"`
	PolicyFiles []PolicyFile   `json:"policyFiles,omitempty"`

	// Proposed is a change of a repository that contains rules. The report then only previews its merge for everything
	// that Head deploys (Report.Preview), without a verdict on the deployed objects. It requires All.
	Proposed *ProposedRules `json:"proposed,omitempty"`

	// Owner is the tenant that owns the repository, for a sandbox with several tenants, which are isolated. Checks do
	// not read it.
	Owner string `json:"-"`

	User    User     `json:"user"`
	Reviews []Review `json:"reviews,omitempty"` // what the reviews of the pull request say about its exceptions
	Approve []string `json:"approve,omitempty"` // exception files that count as approved, whatever they hold (--approve)
	Drafts  bool     `json:"drafts,omitempty"`  // draft exceptions for what blocks
	Edits   []string `json:"edits,omitempty"`   // policies whose suggestions Report.Edits has in any case; "*": all
	// Differences requests the differences of rendered resources. OnlyDifferences requests only these: no rule is read.
	// With All there are none.
	Differences     bool `json:"differences,omitempty"`
	OnlyDifferences bool `json:"onlyDifferences,omitempty"`

	Now time.Time `json:"now"` // the clock of the check; no part of it reads another
}

// ProposedRules is a change of a repository from which other repositories take rules.
type ProposedRules struct {
	Addresses []string `json:"addresses"` // of the repository, as Report.RuleSources names it
	Refs      []string `json:"refs"`      // by which others name the branch that it goes to; "": it is the default branch
	Base      string   `json:"base"`      // merge base
	Head      string   `json:"head"`      // commit
}

// User is the author of the change on the hosting side.
type User struct {
	Login string   `json:"login,omitempty"`
	Teams []string `json:"teams,omitempty"` // "org/team"
	// Unasked says that nobody knows yet who it is: where rules may look at that, the check returns Report.AsksUser instead.
	Unasked bool `json:"unasked,omitempty"`
}

// Inspection is what the App must know before a check: whom to ask for approval of which exceptions. It is the answer
// to a Change without Reviews and without the author's teams.
type Inspection struct {
	Teams      []string    `json:"teams,omitempty"`      // "org/team": those that the settings map to users
	Approvers  Approvers   `json:"approvers"`            // who may approve exceptions, from the settings at the base
	Exceptions []Exception `json:"exceptions,omitempty"` // of the change: name, place, content, state
	// With Change.All: an id of the version of the rules in effect, and whether rules look up other objects of the
	// commit.
	Rules   string `json:"rules,omitempty"`
	LooksUp bool   `json:"looksUp,omitempty"`

	Wanted json.RawMessage `json:"wanted,omitempty"` // nothing else is there: see Report.Wanted
}

// Query asks what a tree deploys. Like Change, it is plain data without credentials; its answer is a Showing.
type Query struct {
	Change `json:"-"` // says where the tree is, which is its Head, and by which names others refer to it

	Show   Show     `json:"show"`
	Before string   `json:"before,omitempty"` // of ShowLayout: the tree that Layout.Reached compares with
	Root   RootName `json:"root,omitzero"`
	As     string   `json:"as,omitempty"` // of the object that deploys it

	Output string `json:"output"` // the form of the answer
	Chain  bool   `json:"chain,omitempty"`
	Color  bool   `json:"color,omitempty"`
	Width  int    `json:"width,omitempty"` // in columns; 0: as wide as it gets
}

// RootName is a root as named by a user.
type RootName struct {
	Name  string   `json:"name"`
	Paths []string `json:"paths,omitempty"` // what that may mean as a path, in the order to try
}

// Show is what a Query asks for.
type Show string

// What can be asked for.
const (
	ShowRoots   Show = "roots"   // the roots of the tree, each with whether it renders
	ShowNames   Show = "names"   // the roots of the tree
	ShowObjects Show = "objects" // what a root deploys
	ShowPlaces  Show = "places"  // what a root deploys, with where each line is written
	ShowLayout  Show = "layout"  // a Layout, as JSON
	// ShowPolicies asks for an Explanation of each policy of the tree, as JSON.
	ShowPolicies Show = "policies"
)

// Showing is the answer to a Query.
type Showing struct {
	Text   []byte   `json:"-"`                // in the form that was asked for
	Said   []string `json:"said,omitempty"`   // what is wrong with what was asked for, for people
	Unable string   `json:"unable,omitempty"` // why there is no answer, for people

	Roots []ListedRoot `json:"roots,omitempty"` // of ShowRoots and ShowNames: what Text lists, by name and kind

	Wanted json.RawMessage `json:"wanted,omitempty"` // see Report.Wanted
}

// Sources is the fetched remote sources.
type Sources struct {
	GitDir string          `json:"gitDir"` // of the store, absolute
	Lock   json.RawMessage `json:"lock"`   // a render/remote.Lock: this package knows nothing of it
	// Last says that nothing more will be fetched. Otherwise, a check that needs more only returns a request.
	Last bool `json:"last,omitempty"`
	// Ask takes a render/remote.Request and returns a render/remote.Lock with the results that are known without
	// fetching. Nil: there are none but those of Lock.
	Ask func(request json.RawMessage) (lock json.RawMessage) `json:"-"`
}

// PolicySource is a source of policies outside of the repository: below a path of another git repository.
type PolicySource struct {
	// Repository is "owner/name" on the host of the checked repository, or an address (https, ssh).
	Repository string `json:"repository" yaml:"repository"`
	Ref        string `json:"ref,omitempty" yaml:"ref"`   // a branch, a tag or a commit; empty: the default branch
	Path       string `json:"path,omitempty" yaml:"path"` // a file, a folder or a glob; empty: by kind, anywhere
}

// String returns the source as one word: "octo-org/policies@v1//kyverno".
func (s PolicySource) String() string {
	out := s.Repository
	if s.Ref != "" {
		out += "@" + s.Ref
	}
	if s.Path != "" {
		out += "//" + s.Path
	}
	return out
}

// RuleSource is a repository that contains rules.
type RuleSource struct {
	Name string `json:"name"`          // its address
	Ref  string `json:"ref,omitempty"` // empty: the default branch
}

// PolicyFile is a file of policies that the caller of a check passes.
type PolicyFile struct {
	Path string `json:"path"` // as findings name it
	Data []byte `json:"data"`
}
