package rendertest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/origin"
)

// Outcome is the effect of changing a place on the field.
type Outcome int

// The outcomes.
const (
	Confirmed   Outcome = iota // the field changed
	Refuted                    // the field stayed as it was
	Undecided                  // the change broke the build, or there is no text at the place to change
	Overwritten                // the text was removed, but another layer wrote the same value; counts as undecided
)

// Class groups fields by how their place was found and what the place is.
type Class struct {
	How  origin.How
	Role string // the role of the place; " key" is added for maps and lists, whose key is changed
}

func (c Class) String() string { return string(c.How) + "/" + c.Role }

// Field is one field that was checked.
type Field struct {
	Root, Resource, Pointer, Value string
	Place                          origin.Place
	Class                          Class
	Outcome                        Outcome
	Reason                         string // why it is undecided, or the value of the field after the change
}

func (f Field) String() string {
	place := fmt.Sprintf("%s:%d", f.Place.Path, f.Place.StartLine)
	if f.Place.StartColumn > 0 {
		place += fmt.Sprintf(":%d-%d", f.Place.StartColumn, f.Place.EndColumn)
	}
	value := f.Value
	if len(value) > 60 {
		value = strings.ToValidUTF8(value[:60], "") + "..."
	}
	return fmt.Sprintf("%s: %s %s = %q at %s (%s) %s", f.Root, f.Resource, f.Pointer, value, place, f.Class, f.Reason)
}

// Count is how many fields had each outcome.
type Count struct{ Confirmed, Refuted, Undecided int }

// Share is the percentage of the decided fields that was confirmed; 100 if none was decided.
func (c Count) Share() float64 {
	if c.Confirmed+c.Refuted == 0 {
		return 100
	}
	return 100 * float64(c.Confirmed) / float64(c.Confirmed+c.Refuted)
}

func (c *Count) add(o Outcome) {
	switch o {
	case Confirmed:
		c.Confirmed++
	case Refuted:
		c.Refuted++
	default:
		c.Undecided++
	}
}

// Report is the result of Prove.
type Report struct {
	Fields    []Field
	Roots     int      // roots that were rendered
	Broken    []string // roots that could not be rendered, with the first reason
	Different []string // roots whose output is not what kustomize prints without origins
	Renders   int
}

// Total counts all fields.
func (r *Report) Total() Count {
	var total Count
	for _, f := range r.Fields {
		total.add(f.Outcome)
	}
	return total
}

// Classes counts the fields of each class.
func (r *Report) Classes() map[Class]Count {
	classes := map[Class]Count{}
	for _, f := range r.Fields {
		c := classes[f.Class]
		c.add(f.Outcome)
		classes[f.Class] = c
	}
	return classes
}

// Write prints the figures as a table, and up to the given numbers of refuted and undecided fields.
func (r *Report) Write(w io.Writer, refuted, undecided int) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%-32s %10s %8s %10s %9s\n", "class", "confirmed", "refuted", "undecided", "share")
	row := func(name string, c Count) {
		fmt.Fprintf(&out, "%-32s %10d %8d %10d %8.2f%%\n", name, c.Confirmed, c.Refuted, c.Undecided, c.Share())
	}
	classes := r.Classes()
	for _, class := range slices.SortedFunc(maps.Keys(classes), func(a, b Class) int {
		return cmp.Or(strings.Compare(string(a.How), string(b.How)), strings.Compare(a.Role, b.Role))
	}) {
		row(class.String(), classes[class])
	}
	row("all", r.Total())
	fmt.Fprintf(&out, "\n%d roots, %d renders, %d roots that cannot be rendered, %d whose output differs\n",
		r.Roots, r.Renders, len(r.Broken), len(r.Different))
	for _, name := range r.Different {
		fmt.Fprintf(&out, "differs: %s\n", name)
	}
	for _, f := range r.Fields {
		switch {
		case f.Outcome == Refuted && refuted > 0:
			refuted--
			fmt.Fprintf(&out, "refuted: %s\n", f)
		case (f.Outcome == Undecided || f.Outcome == Overwritten) && undecided > 0:
			undecided--
			fmt.Fprintf(&out, "undecided: %s\n", f)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
