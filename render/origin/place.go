package origin

// How says how a place was found.
type How string

// The values of How, the most certain first.
const (
	Identity  How = "identity"  // the node itself kept its line through the build
	Writer    How = "writer"    // an entry of a kustomization wrote the value
	Search    How = "search"    // the same field of the source document has this value
	Enclosing How = "enclosing" // the nearest known parent: the field's own place is not known, or the field does not exist
)

// Place is where a person must edit. Lines and columns count from 1. EndColumn is after the last character. Columns are
// 0 where the place is whole lines.
type Place struct {
	Path                   string
	StartLine, EndLine     int
	StartColumn, EndColumn int
	How                    How
	// Role is "manifest", "patch", or the kustomization field that wrote the value
	Role    string
	Missing string // the end of the pointer, which does not exist below this place
	Chain   []Link // the values that were replaced, the nearest layer first
	// Set is the path of a chart's value that decides the field and that the repository does not set. The place is its
	// nearest parent, and Missing are the keys to add there.
	Set    []string
	Switch *bool // what Set must be where the template contains the field itself
	// SuggestedFix says what to do where no line of the repository decides the field; empty: edit the place.
	SuggestedFix string
	Spans        []Span // of a text that was written in several places; the place itself is that of the last part
}

// Link is a place that wrote the same field earlier.
type Link struct {
	// Path is a file of the repository, or the address of a remote one. For a file of a git repository or a chart it is
	// URL@REVISION//PATH, where the chart's name is the end of the URL. For a single file it is the URL. The line of a
	// chart's template is 1 where it is not known.
	Path               string
	StartLine, EndLine int
	Role               string
	Value              string // the value before it was replaced; empty where it is not known
}
