package origin

// How says by which means a place was found, the surest first.
type How string

// The means.
const (
	Identity  How = "identity"  // the node itself was carried from its file through the build
	Writer    How = "writer"    // an entry of a kustomization wrote the value
	Search    How = "search"    // the same field of the source document holds the value
	Enclosing How = "enclosing" // the field's own place is not known or does not exist: the nearest one around it
)

// Place is where a person must edit. Lines and columns count from 1, EndColumn is behind the last character;
// columns are 0 where the place is whole lines.
type Place struct {
	Path                   string
	StartLine, EndLine     int
	StartColumn, EndColumn int
	How                    How
	// what the place is: "manifest", "patch", or the kustomization field that wrote the value
	Role    string
	Missing string // the end of the pointer that does not exist below this place
	Chain   []Link // what the value replaced, nearest layer first
	// Set is the path of the value of a chart that decides the field and that nobody here sets: the place is what is
	// nearest around it, and Missing are the keys to add there.
	Set    []string
	Switch bool // Set has to be true: the template spells the field itself
	// SuggestedFix is what to do where no line of the repository decides the field; empty: edit the place.
	SuggestedFix string
	Spans        []Span // of a text that several wrote; the place itself is then of the last of them
}

// Link is one earlier writer of the same field.
type Link struct {
	// Path is a file of the repository, or the address of a remote one: URL@REVISION//PATH for a file of a git
	// repository or a chart (the chart's name is the end of the URL), the URL for a single file. The line of a template of
	// a chart is 1 where it is not known.
	Path               string
	StartLine, EndLine int
	Role               string
	Value              string // the field's value before it was replaced; empty where that is not known
}
