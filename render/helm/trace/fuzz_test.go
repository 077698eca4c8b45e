package trace

import (
	"math/rand"
	"strings"
	"testing"
)

// sentence makes small random templates from a seed.
type sentence struct {
	rng  *rand.Rand
	left int
}

func (s *sentence) of(list ...string) string { return list[s.rng.Intn(len(list))] }

func (s *sentence) expr() string {
	if s.left--; s.left < 0 {
		return s.of(".Values.name", `"x"`, "3")
	}
	e := s.expr
	switch s.rng.Intn(30) {
	case 0:
		return s.of("nil", "true", "1.5", "-7", "'a'", "0x1f", ".", "$", "$v", "`raw`", "1e3")
	case 1:
		return ".Values." + s.of("name", "count", "list", "map", "missing", "none", "empty", "missing.more", "map.sub.z")
	case 2:
		return "(" + s.of("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "printf", "print", "index",
			"hasKey") + " " + e() + " " + e() + ")"
	case 3:
		return "(" + e() + " | " + s.of("quote", "upper", "toYaml", "toJson", "len", "not", "trim", "b64enc", "toString",
			"nindent 2", "indent 3", "trunc 2", "default 5", "list", "first", "int", "keys", "deepCopy", "empty", "html",
			"sha256sum", "fromYaml", "squote", "kindOf", "until", "join \",\"", "replace \"e\" \"E\"", "toPrettyJson") + ")"
	case 4:
		return "(dict " + s.of(`"a"`, `"b"`) + " " + e() + " \"c\" " + e() + ")"
	case 5:
		return "(list " + e() + " " + e() + ")"
	case 6:
		return "(printf " + s.of(`"%s"`, `"%v-%q"`, `"%d%%"`, `"%5s|"`, `"%T"`) + " " + e() + " " + e() + ")"
	case 7:
		return "(include " + s.of(`"name"`, `"labels"`, `"nobody"`) + " " + s.of(".", "$") + ")"
	case 8:
		return "(tpl " + s.of(".Values.text", `"{{ .Values.name }}<no value>"`, `"{{ .a }}"`) + " " + s.of(".", "$") + ")"
	case 9:
		return "(merge " + e() + " " + e() + ")"
	case 10:
		return "(ternary " + e() + " " + e() + " " + e() + ")"
	case 11:
		return "(get " + e() + " " + e() + ")"
	case 12:
		return "(set " + e() + " \"q\" " + e() + ")"
	case 13:
		return "(slice " + e() + " 0 1)"
	case 14:
		return "(concat " + e() + " " + e() + ")"
	case 15:
		return "(dict \"k\" " + e() + ").k"
	default:
		return s.of(".Values.name", ".Values.list", ".Values.map", ".Release.Name", ".Chart.Name",
			"(.Files.Get \"conf/a.txt\")",
			".Values.count", "$v", "$", ".Values.block", ".Capabilities.KubeVersion.Version",
			"(.Capabilities.APIVersions.Has \"v1\")")
	}
}

func (s *sentence) body() string {
	var b strings.Builder
	for range 1 + s.rng.Intn(4) {
		if s.left--; s.left < 0 {
			break
		}
		switch s.rng.Intn(9) {
		case 0:
			b.WriteString("text <no value>\n  ")
		case 1, 2, 3:
			b.WriteString(s.of("{{ ", "{{- ") + s.expr() + s.of(" }}", " -}}"))
		case 4:
			b.WriteString("{{ if " + s.expr() + " }}" + s.body() +
				s.of("", "{{ else }}"+s.body(), "{{ else if .Values.flag }}"+s.body()) + "{{ end }}")
		case 5:
			b.WriteString("{{ with " + s.expr() + " }}" + s.body() + s.of("", "{{ else }}"+s.body()) + "{{ end }}")
		case 6:
			b.WriteString("{{ range " + s.of("", "$i, $v := ", "$v := ", "$v = ") + s.expr() + " }}" + s.body() +
				s.of("", "{{ break }}", "{{ if .Values }}{{ continue }}{{ end }}") + "{{ end }}")
		case 7:
			b.WriteString("{{ $v " + s.of("=", ":=") + " " + s.expr() + " }}")
		case 8:
			b.WriteString("{{ template " + s.of(`"name"`, `"labels"`) + " . }}")
		}
	}
	return b.String()
}

// FuzzShadow checks that accepted output is Helm's, that its segments cover it, and that everything Helm prints is
// accepted.
func FuzzShadow(f *testing.F) {
	for i := range 200 {
		f.Add(int64(i))
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		s := &sentence{rand.New(rand.NewSource(seed)), 25}
		r := example("{{ $v := 1 }}"+s.body(), exampleValues)
		out, err := r.render(t)
		if err != nil {
			return // Helm reports the error; only what Helm printed is traced
		}
		tr, err := r.trace(t, out)
		if err != nil {
			t.Fatalf("%s: %v", r.files[1].Data, err)
		}
		const name = "top/templates/NOTES.txt"
		if strings.Contains(out[name], "Capabilities:0x") {
			return // an address differs each time
		}
		if err := tr.Why(name); err != nil {
			t.Fatalf("%s: %v\nshadow %q\nhelm   %q", r.files[1].Data, err, tr.files[name].out, out[name])
		}
		if err := covered(tr.files[name]); err != nil {
			t.Fatalf("%s: %v", r.files[1].Data, err)
		}
		for i := range len(out[name]) {
			tr.At(name, i, 1)
		}
		tr.Absent(name, 0, len(out[name]), []string{"a", "b"})
	})
}
