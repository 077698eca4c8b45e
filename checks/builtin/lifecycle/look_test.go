package lifecycle

import (
	"strings"
	"testing"
)

func TestLook(t *testing.T) {
	for _, c := range []struct{ version, apiVersion, kind, removed, deprecated string }{
		{"1.33", "apps/v1", "Deployment", "", ""},
		{"1.24", "policy/v1beta1", "PodDisruptionBudget", "",
			"PodDisruptionBudget in policy/v1beta1 is deprecated since Kubernetes 1.21, and goes with 1.25: " +
				"write PodDisruptionBudget in policy/v1"},
		{"1.20", "policy/v1beta1", "PodDisruptionBudget", "", ""},
		{"1.25", "policy/v1beta1", "PodDisruptionBudget", "PodDisruptionBudget in policy/v1beta1 was removed in Kubernetes " +
			"1.25, and the cluster has 1.25: write PodDisruptionBudget in policy/v1", ""},
		{"", "policy/v1beta1", "PodDisruptionBudget", "PodDisruptionBudget in policy/v1beta1 was removed in Kubernetes 1.25: " +
			"write PodDisruptionBudget in policy/v1", ""},
		{"1.33", "policy/v1beta1", "PodSecurityPolicy",
			"PodSecurityPolicy in policy/v1beta1 was removed in Kubernetes 1.25, and the cluster has 1.33", ""},
		{"", "extensions/v1beta1", "PodSecurityPolicy",
			"PodSecurityPolicy in extensions/v1beta1 was removed in Kubernetes 1.16", ""},
		{"", "extensions/v1beta1", "Ingress",
			"Ingress in extensions/v1beta1 was removed in Kubernetes 1.22: write Ingress in networking.k8s.io/v1", ""},
		{"1.21", "extensions/v1beta1", "Ingress", "", "Ingress in extensions/v1beta1 is deprecated since Kubernetes 1.14, and " +
			"goes with 1.22: write Ingress in networking.k8s.io/v1"},
		{"", "networking.k8s.io/v1beta1", "IngressClass", "IngressClass in networking.k8s.io/v1beta1 was removed in " +
			"Kubernetes 1.22: write IngressClass in networking.k8s.io/v1", ""},
		{"1.25", "autoscaling/v2beta2", "HorizontalPodAutoscaler", "", "HorizontalPodAutoscaler in autoscaling/v2beta2 is " +
			"deprecated since Kubernetes 1.23, and goes with 1.26: write HorizontalPodAutoscaler in autoscaling/v2"},
		{"", "flowcontrol.apiserver.k8s.io/v1alpha1", "FlowSchema", "FlowSchema in flowcontrol.apiserver.k8s.io/v1alpha1 was " +
			"removed in Kubernetes 1.21: write FlowSchema in flowcontrol.apiserver.k8s.io/v1", ""},
		{"", "admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicy in " +
			"admissionregistration.k8s.io/v1beta1 was removed in Kubernetes 1.34: write ValidatingAdmissionPolicy in " +
			"admissionregistration.k8s.io/v1", ""},
		{"", "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "CustomResourceDefinition in " +
			"apiextensions.k8s.io/v1beta1 was removed in Kubernetes 1.22: write CustomResourceDefinition in " +
			"apiextensions.k8s.io/v1", ""},
		{"1.33", "cert-manager.io/v1alpha2", "Issuer", "Issuer in cert-manager.io/v1alpha2 was removed in cert-manager 1.6: " +
			"write cert-manager.io/v1 (https://cert-manager.io/docs/releases/upgrading/remove-deprecated-apis/)", ""},
		{"1.33", "helm.toolkit.fluxcd.io/v2beta1", "HelmRelease", "HelmRelease in helm.toolkit.fluxcd.io/v2beta1 was removed " +
			"in Flux 2.7: write helm.toolkit.fluxcd.io/v2 (https://fluxcd.io/blog/2025/09/flux-v2.7.0/#upgrade-procedure)", ""},
		{"", "argoproj.io/v1alpha1", "ArgoCD", "", "ArgoCD in argoproj.io/v1alpha1 is deprecated since the Argo CD operator " +
			"0.8: write ArgoCD in argoproj.io/v1beta1 (https://argocd-operator.readthedocs.io/en/latest/install/manual/)"},
		{"", "argoproj.io/v1alpha1", "Application", "", ""},
		{"", "example.com/v1", "Deployment", "", ""},
		{"", "", "", "", ""},
	} {
		object := map[string]any{"apiVersion": c.apiVersion, "kind": c.kind}
		nobody := func(string, string) bool { return false }
		l := Of(c.version)
		if got := words(l.Removed(object, nobody)); got != c.removed {
			t.Errorf("%s %s %s: removed\n%s\nwant\n%s", c.version, c.apiVersion, c.kind, got, c.removed)
		}
		if got := words(l.Deprecated(object, nobody)); got != c.deprecated {
			t.Errorf("%s %s %s: deprecated\n%s\nwant\n%s", c.version, c.apiVersion, c.kind, got, c.deprecated)
		}
	}
}

// What the repository defines the cluster has, and it is told that it goes.
func TestDeclared(t *testing.T) {
	object := map[string]any{"apiVersion": "cert-manager.io/v1beta1", "kind": "Issuer"}
	has := func(apiVersion, name string) bool { return apiVersion == "cert-manager.io/v1beta1" && name == "Issuer" }
	l := Of("1.33")
	if got := words(l.Removed(object, has)); got != "" {
		t.Errorf("removed: %s", got)
	}
	if got := words(l.Deprecated(object, has)); !strings.Contains(got, "since cert-manager 1.4, and goes with 1.6") {
		t.Errorf("deprecated: %s", got)
	}
}

// Each line of the tables is whole, and no kind is there twice.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(others) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(words) != 7 || !strings.HasPrefix(words[6], "https://") || words[3] == "-" && words[4] == "-" {
			t.Errorf("%q", line)
			continue
		}
		for name := range strings.SplitSeq(words[1], ",") {
			if seen[words[0]+name] {
				t.Errorf("%s %s is there twice", words[0], name)
			}
			seen[words[0]+name] = true
		}
	}
	if len(rows()) < 100 {
		t.Errorf("%d kinds", len(rows()))
	}
}

func words(list []Violation) string {
	var out []string
	for _, v := range list {
		if v.Pointer != "/apiVersion" {
			out = append(out, v.Pointer)
		}
		out = append(out, v.Message)
	}
	return strings.Join(out, "\n")
}
