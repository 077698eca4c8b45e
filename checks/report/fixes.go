package report

// Fixes is what became of deprecated fields in files, and the stable form of "lintel fix -o json".
type Fixes struct {
	Edits []FixEdit `json:"edits"`
	Left  []FixLeft `json:"left"`
	Files []string  `json:"files"` // those with edits

	Proposed bool `json:"-"` // the edits were not written
}

// FixEdit is one place that is rewritten. Line and Column are where the deprecated text stands in the file as it was
// read; both count from 1.
type FixEdit struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Field   string `json:"field"`   // the RFC 6901 pointer of the deprecated field in its document
	Message string `json:"message"` // what was deprecated and what it is now
}

// FixLeft is one place that was left as it is, with what to do by hand.
type FixLeft struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}
