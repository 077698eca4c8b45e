package roots

import "testing"

func TestNamesDeployers(t *testing.T) {
	for text, want := range map[string]bool{
		"apiVersion: argoproj.io/v1alpha1\n": true, `{"apiVersion": "argoproj.io/v1alpha1"}`: true,
		"a: b\n{{ print `argoproj.io/` .v }}": true, "{{- define \"x\" -}}\nhelm.toolkit.fluxcd.io/v2\n{{ end }}": true,
		`apiVersion: kustomize.toolkit.fluxcd.io/{{ .v }}`: true, `{{ define "x" }}argoproj.io/v1alpha1{{ end }}`: true,
		"argocd.argoproj.io/sync-wave: \"1\"": false, "kustomize.toolkit.fluxcd.io/prune: disabled": false,
		`description: what it is (e.g., "v1", "argoproj.io/v1alpha1" for others)`: false, "apiGroups: [argoproj.io]": false,
		"source.toolkit.fluxcd.io/v1": false,
	} {
		if NamesDeployers([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
