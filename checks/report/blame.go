package report

// BlamedResource is a rendered object with the places of its fields. A list of them is the stable JSON of "lintel blame
// -o json".
type BlamedResource struct {
	Resource Resource      `json:"resource"`
	Fields   []BlamedField `json:"fields"` // every scalar
	Lines    []BlamedLine  `json:"-"`      // the object as it is printed
}

// BlamedField is one scalar of a rendered object.
type BlamedField struct {
	Field  string      `json:"field"` // JSON pointer (RFC 6901)
	Value  any         `json:"value"`
	Origin BlamedPlace `json:"origin"`
}

// BlamedPlace is where a field is written. Lines and columns count from 1; zero columns mean whole lines.
type BlamedPlace struct {
	Path        string       `json:"path"`
	StartLine   int          `json:"startLine"`
	EndLine     int          `json:"endLine"`
	StartColumn int          `json:"startColumn,omitempty"`
	EndColumn   int          `json:"endColumn,omitempty"`
	How         string       `json:"how"`
	Role        string       `json:"role"`
	Missing     string       `json:"missing,omitempty"`
	Set         []string     `json:"set,omitempty"`    // see Origin
	Advice      string       `json:"advice,omitempty"` // likewise
	Chain       []BlamedLink `json:"chain,omitempty"`  // what it replaced, nearest layer first
	Parts       []BlamedPart `json:"parts,omitempty"`  // of a text that several wrote; the place is then of the last
}

// BlamedPart is a part of a string that has its own place.
type BlamedPart struct {
	Text string `json:"text"`
	BlamedPlace
}

// BlamedLink is a place whose value was replaced.
type BlamedLink struct {
	Path      string `json:"path"`
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Role      string `json:"role"`
	Value     string `json:"value,omitempty"`
}

// BlamedLine is a line of a printed object with its place.
type BlamedLine struct {
	Text  string
	Path  string // empty for a separator
	Line  int
	Chain []BlamedLink
	Near  bool // the place only encloses what the line says
}

// ListedRoot is a root of a repository.
type ListedRoot struct {
	Name   string `json:"name"` // its path, or KIND/NAMESPACE/NAME of the object that deploys it
	Kind   string `json:"kind"` // Kustomization, Folder, Chart, Application, ApplicationSet, FluxKustomization, HelmRelease
	Path   string `json:"path"`
	OK     bool   `json:"ok"`               // it renders, all of it
	Reason string `json:"reason,omitempty"` // why not
}

// Fetched is a remote source, and the revision that was fetched.
type Fetched struct {
	Kind     string `json:"kind"` // git, chart, file
	URL      string `json:"url"`
	Name     string `json:"name,omitempty"` // of a chart
	Ref      string `json:"ref,omitempty"`  // what was asked for: a branch, a tag, a version or a range of them
	OK       bool   `json:"ok"`             // it is there
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`  // of what came, or the git object of its tree
	Changed  string `json:"changed,omitempty"` // the digest, or commit, that the same version had at first
	Bytes    int64  `json:"bytes,omitempty"`   // packed
	Reason   string `json:"reason,omitempty"`  // why it is not there
}

// Object is an object that a root deploys, as JSON.
type Object map[string]any

// Build describes the binary: its source and platform.
type Build struct {
	Number   string // of the module, "devel" for a build of a work tree
	Commit   string // empty where it is not known
	Date     string // of the commit, RFC 3339; empty where it is not known
	Modified bool
	Go       string
	Platform string // os/arch
}

// Explanation explains a part of a report and what to do about it: a check, a cause, an error, or a policy of the
// repository.
type Explanation struct {
	Kind     ExplanationKind `json:"kind"`
	Name     string          `json:"name"`
	About    string          `json:"about"`              // one line
	Means    string          `json:"means,omitempty"`    // what it means for what is deployed
	ToDo     string          `json:"toDo,omitempty"`     // what a person does about it
	Printed  []string        `json:"printed,omitempty"`  // as a report says it; … stands for the parts that vary
	Severity string          `json:"severity,omitempty"` // of a check or a policy
	Level    string          `json:"level,omitempty"`    // of a check: off, warn or enforce, where the settings say nothing
	Setting  string          `json:"setting,omitempty"`  // the field of the settings that changes the level
	Wrong    string          `json:"wrong,omitempty"`    // files, each below a line "-- NAME --", in which the check finds something,
	Right    string          `json:"right,omitempty"`    // and the same files as they should be

	Category string   `json:"category,omitempty"` // of a policy, by its annotations
	Rules    []string `json:"rules,omitempty"`    // of a policy
	Path     string   `json:"path,omitempty"`     // of a policy
	Line     int      `json:"line,omitempty"`     // of a policy
}

// ExplanationKind is the kind of an explained thing.
type ExplanationKind string

// The kinds of explanations.
const (
	ExplainCheck   ExplanationKind = "check"
	ExplainMessage ExplanationKind = "message" // a cause, an error or a warning
	ExplainPolicy  ExplanationKind = "policy"
)
