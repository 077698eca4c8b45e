package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/checks/report"
)

// attacks returns texts that every format must write without harm.
func attacks() []string {
	return []string{
		attack, "\x1b]0;title\x07", "\x9b31m", "\u009b31m", "::error::x", "  ::stop-commands::x", "##[add-mask]x",
		"##vso[task.setvariable]x", "a ::warning::b", "\u00a0::error::x", "\u3000 ::error::x", "##teamcity[x]", "###[x]",
		"| a | b |", "\\|", "`|`", "@octocat", "(@octocat)", "#1", "##1", "-@x", "\u202e\u2066\ufeff", "]]>", "<!--",
		"--- \n+++", "1) x", "a\rb", "\x00", "\xf0\x28\x8c\x28", "",
		strings.Repeat("word ", 500), strings.Repeat("x", 5000), "[`a`](javascript:alert(1))", "&lt;script&gt;",
		"key: {{ x }} # y", "\U000e0041\U000e007f", "'\"",
	}
}

// logCommand matches commands in the log of some CI systems.
var logCommand = regexp.MustCompile(`##\w*\[`)

// checkSafe fails if any format of a report with s in every text could harm its reader.
func checkSafe(t *testing.T, s string) {
	t.Helper()
	r := hostileReport(s)
	for _, name := range Names[*report.Report]() {
		var b bytes.Buffer
		if err := Write(name, &b, r, Options{Width: 60}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out := b.String()
		if !utf8.ValidString(out) {
			t.Errorf("%s of %q is not UTF-8", name, s)
		}
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && hostile(r) }); i >= 0 {
			t.Errorf("%s of %q has a control character at %d: %q", name, s, i, out[i:min(len(out), i+20)])
		}
		if logCommand.MatchString(out) {
			t.Errorf("%s of %q has a command of a log", name, s)
		}
		for row := range strings.SplitSeq(out, "\n") {
			if strings.HasPrefix(strings.TrimSpace(row), "::") && (name != "github" || !workflowCommand.MatchString(row)) {
				t.Errorf("%s of %q has a workflow command: %q", name, s, row)
			}
		}
		switch name {
		case "json", "sarif":
			if !json.Valid(b.Bytes()) {
				t.Errorf("%s of %q is not JSON", name, s)
			}
		case "junit":
			for d := xml.NewDecoder(&b); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s of %q: %v", name, s, err)
				}
			}
		case "policyreport":
			var got policyReport
			if err := yaml.UnmarshalStrict(b.Bytes(), &got); err != nil || len(got.Results) != 5 {
				t.Errorf("%s of %q: %d results, %v", name, s, len(got.Results), err)
			}
		}
	}
}

// One of our own commands: a known name, and properties without unescaped separators.
var workflowCommand = regexp.MustCompile(`^::(error|warning|notice) (file=[^:,]*,)?` +
	`(line=\d+,)?(endLine=\d+,)?(col=\d+,)?(endColumn=\d+,)?title=[^:,]*::`)

func TestNothingInjects(t *testing.T) {
	for _, s := range attacks() {
		checkSafe(t, s)
	}
}

func FuzzForms(f *testing.F) {
	f.Add("x\x1b[0m|@a")
	f.Add("\u009b::error::##[x] ]]>")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 10_000 {
			checkSafe(t, s)
		}
	})
}

func TestJSONKeepsTheText(t *testing.T) {
	var b bytes.Buffer
	if err := checkJSON(&b, hostileReport("x\u009b\u202e\U000e0041##[y]"), Options{}); err != nil {
		t.Fatal(err)
	}
	var got report.Report
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Title != "x\u009b\u202e\U000e0041##[y]" ||
		got.Excerpts != nil {
		t.Errorf("%q %v %v", got.Title, got.Excerpts, err)
	}
	b.Reset()
	if err := checkJSON(&b, &report.Report{}, Options{}); err != nil ||
		!strings.Contains(b.String(), `"findings": []`) || !strings.Contains(b.String(), `"errors": []`) {
		t.Errorf("empty report: %s", b.String())
	}
}

func TestWorkflowCommandsReadBack(t *testing.T) {
	unescape := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace
	for _, s := range attacks() {
		if got := unescape(commandData(s)); got != tameTags(lines(s)) {
			t.Errorf("message %q reads back as %q", s, got)
		}
		if got := unescape(commandProperty(s)); got != tameTags(Line(s)) {
			t.Errorf("property %q reads back as %q", s, got)
		}
	}
}

func TestColorsComeOnlyFromLintel(t *testing.T) {
	var b bytes.Buffer
	if err := checkText(&b, hostileReport(attack), Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(b.String(), "")
	var without bytes.Buffer
	checkText(&without, hostileReport(attack), Options{})
	if strings.Contains(plain, "\x1b") || plain != without.String() {
		t.Error("colors change the text, or more than colors came through")
	}
}
