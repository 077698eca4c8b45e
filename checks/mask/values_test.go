package mask_test

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
)

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// secretOf is a Secret with values.
func secretOf(name string, values map[string]any) map[string]any {
	return map[string]any{"kind": "Secret", "metadata": map[string]any{"name": name, "namespace": "shop"}, "stringData": values}
}

// Values that are unlikely in other texts are masked everywhere. Other values are masked only in texts about their
// Secret.
func TestHide(t *testing.T) {
	var v mask.Values
	v.Object(map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "db", "namespace": "shop"},
		"data": map[string]any{"password": encode("hunter2hunter2\n"), "port": encode("5432"), "quoted": encode(`a"b'c\d=e`),
			"seven": encode("winter7")},
		"stringData": map[string]any{"url": "postgres://app:corr-horse@db.shop:5432/x", "user": "admin", "pin": 123,
			"on": "true", "word": "kingFisher", "short": "ab", "mark": "hidden", "other": "(changed", "number": "1", "image": "nginx", "env": "default", "empty": "",
			"usual": "production", "host": "web", "name": "web-app", "size": "512Mi", "long": 4711_0815, "phrase": "correct  horse\r\nbattery staple",
			"sops": "ENC[AES256_GCM,data:aaaa,iv:bbbb,tag:cccc,type:str]"}})
	v.Object(map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "visible-as-it-is"}})
	resource := report.Resource{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "db"}
	for _, c := range []struct{ text, want, own string }{
		{text: "it is hunter2hunter2", want: "it is (hidden)"},
		{text: "it is hunter2hunter2s", want: "it is (hidden)s"},
		{text: "it is HUNTER2hunter2", want: "it is HUNTER2hunter2"},
		{text: "it is " + encode("hunter2hunter2") + " or " + encode("hunter2hunter2\n"), want: "it is (hidden) or (hidden)"},
		{text: "it is winter7 or winter7s", want: "it is winter7 or winter7s", own: "it is (hidden) or (hidden)s"},
		{text: "it is " + encode("winter7"), want: "it is " + encode("winter7"), own: "it is (hidden)"},
		{text: `it is a\"b'c\\d=e`, want: "it is (hidden)"},
		{text: `it is 'a"b''c\d=e'`, want: "it is '(hidden)'"},
		{text: "corr-horse", want: "(hidden)"},
		{text: "kingfishers and kingfisher and KINGFISHER", want: "kingfishers and (hidden) and (hidden)"},
		{text: "it is correct horse battery staple.", want: "it is (hidden)."},
		{text: `it is correct  horse\r\nbattery staple.`, want: "it is (hidden)."},
		{text: "it is correct horse\n    battery\n    staple.", want: "it is (hidden)."},
		{text: "?p=correct+horse+battery+staple", want: "?p=(hidden)"},
		{text: "?p=correct%20horse%20battery%20staple", want: "?p=(hidden)"},
		{text: "postgres://app:corr%2Dhorse@db", want: "postgres://app:(hidden)@db"},
		{text: "postgres://app:corr%252Dhorse@db", want: "postgres://app:(hidden)@db"},
		{text: "corr&#45;horse, corr&#x2d;horse", want: "(hidden), (hidden)"},
		{text: "invalid value `correc...`, `hunte…`", want: "invalid value `(hidden)...`, `(hidden)…`"},
		{text: "the rest… hunt for it", want: "the rest… hunt for it"},
		{text: "port 47110815", want: "port (hidden)"},
		{text: "replicas: 1, ab, nginx, default, true, production, name: web, app: web-app, memory: 512Mi, ()",
			want: "replicas: 1, ab, nginx, default, true, production, name: web, app: web-app, memory: 512Mi, ()",
			own:  "replicas: 1, ab, (hidden), (hidden), true, (hidden), name: (hidden), app: (hidden), memory: (hidden), ()"},
		{text: "port 5432, admin, pin 123, visible-as-it-is", want: "port 5432, admin, pin 123, visible-as-it-is",
			own: "port (hidden), (hidden), pin (hidden), visible-as-it-is"},
		{text: "port NTQzMg==, pin MTIz", want: "port NTQzMg==, pin MTIz", own: "port (hidden), pin (hidden)"},
		{text: "port xNTQzMg, pin xMTIz", want: "port xNTQzMg, pin xMTIz"},
		{text: "it is (hidden) and (changed)", want: "it is (hidden) and (changed)"},
		{text: "Secret shop/db: true, password", want: "Secret shop/db: true, password"},
		{text: "ENC[AES256_GCM,data:aaaa,iv:bbbb,tag:cccc,type:str]", want: "ENC[AES256_GCM,data:aaaa,iv:bbbb,tag:cccc,type:str]"},
	} {
		if c.own == "" {
			c.own = c.want
		}
		if got := v.Hide(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
		if got := v.Hide(c.text, resource); got != c.own {
			t.Errorf("of the Secret, %q: %q, want %q", c.text, got, c.own)
		}
	}
}

// Names are not masked, also as parts of other text. Words in descriptions of policies are not masked either, unless
// the text is about a Secret with that value.
func TestHideNames(t *testing.T) {
	var v mask.Values
	v.Object(secretOf("s", map[string]any{"a": "kingFisher", "b": "nightinGale", "c": "production-7", "d": "apps",
		"e": "kubearchive-1", "f": "db.eagle", "g": "eagle"}))
	v.Object(map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": "product-kubearchive-1"}})
	v.Name("apps/db.eagle/a.yaml")
	const message = "no kingfisher, nightingale or production-7 in apps of product-kubearchive-1, apps/db.eagle/a.yaml:1"
	rep := &report.Report{
		Findings: []report.Finding{{Message: message, Policy: "production-7", Roots: []string{"apps"}},
			{Message: message, Resource: report.Resource{Kind: "Secret", Namespace: "shop", Name: "s"}}},
		About: map[string]report.About{"production-7": {Description: "It is about a nightingale."}},
	}
	mask.Report(rep, &v)
	if got, want := rep.Findings[0].Message, strings.Replace(message, "kingfisher", "(hidden)", 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := rep.Findings[1].Message, strings.NewReplacer("kingfisher", "(hidden)", "nightingale", "(hidden)").Replace(message); got != want {
		t.Errorf("of the Secret, %q, want %q", got, want)
	}
}

// The address of a source is not masked if a Secret has it as a value, but a possible password in an address is.
func TestHideAddresses(t *testing.T) {
	var v mask.Values
	v.Object(secretOf("s", map[string]any{"url": "registry-1.example.com/chartscatalogue", "name": "chartscatalogue",
		"token": "a1b2c3d4e5f6", "password": "t.example.com/charts", "more": "correcthorsebattery"}))
	for what, want := range map[string]string{
		"oci://registry-1.example.com/chartscatalogue/web at 1.2.3":         "",
		"chart web 1.2.3 of https://registry-1.example.com/chartscatalogue": "",
		"https://example.com/a1b2c3d4e5f6/web at 1":                         "https://example.com/(hidden)/web at 1",
		"https://example.com/web?token=correcthorsebattery at 1":            "https://example.com/web?token=(hidden) at 1",
		"https://git.example.com/charts-of-all at 1":                        "https://gi(hidden)-of-all at 1",
	} {
		rep := &report.Report{Causes: []report.Cause{{Kind: report.CauseSource, What: what}}}
		mask.Report(rep, &v)
		if got := rep.Causes[0].What; got != cmp.Or(want, what) {
			t.Errorf("%q becomes %q, want %q", what, got, cmp.Or(want, what))
		}
	}
	rep := &report.Report{Findings: []report.Finding{{Message: "no registry-1.example.com/chartscatalogue"}}}
	fresh := &mask.Values{}
	fresh.Object(secretOf("s", map[string]any{"url": "registry-1.example.com/chartscatalogue"}))
	if mask.Report(rep, fresh); rep.Findings[0].Message != "no (hidden)" {
		t.Errorf("of no source: %q", rep.Findings[0].Message)
	}
}

// Dictionary words and short values are not masked in texts that are not about a Secret.
func TestHideWords(t *testing.T) {
	for value, word := range map[string]bool{
		"production": true, "Production": true, "PRODUCTION": true, "kubearchive": true, "internationally": true, "straße": true,
		"hunter2": true, "aB3$xyz": true, "1234567": true, "--------": true,
		"hunter2hunter2": false, "productioN": false, "proDuction": false, "correcthorsebatterystaple": false,
		"abcdefghijklmnop": false, "xkqwzrtplm": false, "12345678": false,
		"corr-horse": false, "pass word": false, "пароль-пароль": false, "密码密码密码密码": false,
	} {
		var v mask.Values
		v.Object(secretOf("s", map[string]any{"a": value}))
		want := "it is (hidden)."
		if word {
			want = "it is " + value + "."
		}
		if got := v.Hide("it is " + value + "."); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The passwords and random words in a long value are masked separately; its ordinary lines and names are not.
func TestHideParts(t *testing.T) {
	var v mask.Values
	v.Object(secretOf("s", map[string]any{
		"config": "apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user: {token: T0ken-in-config, password: justLetters}\n" +
			"region: eu-west-1\nhost: db-eu-west-1.example.com\nnode: server01\nimage: registry.example.com/app:v1.25.3\narch: x86_64-linux\n",
		"key":  `{"private_key":"-----BEGIN PRIVATE KEY-----\nMIIEvgIBADANBgkqhkiG9w0\nBAQEFAASC8KgwggSkAgEAAo\n-----END PRIVATE KEY-----\n"}`,
		"pull": `{"auths": {"x.io": {"auth": "` + encode("bot:R3gistry-Pw") + `"}}}`,
		"url":  "postgres://app:plainLetters@db-0.db:5432/shop?sslmode=disable",
	}))
	for _, s := range []string{"apiVersion: v1", "kind: Config", "eu-west-1", "host: db-eu-west-1.example.com", "server01", "x86_64-linux",
		"image: registry.example.com/app:v1.25.3", "-----BEGIN PRIVATE KEY-----", "private_key", "db-0.db:5432", "sslmode=disable",
		"https://x.io", "postgres://", "- name: me"} {
		if got := v.Hide(s); got != s {
			t.Errorf("%q is shown as %q", s, got)
		}
	}
	for _, s := range []string{"T0ken-in-config", "justLetters", "MIIEvgIBADANBgkqhkiG9w0", "BAQEFAASC8KgwggSkAgEAAo", "R3gistry-Pw",
		encode("bot:R3gistry-Pw"), "plainLetters", encode("MIIEvgIBADANBgkqhkiG9w0")} {
		if got := v.Hide("it is " + s); got != "it is (hidden)" {
			t.Errorf("%q is shown as %q", s, got)
		}
	}
}

// spellings are the ways in which texts encode a value.
var spellings = map[string]func(string) string{
	"as it is":                    func(s string) string { return s },
	"Go":                          strconv.Quote,
	"ASCII":                       strconv.QuoteToASCII,
	"JSON":                        quoted,
	"JSON in JSON":                func(s string) string { return quoted(quoted(s)) },
	"JSON in JSON in Go":          func(s string) string { return strconv.Quote(quoted(quoted(s))) },
	"YAML":                        func(s string) string { return strings.ReplaceAll(s, "'", "''") },
	"query":                       url.QueryEscape,
	"path":                        url.PathEscape,
	"path twice":                  func(s string) string { return url.PathEscape(url.PathEscape(s)) },
	"HTML":                        html.EscapeString,
	"HTML in JSON":                func(s string) string { return quoted(html.EscapeString(s)) },
	"base64":                      encode,
	"base64 of a line":            func(s string) string { return encode(s + "\n") },
	"base64 behind 1":             func(s string) string { return encode("u:" + s) },
	"base64 behind 2":             func(s string) string { return encode(`{"password":"` + s + `"}`) },
	"base64 behind 3":             func(s string) string { return encode("user:" + s + ":more") },
	"raw base64":                  func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 of URLs":              func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("??" + s)) },
	"lower case":                  strings.ToLower,
	"upper case":                  strings.ToUpper,
	"escapes of 16 bits":          escaped,
	"base64 in lines":             func(s string) string { return wrapped(encode("{\n"+s+"\n}\n"), 40, "\n    ") },
	"base64 of kustomize in JSON": func(s string) string { return quoted(wrapped(encode(s), 70, "\n") + "\n") },
	"lines":                       func(s string) string { return strings.Join(strings.Fields(s), "\n      ") },
	"lines of Windows":            func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"trimmed":                     strings.TrimSpace,
	"cut":                         func(s string) string { return strings.TrimSpace(s)[:6] + "…" },
	"cut by a parser":             func(s string) string { return "`" + strings.TrimSpace(s)[:7] + "...`" },
}

// escaped writes all characters as JSON escapes.
func escaped(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, u)
	}
	return b.String()
}

func wrapped(s string, width int, with string) string {
	var b strings.Builder
	for ; len(s) > width; s = s[width:] {
		b.WriteString(s[:width] + with)
	}
	return b.String() + s
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// Values of any kind are masked in all spellings, and nothing around them is.
func FuzzSpellings(f *testing.F) {
	for _, s := range []string{"Tr0ub4dor&3", "correct horse battery staple", "pa/ss+wo=1rd??>>~~??>>~~", `q"u\o'te%1d<x>&letters`, "  \"blank\" one 1 ",
		"zeile ä ö ü 😀 12 zeichen", "abcdefg.hi1jk", "abcde.fgh1jk", strings.Repeat("0", 24) + "aa0000aaaaa00000000\n", "one\ntwo\nthree 3\n", "-----BEGIN KEY-----\nMIIabc123\n-----END KEY-----\n", "%41%42%43\\n\\x41letters",
		"eyJhbGciOiJIUzI1NiJ9.e30.abc", strings.Repeat("0123456789abcdef", 400), "tab\tand\r\nlines 7", strings.Repeat("0p", 100) + "A0a10a0a007a101a100a00000a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		trimmed := strings.TrimSpace(value)
		letters, digits := 0, 0
		for _, r := range trimmed {
			if r < ' ' && !strings.ContainsRune("\n\r\t", r) || r > '~' && r < 0xc0 || r == 0x2028 || r == 0x2029 || r == 0xfffd {
				return // not a text
			}
			if r >= 'a' && r <= 'z' {
				letters++
			}
			if r >= '0' && r <= '9' {
				digits++
			}
		}
		if letters < 7 || digits < 1 || strings.Contains(trimmed, "hidden") {
			return // not unlikely enough
		}
		var v mask.Values
		v.Object(secretOf("s", map[string]any{"a": value}))
		for name, spell := range spellings {
			text := spell(value)
			got := v.Hide("before " + text + " behind")
			rest, ok := strings.CutPrefix(got, "before ")
			rest, too := strings.CutSuffix(rest, " behind")
			// In some spellings, spaces remain around the value.
			rest = strings.Map(func(r rune) rune {
				if strings.ContainsRune("\"`\\ \n\t\r.…+", r) {
					return -1
				}
				return r
			}, strings.ReplaceAll(rest, report.Hidden, ""))
			if len(rest) > 6+8*(len(value)-len(trimmed)) || !ok || !too {
				t.Errorf("%s: %.200q is shown as %.200q", name, text, got)
			}
		}
	})
}

// Values are found in lines as in the whole text.
func TestHideInLines(t *testing.T) {
	var v mask.Values
	v.Object(secretOf("s", map[string]any{"a": "correct horse\nbattery staple\n", "n": "1"}))
	rep := &report.Report{
		Excerpts: map[string]map[int]string{"c.yaml": {1: "kind: ConfigMap", 3: "a: |", 4: "  correct horse", 5: "  battery staple", 6: "n: 1", 9: "b"}},
		Differences: []report.Difference{{Hunks: []report.DiffHunk{{Lines: []report.DiffLine{
			{Sign: " ", Text: "  a: |"}, {Sign: "+", Text: "    correct horse", Origin: &report.Origin{StartColumn: 3, EndColumn: 16}},
			{Sign: "-", Text: "    other horse"}, {Sign: " ", Text: "    battery staple"}, {Sign: "+", Text: "  n: 1"}}}}}},
	}
	mask.Report(rep, &v)
	if got, want := fmt.Sprint(rep.Excerpts["c.yaml"]), "map[1:kind: ConfigMap 3:a: | 4:  (hidden) 5:  (hidden) 6:n: 1 9:b]"; got != want {
		t.Errorf("excerpt %s, want %s", got, want)
	}
	var got []string
	for _, l := range rep.Differences[0].Hunks[0].Lines {
		got = append(got, l.Sign+l.Text)
	}
	if want := "   a: |\n+    (hidden)\n-    other horse\n     (hidden)\n+  n: 1"; strings.Join(got, "\n") != want {
		t.Errorf("difference\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if o := rep.Differences[0].Hunks[0].Lines[1].Origin; o.StartColumn != 3 || o.EndColumn != 0 {
		t.Errorf("%+v tells how long a value is", o)
	}
}

// large returns a report of maximum size, and the values of 200 Secrets.
func large() (*report.Report, *mask.Values) {
	v, rep := &mask.Values{}, &report.Report{Excerpts: map[string]map[int]string{}}
	for i := range 200 {
		values := map[string]any{}
		for k := range 5 {
			values[fmt.Sprint("key", k)] = encode(fmt.Sprintf("Tr0ub4dor-%d-%d", i, k))
		}
		v.Object(secretOf(fmt.Sprint("s", i), values))
	}
	for i := range 1000 {
		path := fmt.Sprintf("apps/a%d/deployment.yaml", i)
		rep.Excerpts[path] = map[int]string{}
		for n := range 5 {
			rep.Excerpts[path][n+10] = fmt.Sprintf("          image: registry.example.com/team/application-%d:v1.%d.0", i, n)
		}
		rep.Findings = append(rep.Findings, report.Finding{Message: "Running as root is not allowed. The field runAsNonRoot must be " +
			"set to true.", Origin: &report.Origin{Path: path, StartLine: 12}})
	}
	for i := range 2000 {
		d := report.Difference{Resource: report.Resource{Kind: "Deployment", Name: fmt.Sprint("d", i)}, Hunks: []report.DiffHunk{{}}}
		if i%10 == 0 {
			d.Resource = report.Resource{Kind: "Secret", Namespace: "shop", Name: fmt.Sprint("s", i/10)}
		}
		for k := range 10 {
			d.Hunks[0].Lines = append(d.Hunks[0].Lines, report.DiffLine{Sign: string(" +-"[k%3]), Text: "        image: registry.example.com/a",
				Field: "/spec/template/spec/containers/0/image"})
		}
		rep.Differences = append(rep.Differences, d)
	}
	return rep, v
}

func BenchmarkReport(b *testing.B) {
	rep, v := large()
	for b.Loop() {
		mask.Report(rep, v)
	}
}

func BenchmarkObject(b *testing.B) {
	for b.Loop() {
		large()
	}
}

// Values made to cost much time do not, and values made to mask everything do not either.
func TestHostileValuesAreBounded(t *testing.T) {
	const most = time.Minute // far less, also on a busy machine with the race detector; what grows with the square takes many
	many := func(n int, value func(i int) string) map[string]any {
		out := map[string]any{}
		for i := range n {
			out[fmt.Sprint(i)] = value(i)
		}
		return out
	}
	line := strings.Repeat("a", 1<<16)
	for name, values := range map[string]map[string]any{
		"one character": many(20_000, func(i int) string { return string(rune('!' + i%90)) }),
		"words":         many(20_000, func(i int) string { return strconv.FormatInt(int64(i), 26) }),
		"prefixes":      many(2_000, func(i int) string { return strings.Repeat("a", i) }),
		"alike":         many(20_000, func(i int) string { return fmt.Sprintf("aaaaaaaa%d", i) }),
		"long":          many(30, func(i int) string { return strings.Repeat("a", 60_000+i) }),
		"long, alike":   many(10_000, func(i int) string { return strings.Repeat("a", 150) + fmt.Sprint("b", i) }),
		"escapes":       many(10, func(i int) string { return strings.Repeat(`\`, 50_000+i) }),
		"spaces":        many(10, func(i int) string { return strings.Repeat(" x", 20_000+i) }),
		"lines":         many(10, func(i int) string { return strings.Repeat("a1b2c3d4e5f6\n", 20_000+i) }),
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "prefixes" || name == "lines" || name == "long") {
				t.Skip("long: make test-all")
			}
			began := time.Now()
			var v mask.Values
			v.Object(secretOf("s", values))
			const message = "validation error: containers must not run as root, rule require-run-as-nonroot failed at path /spec/containers/0/"
			rep := &report.Report{Excerpts: map[string]map[int]string{"a": {1: line, 2: "a " + line, 4: strings.Repeat(`\`, 1<<16),
				6: strings.Repeat("\n", 1<<16), 8: strings.Repeat("%5C%25'&amp;", 1<<13), 10: strings.Repeat("aaaaaaa=\n", 1<<13)}}}
			for range 1000 {
				rep.Findings = append(rep.Findings, report.Finding{Message: message})
			}
			mask.Report(rep, &v)
			if took := time.Since(began); took > most {
				t.Errorf("it took %s", took)
			} else {
				t.Log(took)
			}
			if got := rep.Findings[0].Message; got != message {
				t.Errorf("%q", got)
			}
		})
	}
}

// A list in place of the data of a Secret is refused by the API server. Its values are confidential all the same, as written and
// decoded.
func TestHideListInPlaceOfData(t *testing.T) {
	var v mask.Values
	v.Object(map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "db"},
		"data": []any{"correct horse battery 42", encode("corr-horse-battery")}})
	const text = "correct horse battery 42, corr-horse-battery"
	if got := v.Hide(text); got != "(hidden), (hidden)" {
		t.Error(got)
	}
}
