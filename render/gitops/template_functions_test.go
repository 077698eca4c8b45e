package gitops

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/gosimple/slug"
)

func templateValues() map[string]any {
	return map[string]any{
		"name": "Feature/My_Branch.1", "n": 3.0, "on": true, "none": nil, "list": []any{"b", "a", "b", "c"},
		"path":   map[string]any{"path": "apps/web", "segments": []any{"apps", "web"}},
		"labels": map[string]any{"x": "1", "y": map[string]any{"z": "deep"}},
	}
}

// TestTemplatesAsArgoCD compares with text/template and sprig, which Argo CD uses.
func TestTemplatesAsArgoCD(t *testing.T) {
	functions := sprig.GenericFuncMap()
	for _, text := range []string{
		`{{ snakecase .name }}{{ camelcase "my-app" }}{{ kebabcase "MyApp" }}{{ swapcase .name }}{{ initials "a b" }}`,
		`{{ abbrev 5 "hello world" }}{{ abbrevboth 5 10 "1234 5678 9123" }}{{ wrap 3 "aa bb" }}{{ wrapWith 2 "-" "abcd" }}`,
		`{{ untilStep 0 10 3 }}{{ seq 5 }}{{ seq 2 -3 }}{{ seq 0 2 9 }}{{ seq 100000 100003 }}{{ until 3 }}`,
		`{{ until -3 }}{{ untilStep 5 0 -2 }}{{ untilStep 0 5 0 }}`,
		`{{ chunk 2 .list }}{{ slice .list 1 2 }}{{ pluck "x" .labels }}{{ rest .list }}{{ initial .list }}{{ reverse .list }}`,
		`{{ uniq .list }}{{ without .list "b" }}{{ has "a" .list }}{{ compact (list "" 1 nil) }}{{ prepend .list 1 }}`,
		`{{ .none }}{{ .gone }}{{ .labels.gone }}{{ .labels }}{{ .list }}{{ .n }}{{ .on }}{{ $x := .name }}{{ $x }}`,
		`{{ printf "%v %s %q %5.2f" .none .name .list .n }}{{ print .none .n }}{{ println 1 }}{{ html "<" }}{{ js "'" }}`,
		`{{ sha512sum "x" }}{{ adler32sum "x" }}{{ b32enc "x" }}{{ b32dec "PA======" }}{{ urlquery "a b" }}`,
		`{{ merge (dict "x" "2") .labels }}{{ mergeOverwrite (dict "x" "2") .labels }}{{ .labels }}`,
		`{{ $d := dict "a" (dict) }}{{ $_ := set $d.a "b" 1 }}{{ $d }}{{ deepCopy $d | deepEqual $d }}`,
		`{{ $a := dict }}{{ $b := dict "a" $a }}{{ $_ := set $a "x" 1 }}{{ $b }}{{ dig "a" "x" 0 $b }}`,
		`{{ add 1 2 }}{{ sub 3 1 }}{{ mul 2 3 }}{{ div 7 2 }}{{ addf 0.1 0.2 }}{{ mulf 2 1.5 }}{{ round 1.256 2 }}{{ maxf ` +
			`1 2.5 }}`,
		`{{ regexFindAll "[a-z]" .name 2 }}{{ regexSplit "/" .name -1 }}{{ regexReplaceAll "a(.)" "ab ac" "${1}x" }}`,
		`{{ mustRegexReplaceAllLiteral "a" "aba" "$1" }}{{ mustRegexMatch "a" "b" }}{{ regexQuoteMeta "a.b" }}`,
		`{{ (urlParse "https://u@h:1/p?q#f").host }}{{ urlJoin (dict "scheme" "https" "host" "h" "path" "/p") }}`,
		`{{ (semver "1.2.3-a").Prerelease }}{{ semverCompare "^1.2" "1.3.0" }}{{ toDecimal 777 }}{{ atoi "08" }}{{ int .n }}`,
		`{{ fromJson "{\"a\": [1]}" }}{{ toRawJson .labels }}{{ toPrettyJson .list }}{{ typeOf .n }}{{ kindIs "map" .labels }}`,
		`{{ ternary 1 2 .on }}{{ coalesce nil "" 3 }}{{ all 1 0 }}{{ any 1 0 }}{{ default 1 0 }}{{ empty .list }}`,
		`{{ trunc 99 .name }}{{ substr 2 4 .name }}{{ nospace "a b" }}{{ cat "a" nil 1 }}{{ join 1 2 }}`,
		`{{ splitn "/" 2 .name }}{{ (split "/" .name)._0 }}{{ splitList "" "ab" }}{{ plural "a" "b" 2 }}{{ title "a b" }}`,
		`{{ indent 2 "a\nb" }}{{ nindent 1 "x" }}{{ repeat 3 "ab" }}{{ replace "a" "b" "aa" }}{{ duration "95" }}{{ osBase ` +
			`"/a/b" }}`,
		`{{ until .n }}`, `{{ repeat "3" "a" }}`, `{{ slice .list 7 9 }}`, `{{ dig "a" 1 }}`, `{{ first 1 }}`,
		`{{ fail "no" }}`,
		`{{ div 1 0 }}`, `{{ repeat -1 "a" }}`, `{{ regexMatch "[" "x" }}`, `{{ required "x" 1 }}`, `{{ mod 5 0 }}`,
		`{{ call .name }}`,
	} {
		want := "!"
		var b strings.Builder
		if parsed, err := template.New("").Funcs(functions).Parse(text); err == nil &&
			parsed.Execute(&b, templateValues()) == nil {
			want = b.String()
		}
		got, _, err := newTemplates(true, nil, Limits{}.withDefaults()).text(text, set{values: templateValues()})
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%s: %q (%v), Argo CD has %q", text, got, err, want)
		}
	}
}

func TestEveryFunctionOfSprigIsAllowedOrRefused(t *testing.T) {
	functions := templateFunctions()
	for name := range sprig.GenericFuncMap() {
		_, calls := functions[name]
		no := refusal(name) != "" || slices.Contains([]string{"env", "expandenv", "getHostByName"}, name)
		if calls == no {
			t.Errorf("%s is both called and refused, or neither", name)
		}
	}
	for name := range strings.FieldsSeq(refusedFunctions[changing] + " " + refusedFunctions[costly]) {
		text := "{{ if false }}{{ " + name + " }}{{ end }}"
		_, _, err := newTemplates(true, nil, Limits{}.withDefaults()).text(text, set{})
		if limit := (*unknowable)(nil); !errors.As(err, &limit) || !strings.Contains(err.Error(),
			"not known before the merge") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"env", "expandenv", "getHostByName", "tpl", "include", "lintelStep", "lintelSize"} {
		if err := checkFunction(name); err == nil {
			t.Errorf("%s may be called", name)
		}
	}
}

func TestFunctionsOfArgoCD(t *testing.T) {
	for text, want := range map[string]string{
		`{{ range $i, $x := uniq (until 1500) }}{{ if eq $i 1499 }}n{{ $x }}{{ end }}{{ end }}`: "n1499",
		`{{ slugify 23 .name }}`: "feature-my-branch-1", `{{ normalize .name }}`: "feature-my-branch.1",
		`{{ keys .path .labels }}{{ values .labels | len }}`: "[path segments x y]2",
		`{{ keys (dict "b" 1 "c" 2) (dict "a" 1) }}`:         "[b c a]",
		`{{ (index (fromYamlArray "[a, b: 1]") 1).b }}`:      "1", `{{ toYaml (dict "a" 1) }}`: "a: 1",
		`{{ (fromYaml "a: [1]") }}`: "map[a:[1]]", `{{ fromYaml "[a]" }}`: "!", `{{ fromYaml "a: [" }}`: "!",
		`{{ slugify true "x" }}`: "!",
	} {
		got, _, err := newTemplates(true, nil, Limits{}.withDefaults()).text(text, set{values: templateValues()})
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%s: %q (%v), want %q", text, got, err, want)
		}
	}
}

// TestSlugify compares with the library that Argo CD calls.
func TestSlugify(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]rune, random.IntN(70))
		for i := range text {
			text[i] = []rune("aZ09-.._/ ü&--")[random.IntN(14)]
		}
		slug.MaxLength, slug.EnableSmartTruncate = random.IntN(60), random.IntN(2) == 0
		want := "!"
		func() {
			defer func() { _ = recover() }()
			want = slug.Make(normalize(string(text)))
		}()
		got, err := slugify(slug.MaxLength, slug.EnableSmartTruncate, string(text))
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Fatalf("%q in %d, %v: %q, want %q", string(text), slug.MaxLength, slug.EnableSmartTruncate, got, want)
		}
	}
}

// TestHostileFunctions calls functions with arguments that would exhaust memory or end the process without limits.
func TestHostileFunctions(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	harmless := []string{`{{ regexMatch "((((a{1000}){1000}){1000}){1000})" "x" }}`,
		`{{ regexMatch "(x{1,1000}){9}y" .long }}`}
	for _, text := range []string{
		`{{ $d := dict }}{{ $_ := set $d "x" $d }}{{ toJson $d }}`, `{{ $d := dict }}{{ $_ := set $d "x" $d }}`,
		`{{ $d := dict }}{{ $_ := set $d "x" (list $d) }}{{ toYaml $d }}`,
		`{{ $d := dict }}{{ $_ := set $d "x" (chunk 1 (list $d)) }}{{ deepCopy $d }}`,
		`{{ $a := dict }}{{ $b := dict "a" $a }}{{ $_ := set $a "b" $b }}{{ printf "%v" $a }}`,
		`{{ $y := dict "x" (dict) }}{{ $d := dict "x" $y "z" $y }}{{ $_ := mergeOverwrite $d (dict "x" $d "z" $d) }}{{ $_ ` +
			`= mergeOverwrite $d $d }}` +
			`{{ range until 100 }}{{ $_ := mergeOverwrite $d (dict "x" $d "z" $d) }}{{ end }}{{ $d }}`,
		`{{ range until 200 }}{{ $_ := merge $.m (dict "m" $.m "n" $.m) }}{{ end }}`,
		// The lists are small when they are made, and large once the maps in them have grown.
		`{{ $a := dict }}{{ $b := dict }}{{ $la := list }}{{ $lb := list }}{{ range until 3000 }}{{ $la = append $la $a ` +
			`}}{{ end }}{{ $la }}`,
		`{{ $a := dict }}{{ $l := list $a $a $a $a $a $a $a $a }}{{ $m := list $l $l $l $l $l $l $l $l }}` +
			`{{ range $i := until 2000 }}{{ $_ := set $a (print $i) $i }}{{ end }}{{ $m }}`,
		`{{ untilStep 0 9223372036854775807 4611686018427387904 }}`, `{{ untilStep 0 2000000000 1 }}`,
		`{{ seq 1 2000000000 }}`,
		`{{ seq 1 1 2000000000 }}`, `{{ seq -2000000000 }}`, `{{ until -2000000000 }}`,
		`{{ untilStep 0 -9223372036854775808 -4611686018427387905 }}`,
		`{{ wrapWith 1 .long .long }}`, `{{ wrap 1 .long | wrap 1 | wrap 1 }}`, `{{ join .long (until 10000) }}`,
		`{{ nindent 60000 "\n\n\n" }}`,
		`{{ replace "" .long .long }}`, `{{ replace "x" .long .long }}`, `{{ repeat 9223372036854775807 "xx" }}`,
		`{{ printf "%1000000d" 1 }}`, `{{ printf "%[1]*d" 100000000 1 }}`, `{{ printf "%.99999999f" 1.0 }}`,
		`{{ printf (repeat 99 "%[1]s") .long }}`,
		`{{ printf (repeat 1000 "%v") 1 }}`, `{{ cat .long .long }}`, `{{ print .long .long }}`,
		`{{ html (repeat 60000 "<") }}`, `{{ js (repeat 60000 "<") }}`,
		`{{ quote .long .long }}`, `{{ regexReplaceAll "x" .long .long }}`,
		`{{ regexReplaceAll "(x+)" .long (repeat 1000 "$1") }}`,
		`{{ regexMatch "((((a{1000}){1000}){1000}){1000})" "x" }}`, `{{ regexMatch "(x{1,1000}){9}y" .long }}`,
		`{{ regexFindAll "x*y|x" .long -1 | len }}`,
		`{{ regexSplit "" .long -1 }}`, `{{ mustRegexFindAll "" .long -1 }}`, `{{ splitList "" .long }}`,
		`{{ split "" .long }}`,
		`{{ mulf ` + strings.Repeat("1e308 ", 9000) + `}}`,
		`{{ $x := 1e308 }}{{ range until 100000 }}{{ $x = mulf $x $x }}{{ end }}`,
		`{{ uniq (until 20000) }}`, `{{ $l := until 9000 }}{{ range until 1000 }}{{ $_ := uniq $l }}{{ end }}`,
		`{{ chunk 0 (until 100) }}`, `{{ chunk -1 (until 100) }}`,
		`{{ mustFromJson (repeat 30000 "[") }}`, `{{ mustFromJson (print (repeat 30000 "[") (repeat 30000 "]")) }}`,
		`{{ fromYaml (print "a: " (repeat 20000 "[")) }}`,
		`{{ fromYaml "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d ` +
			`[*c,*c,*c,*c,*c,*c,*c,*c]\n` +
			`e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]" }}`,
		`{{ toDate .long .long }}`, `{{ derivePassword 1 "long" "x" "y" "z" }}`, `{{ dig "a" "b" "c" .long 1 }}`,
		`{{ dict "a" 1 | dig "a" "b" "c" "d" }}`,
		`{{ $x := list }}{{ range until 200 }}{{ $x = list $x }}{{ end }}{{ $x }}`,
		`{{ range until 5000 }}{{ range until 5000 }}{{ end }}{{ end }}`,
		`{{ slice (list 1) 0 99999999999 }}`, `{{ substr 5 2 "abc" }}`, `{{ decryptAES "x" "eA==" }}`,
		`{{ template "template" }}`,
	} {
		start := time.Now()
		values := map[string]any{"long": long, "m": map[string]any{}}
		got, _, err := newTemplates(true, nil, Limits{Steps: 500_000}.withDefaults()).text(text, set{values: values})
		if took := time.Since(start); err == nil && len(got) > maxValueBytes || took > 30*time.Second {
			t.Errorf("%.90s gives %d bytes in %s: %v", text, len(got), took, err)
		}
		if err == nil && !slices.Contains(harmless, text) {
			t.Errorf("%.90s gives %.90q, want an error", text, got)
		}
	}
}
