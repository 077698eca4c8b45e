// Package origin knows where in the sources a field of a rendered resource was written.
//
// Kustomize keeps the line of a node through most of its pipeline, but not the file. So it gets the files of a build with
// blank lines before each document, so many that every line number is unique in the build (the idea of
// go/token.FileSet). Fields that kustomize itself wrote, or passed through JSON, are found by a simulation. It performs the
// steps of the kustomizations on values that record who wrote them. Its values are compared with the rendered ones, so
// that errors of the simulation are noticed.
package origin

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// firstLine is the lowest line number of padded documents. Lower ones come from documents without padding.
const firstLine = 1000

// maxPadding limits the blank bytes that the files of a build get. They grow with the square of the number of files,
// and kustomize's parser reads each. Later documents get no padding, and their fields are found by the simulation
// alone.
const maxPadding = 4 << 20

// FileSet gives every line of a build's documents a unique number. It is not safe for concurrent use.
type FileSet struct {
	next     int
	spent    int
	segments []segment // sorted by start
}

// segment maps padded lines [start, start+lines) to the lines of a file that start at real.
type segment struct {
	start, lines int
	path         string
	real         int
	indent       int   // columns of a block scalar's indentation, which are removed
	breaks       []int // see doc.Breaks
}

// NewFileSet returns an empty set.
func NewFileSet() *FileSet { return &FileSet{next: firstLine} }

// byteOrderMark is the byte order mark that some editors put in front of a file.
const byteOrderMark = "\ufeff"

// separator is the expression at which kyaml splits a stream, before it parses the parts.
var separator = regexp.MustCompile(`\n---.*\n`)

// Pad returns a manifest or patch file with blank lines before its documents. Call it once for each file.
func (s *FileSet) Pad(path string, data []byte) []byte {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	var out strings.Builder
	if rest, ok := strings.CutPrefix(text, byteOrderMark); ok {
		out.WriteString(byteOrderMark)
		text = rest
	}
	at, line := 0, 1
	if strings.HasPrefix(text, "---") {
		// A stream may start with a separator, which kyaml does not recognize, because there is no line before it.
		end := cmp.Or(strings.IndexByte(text, '\n')+1, len(text))
		out.WriteString(text[:end])
		at, line = end, 2
	}
	first := line // lines of the first document before its padding
	for at <= len(text) {
		end, next := len(text), len(text)+1
		if loc := separator.FindStringIndex(text[at:]); loc != nil {
			end, next = at+loc[0], at+loc[1]
		} else if at > 0 && at == len(text) {
			break
		}
		document := text[at:end]
		if rest, ok := strings.CutPrefix(document, byteOrderMark); ok { // it is only valid at the start of a document
			out.WriteString(byteOrderMark)
			document = rest
		}
		offset := 0
		if line == first {
			offset = first - 1
		}
		if n, ok := s.take(path, document, line, offset); ok {
			out.WriteString(strings.Repeat("\n", n))
		}
		out.WriteString(document)
		if next <= len(text) {
			out.WriteString(text[end:next])
		}
		line += strings.Count(text[at:min(next, len(text))], "\n")
		at = next
	}
	return []byte(out.String())
}

// take reserves line numbers for a document, and returns how many blank lines it needs. offset is the number of the
// document's lines before the blank lines.
func (s *FileSet) take(path, document string, real, offset int) (int, bool) {
	if strings.TrimSpace(document) == "" || strings.HasPrefix(document, "%") || s.spent+s.next > maxPadding {
		return 0, false
	}
	breaks := doc.Breaks([]byte(document))
	lines := strings.Count(document, "\n") + 1 + len(breaks)
	blank := s.next - 1 - offset
	s.segments = append(s.segments, segment{start: s.next, lines: lines, path: path, real: real, breaks: breaks})
	s.next += lines + 1
	s.spent += blank
	return blank, true
}

// PadInline returns a kustomization file with blank lines in its strategic-merge patches that are literal block
// scalars. Call it once for each file.
func (s *FileSet) PadInline(f *kustomization.File, data []byte) []byte {
	scalars := doc.Items(f.Node, "patchesStrategicMerge")
	for _, item := range doc.Items(f.Node, "patches") {
		if _, patch := doc.Field(item, "patch"); patch != nil {
			scalars = append(scalars, patch)
		}
	}
	insert := map[int]string{} // text to insert before a line (from 1)
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, n := range scalars {
		if n.Kind == yaml.ScalarNode && n.Style&yaml.LiteralStyle != 0 {
			s.padScalar(f.Path, n, lines, insert)
		}
	}
	var out bytes.Buffer
	for i, line := range lines {
		out.WriteString(insert[i+1])
		out.Write(line)
	}
	return out.Bytes()
}

func (s *FileSet) padScalar(path string, n *yaml.Node, lines [][]byte, insert map[int]string) {
	value := n.Value
	// Kustomize trims a patch: without its indentation, a first line may mean something else. It drops a byte order mark at
	// the start of a document, too.
	trimmed := strings.TrimSpace(value)
	if trimmed == "" || trimmed[0] == '[' || strings.HasPrefix(trimmed, "---") || strings.Contains(value, byteOrderMark) ||
		!strings.HasPrefix(strings.TrimLeft(value, "\n"), trimmed) {
		return
	}
	indent := ""
	for i := n.Line; i < len(lines); i++ { // lines[n.Line] is the line after the indicator
		if text := strings.TrimRight(string(lines[i]), "\r\n"); strings.TrimSpace(text) != "" {
			indent = text[:len(text)-len(strings.TrimLeft(text, " "))]
			break
		}
	}
	at, line := 0, 0
	for at <= len(value) {
		end, next := len(value), len(value)+1
		if loc := separator.FindStringIndex(value[at:]); loc != nil {
			end, next = at+loc[0], at+loc[1]
		}
		real := n.Line + 1 + line
		if blank, ok := s.take(path, value[at:end], real, 0); ok {
			s.segments[len(s.segments)-1].indent = len(indent)
			if at == 0 {
				// Kustomize trims the patch: a comment keeps the blank lines that follow it.
				insert[real] = indent + "#\n" + strings.Repeat("\n", blank-1)
			} else {
				insert[real] = strings.Repeat("\n", blank)
			}
		}
		line += strings.Count(value[at:min(next, len(value))], "\n")
		at = next
	}
}

// Padded reports whether a text of a built resource has the blank lines of a padded file, which kustomize has read as
// data. In a Secret they are encoded.
func Padded(n *yaml.Node) bool {
	return len(n.Value) >= len(someLines) && (strings.Contains(n.Value, someLines) || strings.Contains(n.Value, encodedLines)) ||
		slices.ContainsFunc(n.Content, Padded)
}

// Every padding has more lines.
var (
	someLines    = strings.Repeat("\n", firstLine/2)
	encodedLines = strings.Repeat("CgoK", 15) // three lines each in base64, of which kustomize makes lines of 70 characters
)

// Position returns the file, the line and the column of a node whose line kustomize kept, and false for one that
// kustomize made.
func (s *FileSet) Position(line, column int) (path string, realLine, realColumn int, ok bool) {
	i := sort.Search(len(s.segments), func(i int) bool { return s.segments[i].start > line }) - 1
	if i < 0 {
		return "", 0, 0, false
	}
	seg := s.segments[i]
	if line >= seg.start+seg.lines {
		return "", 0, 0, false
	}
	line -= seg.start
	return seg.path, seg.real + line - doc.Extra(seg.breaks, line+1), column + seg.indent, true
}
