package builtin

import (
	"testing"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/gitops"
)

// A new address of a cluster is told for Secrets that declare clusters only. A value that is no text is no address.
func TestClusterGetsAnotherAddress(t *testing.T) {
	secret := func(label string, server any) admission.Object {
		return admission.Object{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"server": server},
			"metadata": map[string]any{"name": "prod", "labels": map[string]any{gitops.ClusterSecret: label}}}
	}
	for name, test := range map[string]struct {
		old, now admission.Object
		field    string
	}{
		"another":      {secret("cluster", "https://a"), secret("cluster", "https://b"), "/stringData/server"},
		"the same":     {secret("cluster", "https://a"), secret("cluster", "https://a"), ""},
		"a repository": {secret("repository", "https://a"), secret("repository", "https://b"), ""},
		"no texts":     {secret("cluster", map[string]any{"a": 1}), secret("cluster", map[string]any{"a": 2}), ""},
	} {
		if _, field := turned(gitops.RepoNames{}, test.old, test.now); field != test.field {
			t.Errorf("%s: %q, want %q", name, field, test.field)
		}
	}
}
