package schema

import (
	"strings"
	"testing"
)

func TestLifecycle(t *testing.T) {
	for _, c := range []struct{ version, apiVersion, kind, removed, deprecated string }{
		{"1.33", "apps/v1", "Deployment", "", ""},
		{"1.24", "policy/v1beta1", "PodDisruptionBudget", "",
			"PodDisruptionBudget in policy/v1beta1 is deprecated since Kubernetes 1.21, and is removed in 1.25: " +
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
		{"1.21", "extensions/v1beta1", "Ingress", "", "Ingress in extensions/v1beta1 is deprecated since Kubernetes " +
			"1.14, and is removed in 1.22: write Ingress in networking.k8s.io/v1"},
		{"", "networking.k8s.io/v1beta1", "IngressClass", "IngressClass in networking.k8s.io/v1beta1 was removed in " +
			"Kubernetes 1.22: write IngressClass in networking.k8s.io/v1", ""},
		{"1.25", "autoscaling/v2beta2", "HorizontalPodAutoscaler", "", "HorizontalPodAutoscaler in autoscaling/v2beta2 is " +
			"deprecated since Kubernetes 1.23, and is removed in 1.26: write HorizontalPodAutoscaler in autoscaling/v2"},
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
		s := Compile(c.version, declaring())
		if got := messages(s.Removed(t.Context(), object)); got != c.removed {
			t.Errorf("%s %s %s: removed\n%s\nwant\n%s", c.version, c.apiVersion, c.kind, got, c.removed)
		}
		if got := messages(s.Deprecated(t.Context(), object)); got != c.deprecated {
			t.Errorf("%s %s %s: deprecated\n%s\nwant\n%s", c.version, c.apiVersion, c.kind, got, c.deprecated)
		}
	}
}

// A kind is not removed if the repository installs a version of Flux that has it.
func TestInstalledVersionOfFluxDecidesWhatIsRemoved(t *testing.T) {
	tagged := func(kind, url, tag string) map[string]any {
		return map[string]any{"kind": kind, "spec": map[string]any{"url": url, "ref": map[string]any{"tag": tag}}}
	}
	printed := func(labels map[string]any) map[string]any {
		return map[string]any{"kind": "CustomResourceDefinition", "metadata": map[string]any{"labels": labels}}
	}
	instance := func(version string) map[string]any {
		return map[string]any{"kind": "FluxInstance", "spec": map[string]any{"distribution": map[string]any{"version": version}}}
	}
	old := tagged("GitRepository", "https://github.com/fluxcd/flux2", "v0.31.4")
	for _, c := range []struct {
		name    string
		objects []map[string]any
		want    string
		removed bool // a kind that 2.7 removed
	}{
		{"no Flux", nil, "", true},
		{"the manifests in git", []map[string]any{old}, "v0.31.4", false},
		{"the manifests in git, with the suffix .git", []map[string]any{tagged("GitRepository", "https://github.com/fluxcd/flux2.git",
			"v2.7.0")}, "v2.7.0", true},
		{"the manifests as an artifact", []map[string]any{tagged("OCIRepository", "oci://ghcr.io/fluxcd/flux-manifests", "v2.6.4")},
			"v2.6.4", false},
		{"a later release", []map[string]any{tagged("OCIRepository", "oci://ghcr.io/fluxcd/flux-manifests", "v2.10.0")},
			"v2.10.0", true},
		{"other repositories", []map[string]any{tagged("GitRepository", "https://github.com/fluxcd/flux2-monitoring-example", "v0.1.0"),
			tagged("OCIRepository", "oci://example.com/app", "1.0.0"), {"kind": "GitRepository"}, {}}, "", true},
		{"a tag that moves", []map[string]any{tagged("OCIRepository", "oci://ghcr.io/fluxcd/flux-manifests", "latest")}, "", true},
		{"the output of flux install", []map[string]any{printed(map[string]any{"app.kubernetes.io/part-of": "flux",
			"app.kubernetes.io/version": "v2.2.3"})}, "v2.2.3", false},
		{"the output of another project", []map[string]any{printed(map[string]any{"app.kubernetes.io/part-of": "cert-manager",
			"app.kubernetes.io/version": "v1.2.3"})}, "", true},
		{"the operator's object", []map[string]any{instance("2.6.x")}, "2.6.x", false},
		{"the operator's object without a minor version", []map[string]any{instance("2.x")}, "", true},
		{"several versions", []map[string]any{instance("2.8.x"), old, instance("2.9.1")}, "v0.31.4", false},
	} {
		s := Compile("", declaring(c.objects...))
		got := s.installedFlux(t.Context())
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		object := map[string]any{"apiVersion": "helm.toolkit.fluxcd.io/v2beta1", "kind": "HelmRelease"}
		said := messages(s.Removed(t.Context(), object))
		if (said != "") != c.removed || got != "" && c.removed && !strings.Contains(said, ", and this repository installs "+got) {
			t.Errorf("%s: %s", c.name, said)
		}
	}
}

// A kind that the repository defines exists in the cluster, and is reported as deprecated.
func TestDefinedKindIsDeprecatedNotRemoved(t *testing.T) {
	object := map[string]any{"apiVersion": "cert-manager.io/v1beta1", "kind": "Issuer"}
	s := Compile("1.33", declaring(read(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
		spec: {group: cert-manager.io, names: {kind: Issuer}, versions: [{name: v1beta1}]}}`)))
	if got := messages(s.Removed(t.Context(), object)); got != "" {
		t.Errorf("removed: %s", got)
	}
	if got := messages(s.Deprecated(t.Context(), object)); !strings.Contains(got, "since cert-manager 1.4, and is "+
		"removed in 1.6") {
		t.Errorf("deprecated: %s", got)
	}
}

// Each line of the tables is complete, and no kind is listed twice.
func TestTablesAreCompleteAndUnique(t *testing.T) {
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

func messages(list []Violation) string {
	var out []string
	for _, v := range list {
		if v.Pointer != "/apiVersion" {
			out = append(out, v.Pointer)
		}
		out = append(out, v.Message)
	}
	return strings.Join(out, "\n")
}
