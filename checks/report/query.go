package report

import "encoding/json"

// Query asks what a tree deploys. Like a Change it is plain data without credentials; its answer is a Showing.
type Query struct {
	GitDir     string   `json:"gitDir"`               // as in Change
	Alternates []string `json:"alternates,omitempty"` // as in Change
	Git        string   `json:"git,omitempty"`        // as in Change
	Cache      string   `json:"cache,omitempty"`      // as in Change
	Repository []string `json:"repository,omitempty"` // as in Change
	Branches   []string `json:"branches,omitempty"`   // as in Change
	Sources    *Sources `json:"sources,omitempty"`    // as in Change
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
