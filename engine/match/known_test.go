package match

import "testing"

func TestMisspelled(t *testing.T) {
	tests := []struct {
		kind, near string
		unknown    bool
	}{
		{"Pod", "", false}, {"Namespace", "", false}, {"*", "", false}, {"Deploy*", "", false}, {"", "", false},
		{"pods", "Pod", true}, {"pod", "Pod", true}, {"Pods", "Pod", false}, {"ingresses", "Ingress", true},
		{"networkpolicies", "NetworkPolicy", true}, {"Configmap", "ConfigMap", false}, {"StorageClasses", "StorageClass", false},
		{"Deploymnet", "Deployment", false}, {"Deployent", "Deployment", false}, {"Deploymentt", "Deployment", false},
		{"Gateway", "", false}, {"Rollout", "", false}, {"Role2", "", false}, {"Jobs", "Job", false}, {"widget", "", true},
	}
	for _, tt := range tests {
		if near, unknown := Misspelled(tt.kind); near != tt.near || unknown != tt.unknown {
			t.Errorf("%q: got %q %v", tt.kind, near, unknown)
		}
	}
}

func TestClusterScoped(t *testing.T) {
	for kind, want := range map[string]bool{"Namespace": true, "ClusterRole": true, "Role": false, "Pod": false, "": false} {
		if got := ClusterScoped(kind); got != want {
			t.Errorf("%s: got %v", kind, got)
		}
	}
}

func TestSelectorSyntax(t *testing.T) {
	tests := []struct {
		name  string
		valid bool
	}{
		{"app", true}, {"app.kubernetes.io/name", true}, {"*/name", true}, {"a?*", true}, {"a b", false}, {"a/b/c", false}, {"", false},
	}
	for _, tt := range tests {
		if got := isLabelKey(tt.name); got != tt.valid {
			t.Errorf("%q: got %v", tt.name, got)
		}
	}
	for value, valid := range map[string]bool{"": true, "a_b.C-1": true, "*": true, "-a": false, "a b": false} {
		if got := isLabelValue(value); got != valid {
			t.Errorf("value %q: got %v", value, got)
		}
	}
}
