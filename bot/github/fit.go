package github

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// GitHub's limits of a check run (https://docs.github.com/en/rest/checks/runs#create-a-check-run). The
// ones of summary and text count bytes, as its answers say ("maximum bytesize of 65535").
const (
	MaxTitle       = 255   // characters, of the output and of an annotation
	MaxText        = 65535 // bytes, of summary and of text
	MaxMessage     = 65535 // bytes, of an annotation's message (64 KB)
	MaxBatch       = 50    // annotations a request
	MaxAnnotations = 1000  // annotations a run, ours: each batch is a request that counts towards the secondary limits
)

// Fit returns a copy of a check run that GitHub accepts: every text within its limit, cut at the end of a
// line with a count of what was left out, annotations with usable positions.
// Annotations that cannot be posted (no path, or beyond MaxAnnotations) are counted in the summary.
func Fit(run forge.CheckRun) forge.CheckRun {
	var annotations []report.Annotation
	unplaced := 0
	for _, a := range run.Annotations {
		fitted, ok := FitAnnotation(a)
		if !ok {
			unplaced++
			continue
		}
		annotations = append(annotations, fitted)
	}
	excess := max(len(annotations)-MaxAnnotations, 0)
	run.Annotations = annotations[:len(annotations)-excess]
	var notes []string
	if excess > 0 {
		const note = "%d more annotations are not shown on their lines: a check run takes the first %d."
		notes = append(notes, fmt.Sprintf(note, excess, MaxAnnotations))
	}
	if unplaced > 0 {
		notes = append(notes, fmt.Sprintf("%d annotations have no file and are not shown on a line.", unplaced))
	}
	run.Summary = withNotes(run.Summary, notes)
	run.Title = FitTitle(run.Title)
	run.Text = FitText(run.Text)
	return run
}

// withNotes puts notes below a summary and keeps the whole within the limit without cutting them.
func withNotes(summary string, notes []string) string {
	if len(notes) == 0 {
		return FitText(summary)
	}
	tail := "\n\n" + strings.Join(notes, "\n")
	return strings.TrimLeft(fitTo(summary, MaxText-len(tail))+tail, "\n")
}

// FitTitle returns a title on one line of at most 255 characters.
func FitTitle(s string) string {
	return cutRunes(strings.Join(strings.Fields(clean(s)), " "), MaxTitle)
}

// FitText returns markdown of at most 65,535 bytes. Longer text is cut at the end of a line (of a rune, if one line alone
// is too long), and a last line states how much was left out. What writes a text keeps below the limit by itself, in a
// better way.
func FitText(s string) string { return fitTo(s, MaxText) }

func fitTo(s string, limit int) string {
	s = clean(s)
	if len(s) <= limit {
		return s
	}
	const reserve = 128 // for the last line
	end := max(limit-reserve, 0)
	kept := strings.ToValidUTF8(s[:end], "") // without a part of a character
	if i := strings.LastIndexByte(kept, '\n'); i > 0 {
		kept = kept[:i]
	}
	left := s[len(kept):]
	lines := strings.Count(strings.Trim(left, "\n"), "\n") + 1
	return fmt.Sprintf("%s\n\n… %d more lines (%d bytes) do not fit and are left out.", kept, lines, len(left))
}

// FitAnnotation returns an annotation that GitHub accepts: lines from 1 and in order, columns only as a pair
// on a single line, texts within their limits, a known level. It is false without a path.
func FitAnnotation(a report.Annotation) (report.Annotation, bool) {
	a.Path = strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(a.Path), "./"), "/")
	if a.Path == "" || !utf8.ValidString(a.Path) || strings.ContainsRune(a.Path, 0) {
		return a, false
	}
	a.StartLine = max(a.StartLine, 1)
	a.EndLine = max(a.EndLine, a.StartLine)
	if a.StartLine != a.EndLine || a.StartColumn < 1 || a.EndColumn < a.StartColumn {
		a.StartColumn, a.EndColumn = 0, 0
	}
	if !slices.Contains([]string{string(view.Notice), string(view.Warn), string(view.Failure)}, a.Level) {
		a.Level = string(view.Warn)
	}
	a.Title = FitTitle(a.Title)
	a.Message = cutBytes(clean(a.Message), MaxMessage)
	if strings.TrimSpace(a.Message) == "" {
		if a.Message = a.Title; a.Message == "" {
			a.Message = "(no message)"
		}
	}
	return a, true
}

// clean replaces what is not UTF-8 and NUL, which JSON or GitHub's database refuse.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cutRunes cuts to a number of characters, the last of them an ellipsis.
func cutRunes(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// cutBytes cuts at a rune so that text and a count of what was left out fit.
func cutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const reserve = 64
	kept := strings.ToValidUTF8(s[:limit-reserve], "") // without a part of a character
	return fmt.Sprintf("%s… (%d bytes left out)", kept, len(s)-len(kept))
}
