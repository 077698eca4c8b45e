package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
)

func TestUnknownValues(t *testing.T) {
	templates := `
-- chart/templates/config.yaml --
apiVersion: v1
kind: Secret
metadata:
  name: config
  annotations:
    sum: {{ .Values.token | sha256sum }}
    plain: "yes"
data:
  token: {{ .Values.token | b64enc }}
  other: b3RoZXI=
stringData:
  url: https://user:{{ .Values.token }}@host
  port: "{{ .Values.port | int }}"
  fixed: {{ .Values.image }}
`
	spec := `
  valuesFrom:
  - {kind: Secret, name: hidden, valuesKey: token, targetPath: token}
  - {kind: Secret, name: hidden, valuesKey: port, targetPath: port}
`
	r := renderReleases(t, fluxRepo+spec+templates, render.Config{})
	if len(r.problems) > 0 {
		t.Error(r.messages())
	}
	var got []string
	for _, i := range find(t, r.one, "Secret config").Issues {
		got = append(got, fmt.Sprint(i.Check, " ", i.Pointer, " ", i.Value, ": ", i.Message))
	}
	slices.Sort(got)
	var want []string
	for _, p := range []string{"/data/token", "/metadata/annotations/sum", "/stringData/port", "/stringData/url"} {
		want = append(want, "controller-unknown "+p+" true: depends on a value that only the cluster has (the Secret hidden is "+
			"not in this repository)")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	count := strings.Replace(templates, "apiVersion", "{{- if eq (.Values.port | int) 0 }}\napiVersion", 1) + "{{- end }}\n"
	r = renderReleases(t, fluxRepo+spec+count, render.Config{})
	if got := r.messages(); got != "flux/app.yaml:8: which resources the chart prints depends on a value that only the cluster "+
		"has (the Secret hidden is not in this repository)" || !r.problems[0].Unknown {
		t.Error(got)
	}
}
