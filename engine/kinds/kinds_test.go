package kinds

import (
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// The scope of every kind is the one that kyaml read from the paths of Kubernetes' API, where it knows the kind in
// any version.
func TestScopeAgreesWithKyaml(t *testing.T) {
	asked := 0
	for _, g := range slices.Concat(kubernetes, custom) {
		for kind := range strings.FieldsSeq(g.namespaced + " " + g.cluster) {
			for _, version := range []string{"v1", "v1beta1", "v1beta2", "v1alpha1", "v2", "v2beta2"} {
				want, known := openapi.IsNamespaceScoped(
					kyaml.TypeMeta{APIVersion: strings.TrimPrefix(g.name+"/"+version, "/"), Kind: kind})
				if !known {
					continue
				}
				asked++
				if got, _ := Namespaced(g.name, kind); got != want {
					t.Errorf("%s/%s %s: got %v, kyaml has %v", g.name, version, kind, got, want)
				}
			}
		}
	}
	if asked < 60 {
		t.Errorf("kyaml knew only %d of the kinds", asked)
	}
}

var (
	groupName = regexp.MustCompile(`GroupName\s*=\s*"([^"]*)"`)
	clientOf  = regexp.MustCompile(`// \+genclient\n((?://[^\n]*\n|\n)*)type (\w+) struct`)
)

// The table has every kind of k8s.io/api, with the scope that its markers for the generated clients say.
func TestScopeAgreesWithKubernetesAPI(t *testing.T) {
	core, err := build.Import("k8s.io/api/core/v1", ".", build.FindOnly)
	if err != nil {
		t.Skip(err)
	}
	files, _ := filepath.Glob(filepath.Join(core.Dir, "..", "..", "*", "*", "types.go"))
	seen := 0
	for _, file := range files {
		register, err := os.ReadFile(filepath.Join(filepath.Dir(file), "register.go"))
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		group := string(groupName.FindSubmatch(register)[1])
		if version := filepath.Base(filepath.Dir(file)); OfKubernetes(group) && NoVersion([]string{group}, version) {
			t.Errorf("%q has the version %s", group, version)
		}
		for _, found := range clientOf.FindAllStringSubmatch(string(source), -1) {
			kind := found[2]
			if group == "policy" && kind == "Eviction" {
				continue // only a subresource of pods
			}
			seen++
			if got, known := Namespaced(group, kind); !known || got == strings.Contains(found[1], "+genclient:nonNamespaced") {
				t.Errorf("%q %s: got %v, known %v", group, kind, got, known)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d kinds seen in %s", seen, core.Dir)
	}
}

// Kubernetes' kinds have the plurals that apimachinery guesses, without exception.
func TestPluralAgreesWithApimachinery(t *testing.T) {
	for _, g := range kubernetes {
		for kind := range strings.FieldsSeq(g.namespaced + " " + g.cluster) {
			want, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: g.name, Kind: kind})
			if got := PluralOf(g.name, kind); got != want.Resource {
				t.Errorf("%s: %s, apimachinery has %s", kind, got, want.Resource)
			}
			if got := Kind(g.name, want.Resource); got != kind {
				t.Errorf("%s: got %s", want.Resource, got)
			}
		}
	}
}

func TestPlural(t *testing.T) {
	for kind, want := range map[string]string{
		"Pod": "pods", "Ingress": "ingresses", "NetworkPolicy": "networkpolicies", "Gateway": "gateways",
		"Endpoints": "endpoints", "Box": "boxes", "Switch": "switches", "Mesh": "meshes", "Y": "ys", "": "",
	} {
		if got := Plural(kind); got != want {
			t.Errorf("%s: got %s", kind, got)
		}
	}
}

func TestClusterScoped(t *testing.T) {
	for kind, want := range map[name]bool{
		{"*", "Namespace"}: true, {"*", "ClusterRole"}: true, {"*", "Role"}: false, {"*", "Pod"}: false, {"*", ""}: false,
		{"*", "MutatingAdmissionPolicy"}: true, {"*", "MutatingAdmissionPolicyBinding"}: true, {"*", "Project"}: false,
		{"", "Namespace"}: true, {"apps", "Namespace"}: false, {"cert-manager.io", "ClusterIssuer"}: true,
		{"networking.k8s.io", "Ingress"}: false, {"config.openshift.io", "Ingress"}: true, {"example.com", "Thing"}: false,
	} {
		if got := ClusterScoped(kind.group, kind.name); got != want {
			t.Errorf("%s: got %v", kind, got)
		}
	}
}

func TestHasNamespace(t *testing.T) {
	for kind, want := range map[name]bool{
		{"v1", "Pod"}: true, {"v1", "Namespace"}: false, {"apps/v1", "Deployment"}: true, {"example.com/v1", "Thing"}: true,
		{"kyverno.io/v1", "ClusterPolicy"}: false, {"", ""}: true,
	} {
		if got := HasNamespace(kind.group, kind.name); got != want {
			t.Errorf("%s: got %v", kind, got)
		}
	}
}

func TestNoVersion(t *testing.T) {
	never := [][2]string{{"apps", "v9"}, {"batch", "v3"}, {"", "v2"}, {"policy", "v1beta3"}, {"extensions", "v1"}}
	for _, gv := range never {
		if !NoVersion(gv[:1], gv[1]) {
			t.Errorf("%s %s: it never was, and passes for one that was", gv[0], gv[1])
		}
	}
	if !NoVersion([]string{"apps", "batch"}, "v9") || NoVersion([]string{"apps", "example.com"}, "v9") ||
		NoVersion([]string{"apps", "autoscaling"}, "v2") || NoVersion(nil, "v9") {
		t.Error("of several groups, all never had it")
	}
	for _, gv := range [][2]string{{"apps", "v1"}, {"apps", "v1beta1"}, {"apps", "v1beta2"}, {"extensions", "v1beta1"},
		{"policy", "v1beta1"}, {"batch", "v1beta1"}, {"batch", "v2alpha1"}, {"autoscaling", "v2beta2"}, {"", "v1"}, {"", "*"},
		{"apps", "v*"}, {"apps", "v?"}, {"*", "v9"}, {"app?", "v9"}, {"example.com", "v9"}, {"kyverno.io", "v9"}} {
		if NoVersion(gv[:1], gv[1]) {
			t.Errorf("%s %s: it may be, and passes for one that never was", gv[0], gv[1])
		}
	}
}
