package kinds

import "testing"

func TestMisspelled(t *testing.T) {
	tests := []struct {
		kind, near string
		unknown    bool
	}{
		{"Pod", "", false}, {"Namespace", "", false}, {"*", "", false}, {"Deploy*", "", false}, {"", "", false},
		{"pods", "Pod", true}, {"pod", "Pod", true}, {"Pods", "Pod", false}, {"ingresses", "Ingress", true},
		{"networkpolicies", "NetworkPolicy", true}, {"Configmap", "ConfigMap", false},
		{"StorageClasses", "StorageClass", false},
		{"Deploymnet", "Deployment", false}, {"Deployent", "Deployment", false}, {"Deploymentt", "Deployment", false},
		{"Gateway", "", false}, {"Rollout", "", false}, {"Role2", "", false}, {"Jobs", "Job", false}, {"widget", "", true},
	}
	for _, tt := range tests {
		if near, unknown := Misspelled(tt.kind); near != tt.near || unknown != tt.unknown {
			t.Errorf("%q: got %q %v", tt.kind, near, unknown)
		}
	}
}
