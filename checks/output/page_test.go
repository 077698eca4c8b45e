package output

import (
	"bytes"
	"strings"
	"testing"
)

func TestHref(t *testing.T) {
	for address, want := range map[string]string{
		"":                        "",
		"https://x.example/a?b#c": "https://x.example/a?b#c",
		"http://x.example":        "http://x.example",
		"javascript:alert(1)":     "",
		"data:text/html,x":        "",
		"//evil.example":          "",
		"/r/o/n":                  "/r/o/n",
		"/\\evil.example":         "/%5Cevil.example",
		"relative":                "",
		"#x":                      "",
		"https:opaque":            "",
		"https://%zz":             "",
	} {
		if got := (Link{Address: address}).Href(); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestPageOfAServer(t *testing.T) {
	var b bytes.Buffer
	p := &Page{Frame: Frame{Static: "/static/", Reader: "alice", SignOut: "/auth/sign-out"}, Verdict: "Good"}
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, a := range Assets() {
		if !strings.Contains(text, `"/static/`+a.Name+`"`) || len(a.Data) == 0 {
			t.Errorf("no %s in\n%s", a.Name, text)
		}
	}
	if strings.Contains(text, "<style>") || strings.Contains(text, "<script>") || strings.Contains(text, "http-equiv") ||
		!strings.Contains(text, "Sign out") {
		t.Error(text)
	}
}

func TestOverview(t *testing.T) {
	var b bytes.Buffer
	o := &Overview{Frame: Frame{Name: Link{Text: "o/r"}}, Heading: "o/r",
		Chart:    &Chart{Title: "Violations", Words: "3 and then 6", Legend: []string{"a", "<b>"}, Bars: []Bar{{When: "1 May", Parts: []int{1, 2}}, {When: "2 May", Parts: []int{6, 0}}}},
		Policies: []PolicyRow{{Policy: "a", Violations: 6, Change: "+5"}}, Since: "1 May",
		Results: []ResultRow{{Name: Link{Text: "#1"}, State: "failure", Page: Link{Text: "2 new violations", Address: "/r/1"}, When: "1 May"}}}
	if err := o.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{`<rect class="s0" x="0.0" y="100.7" width="30.6" height="19.3"><title>1 May: a 1</title>`,
		`<title>Violations</title><desc>3 and then 6</desc>`, `<th scope="col" class="n">Since 1 May</th>`,
		`<tr><th scope="row" class="when">2 May</th><td class="n">6</td><td class="n">0</td><td class="n">6</td></tr>`, `&lt;b&gt;`, `<a href="/r/1">2 new violations</a>`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Count(text, "<rect") != 3 {
		t.Errorf("parts of nothing are drawn:\n%s", text)
	}
	b.Reset()
	o = &Overview{Heading: "o", Chart: &Chart{Title: "Violations", Words: "none in 1 report", Bars: []Bar{{When: "1 May"}}}}
	if err := o.Write(&b); err != nil || !strings.Contains(b.String(), "none in 1 report") ||
		strings.Contains(b.String(), "<svg") || strings.Contains(b.String(), "<details") {
		t.Errorf("a chart of nothing: %v\n%s", err, b.String())
	}
	b.Reset()
	if err := (&Overview{Heading: "o"}).Write(&b); err != nil || !strings.Contains(b.String(), "Nothing was checked") {
		t.Error(err, b.String())
	}
}
