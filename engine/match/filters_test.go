package match

import (
	"testing"

	"github.com/lintel-bot/lintel/engine/admission"
)

func TestFiltersOfKyverno(t *testing.T) {
	const text = "[Event,*,*]\n[*/*,kube-system,*] [Node/?*,*,*][ServiceAccount, web , team-*][apps/v1/Deployment,db][a/b/c/d/e][]"
	filters := ParseFilters(text)
	for _, c := range []struct {
		of   admission.Identity
		want bool
	}{
		{admission.Identity{Version: "v1", Kind: "Event", Namespace: "web", Name: "e"}, true},
		{admission.Identity{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "kube-system", Name: "dns"}, true},
		{admission.Identity{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "db", Name: "dns"}, true},
		{admission.Identity{Group: "apps", Version: "v1", Kind: "StatefulSet", Namespace: "db", Name: "dns"}, false},
		{admission.Identity{Version: "v1", Kind: "Namespace", Name: "kube-system"}, true},
		{admission.Identity{Version: "v1", Kind: "Namespace", Name: "web"}, false},
		{admission.Identity{Version: "v1", Kind: "Node", Name: "n"}, false},
		{admission.Identity{Version: "v1", Kind: "ServiceAccount", Namespace: "web", Name: "team-a"}, true},
		{admission.Identity{Version: "v1", Kind: "ServiceAccount", Namespace: "web", Name: "a"}, false},
	} {
		if got := filters.Match(c.of); got != c.want {
			t.Errorf("%+v: got %v", c.of, got)
		}
	}
}
