package report

// SourceEdit is the combined suggestion of findings for one place of a file of the head. None of its lines contains a
// masked value.
type SourceEdit struct {
	Path     string `json:"path"`           // the file's own, of no link to it
	Diff     *Diff  `json:"diff,omitempty"` // nil: there is no edit
	Why      string `json:"why,omitempty"`  // why there is none, of one finding; "": the findings contradict each other
	Findings []int  `json:"findings"`       // those that suggest it, by index
	// Around are lines of the file before and after the edit, at most ShownAround each, masked.
	Around map[int]string `json:"around,omitempty"`
}

// ShownAround is the number of lines that a difference shows on each side.
const ShownAround = 3
