package output

// What markup takes besides the texts in it, about.
const (
	findingMarkup = 900
	lineMarkup    = 45
	headMarkup    = 300
)

// width is how long a text is in HTML (see html/template), control characters aside.
func width(s string) int {
	n := len(s)
	for i := range len(s) {
		switch s[i] {
		case '"', '\'', '&', '+', '<', '>':
			n += 4
		}
	}
	return n
}

func widthOf(list []string, markup int) (n int) {
	for _, s := range list {
		n += width(s) + markup
	}
	return n
}

func (l Link) size() int { return width(l.Text) + width(l.Address) }

func (f *Finding) size() int {
	n := findingMarkup + width(f.Message) + width(f.Expected) + width(f.Field) + width(f.Missing) + width(f.Advice) +
		width(f.Exemption.Text) + f.Exemption.Where.size() + 2*width(f.ID) + width(f.Rule) + width(f.Weight) + f.Where.size() + f.Source.size() +
		sizeOf(f.Write) + codeSize(f.Code) + widthOf(f.Resources, 16) + widthOf(f.Roots, 16) + widthOf(f.Clusters, 16)
	for _, list := range [][]Link{f.ResourcesRest, f.RootsRest, f.ClustersRest} {
		n += linksSize(list)
	}
	for i := range f.Chain {
		n += f.Chain[i].size()
	}
	return n
}

func (g *Group) headSize() int {
	return headMarkup + width(g.Policy) + width(g.Title) + width(g.Why) + width(g.Category) + g.Source.size() +
		linksSize(g.Rest)
}

func (g *Group) size() int {
	n := g.headSize()
	for i := range g.Findings {
		n += g.Findings[i].size()
	}
	return n
}

func (c *Change) size() int { return sizeOf(c.Lines) }

func (c *Change) headSize() int {
	return headMarkup + width(c.Resource) + width(c.Note) + widthOf(c.Roots, 4) + widthOf(c.Clusters, 4) + linksSize(c.RootsRest)
}

func (b *Bump) size() int {
	n := headMarkup + width(b.Root) + width(b.Counts) + widthOf(b.Images, 20) + widthOf(b.Care, 20) + widthOf(b.Added, 16) +
		widthOf(b.Removed, 16) + linksSize(b.Links) + linksSize(b.Rest)
	for i := range b.Moved {
		n += b.Moved[i].size()
	}
	for i := range b.Changed {
		n += b.Changed[i].headSize()
	}
	return n
}

func (n *Note) size() int { return lineMarkup + n.Where.size() + width(n.Text) + codeSize(n.Code) }

func (e *Exception) size() int {
	return headMarkup + width(e.Name) + width(e.State) + e.Where.size() + widthOf(e.Facts, 10)
}

func (r *Row) size() int { return widthOf(*r, 26) }

func (r *PreviewRow) size() int {
	return headMarkup + width(r.Effect) + width(r.Rule) + width(r.Becomes) + width(r.Resource) + width(r.More) + r.Where.size()
}

func (t *Total) size() int {
	return headMarkup + width(t.ID) + width(t.Policy) + width(t.Title) + width(t.Severity) + width(t.Action)
}

func linksSize(list []Link) (n int) {
	for _, l := range list {
		n += lineMarkup + l.size()
	}
	return n
}

func codeSize(lines []CodeLine) (n int) {
	for i := range lines {
		l := &lines[i]
		n += lineMarkup + width(l.Before) + width(l.Marked) + width(l.After)
	}
	return n
}

func sizeOf(lines []DiffLine) (n int) {
	for i := range lines {
		n += lineMarkup + lines[i].Where.size()
		for _, w := range lines[i].Words {
			n += 7 + width(w.Text)
		}
	}
	return n
}
