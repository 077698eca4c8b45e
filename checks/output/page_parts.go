package output

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrNoPart means that a page has no part of that name.
var ErrNoPart = errors.New("the page has no such part")

// A page of some thousand findings is more than a browser shows at once, so beyond what a page has room for, what it
// shows is in parts that have addresses of their own: a link each, which the script of the page follows by itself. Sizes
// are in bytes of HTML, about. Nothing is cut, so a part is larger than partSize where a single text in it is.
const (
	roomFindings = 1_500_000
	roomLines    = 150_000 // of changes
	roomChanges  = 150_000 // their first lines
	roomBumps    = 150_000 // with the first lines of their changes
	roomList     = 60_000  // of each other list
	roomNames    = 6_000   // of one place
	partSize     = 250_000
)

// part is what of a page has an address of its own: things of one kind.
type part struct {
	name, heading string

	Groups     []Group
	Findings   []Finding
	Changes    []Change
	Bumps      []Bump
	Notes      []Note
	Exceptions []Exception
	Totals     []Total
	Images     []Row
	Rows       []PreviewRow
	Names      []Link
}

// divider takes what is in parts out of a page.
type divider struct {
	at    string // where the parts are
	parts []part
}

// add begins a part.
func (d *divider) add(kind, heading string) *part {
	d.parts = append(d.parts, part{name: fmt.Sprintf("%s-%d", kind, len(d.parts)+1), heading: heading})
	return &d.parts[len(d.parts)-1]
}

// fill returns how many of the first of n things there is room for. The others are put into parts.
func (d *divider) fill(n int, room *int, size func(i int) int, kind, heading, words string,
	put func(of *part, from, to int)) (shown int, rest []Link) {
	for ; shown < n; shown++ {
		s := size(shown)
		if s > *room {
			break
		}
		*room -= s
	}
	for k := shown; k < n; {
		from, full := k, 0
		for k < n && (full == 0 || full < partSize) {
			full += size(k)
			k++
		}
		of := d.add(kind, fmt.Sprintf("%s: %d to %d of %d", heading, from+1, k, n))
		put(of, from, k)
		rest = append(rest, Link{fmt.Sprintf("%s %d to %d", words, from+1, k), d.at + of.name})
	}
	return shown, rest
}

// divide takes what is in parts out of a page, and returns it: the same for the same page. Frame.Parts empty: nothing is.
func (p *Page) divide() []part {
	if p.Parts == "" {
		return nil
	}
	d := &divider{at: p.Parts}
	p.Rests = map[string][]Link{}
	p.Facts = slices.Clone(p.Facts)
	for i := range p.Facts {
		f := &p.Facts[i]
		all := len(f.Items)
		f.Items, f.Rest = d.names(f.Items, f.Label)
		f.Further = all - len(f.Items)
	}
	d.findings(p)
	d.differences(p)
	room := roomBumps
	n, rest := d.fill(len(p.Bumps), &room, func(i int) int { return p.Bumps[i].size() }, "versions",
		"What other versions change", "Versions", func(of *part, from, to int) { of.Bumps = p.Bumps[from:to] })
	p.Bumps, p.Rests["versions"] = p.Bumps[:n], rest

	notes := func(list *[]Note, id, heading string) {
		all, room := *list, roomList
		n, rest := d.fill(len(all), &room, func(i int) int { return all[i].size() }, "notes", heading, heading,
			func(of *part, from, to int) { of.Notes = all[from:to] })
		*list, p.Rests[id] = all[:n], rest
	}
	notes(&p.Errors, "errors", "Errors")
	notes(&p.NotChecked, "not-checked", "Not checked")
	notes(&p.Warnings, "warnings", "Warnings")
	notes(&p.Upkeep, "upkeep", "Exceptions")
	if p.Preview != nil {
		preview := *p.Preview
		notes(&preview.Items, "preview-items", "What this change does to the rules")
		notes(&preview.Warnings, "preview-warnings", "What this change does to the rules")
		rows, room := preview.Rows, roomList
		n, p.Rests["preview"] = d.fill(len(rows), &room, func(i int) int { return rows[i].size() }, "rules",
			"Differences of the rules", "Differences", func(of *part, from, to int) { of.Rows = rows[from:to] })
		preview.Rows = rows[:n]
		p.Preview = &preview
	}
	exceptions, room := p.Exceptions, roomList
	n, p.Rests["exceptions"] = d.fill(len(exceptions), &room, func(i int) int { return exceptions[i].size() }, "exceptions",
		"Exceptions", "Exceptions", func(of *part, from, to int) { of.Exceptions = exceptions[from:to] })
	p.Exceptions = exceptions[:n]
	images, room := p.Images, roomList
	n, p.Rests["images"] = d.fill(len(images), &room, func(i int) int { return images[i].size() }, "images", "Images",
		"Images", func(of *part, from, to int) { of.Images = images[from:to] })
	p.Images = images[:n]
	totals, room := p.Totals, roomList
	n, p.Rests["totals"] = d.fill(len(totals), &room, func(i int) int { return totals[i].size() }, "policies", "By policy",
		"Policies", func(of *part, from, to int) { of.Totals = totals[from:to] })
	p.Totals = totals[:n]
	return d.parts
}

// names takes further names out of a list.
func (d *divider) names(list []Link, heading string) (shown []Link, rest []Link) {
	room := roomNames
	n, rest := d.fill(len(list), &room, func(i int) int { return 16 + list[i].size() }, "names", heading, "The names",
		func(of *part, from, to int) { of.Names = list[from:to] })
	return list[:n], rest
}

// texts is names of those that lead nowhere.
func (d *divider) texts(list *[]string, heading string) (rest []Link) {
	all, room := *list, roomNames
	n, rest := d.fill(len(all), &room, func(i int) int { return 16 + width(all[i]) }, "names", heading, "The names",
		func(of *part, from, to int) {
			for _, s := range all[from:to] {
				of.Names = append(of.Names, Link{Text: s})
			}
		})
	*list = all[:n]
	return rest
}

// findings divides findings, and the policies that there is no room for.
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
			f.ResourcesRest = d.texts(&f.Resources, g.Policy+", resources")
			f.Further = before - len(f.Resources)
			f.RootsRest = d.texts(&f.Roots, g.Policy+", rendered by")
			f.ClustersRest = d.texts(&f.Clusters, g.Policy+", clusters")
		}
		all := g.Findings
		n, rest := d.fill(len(all), &room, func(i int) int { return all[i].size() }, "findings", g.Policy+": places", "Places",
			func(of *part, from, to int) { of.Findings = all[from:to] })
		g.Findings, g.Rest = all[:n], rest
	}
	further := groups[n:]
	_, p.Rests["findings"] = d.fill(len(further), new(int), func(i int) int { return further[i].size() }, "groups",
		"Further policies", "Further policies", func(of *part, from, to int) { of.Groups = further[from:to] })
	p.Groups = groups[:n]
}

// differences divides changes: all of them have their first lines on the page, as far as there is room for these.
func (d *divider) differences(p *Page) {
	lines, heads := roomLines, roomChanges
	open, size := -1, 0
	take := func(list []Change) (shown []Change, rest []Link) {
		for _, c := range list {
			c.RootsRest = d.texts(&c.Roots, "Deployed by")
			if heads -= c.headSize(); heads > 0 {
				lines -= c.size()
			}
			if heads > 0 && (lines > 0 || len(c.Lines) == 0) {
				shown = append(shown, c)
				continue
			}
			if open < 0 || size >= partSize {
				d.add("differences", "What would be different in the cluster")
				open, size = len(d.parts)-1, 0
			}
			of := &d.parts[open]
			c.First = c.First || len(of.Changes) == 0 && len(c.Roots) > 0
			of.Changes, size = append(of.Changes, c), size+c.headSize()+c.size()
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

// WritePart writes the part of that name of a page that is not Inline. The error is ErrNoPart, that of w, or says that
// the page was made wrong.
func (p *Page) WritePart(w io.Writer, name string) error {
	whole := *p
	for _, of := range whole.divide() {
		if of.name != name {
			continue
		}
		for i := range of.Changes {
			of.Changes[i].Open = true
		}
		return execute(w, "part.html", struct {
			*Frame
			common
			part
			Part, Heading, Whole, Verdict string
			Has                           []Column
		}{&p.Frame, p.Frame.common(of.heading), of, of.name, of.heading, strings.TrimSuffix(p.Parts, "/"), p.Verdict, p.Columns()})
	}
	return ErrNoPart
}
