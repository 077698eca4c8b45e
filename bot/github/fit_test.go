package github

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

func TestFitText(t *testing.T) {
	if s := strings.Repeat("x", MaxText); FitText(s) != s {
		t.Error("a text of exactly the limit was changed")
	}
	long := "# Title\n\n" + strings.Repeat("ünïcödé line\n", 10000)
	got := FitText(long)
	if len(got) > MaxText || !utf8.ValidString(got) {
		t.Fatalf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
	}
	kept, notice, ok := strings.Cut(got, "\n\n… ")
	if !ok || !strings.HasPrefix(long, kept+"\n") {
		t.Fatalf("not cut at the end of a line: %q", got[len(got)-200:])
	}
	lines := strings.Count(long[len(kept)+1:], "\n")
	if want := itoa(lines) + " more lines ("; !strings.HasPrefix(notice, want) {
		t.Errorf("notice %q, want %q...", notice, want)
	}
	oneLine := FitText(strings.Repeat("ü", MaxText))
	if len(oneLine) > MaxText || !utf8.ValidString(oneLine) || !strings.Contains(oneLine, "bytes) do not fit") {
		t.Error("one long line")
	}
}

func itoa(n int) string {
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

func TestFitAnnotation(t *testing.T) {
	long := strings.Repeat("ü", 70000)
	for name, tt := range map[string]struct {
		in, want report.Annotation
		ok       bool
	}{
		"as it is": {report.Annotation{Path: "a", StartLine: 2, EndLine: 2, StartColumn: 3, EndColumn: 4, Level: "failure",
			Message: "m"},
			report.Annotation{Path: "a", StartLine: 2, EndLine: 2, StartColumn: 3, EndColumn: 4, Level: "failure", Message: "m"}, true},
		"columns on several lines": {report.Annotation{Path: "a", StartLine: 2, EndLine: 3, StartColumn: 3, EndColumn: 4,
			Level: "notice", Message: "m"},
			report.Annotation{Path: "a", StartLine: 2, EndLine: 3, Level: "notice", Message: "m"}, true},
		"half a pair of columns": {report.Annotation{Path: "a", StartLine: 2, EndLine: 2, StartColumn: 3, Level: "notice",
			Message: "m"},
			report.Annotation{Path: "a", StartLine: 2, EndLine: 2, Level: "notice", Message: "m"}, true},
		"lines": {report.Annotation{Path: "./a", StartLine: -1, EndLine: -5, Level: "error", Message: "m"},
			report.Annotation{Path: "a", StartLine: 1, EndLine: 1, Level: "warning", Message: "m"}, true},
		"no message": {report.Annotation{Path: "/a", StartLine: 1, EndLine: 1, Level: "notice", Title: "t", Message: " \n"},
			report.Annotation{Path: "a", StartLine: 1, EndLine: 1, Level: "notice", Title: "t", Message: "t"}, true},
		"no path": {report.Annotation{Path: " ", Message: "m"}, report.Annotation{Message: "m"}, false},
	} {
		got, ok := FitAnnotation(tt.in)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("%s: %v (-want +got):\n%s", name, ok, diff)
		}
	}
	got, _ := FitAnnotation(report.Annotation{Path: "a", Title: long, Message: long})
	if utf8.RuneCountInString(got.Title) > MaxTitle || len(got.Message) > MaxMessage ||
		!utf8.ValidString(got.Message) {
		t.Error("long texts")
	}
	if !strings.HasSuffix(got.Message, "bytes left out)") {
		t.Error("the cut does not say so")
	}
}

func TestFitRun(t *testing.T) {
	run := forge.CheckRun{Title: "a\n b", Summary: "s", Annotations: make([]report.Annotation, MaxAnnotations+5)}
	for i := range run.Annotations {
		run.Annotations[i] = report.Annotation{Path: "p", Message: "m"}
	}
	run.Annotations[0].Path = ""
	got := Fit(run)
	if len(got.Annotations) != MaxAnnotations || got.Title != "a b" {
		t.Errorf("%d annotations, title %q", len(got.Annotations), got.Title)
	}
	if want := "s\n\n4 more annotations are not shown on their lines: a check run takes the first 1000.\n1 annotations " +
		"have no file and are not shown on a line."; got.Summary != want {
		t.Errorf("summary %q", got.Summary)
	}
	run.Summary = strings.Repeat("x\n", MaxText)
	if got := Fit(run).Summary; len(got) > MaxText || !strings.HasSuffix(got, "are not shown on a line.") {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-100:])
	}
	run.Annotations[0].Path = "changed"
	if run.Annotations[1].StartLine != 0 {
		t.Error("Fit changed its argument")
	}
}

func FuzzFitText(f *testing.F) {
	f.Add("```\n<details>\n", 40000)
	f.Add("~~~~ü\n", 20000)
	f.Add("</details>\x00\xff", 9000)
	f.Fuzz(func(t *testing.T, unit string, times int) {
		if times < 0 || times > 70000 || len(unit) > 64 {
			return
		}
		got := FitText(strings.Repeat(unit, times))
		if len(got) > MaxText || !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("%d bytes", len(got))
		}
	})
}
