package report

// SourceEdit is what findings suggest for one place of a file of the head, together. No line of it is secret.
type SourceEdit struct {
	Path     string `json:"path"`           // the file's own, of no link to it
	Diff     *Diff  `json:"diff,omitempty"` // nil: the findings contradict each other, and none of them has an edit
	Findings []int  `json:"findings"`       // those that suggest it, by index
	// Around are lines of the file before and behind it, at most ShownAround each, as they may be shown.
	Around map[int]string `json:"around,omitempty"`
}

// ShownAround is how many lines a difference shows on each side of what differs.
const ShownAround = 3
