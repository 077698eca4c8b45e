package report

import (
	"encoding/json"
	"time"
)

// SettingsPath is where a repository keeps its settings.
const SettingsPath = ".lintel.yaml"

// Change is what is to be checked. It is plain data, so that it can be handed to a child process; it holds
// no credentials.
type Change struct {
	GitDir     string   `json:"gitDir"`               // the repository's git directory (bare or not), absolute
	Alternates []string `json:"alternates,omitempty"` // further object folders, absolute; work trees have one
	Git        string   `json:"git,omitempty"`        // the git binary, absolute; empty: in the usual places
	Cache      string   `json:"cache,omitempty"`      // absolute; what is kept, to delete at any time; empty: none
	Rules      string   `json:"rules"`                // commit whose rules apply: the tip of the base branch
	Base       string   `json:"base"`                 // merge base; empty: there is none, with All and for a first commit
	Head       string   `json:"head"`                 // commit (or tree) to check
	All        bool     `json:"all,omitempty"`        // check every root of the head, not only what changed
	// Roots are those that alone are looked at, of all that the change reaches; empty: all of these.
	Roots []RootName `json:"roots,omitempty"`
	// Repository is by which objects of Argo CD and Flux know the repository: its clone URLs, "owner/name" or name. Where
	// there are none, a folder counts that exists.
	Repository []string `json:"repository,omitempty"`
	// Branches are the names of the branch that the change goes to: what objects of Argo CD and Flux deploy from other
	// revisions is not checked. Where there are none, each revision that may be a branch counts as this one.
	Branches []string `json:"branches,omitempty"`
	// Sources is what was fetched from outside of the repository; nil: nothing is, and what comes from there is not checked.
	Sources *Sources `json:"sources,omitempty"`

	// Host is where repositories are that are named "owner/name": "https://github.com".
	Host string `json:"host,omitempty"`
	// Defaults is the address of the repository with the defaults of the organisation; empty: there are none. Its policies
	// always apply.
	Defaults string `json:"defaults,omitempty"`
	// Policies and PolicyFiles are asked besides those of the repository.
	Policies    []PolicySource `json:"policies,omitempty"`
	PolicyFiles []PolicyFile   `json:"policyFiles,omitempty"`

	// Proposed is a change of a repository that rules come from. With it the report has what its merge would change for all
	// that Head deploys (Report.Preview), and nothing else: what is deployed is not judged. It goes with All.
	Proposed *ProposedRules `json:"proposed,omitempty"`

	// Owner is whose the repository is, for a sandbox that serves several: none sees what is another's. No check reads it.
	Owner string `json:"-"`

	User    User     `json:"user"`
	Reviews []Review `json:"reviews,omitempty"` // what the reviews of the pull request say about its exceptions
	Approve []string `json:"approve,omitempty"` // exception files that count as approved, whatever they hold (--approve)
	Drafts  bool     `json:"drafts,omitempty"`  // draft exceptions for what blocks
	Edits   []string `json:"edits,omitempty"`   // policies whose suggestions Report.Edits has in any case; "*": all
	// Differences asks for what the change does to the rendered resources, OnlyDifferences for nothing else: no rule is
	// read then. With All there are none.
	Differences     bool `json:"differences,omitempty"`
	OnlyDifferences bool `json:"onlyDifferences,omitempty"`

	Now time.Time `json:"now"` // the clock of the check; no part of it reads another
}

// ProposedRules is a change of a repository that others take rules from.
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
}

// Inspection is what has to be known before a change is checked: whom to ask for approval of what. It is the answer to
// a Change without Reviews and without the author's teams.
type Inspection struct {
	Teams      []string    `json:"teams,omitempty"`      // "org/team": those that the settings map to users
	Approvers  Approvers   `json:"approvers"`            // who may approve exceptions, from the settings at the base
	Exceptions []Exception `json:"exceptions,omitempty"` // of the change: name, place, content, state
	// With Change.All: what tells versions of the rules in effect apart, and whether they may judge by other objects of
	// the commit than the one in question.
	Rules   string `json:"rules,omitempty"`
	LooksUp bool   `json:"looksUp,omitempty"`

	Wanted json.RawMessage `json:"wanted,omitempty"` // nothing else is there: see Report.Wanted
}

// Query asks what a tree deploys. Like a Change it is plain data without credentials; its answer is a Showing.
type Query struct {
	GitDir     string   `json:"gitDir"`               // as in Change
	Alternates []string `json:"alternates,omitempty"` // as in Change
	Git        string   `json:"git,omitempty"`        // as in Change
	Cache      string   `json:"cache,omitempty"`      // as in Change
	Repository []string `json:"repository,omitempty"` // as in Change
	Branches   []string `json:"branches,omitempty"`   // as in Change
	Sources    *Sources `json:"sources,omitempty"`    // as in Change
	Host       string   `json:"host,omitempty"`       // as in Change
	Tree       string   `json:"tree"`                 // a commit or a tree

	Show   Show     `json:"show"`
	Before string   `json:"before,omitempty"` // of ShowLayout: the tree that Layout.Reached compares with
	Root   RootName `json:"root,omitzero"`
	As     string   `json:"as,omitempty"` // of the object that deploys it

	Output string `json:"output"` // the form of the answer
	Chain  bool   `json:"chain,omitempty"`
	Color  bool   `json:"color,omitempty"`
	Width  int    `json:"width,omitempty"` // in columns; 0: as wide as it gets
}

// RootName is a root as a user called it.
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

// Sources is what was fetched from outside of the repository.
type Sources struct {
	GitDir string          `json:"gitDir"` // of the store, absolute
	Lock   json.RawMessage `json:"lock"`   // a render/remote.Lock: this package knows nothing of it
	// First says that nothing was asked for yet, and that what is likely to be wanted may be, at once.
	First bool `json:"first,omitempty"`
	// Last says that nothing more will be fetched. Otherwise whoever wants more says so and does nothing else.
	Last bool `json:"last,omitempty"`
}

// PolicySource is where policies are written outside of the repository: below a path of another git repository.
type PolicySource struct {
	// Repository is "owner/name" on the host of the repository that is checked, or an address (https, ssh).
	Repository string `json:"repository" yaml:"repository"`
	Ref        string `json:"ref,omitempty" yaml:"ref"`   // a branch, a tag or a commit; empty: the default branch
	Path       string `json:"path,omitempty" yaml:"path"` // a file, a folder or a glob; empty: by kind, anywhere
}

// String is the source in a word: "octo-org/policies@v1//kyverno".
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

// RuleSource is a repository that rules come from.
type RuleSource struct {
	Name string `json:"name"`          // its address
	Ref  string `json:"ref,omitempty"` // empty: the default branch
}

// PolicyFile is a file of policies that whoever asks for a check hands in.
type PolicyFile struct {
	Path string `json:"path"` // as findings name it
	Data []byte `json:"data"`
}
