package output

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// uriCharacters may stand in the path of a URI (RFC 3986, 3.3).
const uriCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=:@/"

// validSARIF checks the requirements of the standard's schema and of GitHub's code scanning for the written parts.
func validSARIF(t *testing.T, r *report.Report) sarifLog {
	t.Helper()
	var b bytes.Buffer
	if err := checkSARIF(&b, r, Options{Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif") || len(log.Runs) != 1 ||
		log.Runs[0].Tool.Driver.Name == "" || log.Runs[0].Results == nil {
		t.Fatalf("log %+v", log)
	}
	run := log.Runs[0]
	place := func(l sarifLocation) {
		p := l.Physical
		if p == nil {
			t.Errorf("location without a file: %+v", l)
			return
		}
		if u, err := url.Parse(p.Artifact.URI); err != nil || u.IsAbs() || strings.HasPrefix(u.Path, "/") ||
			strings.Trim(p.Artifact.URI, uriCharacters) != "" || p.Artifact.Base != "%SRCROOT%" {
			t.Errorf("uri %q: %v", p.Artifact.URI, err)
		}
		if g := p.Region; g != nil && (g.StartLine < 1 || g.StartColumn < 1 || g.EndLine < g.StartLine ||
			g.EndColumn != 0 && g.EndLine == g.StartLine && g.EndColumn < g.StartColumn) {
			t.Errorf("region %+v", *g)
		}
		seen := map[sarifLogical]bool{}
		for _, l := range l.Logical {
			if seen[l] {
				t.Errorf("%+v twice", l)
			}
			seen[l] = true
		}
	}
	ids := map[string]bool{}
	for _, rule := range run.Tool.Driver.Rules {
		if ids[rule.ID] || rule.Short.Text == "" || rule.Full.Text == "" || rule.Help.Text == "" ||
			len([]rune(rule.Short.Text)) > 1024 || len([]rune(rule.Full.Text)) > 1024 ||
			!slices.Contains([]string{"error", "warning", "note", "none"}, rule.Configuration.Level) {
			t.Errorf("rule %+v", rule)
		}
		ids[rule.ID] = true
	}
	want := len(r.Findings)
	for _, p := range r.Errors {
		if p.Path != "" {
			want++
		}
	}
	if len(run.Results) != min(want, maxResults) {
		t.Errorf("%d results of %d findings and errors", len(run.Results), want)
	}
	for _, x := range run.Results {
		switch {
		case x.Message.Text == "", strings.Contains(x.Message.Text, "]("), x.Fingerprints["lintel/v1"] == "",
			len(x.Locations) != 1, x.Locations[0].Physical.Region == nil:
			t.Errorf("result %+v", x)
		case run.Tool.Driver.Rules[x.RuleIndex].ID != x.RuleID:
			t.Errorf("rule %d is not %s", x.RuleIndex, x.RuleID)
		case (x.Kind == "fail") == (x.Level == "none"), !slices.Contains([]string{"fail", "open"}, x.Kind):
			t.Errorf("%s: kind %s with level %s", x.RuleID, x.Kind, x.Level)
		case !slices.Contains([]string{"new", "unchanged"}, x.Baseline):
			t.Errorf("baseline %s", x.Baseline)
		}
		for _, s := range x.Suppressions {
			if s.Kind != "external" || !slices.Contains([]string{"accepted", "underReview", "rejected"}, s.Status) {
				t.Errorf("suppression %+v", s)
			}
		}
		for _, l := range slices.Concat(x.Locations, x.Related) {
			place(l)
		}
	}
	for _, n := range run.Invocations[0].Notifications {
		for _, l := range n.Locations {
			place(l)
		}
	}
	return log
}

func TestSARIF(t *testing.T) {
	for _, r := range fixtures() {
		validSARIF(t, r)
	}
	log := validSARIF(t, rich())
	got := map[string]string{}
	for _, x := range log.Runs[0].Results {
		s := ""
		if len(x.Suppressions) > 0 {
			s = " " + x.Suppressions[0].Status
		}
		got[x.RuleID] = x.Kind + " " + x.Level + " " + x.Baseline + s
	}
	want := map[string]string{
		"disallow-host-path/host-path":               "fail error new underReview",
		"disallow-latest-tag/require-image-tag":      "fail warning new",
		"disallow-latest-tag/validate-image-tag":     "fail error new",
		"protect-namespaces/no-delete":               "fail warning new",
		"require-labels/team":                        "fail note unchanged",
		"require-probes/liveness":                    "fail note new accepted",
		"require-requests-limits/validate-resources": "fail error new",
		"shop/allowed-registries/check":              "open none new",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if validSARIF(t, broken()).Runs[0].Invocations[0].Successful {
		t.Error("errors are a successful run")
	}
}

// A finding keeps its fingerprint when its line moves, and has another one in another place.
func TestFingerprint(t *testing.T) {
	a, b, c := rich().Findings[0], rich().Findings[0], rich().Findings[0]
	b.Origin.StartLine, b.Message = 99, "other words"
	c.Field = "/spec"
	if fingerprint(&a) != fingerprint(&b) || fingerprint(&a) == fingerprint(&c) {
		t.Error("the fingerprint follows the wrong things")
	}
}

func TestStateOfFinding(t *testing.T) {
	pend := &report.Exemption{State: report.Pending}
	for _, tc := range []struct {
		f    report.Finding
		want view.State
		mark string
	}{
		{report.Finding{Result: report.Fail, New: true, Blocks: true}, view.Blocking, ""},
		{report.Finding{Result: report.Fail, Blocks: true}, view.Blocking, "already in the base"},
		{report.Finding{Result: report.Fail}, view.Before, "already in the base"},
		{report.Finding{Result: report.Fail, New: true, Exemption: pend}, view.Pending, "waits for approval"},
		{report.Finding{Result: report.Fail, Exemption: pend}, view.Before, "already in the base"},
		{report.Finding{Result: report.Fail, New: true, Blocks: true, Exemption: &report.Exemption{State: report.Expired}},
			view.Blocking, ""},
		{report.Finding{Result: report.Skip, New: true, Exemption: &report.Exemption{State: report.Merged}}, view.Excepted,
			"excepted"},
		{report.Finding{Result: report.Warn, New: true}, view.Warning, ""},
		{report.Finding{Result: report.Unknown, New: true}, view.Warning, "undecided: needs the cluster"},
		{report.Finding{Result: report.Error, New: true, Blocks: true}, view.Blocking, "could not be evaluated"},
	} {
		if got := view.StateOf(&tc.f); got != tc.want || view.Mark(&tc.f) != tc.mark {
			t.Errorf("%+v: %d %q, want %d %q", tc.f, got, view.Mark(&tc.f), tc.want, tc.mark)
		}
	}
}

func TestFrame(t *testing.T) {
	long := "    image: " + strings.Repeat("registry.example.com/", 6) + "web:latest"
	many := map[int]string{}
	for i := 1; i <= 30; i++ {
		many[i] = "row"
	}
	for _, tc := range []struct {
		name    string
		excerpt map[int]string
		s       span
		width   int
		want    []string
	}{
		{"line not in excerpt", map[int]string{1: "a"}, span{2, 2, 1, 2}, 80, nil},
		{"no columns", map[int]string{3: "  a: b"}, span{3, 3, 0, 0}, 80, []string{"> 3 |   a: b", "    |   ^^^^"}},
		{"tab before the mark", map[int]string{3: "\ta: b"}, span{3, 3, 2, 3}, 80, []string{"> 3 |     a: b", "    |     ^"}},
		{"wide characters", map[int]string{3: "日本: x"}, span{3, 3, 5, 6}, 80, []string{"> 3 | 日本: x", "    |       ^"}},
		{"columns after the end", map[int]string{3: "a"}, span{3, 3, 9, 12}, 80, []string{"> 3 | a", "    |  ^"}},
		{"empty line", map[int]string{3: ""}, span{3, 3, 1, 1}, 80, []string{"> 3 |", "    | ^"}},
		{"escape sequence", map[int]string{3: "\x1b[2Jx"}, span{3, 3, 5, 6}, 80, []string{`> 3 | \u001b[2Jx`, "    |          ^"}},
		{"long line", map[int]string{3: long}, span{3, 3, 138, 148}, 40, nil},
		{"long range", many, span{5, 25, 0, 0}, 80, []string{"   3 | row", "   4 | row", ">  5 | row", ">  6 | row",
			">  7 | row", ">  8 | row", ">  9 | row",
			"     ...", "> 25 | row", "  26 | row", "  27 | row"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := frame(tc.excerpt, tc.s, tc.width, painter{})
			if tc.name == "long line" { // what matters: it fits, and the carets are under the name
				if textWidth(got[0]) > tc.width || textWidth(got[1]) > tc.width {
					t.Errorf("wider than %d:\n%s", tc.width, strings.Join(got, "\n"))
				}
				at, under := strings.IndexByte(got[1], '^'), strings.Count(got[1], "^")
				if text := string([]rune(got[0])[at : at+under]); text != "web:latest" {
					t.Errorf("%q is marked:\n%s", text, strings.Join(got, "\n"))
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The window of a long line moves to the mark, with an ellipsis at each end that is cut.
func TestFrameMovesWithTheMark(t *testing.T) {
	text := strings.Repeat("a", 390) + "image: web:latest" + strings.Repeat("z", 93)
	for _, width := range []int{24, 40, 80, 120} {
		rows := frame(map[int]string{7: text}, span{7, 7, 398, 408}, width, painter{})
		shown, carets := []rune(rows[0]), []rune(rows[1])
		at := slices.Index(carets, '^')
		if n := strings.Count(rows[1], "^"); at < 0 || n != 10 || string(shown[at:at+n]) != "web:latest" {
			t.Errorf("width %d: not the mark:\n%s", width, strings.Join(rows, "\n"))
		}
		if !strings.HasPrefix(rows[0], "> 7 | …") || !strings.HasSuffix(rows[0], "…") || len(shown) > width {
			t.Errorf("width %d: %q", width, rows[0])
		}
	}
	// A mark that begins inside the width and ends outside of it is shown whole.
	rows := frame(map[int]string{7: "        image: registry.example.com/shop/web:latest"}, span{7, 7, 16, 52}, 50,
		painter{})
	if !strings.Contains(rows[0], "registry.example.com/shop/web:latest") || strings.Count(rows[1], "^") != 36 {
		t.Errorf("a mark over the edge:\n%s", strings.Join(rows, "\n"))
	}
}

func FuzzFrame(f *testing.F) {
	f.Add("  image: web:latest", 3, 8, 40)
	f.Add("日本\t\x1b[31m", 2, 3, 20)
	f.Fuzz(func(t *testing.T, text string, start, end, width int) {
		rows := frame(map[int]string{1: text, 2: text}, span{1, 1, start, end}, min(max(width, 24), 200), painter{})
		for _, row := range rows {
			if strings.ContainsFunc(row, hostile) {
				t.Errorf("%q", row)
			}
			if n := textWidth(row); n > min(max(width, 24), 200)+12 { // an escaped character may be wider than the room
				t.Errorf("%d columns at width %d: %q", n, width, row)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	got := Wrap("one two three\n\n/a/very/long/path/that/stays/whole end", 9)
	want := []string{"one two", "three", "", "/a/very/long/path/that/stays/whole", "end"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
