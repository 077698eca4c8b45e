package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
)

// Values that no template reads are reported, where that is certain.
func TestUnusedValues(t *testing.T) {
	chart := func(values, template string) string {
		return "-- chart/values.yaml --\n" + values + "-- chart/templates/more.yaml --\napiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: more}\ndata:\n" + template
	}
	const (
		port    = "service: {port: 1, type: a}\nimage: a\n"
		reads   = "  a: '{{ .Values.service.port }} {{ .Values.service.type }}'\n"
		at      = "flux/app.yaml:11: no template of the chart app reads the value "
		ranging = "  a: '{{ range $k, $v := .Values.service }}{{ if $v.on }}{{ $k }}{{ end }}{{ end }}'\n"
	)
	for _, c := range []struct{ name, values, chart, want string }{
		{"template reads all values", "    service: {port: 2}", chart(port, reads), ""},
		{"misspelled value", "    servcie: {port: 2}", chart(port, reads), at + "servcie"},
		{"misspelled nested value", "    service: {prot: 2}", chart(port, reads), at + "service.prot"},
		{"default in a comment", "    extra: x", chart(port+"# extra: y\n", reads), ""},
		{"value read under a condition", "    extra: x", chart(port, reads+
			"{{ if .Values.on }}  b: {{ .Values.extra }}{{ end }}\n"), ""},
		{"template ranges over the keys", "    service: {prot: {on: false}}", chart("service: {port: {on: true}}\nimage: a\n",
			ranging), ""},
		{"template prints the whole map", "    service: {prot: 2}", chart(port, reads+
			"{{ if .Values.on }}  b: '{{ toJson .Values.service }}'{{ end }}\n"), ""},
		{"template passes on all values", "    servcie: 2", chart(port, reads+
			"{{ if .Values.image }}{{ else }}  b: '{{ toJson .Values }}'{{ end }}\n"), ""},
		{"template reads by index", "    service: {prot-x: 2}", chart(port, reads+"  b: '{{ index .Values \"service\" \"port\" }}'\n"), ""},
		{"key below an empty map of the defaults", "    service: {prot: 2}", chart("service: {}\nimage: a\n", reads),
			""},
		{"schema has the value", "    servcie: 2", chart(port, reads) + "-- chart/values.schema.json --\n" +
			`{"properties": {"servcie": {"type": "integer"}}}` + "\n", ""},
		{"value that is a template names it", "    host: x\n    image: 'a{{ .Values.host }}'", chart(port,
			"  a: '{{ tpl .Values.image . }} {{ .Values.service.port }}'\n"), ""},
		{"value of an anchor", "    common: &c {a: 1}\n    service: *c", chart(port, reads), ""},
		{"key that starts with x-", "    x-common: 1", chart(port, reads), ""},
		{"other values are unknown", "    servcie: 2\n  valuesFrom: [{kind: Secret, name: s}]", chart(port, reads), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := renderReleases(t, fluxRepo+"  values:\n"+c.values+"\n"+c.chart, render.Config{})
			var list []string
			if res := r.set.Renderer.UnusedValues(t.Context(), r.set.Target(r.one.Root), func(file string) bool { return r.set.ValuesShared(r.one.Root, file) }); res != nil {
				for _, issue := range res.Issues {
					at := res.Origin(issue.Pointer)
					list = append(list, fmt.Sprintf("%s:%d: %s", at.Path, at.StartLine, issue.Message))
				}
			}
			if got := strings.Join(list, "\n"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
