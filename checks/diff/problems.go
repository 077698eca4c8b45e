package diff

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
)

// Problems converts errors of rendering to problems of a report. words is put before each message.
func Problems(words string, list ...doc.Error) []report.Problem {
	return report.Mapped(list, func(e doc.Error) report.Problem {
		return report.Problem{Path: e.Path, Line: e.Line, Column: e.Column, Message: words + e.Message, Quotes: e.Quotes}
	})
}

// CauseOf converts an error of rendering to the cause of an unchecked part or of an undecided result.
func CauseOf(e doc.Error) report.Cause {
	c := report.Cause{Kind: report.CauseRoot, Reason: e.Message, Path: e.Path, Line: e.Line, Quotes: e.Quotes}
	if e.Missing != "" {
		c.Kind, c.What, c.Reason = report.CauseSource, e.Missing, e.Reason
	}
	return c
}

// fewRoots is the number of roots that a problem names at most.
const fewRoots = 5

// Failures returns the errors of rendering the head, each once. A problem that stops several roots names them.
func Failures(list []*Root) []report.Problem {
	var order []report.Problem
	stopped, by := map[report.Problem][]string{}, map[report.Problem]string{}
	for _, r := range list {
		for i, p := range Problems("", r.Head...) {
			if stopped[p] == nil {
				order, by[p] = append(order, p), r.Head[i].By
			}
			stopped[p] = report.Union(stopped[p], []string{r.Name()})
		}
	}
	for i, p := range order {
		if names := stopped[p]; len(names) > 1 {
			order[i].Message += fmt.Sprintf(" (this stops %d roots: %s)", len(names), report.Some(names, fewRoots))
		} else {
			order[i].Message += report.DeployedBy(by[p])
		}
	}
	return order
}

// Obstacle is an error that prevents rendering of a root of the head, or of a part of it.
type Obstacle struct {
	doc.Error
	Before bool // the base has the same error
}

// Obstacles lists the errors of rendering the head. gone are errors of former roots, which a moved root has taken
// along. An error is pre-existing if the base has the same error in the same file of the root, on any line. It is also
// pre-existing if another error of the base hid it.
func (r *Root) Obstacles(gone []Wrong) (list []Obstacle) {
	before, rest := append(wrongs(r.Path, r.Base), gone...), r.rest
	for _, e := range r.Head {
		was := wrong(r.Path, e)
		if rest != nil && !e.Unknown && !slices.Contains(before, was) {
			before, rest = append(before, wrongs(r.Path, rest())...), nil
		}
		list = append(list, Obstacle{e, slices.Contains(before, was)})
	}
	return list
}

// Wrong is an error without the folder of its file and without its line.
type Wrong struct{ file, message string }

// Taken is what is said of an error that Takes is about.
const Taken = ". This change removes it"

// Takes reports whether the change removes an object that a file, which it leaves alone, needs. e is a new error, had whether
// the base deployed what has it.
func (s Sides) Takes(e doc.Error, had bool) bool {
	return e.Lacks && had && !s.All && !s.Trees.Changed(e.Path) && s.Trees.Base.Blob(e.Path) != ""
}

// Gone lists the errors of those roots in list that the head does not have.
func (s Sides) Gone(list []*Root) (gone []Wrong) {
	for _, r := range list {
		if len(r.Base) > 0 && !s.Head.Has(r.Root) {
			gone = append(gone, wrongs(r.Path, r.Base)...)
		}
	}
	return gone
}

func wrongs(root string, list []doc.Error) []Wrong {
	return report.Mapped(list, func(e doc.Error) Wrong { return wrong(root, e) })
}

var numbered = regexp.MustCompile(`\b(line|column) \d+`)

// WithoutLines returns a message without the numbers of lines and columns in it.
func WithoutLines(message string) string { return numbered.ReplaceAllString(message, "$1") }

func wrong(root string, e doc.Error) Wrong {
	file, err := filepath.Rel(root, e.Path)
	if err != nil {
		file = e.Path
	}
	return Wrong{filepath.ToSlash(file), WithoutLines(e.Message)}
}
