package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/source"
)

// blameStyle says how the text form looks.
type blameStyle struct {
	color bool
	width int // columns of the terminal; 0: as wide as it gets, for pipes
	chain bool
}

// blameLine is a line of a rendered manifest with its place.
type blameLine struct {
	text  string
	path  string // empty for a separator
	line  int
	chain []origin.Link
	loose bool // the place is only near
}

// writeBlame prints the manifests as "kustomize build" would, each line behind its place.
func writeBlame(w io.Writer, r *render.Rendering, style blameStyle) error {
	var lines []blameLine
	for i, res := range r.Resources {
		if i > 0 {
			lines = append(lines, blameLine{text: "---"})
		}
		list, err := blameLines(res)
		if err != nil {
			return err
		}
		lines = append(lines, list...)
	}
	out := bufio.NewWriter(w)
	p := newBlamePrinter(lines, style)
	p.print(out, lines)
	p.legend(out)
	return out.Flush()
}

// blameLines prints one resource and finds the field of each line: what starts last on a line is nearest to it.
func blameLines(res *render.Resource) ([]blameLine, error) {
	data, err := res.YAML()
	if err != nil {
		return nil, err
	}
	text := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	documents, err := source.Parse("the rendered resource", data, source.Limits{Nodes: 1 << 30, Depth: 1 << 20})
	if err != nil {
		return nil, err
	}
	starts := map[int]string{} // line -> pointer
	blocks := map[int]bool{}   // lines that a block scalar begins on
	for _, d := range documents {
		markLines(d, "", starts, blocks)
	}
	lines := make([]blameLine, len(text))
	var place origin.Place
	first := 0
	for i, t := range text {
		if pointer, ok := starts[i+1]; ok {
			place, first = res.Origin(pointer), i
		}
		l := blameLine{text: t, path: place.Path, line: place.StartLine, loose: place.How == origin.Enclosing}
		if n := i - first; n > 0 && blocks[first+1] {
			// The lines of a block scalar are those of the source, if it is one there, too.
			offset := 0
			if place.StartColumn == 0 && place.Role != "configMapGenerator" && place.Role != "secretGenerator" {
				offset = n
			} else if place.StartColumn == 0 && place.EndLine > place.StartLine {
				offset = n - 1
			}
			l.line = min(place.StartLine+offset, place.EndLine)
		} else if n == 0 {
			l.chain = place.Chain
		}
		lines[i] = l
	}
	return lines, nil
}

func markLines(n *yaml.Node, pointer string, starts map[int]string, blocks map[int]bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			p := pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(key.Value, "~", "~0"), "/", "~1")
			starts[key.Line] = p
			if value.Kind == yaml.ScalarNode && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
				blocks[key.Line] = true
			}
			markLines(value, p, starts, blocks)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			p := pointer + "/" + strconv.Itoa(i)
			if n.Style&yaml.FlowStyle == 0 {
				starts[c.Line] = p
				if c.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
					blocks[c.Line] = true
				}
			}
			markLines(c, p, starts, blocks)
		}
	}
}

// blamePrinter lays the lines out in two columns.
type blamePrinter struct {
	style  blameStyle
	names  map[string]string // path -> as it is shown
	colors map[string]string // path -> terminal code
	digits int               // of the line numbers
	left   int               // columns of the place
}

// The colors of files, in the order the files appear (ECMA-48): none that means an error elsewhere.
var blameColors = [...]string{"36", "33", "35", "34", "32", "96", "93", "95"}

func newBlamePrinter(lines []blameLine, style blameStyle) *blamePrinter {
	p := &blamePrinter{style: style, names: map[string]string{}, colors: map[string]string{}, digits: 1}
	add := func(path string, line int) {
		p.digits = max(p.digits, len(strconv.Itoa(line)))
		if _, ok := p.colors[path]; !ok {
			p.colors[path] = blameColors[len(p.colors)%len(blameColors)]
		}
	}
	for _, l := range lines {
		if l.path == "" {
			continue
		}
		add(l.path, l.line)
		for _, link := range l.chain {
			if style.chain {
				add(link.Path, link.StartLine)
			}
		}
	}
	room := 0
	if style.width > 0 {
		room = max(12, style.width*2/5) - p.digits - 1
	}
	taken := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(p.colors)) {
		name := shorten(visible(path), room, 1)
		for letters := 2; letters < 6 && taken[name]; letters++ {
			name = shorten(visible(path), room, letters)
		}
		taken[name] = true
		p.names[path] = name
		p.left = max(p.left, utf8.RuneCountInString(name)+1+p.digits)
	}
	return p
}

func (p *blamePrinter) print(w *bufio.Writer, lines []blameLine) {
	for _, l := range lines {
		if l.path == "" {
			p.row(w, "", "", visible(l.text))
			continue
		}
		p.row(w, p.place(l.path, l.line), p.code(l), visible(l.text))
		if p.style.chain {
			for _, link := range l.chain {
				indent := l.text[:len(l.text)-len(strings.TrimLeft(l.text, " "))]
				p.row(w, p.place(link.Path, link.StartLine), "2;"+p.colors[link.Path], indent+"  was "+was(link))
			}
		}
	}
}

// was words an earlier value: what it was, where that is known, and what wrote it.
func was(link origin.Link) string {
	const most = 60
	value, _, more := strings.Cut(visibleLine(link.Value), "\n")
	if runes := []rune(value); len(runes) > most {
		value, more = string(runes[:most]), true
	}
	if more {
		value += "…"
	}
	if value == "" {
		return "from " + link.Role
	}
	return value + " (" + link.Role + ")"
}

// visibleLine is visible text whose line ends stay.
func visibleLine(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n")
}

// legend says what the shortened paths stand for.
func (p *blamePrinter) legend(w *bufio.Writer) {
	first := true
	for _, path := range slices.Sorted(maps.Keys(p.names)) {
		name, full := p.names[path], visible(path)
		if name == full {
			continue
		}
		if first {
			fmt.Fprintln(w)
			first = false
		}
		if p.style.color {
			full = "\x1b[2m" + full + "\x1b[0m"
			name = "\x1b[" + p.colors[path] + "m" + name + "\x1b[0m"
		}
		fmt.Fprintf(w, "%s = %s\n", name, full)
	}
}

func (p *blamePrinter) place(path string, line int) string {
	return fmt.Sprintf("%s:%-*d", p.names[path], p.digits, line)
}

func (p *blamePrinter) code(l blameLine) string {
	if l.loose {
		return "2;" + p.colors[l.path]
	}
	return p.colors[l.path]
}

// row prints one line; what is too long for the terminal goes on below, beside an empty place.
func (p *blamePrinter) row(w *bufio.Writer, place, code, text string) {
	room := p.style.width - p.left - 3
	rest := []rune(text)
	for first := true; first || len(rest) > 0; first = false {
		part := rest
		if p.style.width > 0 && room >= 16 && len(rest) > room {
			part = rest[:room]
		}
		rest = rest[len(part):]
		left := place + strings.Repeat(" ", max(0, p.left-utf8.RuneCountInString(place)))
		bar := "│"
		if p.style.color {
			bar = "\x1b[2m│\x1b[0m"
			if code != "" && place != "" {
				left = "\x1b[" + code + "m" + left + "\x1b[0m"
			}
		}
		fmt.Fprintf(w, "%s %s %s\n", left, bar, string(part))
		place = ""
	}
}

// shorten makes a path at most room columns wide: the folders in front shrink to so many letters, then what is
// left is cut. 0 leaves it.
func shorten(path string, room, letters int) string {
	if room <= 0 || utf8.RuneCountInString(path) <= room {
		return path
	}
	parts := strings.Split(path, "/")
	last := len(parts) - 1
	for i, part := range parts[:last] {
		if r := []rune(part); len(r) > letters {
			parts[i] = string(r[:letters])
		}
		if short := strings.Join(parts, "/"); utf8.RuneCountInString(short) <= room {
			return short
		}
	}
	folders := []rune(strings.Join(parts[:last], "/") + "/")
	if last == 0 {
		folders = nil
	}
	if most := room / 2; len(folders) > most {
		folders = append([]rune{'…'}, folders[len(folders)-most+1:]...)
	}
	name := []rune(parts[last])
	if rest := room - len(folders); len(name) > rest {
		name = append(name[:rest-1:rest-1], '…')
	}
	return string(folders) + string(name)
}

// visible replaces what a terminal would obey: control characters and characters without a shape.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return '\ufffd'
		}
		return r
	}, s)
}
