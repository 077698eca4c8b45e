package output

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
)

// blameText prints objects as "kustomize build" would, each line behind its place.
func blameText(w io.Writer, resources []report.BlamedResource, o Options) error {
	var lines []report.BlamedLine
	for i, r := range resources {
		if i > 0 {
			lines = append(lines, report.BlamedLine{Text: "---"})
		}
		lines = append(lines, r.Lines...)
	}
	out := bufio.NewWriter(w)
	p := newBlamePrinter(lines, o)
	p.print(out, lines)
	p.legend(out)
	return out.Flush()
}

func rootsText(w io.Writer, roots []report.ListedRoot, _ Options) error {
	out := bufio.NewWriter(w)
	for _, r := range roots {
		fmt.Fprintf(out, "%-17s  %s", r.Kind, Line(r.Name))
		if r.Path != r.Name {
			fmt.Fprintf(out, "  (%s)", Line(r.Path))
		}
		if r.Reason != "" {
			fmt.Fprintf(out, "\n%19s%s", "", Line(r.Reason))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// blamePrinter writes the lines in two columns.
type blamePrinter struct {
	options Options           // width 0: as wide as it gets, for pipes
	names   map[string]string // path to displayed path
	colors  map[string]string // path to terminal code
	digits  int               // of the largest line number
	left    int               // columns of the place
}

// The colors of files, in the order the files appear (ECMA-48): none that means an error elsewhere.
var blameColors = [...]string{"36", "33", "35", "34", "32", "96", "93", "95"}

func newBlamePrinter(lines []report.BlamedLine, o Options) *blamePrinter {
	p := &blamePrinter{options: o, names: map[string]string{}, colors: map[string]string{}, digits: 1}
	add := func(path string, line int) {
		p.digits = max(p.digits, len(strconv.Itoa(line)))
		if _, ok := p.colors[path]; !ok {
			p.colors[path] = blameColors[len(p.colors)%len(blameColors)]
		}
	}
	for _, l := range lines {
		if l.Path == "" {
			continue
		}
		add(l.Path, l.Line)
		for _, link := range l.Chain {
			if o.Chain {
				add(link.Path, link.StartLine)
			}
		}
	}
	room := 0
	if o.Width > 0 {
		room = max(12, o.Width*2/5) - p.digits - 1
	}
	taken := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(p.colors)) {
		name := shorten(Line(path), room, 1)
		for letters := 2; letters < 6 && taken[name]; letters++ {
			name = shorten(Line(path), room, letters)
		}
		taken[name] = true
		p.names[path] = name
		p.left = max(p.left, utf8.RuneCountInString(name)+1+p.digits)
	}
	return p
}

func (p *blamePrinter) print(w *bufio.Writer, lines []report.BlamedLine) {
	for _, l := range lines {
		if l.Path == "" {
			p.row(w, "", "", Line(l.Text))
			continue
		}
		code := p.colors[l.Path]
		if l.Near {
			code = "2;" + code
		}
		p.row(w, p.place(l.Path, l.Line), code, Line(l.Text))
		if p.options.Chain {
			for _, link := range l.Chain {
				indent := l.Text[:len(l.Text)-len(strings.TrimLeft(l.Text, " "))]
				p.row(w, p.place(link.Path, link.StartLine), "2;"+p.colors[link.Path], indent+"  was "+was(link))
			}
		}
	}
}

// was describes an earlier value: the value, if known, and what wrote it.
func was(link report.BlamedLink) string {
	const most = 60
	value, _, more := strings.Cut(lines(link.Value), "\n")
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

// legend explains the shortened paths.
func (p *blamePrinter) legend(w *bufio.Writer) {
	first := true
	for _, path := range slices.Sorted(maps.Keys(p.names)) {
		name, full := p.names[path], Line(path)
		if name == full {
			continue
		}
		if first {
			fmt.Fprintln(w)
			first = false
		}
		paint := painter{color: p.options.Color}
		fmt.Fprintf(w, "%s = %s\n", paint.paint(p.colors[path], name), paint.dim(full))
	}
}

func (p *blamePrinter) place(path string, line int) string {
	return fmt.Sprintf("%s:%-*d", p.names[path], p.digits, line)
}

// row prints one line. A line that is too long for the terminal continues below, next to an empty place.
func (p *blamePrinter) row(w *bufio.Writer, place, code, text string) {
	paint := painter{color: p.options.Color}
	room := p.options.Width - p.left - 3
	rest := []rune(text)
	for first := true; first || len(rest) > 0; first = false {
		part := rest
		if p.options.Width > 0 && room >= 16 && len(rest) > room {
			part = rest[:room]
		}
		rest = rest[len(part):]
		left := place + strings.Repeat(" ", max(0, p.left-utf8.RuneCountInString(place)))
		if code != "" && place != "" {
			left = paint.paint(code, left)
		}
		fmt.Fprintf(w, "%s %s %s\n", left, paint.dim("│"), string(part))
		place = ""
	}
}

// shorten makes a path at most room columns wide: it first shortens leading folders to a number of letters, and then
// cuts the rest. With room 0, it returns the path unchanged.
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
