package helm

import (
	"testing"
	"text/template"
)

// asked returns what a template may ask for.
func asked(t *testing.T, text string) asks {
	set := template.New("").Funcs(newRun(Options{}).funcs())
	_, asked, err := parseInto(set.New("t"), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return asked
}

func TestTemplatesThatMayReadAllVersions(t *testing.T) {
	for text, want := range map[string]bool{
		"":                           false,
		`{{ .Values.capabilities }}`: false,
		`{{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.APIVersions.Has "a/v1" }}`: false,
		`{{ $c := .Capabilities }}`:                                                true,
		`{{ range .Capabilities.APIVersions }}{{ end }}`:                           true,
		`{{ .Capabilities.HelmVersion }}{{ $v := . }}{{ $v.APIVersions.Has "x" }}`: false,
		`{{ .Capabilities.KubeVersion }}{{ $v := . }}{{ $v.APIVersions }}`:         true,
		`{{ .Capabilities.APIVersions.HasAny }}`:                                   true,
		`{{ .Capabilities.KubeVersions }}`:                                         true,
		`{{/* .Capabilities */}}APIVersions`:                                       false,
		`{{ get . "Capabilities" }}`:                                               true,
	} {
		if got := asked(t, text).versions; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestTemplatesThatMayReadThePhase(t *testing.T) {
	for text, want := range map[string]bool{
		`{{ if .Release.IsUpgrade }}{{ end }}`:                      true,
		`{{ .Release.IsInstall }}`:                                  true,
		`{{ with .Release.Revision }}{{ end }}`:                     true,
		`revision: {{ .Release.Revision }}`:                         false,
		`{{ .Values.IsUpgraded }}`:                                  false,
		`{{ if .a }}{{- else if gt .Release.Revision 1 }}{{ end }}`: true,
		`revisionHistoryLimit: {{ .Values.Revisions }}`:             false,
	} {
		if got := asked(t, text).phase; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
