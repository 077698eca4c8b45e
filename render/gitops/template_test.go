package gitops

import (
	"strings"
	"testing"
)

func TestTemplates(t *testing.T) {
	values := func() set {
		return set{values: map[string]any{
			"name": "Web", "n": float64(8080), "on": true, "list": []any{"b", "a", "b"},
			"path":   map[string]any{"path": "apps/web", "segments": []any{"apps", "web"}},
			"labels": map[string]any{"x": "1"}, "a.b": "flat",
		}}
	}
	tests := []struct {
		goTemplate bool
		in, want   string // "!": an error
	}{
		{false, "x-{{ name }}-{{a.b}}-{{gone}}", "x-Web-flat-{{gone}}"}, {false, "{{n}} {{}}", "{{n}} {{}}"},
		{false, "{{name", "{{name"}, {false, "{{name}} {{", "!"},
		{true, "{{.name | lower}}-{{.n}}", "web-8080"}, {true, "{{ if .on }}yes{{ else }}no{{ end }}", "yes"},
		{true, "{{.gone}}", "<no value>"},
		{true, "{{ index .path.segments 0 }}/{{ last .path.segments }}", "apps/web"},
		{true, "{{ range $i, $x := .list }}{{ if $i }},{{ end }}{{ $x }}{{ end }}", "b,a,b"},
		{true, "{{ join \"+\" (uniq .list | sortAlpha) }}", "a+b"}, {true, "{{ toJson .labels }}", `{"x":"1"}`},
		{true, "{{ .labels | toYaml | nindent 2 }}", "\n  x: \"1\""},
		{true, "{{ $d := dict \"k\" 1 }}{{ $_ := set $d \"j\" 2 }}{{ $d.j }}{{ hasKey $d \"k\" }}", "2true"},
		{true, "{{ normalize \"A_b.\" }}", "a-b"},
		{true, "{{ add 1 2 (int \"3\") }}{{ div 7 2 }}", "63"}, {true, "{{ div 1 0 }}", "!"},
		{true, "{{ regexReplaceAll \"[aeiou]\" .name \"_\" }}", "W_b"},
		{true, "{{ (fromYaml \"a: {b: 3}\").a.b }}", "3"},
		{true, "{{ default \"d\" .gone }}{{ ternary 1 2 .on }}{{ coalesce \"\" .name }}", "d1Web"},
		{true, "{{ trunc 2 .name }}{{ trunc -1 .name }}{{ replace \"e\" \"3\" .name }}{{ printf \"%s-%03d\" .name 7 }}",
			"WebW3bWeb-007"},
		{true, "{{ semverCompare \">=1.2\" \"1.3.0\" }}", "true"}, {true,
			"{{ dig \"x\" \"none\" .labels }}{{ dig \"y\" \"none\" .labels }}", "1none"},
		{true, "{{ now }}", "!"}, {true, "{{ env \"HOME\" }}", "!"}, {true, "{{ getHostByName \"x\" }}", "!"},
		{true, "{{ randAlpha 3 }}", "!"}, {true, "{{ call .name }}", "!"},
		{true, "{{ define \"x\" }}{{ end }}", "!"}, {true, "{{ template \"x\" }}", "!"}, {true, "{{ .name.x.y }}", "!"},
		{true, "{{", "!"}, {true, "{{ fail \"no\" }}", "!"}, {true, "{{ lintelStep }}", "!"},
	}
	for _, test := range tests {
		tm := newTemplates(test.goTemplate, nil, Limits{}.withDefaults())
		got, _, err := tm.text(test.in, values())
		if err != nil {
			got = "!"
		}
		if got != test.want {
			t.Errorf("%s: %q (%v), want %q", test.in, got, err, test.want)
		}
	}
}

func TestTemplatesDoNotShareValues(t *testing.T) {
	tm := newTemplates(true, nil, Limits{}.withDefaults())
	s := set{values: map[string]any{"m": map[string]any{"k": "v"}}}
	for range 2 {
		if got, _, err := tm.text(`{{ .m.k }}{{ $_ := set .m "k" "changed" }}{{ .m.k }}`, s); err != nil ||
			got != "vchanged" {
			t.Fatal(got, err)
		}
	}
}

// hostileTemplates exhaust time or memory without limits.
var hostileTemplates = []string{
	`{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`,
	`{{ range 2000000000 }}{{ end }}`,
	`{{ repeat 2000000000 "x" }}`,
	`{{ $x := "xxxxxxxxxxxxxxxx" }}{{ range until 1000 }}{{ $x = printf "%s%s" $x $x }}{{ end }}`,
	`{{ $x := "xxxxxxxxxxxxxxxx" }}{{ range until 1000 }}{{ $x = cat $x $x }}{{ end }}`,
	`{{ $x := "aaaaaaaaaaaaaaaa" }}{{ range until 1000 }}{{ $x = replace "a" $x $x }}{{ end }}`,
	`{{ $d := dict "a" 1 }}{{ range until 1000 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ printf "%v" $d }}`,
	`{{ $l := list 1 }}{{ range until 1000 }}{{ $l = concat $l $l }}{{ end }}{{ $l }}`,
	`{{ $d := dict }}{{ range until 1000 }}{{ $_ := set $d "d" $d }}{{ end }}{{ toJson $d }}`,
	`{{ $x := "x" }}{{ range until 1000 }}{{ $x = $x | quote }}{{ end }}`,
	`{{ $x := "x" }}{{ range until 1000 }}{{ $x = toJson $x }}{{ end }}`,
	`{{ printf "%999999999d" 1 }}`, `{{ printf "%*d" 100000000 1 }}`, `{{ indent 2000000000 "x" }}`,
	`{{ until 2000000000 }}`,
	`{{ range until 10000 }}` + strings.Repeat("xxxxxxxxxx", 100) + `{{ end }}`,
	strings.Repeat("{{ if true }}", 3000) + strings.Repeat("{{ end }}", 3000),
	`{{ ` + strings.Repeat("(", 30000) + `1` + strings.Repeat(")", 30000) + ` }}`,
}

func TestHostileTemplates(t *testing.T) {
	for _, text := range hostileTemplates {
		tm := newTemplates(true, nil, Limits{Steps: 100_000}.withDefaults())
		if got, _, err := tm.text(text, set{values: map[string]any{}}); err == nil {
			t.Errorf("%.80s gives %d bytes, want an error", text, len(got))
		}
	}
}

func TestGlobsOfEachDialect(t *testing.T) {
	tests := []struct {
		d             dialect
		pattern, path string
		want          bool
	}{
		{directoryGlob, "*.yaml", "a/b.yaml", true}, {directoryGlob, "{a,b/*}.y?ml", "b/c.yaml", true},
		{directoryGlob, "{a,b}.yaml", "c.yaml", false},
		{directoryGlob, "[!a].yaml", "b.yaml", true}, {directoryGlob, "[!a].yaml", "a.yaml", false},
		{directoryGlob, `\*.yaml`, "*.yaml", true}, {directoryGlob, `\*.yaml`, "a.yaml", false},
		{pathspecGlob, "a/*/c.json", "a/x/y/c.json", true}, {pathspecGlob, "a/**/c.json", "a/x/c.json", true},
		{pathspecGlob, "a/**/c.json", "a/c.json", false}, {pathspecGlob, "{a}", "{a}", true},
		{globPattern, "a/*", "a/b", true}, {globPattern, "a/*", "a/b/c", false}, {globPattern, "a/**", "a/b/c", true},
		{globPattern, "**/c", "a/b/c", true}, {globPattern, "a/**/c", "a/c", true}, {globPattern, "ü?", "üä", true},
	}
	for _, test := range tests {
		re, err := test.d.compile(test.pattern)
		if err != nil {
			t.Fatal(test.pattern, err)
		}
		if got := re.MatchString(test.path); got != test.want {
			t.Errorf("%s on %s: %v (%s)", test.pattern, test.path, got, re)
		}
	}
	for _, malformed := range []string{"[a", "{a", `a\`, "[b-a]"} {
		if _, err := directoryGlob.compile(malformed); err == nil {
			t.Errorf("%s compiles", malformed)
		}
	}
}
