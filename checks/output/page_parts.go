package output

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// ErrNoPart means that a page has no part of that name.
var ErrNoPart = errors.New("the page has no such part")

// A page of some thousand findings is more than a browser shows well. Beyond the room of a page, its content is in
// parts with their own addresses. The page links each part, and its script loads them. Sizes are approximate, in bytes
// of HTML. Nothing is cut, so a part with a single larger text is larger than partSize.
const (
	roomFindings = 1_500_000
	roomLines    = 150_000 // of changes
	roomChanges  = 150_000 // their first lines
	roomBumps    = 150_000 // with the first lines of their changes
	roomList     = 60_000  // of each other list
	roomNames    = 6_000   // of one place
	partSize     = 250_000
)

// part is content of a page with its own address.
type part struct {
	name, heading string
	list          any // a list of items of one type
}

type divider struct {
	at    string // address of the parts
	parts []part
}

func (d *divider) add(kind, heading string, list any) string {
	name := fmt.Sprintf("%s-%d", kind, len(d.parts)+1)
	d.parts = append(d.parts, part{name, heading, list})
	return d.at + name
}

// fit returns the first items of a list, as far as there is room, and links to the parts with the other items.
func fit[T any](d *divider, list []T, room *int, sizeOf func(*T) int, kind, heading, words string) (shown []T, rest []Link) {
	n := 0
	for ; n < len(list); n++ {
		s := sizeOf(&list[n])
		if s > *room {
			break
		}
		*room -= s
	}
	for k := n; k < len(list); {
		from, full := k, 0
		for k < len(list) && (full == 0 || full < partSize) {
			full += sizeOf(&list[k])
			k++
		}
		at := d.add(kind, fmt.Sprintf("%s: %d to %d of %d", heading, from+1, k, len(list)), list[from:k])
		rest = append(rest, Link{fmt.Sprintf("%s %d to %d", words, from+1, k), at})
	}
	return list[:n], rest
}

// divide moves content into parts and returns them; the result is the same for the same page. If Frame.Parts is empty,
// nothing is moved.
func (p *Page) divide() []part {
	if p.Parts == "" {
		return nil
	}
	d := &divider{at: p.Parts}
	p.Rests = map[string][]Link{}
	p.Facts = d.facts(p.Facts)
	p.NotChecked = slices.Clone(p.NotChecked)
	for i := range p.NotChecked {
		p.NotChecked[i].Facts = d.facts(p.NotChecked[i].Facts)
	}
	d.findings(p)
	d.differences(p)
	p.Bumps, p.Rests["versions"] = fit(d, p.Bumps, new(roomBumps), (*Bump).headSize, "versions", "What version updates change",
		"Versions")
	notes := func(list *[]Note, id, heading string) {
		*list, p.Rests[id] = fit(d, *list, new(roomList), size[Note], "notes", heading, heading)
	}
	notes(&p.Errors, "errors", "Errors")
	notes(&p.NotChecked, "not-checked", view.CausesTitle)
	notes(&p.Warnings, "warnings", "Warnings")
	notes(&p.Cleanup, "cleanup", "Exceptions")
	if p.Preview != nil {
		preview := *p.Preview
		notes(&preview.Items, "preview-items", "What this change does to the rules")
		notes(&preview.Warnings, "preview-warnings", "What this change does to the rules")
		preview.Rows, p.Rests["preview"] = fit(d, preview.Rows, new(roomList), size[report.PreviewFinding], "rules",
			"Differences of the rules", "Differences")
		p.Preview = &preview
	}
	p.Exceptions, p.Rests["exceptions"] = fit(d, p.Exceptions, new(roomList), size[report.Exception], "exceptions", "Exceptions",
		"Exceptions")
	p.Images, p.Rests["images"] = fit(d, p.Images, new(roomList), size[Row], "images", "Images", "Images")
	p.Clusters, p.Rests["clusters"] = fit(d, p.Clusters, new(roomList), size[ClusterRow], "clusters", view.ClusterChangesTitle,
		"Applications")
	p.Totals, p.Rests["totals"] = fit(d, p.Totals, new(roomList), size[Total], "policies", "By policy", "Policies")
	return d.parts
}

// facts moves further names of facts into parts.
func (d *divider) facts(list []Fact) []Fact {
	list = slices.Clone(list)
	for i := range list {
		f := &list[i]
		all := len(f.Items)
		f.Items, f.Rest = fit(d, f.Items, new(roomNames), size[Link], "names", f.Label, "The names")
		f.Further = all - len(f.Items)
	}
	return list
}

func (d *divider) names(list *[]string, heading string) (rest []Link) {
	*list, rest = fit(d, *list, new(roomNames), size[string], "names", heading, "The names")
	return rest
}

// findings moves findings, and policies for which there is no room, into parts.
func (d *divider) findings(p *Page) {
	room, heads, n := roomFindings, roomList, 0
	groups := slices.Clone(p.Groups)
	for n < len(groups) && groups[n].headSize() <= heads {
		heads -= groups[n].headSize()
		n++
	}
	for i := range groups {
		g := &groups[i]
		if i >= n {
			room = partSize
		}
		g.Findings = slices.Clone(g.Findings)
		for k := range g.Findings {
			f := &g.Findings[k]
			before := len(f.Resources)
			f.ResourcesRest = d.names(&f.Resources, g.Policy+", resources")
			f.Further = before - len(f.Resources)
			f.RootsRest = d.names(&f.Roots, g.Policy+", rendered by")
			f.ClustersRest = d.names(&f.Clusters, g.Policy+", clusters")
		}
		g.Findings, g.Rest = fit(d, g.Findings, &room, size[Finding], "findings", g.Policy+": places", "Places")
	}
	_, p.Rests["findings"] = fit(d, groups[n:], new(0), size[Group], "groups", "Further policies", "Further policies")
	p.Groups = groups[:n]
}

// differences moves changes into parts. The first lines of every change stay on the page, as far as there is room.
func (d *divider) differences(p *Page) {
	lines, heads := roomLines, roomChanges
	open, full := -1, 0
	take := func(list []Change) (shown []Change, rest []Link) {
		for _, c := range list {
			c.RootsRest = d.names(&c.Roots, "Deployed by")
			if heads -= c.headSize(); heads > 0 {
				lines -= size(&c.Lines)
			}
			if heads > 0 && (lines > 0 || len(c.Lines) == 0) {
				shown = append(shown, c)
				continue
			}
			if open < 0 || full >= partSize {
				d.add("differences", "What would be different in the cluster", []Change(nil))
				open, full = len(d.parts)-1, 0
			}
			of := &d.parts[open]
			changes, _ := of.list.([]Change)
			c.First = c.First || len(changes) == 0 && len(c.Roots) > 0
			of.list, full = append(changes, c), full+c.headSize()+size(&c.Lines)
			if at := (Link{"More resources", p.Parts + of.name}); heads > 0 {
				c.Lines, c.Open = nil, false
				c.Rest = Link{"Show the difference", at.Address + "#" + c.ID}
				shown = append(shown, c)
			} else if len(rest) == 0 || rest[len(rest)-1] != at {
				rest = append(rest, at)
			}
		}
		return shown, rest
	}
	p.Bumps = slices.Clone(p.Bumps)
	for i := range p.Bumps {
		p.Bumps[i].Changed, p.Bumps[i].Rest = take(p.Bumps[i].Changed)
	}
	p.Changes, p.Rest = take(p.Changes)
}

// WritePart writes a part of a page that is not Inline. It returns ErrNoPart if there is no such part, the error of w,
// or an error of a template.
func (p *Page) WritePart(w io.Writer, name string) error {
	whole := *p
	for _, of := range whole.divide() {
		if of.name != name {
			continue
		}
		changes, _ := of.list.([]Change)
		for i := range changes {
			changes[i].Open = true
		}
		return execute(w, "part.html", struct {
			*Frame
			common
			Kind                          string
			List, Totals                  any
			Part, Heading, Whole, Verdict string
			Sums                          sums
		}{&p.Frame, p.Frame.common(of.heading), reflect.TypeOf(of.list).Elem().Name(), of.list, of.list, of.name, of.heading,
			strings.TrimSuffix(p.Parts, "/"), p.Verdict, p.sums()}, p.of)
	}
	return ErrNoPart
}

// markup is the approximate size of the tags of each type of list item, without its texts.
var markup = map[reflect.Type]int{
	reflect.TypeFor[Finding](): 900, reflect.TypeFor[Group](): 300, reflect.TypeFor[Change](): 300, reflect.TypeFor[Bump](): 300,
	reflect.TypeFor[report.Exception](): 1000, reflect.TypeFor[report.PreviewFinding](): 300, reflect.TypeFor[Total](): 300,
	reflect.TypeFor[Cell](): 45, reflect.TypeFor[Note](): 45, reflect.TypeFor[Link](): 45, reflect.TypeFor[CodeLine](): 45, reflect.TypeFor[DiffLine](): 45,
	reflect.TypeFor[view.WordSpan](): 7, reflect.TypeFor[string](): 16,
}

// size returns the approximate size of an item of a list.
func size[T any](of *T) int {
	v := reflect.ValueOf(of).Elem()
	return markup[v.Type()] + textSize(v)
}

// textSize returns the size in HTML of the texts in a value (see html/template), without control characters, plus the
// markup of items in lists.
func textSize(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		n = len(s)
		for i := range len(s) {
			switch s[i] {
			case '"', '\'', '&', '+', '<', '>':
				n += 4
			}
		}
	case reflect.Slice:
		if v.Len() > 0 { // most lists are empty
			n = v.Len() * markup[v.Type().Elem()]
		}
		for i := range v.Len() {
			n += textSize(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += textSize(v.Field(i))
		}
	}
	return n
}

// headSize returns the size of a policy without its findings.
func (g Group) headSize() int {
	g.Findings = nil
	return size(&g)
}

func (c Change) headSize() int {
	c.Lines = nil
	return size(&c)
}

// headSize returns the size of a root with the first lines of its changes.
func (b *Bump) headSize() int {
	whole := *b
	whole.Changed = nil
	n := size(&whole)
	for _, c := range b.Changed {
		n += c.headSize()
	}
	return n
}
