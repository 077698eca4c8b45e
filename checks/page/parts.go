package page

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNoPart means that a page has no part of that name.
var ErrNoPart = errors.New("the page has no such part")

// A page of some thousand findings is more than a browser shows at once, so beyond what a page has room for, what it
// shows is in parts that have addresses of their own: a link each, which the script of the page follows by itself. Sizes
// are in bytes of HTML, about.
const (
	roomFindings = 1_550_000
	roomLines    = 150_000 // of changes
	roomChanges  = 150_000 // their first lines
	partSize     = 250_000
)

// part is what of a page has an address of its own: findings of one policy, or changes.
type part struct {
	name, heading string
	findings      []Finding
	changes       []Change
}

// divide takes what is in parts out of a page, and returns it: the same for the same page. Frame.Parts empty: nothing is.
func (p *Page) divide() (parts []part) {
	if p.Parts == "" {
		return nil
	}
	p.Groups = append([]Group(nil), p.Groups...)
	room := roomFindings
	for i := range p.Groups {
		g := &p.Groups[i]
		all := g.Findings
		k := 0
		for k < len(all) && room > 0 {
			room -= all[k].size()
			k++
		}
		g.Findings = all[:k]
		for k < len(all) {
			from, size := k, 0
			for k < len(all) && size < partSize {
				size += all[k].size()
				k++
			}
			one := part{name: fmt.Sprintf("findings-%d", len(parts)+1), findings: all[from:k],
				heading: fmt.Sprintf("%s: places %d to %d of %d", g.Policy, from+1, k, len(all))}
			g.Rest = append(g.Rest, Link{Text: "Places " + fmt.Sprintf("%d to %d", from+1, k), Address: p.Parts + one.name})
			parts = append(parts, one)
		}
	}
	lines, heads := roomLines, roomChanges
	var open *part
	size := 0
	take := func(list []Change) (shown []Change, rest []Link) {
		for _, c := range list {
			if heads -= c.headSize(); heads > 0 {
				lines -= c.size()
			}
			if heads > 0 && (lines > 0 || len(c.Lines) == 0) {
				shown = append(shown, c)
				continue
			}
			if open == nil || size >= partSize {
				parts = append(parts, part{name: fmt.Sprintf("differences-%d", len(parts)+1),
					heading: "What would be different in the cluster"})
				open, size = &parts[len(parts)-1], 0
			}
			c.First = c.First || len(open.changes) == 0 && len(c.Roots) > 0
			open.changes, size = append(open.changes, c), size+c.headSize()+c.size()
			if at := (Link{"More resources", p.Parts + open.name}); heads > 0 {
				c.Lines, c.Open = nil, false
				c.Rest = Link{"Show the difference", at.Address + "#" + c.ID}
				shown = append(shown, c)
			} else if len(rest) == 0 || rest[len(rest)-1] != at {
				rest = append(rest, at)
			}
		}
		return shown, rest
	}
	p.Bumps = append([]Bump(nil), p.Bumps...)
	for i := range p.Bumps {
		p.Bumps[i].Changed, p.Bumps[i].Rest = take(p.Bumps[i].Changed)
	}
	p.Changes, p.Rest = take(p.Changes)
	return parts
}

// WritePart writes the part of that name of a page that is not Inline. The error is ErrNoPart, that of w, or says that
// the page was made wrong.
func WritePart(w io.Writer, p *Page, name string) error {
	whole := *p
	for _, of := range whole.divide() {
		if of.name != name {
			continue
		}
		for i := range of.changes {
			of.changes[i].Open = true
		}
		return write(w, "part.html", struct {
			*Page
			common
			Heading, Whole string
			Findings       []Finding
			Changes        []Change
		}{p, p.Frame.common(of.heading), of.heading, strings.TrimSuffix(p.Parts, "/"), of.findings, of.changes})
	}
	return ErrNoPart
}

// What markup takes besides the texts in it, about.
const (
	findingMarkup = 900
	lineMarkup    = 45
	headMarkup    = 300
)

func (f *Finding) size() int {
	n := findingMarkup + len(f.Message) + len(f.Expected) + len(f.Field) + len(f.Advice) + len(f.Where.Address) +
		len(f.Source.Address) + sizeOf(f.Write)
	for _, l := range f.Code {
		n += lineMarkup + len(l.Before) + len(l.Marked) + len(l.After)
	}
	for _, list := range [][]string{f.Resources, f.Roots, f.Clusters} {
		for _, s := range list {
			n += len(s) + 16
		}
	}
	for _, c := range f.Chain {
		n += lineMarkup + len(c.Where.Address) + len(c.Where.Text)
	}
	return n
}

func (c *Change) size() int { return sizeOf(c.Lines) }

func (c *Change) headSize() int {
	n := headMarkup + len(c.Resource) + len(c.Note)
	for _, list := range [][]string{c.Roots, c.Clusters} {
		for _, s := range list {
			n += len(s) + 4
		}
	}
	return n
}

func sizeOf(lines []DiffLine) (n int) {
	for i := range lines {
		n += lineMarkup + len(lines[i].Where.Address) + len(lines[i].Where.Text)
		for _, w := range lines[i].Words {
			n += len(w.Text)
		}
	}
	return n
}
