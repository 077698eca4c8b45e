package trace

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// edits returns releases that differ in one place. Those that most likely render come first.
func (r release) edits(o Origin) []release {
	var out []release
	switch o.Kind {
	case Value:
		values := r.merged()
		old, _ := lookupPath(values, o.Path)
		for _, v := range changes(old, o.Offset, o.Length) {
			m := deep(values).(map[string]any)
			if setPath(m, o.Path, v) {
				e := r
				e.values = m
				out = append(out, e)
			}
		}
	case Key:
		m := r.merged()
		parent, _ := lookupPath(m, o.Path[:len(o.Path)-1])
		if pm, ok := parent.(map[string]any); ok {
			k := o.Path[len(o.Path)-1]
			pm[k+"x"] = pm[k]
			pm[k] = nil
			e := r
			e.values = m
			out = append(out, e)
		}
	case Text, File, Chart:
		for k := range 3 {
			if e, ok := r.editChart(o, k); ok {
				out = append(out, e)
			}
		}
	case Release:
		e := r
		switch strings.Join(o.Path, "") {
		case "Name":
			e.name += "x"
		case "Namespace":
			e.namespace += "x"
		default:
			return nil
		}
		out = append(out, e)
	}
	return out
}

// editChart edits a template, a file or the metadata of a chart.
func (r release) editChart(o Origin, k int) (release, bool) {
	name := o.Template
	if o.Kind == File {
		name += "/" + o.Name
	}
	if o.Kind == Chart {
		name += "/Chart.yaml"
	}
	_, name, _ = strings.Cut(name, "/")
	return r.editFile(name, func(data []byte) ([]byte, bool) {
		if o.Kind != Chart {
			return editBytes(data, o.Offset, o.Length, k)
		}
		if len(o.Path) == 0 {
			return nil, false
		}
		key := strings.ToLower(o.Path[0][:1]) + o.Path[0][1:]
		at := regexp.MustCompile(`(?m)^` + key + `: *["']?([^"'\n#]*)`).FindSubmatchIndex(data)
		if at == nil {
			return nil, false
		}
		return editBytes(data, at[2], at[3]-at[2], k+key2(key))
	})
}

// key2 keeps the first digit of a version.
func key2(key string) int {
	if key == "version" || key == "appVersion" {
		return 1
	}
	return 0
}

// editFile edits a file of the chart or of a chart in it.
func (r release) editFile(name string, edit func([]byte) ([]byte, bool)) (release, bool) {
	e := r
	e.chart = nil
	for i, f := range r.files {
		if f.Name == name {
			data, ok := edit(f.Data)
			e.files = slices.Clone(r.files)
			e.files[i].Data = data
			return e, ok
		}
	}
	if rest, ok := strings.CutPrefix(name, "charts/"); ok {
		key, rest, _ := strings.Cut(rest, "/")
		if d, ok := r.deps[key]; ok {
			e.deps = maps.Clone(r.deps)
			e.deps[key], ok = d.editFile(rest, edit)
			return e, ok
		}
	}
	return e, false
}

// editBytes changes a letter or a digit of a literal.
func editBytes(data []byte, at, n, k int) ([]byte, bool) {
	end := min(at+n, len(data))
	b := bytes.Clone(data)
	for word, other := range map[string]string{"true": "false", "false": "true"} {
		if i := bytes.Index(data[at:end], []byte(word)); i >= 0 {
			return append(append(b[:at+i:at+i], other...), data[at+i+len(word):]...), true
		}
	}
	for i := at; i < end; i++ {
		c := b[i]
		switch {
		case c >= '0' && c <= '8', c >= 'a' && c < 'z', c >= 'A' && c < 'Z':
			b[i]++
		case c == '9', c == 'z', c == 'Z':
			b[i]--
		default:
			continue
		}
		if k--; k >= 0 {
			b[i] = data[i]
			continue
		}
		return b, true
	}
	for i := end - 1; i >= at && k == 0; i-- {
		if b[i] <= ' ' {
			continue
		}
		if b[i] == '"' || b[i] == '\'' {
			return append(append(b[:i:i], 'x'), data[i:]...), true
		}
		b[i] = 'x'
		return b, true
	}
	return nil, false
}

// changes returns possible replacements of a value.
func changes(v any, at, n int) []any {
	switch v := v.(type) {
	case nil:
		return []any{"x", map[string]any{"zz": "zz"}, []any{"zz"}, true, 7}
	case bool:
		return []any{!v}
	case string:
		out := []any{v + "x", "x" + v}
		if n > 0 && at+n <= len(v) {
			if b, ok := editBytes([]byte(v), at, n, 0); ok {
				out = append(out, string(b))
			}
		}
		return append(out, v+"1", "1"+v, "", "zz")
	case float64:
		return []any{v + 1, v - 1, v * 2}
	case int64:
		return []any{v + 1, v - 1}
	case int:
		return []any{v + 1}
	case map[string]any:
		return []any{with(v, "zz", "zz"), with(v, "zz", map[string]any{"zz": "zz"}), nil}
	case []any:
		return []any{append(slices.Clone(v), "zz"), append(slices.Clone(v), map[string]any{"name": "zz"}), []any{}}
	}
	return nil
}

// merged returns the values that templates see.
func (r release) merged() map[string]any {
	c, err := r.load()
	if err != nil {
		return nil
	}
	in, err := c.Input(r.options())
	if err != nil {
		return nil
	}
	m, _ := deep(in.Top["Values"]).(map[string]any)
	return m
}

func with(m map[string]any, k string, v any) map[string]any {
	c := maps.Clone(m)
	c[k] = v
	return c
}

func lookupPath(v any, p []string) (any, bool) {
	for _, k := range p {
		switch m := v.(type) {
		case map[string]any:
			v = m[k]
		case []any:
			i, err := strconv.Atoi(k)
			if err != nil || i >= len(m) {
				return nil, false
			}
			v = m[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func setPath(v any, p []string, x any) bool {
	for i, k := range p {
		last := i == len(p)-1
		switch m := v.(type) {
		case map[string]any:
			if last {
				m[k] = x
				return true
			}
			if m[k] == nil {
				m[k] = map[string]any{}
			}
			v = m[k]
		case []any:
			j, err := strconv.Atoi(k)
			if err != nil || j >= len(m) {
				return false
			}
			if last {
				m[j] = x
				return true
			}
			v = m[j]
		default:
			return false
		}
	}
	return false
}
