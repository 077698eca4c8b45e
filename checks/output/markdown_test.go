package output

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

var (
	codeSpans = regexp.MustCompile("`[^`]*`|<code>([^<]|<wbr>)*</code>")
	escaped   = regexp.MustCompile(`\\[*_\[\]~$#+=.)-]|&#\d+;|&(lt|gt|amp);`)
	targets   = regexp.MustCompile(`\]\(https://x/[^)\s]*\)|<a href="[^"]*">|</a>`)
	listMark  = regexp.MustCompile(`^([-+=#>]|\d+[.)])`)
)

// bare returns the parts of inline Markdown that GitHub may read as markup.
func bare(s string) string {
	return escaped.ReplaceAllString(codeSpans.ReplaceAllString(s, "C"), "E")
}

func checkProse(t *testing.T, s string) {
	t.Helper()
	out := prose(s)
	left := bare(out)
	if strings.ContainsAny(left, "`|<>*_[]~$\\\n@") || strings.Contains(left, "://") ||
		strings.Contains(strings.ToLower(left), "www.") || listMark.MatchString(left) {
		t.Errorf("prose of %q is %q, which leaves %q", s, out, left)
	}
	if regexp.MustCompile(`#\d`).MatchString(left) {
		t.Errorf("prose of %q refers to an issue: %q", s, out)
	}
	for _, c := range []string{code(s), link(s, ""), link(s, "javascript:alert(1)")} {
		if c != "" && (codeSpans.ReplaceAllString(c, "") != "" || strings.ContainsAny(c, "|\n")) {
			t.Errorf("code of %q is %q", s, c)
		}
	}
	l := link(s, "https://github.com/o/r/blob/main/"+s)
	if rest := regexp.MustCompile("^(\\[`[^`\\[\\]]*`\\]\\([^()\\s]*\\)|<a "+
		"href=\"[^\"<>|`]*\"><code>[^<|`]*</code></a>|`[^`]*`|<code>[^<]*</code>)$").ReplaceAllString(l, ""); rest != "" &&
		s != "" {
		t.Errorf("link of %q is %q", s, l)
	}
}

func TestProse(t *testing.T) {
	for _, s := range attacks() {
		checkProse(t, s)
	}
	for in, want := range map[string]string{
		"An image tag is required.":          "An image tag is required.",
		"rule x failed at path /spec/a-b/":   "rule x failed at path /spec/a-b/",
		"spec.rules[*] of @jane":             "spec.rules\\[\\*\\] of `@jane`",
		"see https://example.com/a_b and #7": "see `https://example.com/a_b` and `#7`",
		"- 1. item":                          "\\- 1. item",
		"1. item":                            "1\\. item",
		"<b>|x|</b>":                         "&lt;b&gt;&#124;x&#124;&lt;/b&gt;",
		"@a|b":                               "<code>&#64;a&#124;b</code>",
	} {
		if got := prose(in); got != want {
			t.Errorf("prose of %q is %q, want %q", in, got, want)
		}
	}
}

func FuzzProse(f *testing.F) {
	for _, s := range attacks() {
		f.Add(s)
	}
	f.Fuzz(checkProse)
}

// A row of a table has as many cells as the head, for any names and messages.
func TestMarkdownTable(t *testing.T) {
	for _, s := range attacks() {
		head := 0
		for row := range strings.SplitSeq(Markdown(hostileReport(s),
			MarkdownOptions{BlobURL: func(p string, n int) string { return fmt.Sprintf("https://x/%s#L%d", p, n) }}), "\n") {
			n := strings.Count(row, "|")
			if head == 0 {
				head = n
			}
			if n != 0 && n != head {
				t.Errorf("%q gives a row with %d pipes, its head has %d: %s", s, n, head, row)
			}
			if n == 0 {
				head = 0
			}
		}
	}
}

// In the text below the summary, quoted YAML cannot end its fence, and no text of the repository is markup.
func TestDetails(t *testing.T) {
	if got := Details(clear(), MarkdownOptions{}); got != "" {
		t.Errorf("with nothing to tell: %q", got)
	}
	for _, s := range append(attacks(), "a\n```\n<b>x</b>\n````\n@octocat") {
		out := Details(hostileReport(s), MarkdownOptions{BlobURL: func(p string, n int) string {
			return fmt.Sprintf("https://x/%s#L%d", (&url.URL{Path: p}).EscapedPath(), n)
		}})
		control := func(r rune) bool { return r != '\n' && hostile(r) }
		if i := strings.IndexFunc(out, control); i >= 0 || !utf8.ValidString(out) {
			t.Errorf("%q has a control character at %d", s, i)
		}
		fence := ""
		for row := range strings.SplitSeq(out, "\n") {
			switch {
			case fence == "" && strings.HasPrefix(row, "```"):
				fence = strings.TrimRight(row, "yamldif")
			case fence != "" && row == fence:
				fence = ""
			case fence == "":
				left := bare(targets.ReplaceAllString(strings.NewReplacer("<details><summary>", "", "</summary>", "",
					"</details>", "", "<wbr>", "").Replace(row), ""))
				if strings.ContainsAny(left, "@<`|") {
					t.Errorf("%q leaves %q", s, left)
				}
			}
		}
		if fence != "" {
			t.Errorf("%q leaves a fence open", s)
		}
	}
	r := large(60)
	for _, limit := range []int{500, 5000, 65_535} {
		got := Details(r, MarkdownOptions{BlobURL: blobURL, MaxBytes: limit})
		if len(got) > limit || !strings.Contains(got, "left out for lack of space") ||
			strings.Count(got, "<details>") != strings.Count(got, "</details>") {
			t.Errorf("limit %d: %d bytes", limit, len(got))
		}
	}
}

// large returns a report with n findings of each state, n errors and n warnings.
func large(n int) *report.Report {
	r := rich()
	seed := r.Findings
	for i := range n {
		for _, f := range seed {
			f.Resource.Name = fmt.Sprintf("%s-%d", f.Resource.Name, i)
			f.Message += fmt.Sprintf(" (%d)", i) // different messages, because equal ones would share a row
			r.Findings = append(r.Findings, f)
		}
		p := report.Problem{Path: fmt.Sprintf("apps/%d/ä.yaml", i), Line: i + 1,
			Message: "“quoted” text that is some words long"}
		r.Errors, r.Warnings = append(r.Errors, p), append(r.Warnings, p)
	}
	return r
}

func TestMarkdownStaysWithinItsLimit(t *testing.T) {
	r := large(60)
	whole := Markdown(r, MarkdownOptions{BlobURL: blobURL})
	if len(whole) < 65535 {
		t.Fatalf("the report is too small for this test: %d bytes", len(whole))
	}
	for _, limit := range []int{1, 40, 200, 300, 500, 1000, 2000, 5000, 20_000, 65_535, len(whole) - 1} {
		got := Markdown(r, MarkdownOptions{BlobURL: blobURL, MaxBytes: limit})
		if len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("limit %d: %d bytes", limit, len(got))
		}
		// Slightly below the full size, rows with fewer places are enough.
		if limit >= 300 && limit < len(whole)/2 && !strings.Contains(got, "left out for lack of space") {
			t.Errorf("limit %d: nothing says that something is missing", limit)
		}
		if limit >= 5000 {
			for _, part := range []string{"#### Errors", "#### Findings", "#### Outside", "#### Exceptions",
				"#### Warnings", "Already in the base", "</sub>"} {
				if !strings.Contains(got, part) {
					t.Errorf("limit %d: %s is missing", limit, part)
				}
			}
		}
		if strings.Count(got, "<details>") != strings.Count(got, "</details>") {
			t.Errorf("limit %d: unbalanced details", limit)
		}
	}
	if got := Markdown(r, MarkdownOptions{BlobURL: blobURL, MaxBytes: len(whole)}); got != whole {
		t.Error("a report that just fits is shortened")
	}
}

// In any script, summary and text stay within the limit in bytes. They contain whole characters and closed markup, and
// link the page with the whole report.
func TestMarkdownLimitInAnyScript(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	const limit = 65_535 - 512
	for _, script := range []string{"x", "é", "日", "🔥", "|", "<b>", "`", "&", "\u202e"} {
		r := many(2400)
		for i := range r.Findings {
			f := &r.Findings[i]
			f.Policy = fmt.Sprintf("p%d-%s", i%300, strings.Repeat(script, 20))
			f.Message = strings.Repeat(script+" ", 500)
			f.Resource.Name = strings.Repeat(script, 60)
			f.Origin.Path = strings.Repeat(script+"/", 30) + f.Origin.Path
		}
		o := MarkdownOptions{BlobURL: blobURL, MaxBytes: limit, Page: "https://lintel.example.com/r/1"}
		for name, got := range map[string]string{"summary": Markdown(r, o), "text": Details(r, o)} {
			if len(got) > limit || len(got) < limit/2 || !utf8.ValidString(got) {
				t.Errorf("%s of %q has %d bytes", name, script, len(got))
			}
			for _, tag := range []string{"details", "summary", "code", "a"} {
				if a, b := strings.Count(got, "<"+tag+">")+strings.Count(got, "<"+tag+" "), strings.Count(got, "</"+tag+">"); a != b {
					t.Errorf("%s of %q: %d <%s> and %d </%s>", name, script, a, tag, b, tag)
				}
			}
			if !strings.Contains(got, `left out for lack of space. <a href="https://lintel.example.com/r/1">The whole report</a>`) {
				t.Errorf("%s of %q does not lead to the page", name, script)
			}
		}
	}
}

// No word in a table is so long that the table must be scrolled beside a conversation.
func TestCellsCanBeBroken(t *testing.T) {
	digest := "registry.example.com/team/app@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for _, s := range []string{digest, strings.Repeat("name", 60), "https://runbooks.example.com/" + digest, "a.b/" + digest,
		strings.Repeat("日本", 50), strings.Repeat("e\u0301", 90), strings.Repeat("a_*|`<", 30), "x " + digest + " y"} {
		r := hostileReport(s)
		r.Preview.Findings = append(r.Preview.Findings, report.PreviewFinding{Policy: s, Rule: s, Message: s,
			Effect: report.EffectFails, Resource: r.Findings[0].Resource, Origin: r.Findings[0].Origin})
		for row := range strings.Lines(Markdown(r, MarkdownOptions{BlobURL: blobURL, PolicyURL: blobURL})) {
			if !strings.HasPrefix(row, "|") {
				continue
			}
			row = regexp.MustCompile(`<a href="[^"]*">|</a>|</?code>|\]\(\S*?\)`).ReplaceAllString(row, "")
			row = strings.NewReplacer("<wbr>", " ", "<br>", " ", "\\", "").Replace(row)
			for word := range strings.FieldsSeq(html.UnescapeString(row)) {
				if textWidth(word) > wide+8 { // with quotes and similar characters around
					t.Errorf("%.30q has a word of %d columns: %q", s, textWidth(word), word)
				}
			}
		}
	}
}

// Shown and omitted findings add up.
func TestMarkdownCountsOmittedFindings(t *testing.T) {
	s := section{head: "head\n", foot: "foot\n", one: "row", many: "rows"}
	for i := range 100 {
		s.rows = append(s.rows, fmt.Sprintf("row %02d\n", i))
	}
	for limit := range s.size() + 2 {
		got, missing := s.write(limit, "")
		if len(got) > limit {
			t.Fatalf("limit %d: %d bytes", limit, len(got))
		}
		left := 0
		if m := regexp.MustCompile(`(\d+) rows? left out`).FindStringSubmatch(got); m != nil {
			fmt.Sscan(m[1], &left)
		}
		if shown := strings.Count(got, "row ") - strings.Count(got, "row left"); shown+left+missing != 100 {
			t.Errorf("limit %d: %d shown, %d left out, %d missing", limit, shown, left, missing)
		}
	}
}

// A row contains all messages of one policy about one resource, and none of them is in another row.
func TestMarkdownRowTellsAllMessages(t *testing.T) {
	r := &report.Report{}
	for i := range 12 {
		r.Findings = append(r.Findings, report.Finding{Policy: "p", Rule: fmt.Sprintf("autogen-r%d", i), Message: "no",
			Resource: report.Resource{Kind: "Deployment", Name: "web"}, Result: report.Fail, Action: report.Enforce, New: true,
			Blocks: true, Expected: fmt.Sprintf("at most %dGi", i), Origin: &report.Origin{Path: "a.yaml", StartLine: i + 1}})
	}
	text := Markdown(r, MarkdownOptions{})
	for i := range 12 {
		for _, want := range []string{fmt.Sprintf("Expected: at most %dGi", i), fmt.Sprintf("`r%d`", i),
			fmt.Sprintf("`a.yaml:%d`", i+1)} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
	}
}

// Objects that policies look up are not listed as exceptions, though they wait for approval, too.
func TestLookedUpObjectsHaveTheirOwnHeading(t *testing.T) {
	exception := report.Exception{Name: "ops/e", Path: "e.yaml", Line: 1, State: report.Pending}
	object := report.Exception{Name: "ConfigMap ops/list", Path: "l.yaml", Line: 1, State: report.Pending, Object: true}
	for _, c := range []struct {
		list              []report.Exception
		markdown, text    bool // whether there is a heading of exceptions
		objectsInMarkdown bool
	}{
		{[]report.Exception{exception}, true, true, false},
		{[]report.Exception{object}, false, false, true},
		{[]report.Exception{object, exception}, true, true, true},
	} {
		r := &report.Report{Exceptions: c.list}
		var plain strings.Builder
		if err := checkText(&plain, r, Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		m := Markdown(r, MarkdownOptions{})
		for _, has := range []struct {
			text, heading string
			want          bool
		}{
			{m, "Exceptions of this change", c.markdown}, {m, view.ObjectsTitle, c.objectsInMarkdown},
			{plain.String(), "Exceptions that this change adds or edits", c.text},
			{plain.String(), view.ObjectsTitle, c.objectsInMarkdown},
		} {
			if strings.Contains(has.text, has.heading) != has.want {
				t.Errorf("%q: want %v in\n%s", has.heading, has.want, has.text)
			}
		}
	}
}
