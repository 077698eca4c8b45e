package helm

import "testing"

func TestListsVersions(t *testing.T) {
	for text, want := range map[string]bool{
		"":                           false,
		`{{ .Values.capabilities }}`: false,
		`{{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.APIVersions.Has "a/v1" }}`: false,
		`{{ $c := .Capabilities }}`:                                   true,
		`{{ range .Capabilities.APIVersions }}`:                       true,
		`{{ .Capabilities.HelmVersion }}{{ $v.APIVersions.Has "x" }}`: false,
		`{{ .Capabilities.KubeVersion }}{{ $v.APIVersions }}`:         true,
		`{{ .Capabilities.APIVersions.HasAny }}`:                      true,
		`{{ .Capabilities.KubeVersions }}`:                            true,
		`{{ get . "Capabilities" }}`:                                  true,
	} {
		if got := listsVersions(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestAsksPhase(t *testing.T) {
	for text, want := range map[string]bool{
		`{{ if .Release.IsUpgrade }}`:                   true,
		`{{ .Release.IsInstall }}`:                      true,
		`{{ with .Release.Revision }}`:                  true,
		`revision: {{ .Release.Revision }}`:             false,
		`{{ .Values.IsUpgraded }}`:                      false,
		`{{- else if gt .Release.Revision 1 }}`:         true,
		`revisionHistoryLimit: {{ .Values.Revisions }}`: false,
	} {
		if got := asksPhase(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
