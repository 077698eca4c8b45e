package exceptions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
)

func target() exceptions.Target {
	return exceptions.Target{PolicyAPIVersion: "kyverno.io/v1", PolicyKind: "ClusterPolicy", Policy: "pods",
		Rules:      []string{"autogen-net"},
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web",
		Expires: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}
}

func TestYAML(t *testing.T) {
	ruled, expressions := target(), target()
	ruled.Controls = []exceptions.Control{{Name: "Host Ports", Images: []string{"r/a:1"}}}
	expressions.PolicyAPIVersion, expressions.PolicyKind, expressions.Rules = "policies.kyverno.io/v1beta1",
		"ValidatingPolicy", nil
	expressions.Values, expressions.Delete, expressions.In = map[string][]string{"types": {"nfs"}}, true, "security"
	for name, c := range map[string]struct {
		target exceptions.Target
		want   string
	}{
		"rules": {ruled, `# Drafted by Lintel. State here why it is needed and who is responsible for it; shorten ` +
			`its time if you can.
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: pods-deployment-shop-web
  namespace: shop
  labels:
    cleanup.kyverno.io/ttl: "2026-02-01"
spec:
  exceptions:
    - policyName: pods
      ruleNames:
        - autogen-net
  match:
    any:
      - resources:
          kinds:
            - apps/v1/Deployment
          namespaces:
            - shop
          names:
            - web
          operations:
            - CREATE
            - UPDATE
  podSecurity:
    - controlName: Host Ports
      images:
        - r/a:1
`},
		"expressions": {expressions, `# Drafted by Lintel. State here why it is needed and who is responsible for ` +
			`it; shorten its time if you can.
apiVersion: policies.kyverno.io/v1beta1
kind: PolicyException
metadata:
  name: pods-deployment-shop-web
  namespace: security
spec:
  policyRefs:
    - name: pods
      kind: ValidatingPolicy
  matchConditions:
    - name: only-this-resource
      expression: oldObject.apiVersion == 'apps/v1' && oldObject.kind == 'Deployment' && oldObject.metadata.name == 'web' && oldObject.metadata.namespace == 'shop'
  allowedValues:
    types:
      - nfs
  expiresAt: "2026-02-01T00:00:00Z"
`},
	} {
		got, err := c.target.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNoDraft(t *testing.T) {
	native, unnamed, wild := target(), target(), target()
	native.PolicyAPIVersion, native.PolicyKind = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
	unnamed.Name, wild.Name = "", "web*"
	for want, list := range map[string][]exceptions.Target{
		"a ValidatingAdmissionPolicy does not support exceptions: fix the value, or narrow what the policy (or its " +
			"binding) matches": {native},
		"this Deployment has no name that an exception could match: give it one": {unnamed, wild},
	} {
		for _, x := range list {
			if text, err := x.YAML(); err == nil || err.Error() != want || text != "" {
				t.Errorf("%q of %s: %q, %v", x.Name, x.PolicyKind, text, err)
			}
		}
	}
}

// IDs are valid labels and file names, and differ if the inputs do.
func TestDefaultID(t *testing.T) {
	long, other := target(), target()
	long.Name, other.Name = strings.Repeat("x", 80)+"a", strings.Repeat("x", 80)+"b"
	if a, b := long.DefaultID(), other.DefaultID(); len(a) > 63 || a == b {
		t.Errorf("%q and %q", a, b)
	}
	odd := target()
	odd.Policy, odd.Name = "team/Pods", "system:node.x"
	if got, want := odd.DefaultID(), "team-pods-deployment-shop-system-node-x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzYAML tests drafts with any names, which strangers may choose. The draft compiles, unless a cluster would refuse
// its names, and has exactly these names.
func FuzzYAML(f *testing.F) {
	f.Add("web", "shop", "pods", true)
	f.Add("a\n# b: [", "x'\"y", "p\x00", false)
	f.Add("\u2028: &a *b", "---", "```", true)
	f.Fuzz(func(t *testing.T, name, namespace, policyName string, ruled bool) {
		x := target()
		x.Name, x.Namespace = strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(namespace, "?")
		x.Policy = strings.ToValidUTF8(policyName, "?")
		if !ruled {
			x.PolicyAPIVersion, x.PolicyKind = "policies.kyverno.io/v1", "ValidatingPolicy"
		}
		text, err := x.YAML()
		if err != nil {
			return
		}
		sources := rules.ForEngine([]rules.File{{Path: "x.yaml", Data: []byte(text)}})
		if _, problems := engine.CompileExceptions(sources, engine.Options{}); len(problems) > 1 {
			t.Logf("%v", problems)
		}
		var got struct {
			Spec struct {
				Match struct {
					Any []struct {
						Resources struct{ Names, Namespaces []string }
					}
				}
				MatchConditions []struct{ Expression string }
			}
		}
		if err := yaml.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if ruled {
			r := got.Spec.Match.Any[0].Resources
			if r.Names[0] != x.Name || x.Namespace != "" && r.Namespaces[0] != x.Namespace {
				t.Errorf("%q in %q reads back as %+v", x.Name, x.Namespace, r)
			}
		} else if len(got.Spec.MatchConditions) != 1 {
			t.Errorf("%q gives %+v", x.Name, got.Spec.MatchConditions)
		}
	})
}

// Resources that controllers create are named in a separate filter or alternative.
func TestResourcesOfControllersHaveTheirOwnFilter(t *testing.T) {
	made := exceptions.MadeOf(map[string]any{"kind": "Deployment", "metadata": map[string]any{"name": "web"}})
	if len(made) != 2 || made[1].Object["kind"] != "Pod" {
		t.Fatalf("got %+v", made)
	}
	ruled := target()
	ruled.Made = made[1:]
	expressions := ruled
	expressions.PolicyAPIVersion, expressions.PolicyKind, expressions.Rules = "policies.kyverno.io/v1", "ValidatingPolicy",
		nil
	narrow, narrowRules := expressions, ruled
	narrow.Narrow, narrowRules.Narrow = true, true
	for _, c := range []struct {
		target exceptions.Target
		want   string
	}{
		{ruled, "      - resources:\n          kinds:\n            - v1/Pod\n          namespaces:\n            - shop\n" +
			"          names:\n            - web-*\n"},
		{narrowRules, "          names:\n            - web-????????-?????\n            - web-?????????-?????\n" +
			"            - web-??????????-?????\n"},
		{expressions, "(object.apiVersion == 'apps/v1' && object.kind == 'Deployment' && object.metadata.name == 'web' || " +
			"object.apiVersion == 'v1' && object.kind == 'Pod' && object.metadata.name.startsWith('web-')) && " +
			"object.metadata.namespace == 'shop'"},
		{narrow, `object.metadata.name.matches("^web-[a-z0-9]{8,10}-[a-z0-9]{5}$")`},
	} {
		if text, err := c.target.YAML(); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%v\n%s\nwant %s", err, text, c.want)
		}
	}
}
