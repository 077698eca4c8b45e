package preview_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/checkstest"
	"github.com/lintel-bot/lintel/checks/preview"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const (
	repository = `
-- apps/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec: {hostNetwork: true, containers: [{name: c, image: x:1}]}
-- other/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop}
spec: {containers: [{name: c, image: x:1}]}
-- cluster/ns.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {tier: gold}}
`
	net = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: net}
spec:
  rules:
  - name: net
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {failureAction: Enforce, message: m, pattern: {spec: {=(hostNetwork): false}}}
`
	brokenMutation = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: mend}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {patch: {}}}]}
`
)

// run previews a change of policies and settings over one tree.
func run(t *testing.T, limit time.Duration, before, after string, was, will settings.Settings) *report.Preview {
	t.Helper()
	r := treetest.New(t)
	head := r.Commit(repository)
	trees, _ := checkstest.Trees(t, r, head, "", head)
	trees.Head.Roots = checkstest.Roots(t, trees.Head.Tree, &was)
	of := func(s *settings.Settings, data string) *rules.Sources {
		out := &rules.Sources{Settings: s}
		for i, one := range strings.SplitAfter(data, "---\n") {
			if one != "" {
				file := rules.Source{}
				file.Path, file.Data = string(rune('p'+i))+".yaml", []byte(one)
				out.Policies = append(out.Policies, file)
			}
		}
		return out
	}
	p, _, err := preview.Run(t.Context(), preview.Input{Trees: trees, Before: of(&was, before), After: of(&will, after),
		Limit: limit, Graphs: &graph.Cache{}, Renderings: &render.Cache{}, Objects: r.Objects()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func effects(p *report.Preview) (out []string) {
	for _, f := range p.Findings {
		out = append(out, string(f.Effect)+" "+f.Policy+" "+f.Resource.Name)
	}
	return out
}

// The two rulesets are evaluated for the roots that their settings select.
func TestPreviewEvaluatesBothRulesets(t *testing.T) {
	tier := strings.NewReplacer("kinds: [Pod]",
		"kinds: [Pod], namespaceSelector: {matchLabels: {tier: gold}}").Replace(net)
	outside := settings.Roots{Exclude: []string{"cluster"}}
	for _, c := range []struct {
		name          string
		before, after string
		was, will     settings.Settings
		want          []string
		in, out       []string
		roots         int
	}{
		{"no change", net, net, settings.Settings{}, settings.Settings{}, nil, nil, nil, -1},
		{"a comment", net, "# why\n" + net, settings.Settings{}, settings.Settings{}, nil, nil, nil, -1},
		{"a policy is added", "", net, settings.Settings{}, settings.Settings{}, []string{"fails net a"}, nil, nil, 3},
		{"a policy is removed", net, "", settings.Settings{}, settings.Settings{}, []string{"passes net a"}, nil, nil, 3},
		{"a root is excluded", net, net, settings.Settings{}, settings.Settings{Roots: settings.Roots{Exclude: []string{"apps"}}},
			[]string{"passes net a"}, nil, []string{"apps"}, 3},
		{"a root is no longer excluded", net, net, settings.Settings{Roots: settings.Roots{Exclude: []string{"apps"}}}, settings.Settings{},
			[]string{"fails net a"}, []string{"apps"}, nil, 3},
		{"other limits", net, net, settings.Settings{}, settings.Settings{Limits: settings.Limits{Nodes: 1000}}, nil, nil,
			nil, 3},
		{"other objects for look-ups", tier, tier, settings.Settings{Roots: outside},
			settings.Settings{Roots: outside, Context: []string{"cluster"}}, []string{"fails net a"}, nil, nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, 0, c.before, c.after, c.was, c.will)
			if c.roots < 0 {
				if p != nil {
					t.Errorf("got %+v", p)
				}
				return
			}
			if p == nil || p.Stats.Roots != c.roots || p.Stats.Unseen > 0 {
				t.Fatalf("got %+v", p)
			}
			if got := effects(p); !slices.Equal(got, c.want) || !slices.Equal(p.RootsIn, c.in) || !slices.Equal(p.RootsOut,
				c.out) {
				t.Errorf("got %q, roots in %q, out %q", got, p.RootsIn, p.RootsOut)
			}
		})
	}
}

// When the time is over, the remaining roots are counted, and every policy is marked as partial.
func TestRootsAfterTheTimeLimitAreCounted(t *testing.T) {
	p := run(t, -1, "", net, settings.Settings{}, settings.Settings{})
	if p.Stats.Unseen != 3 || len(p.Findings) > 0 || len(p.Policies) != 1 || !p.Policies[0].Partial {
		t.Errorf("%+v", p)
	}
}

// If an invalid policy would mutate objects, the results of other policies are unknown, and no resource is listed.
func TestInvalidMutatingPolicyStopsThePreview(t *testing.T) {
	p := run(t, 0, net, strings.Replace(net, "Enforce", "Audit", 1)+"---\n"+brokenMutation, settings.Settings{},
		settings.Settings{})
	states := map[string]report.PolicyState{}
	for _, x := range p.Policies {
		states[x.Policy] = x.State
	}
	if states["mend"] != report.PolicyBroken || states["net"] != report.PolicyUnknown || len(p.Findings) > 0 ||
		!slices.ContainsFunc(p.Warnings, func(w report.Problem) bool { return w.Path == "q.yaml" }) {
		t.Errorf("%v %+v %v", states, p.Findings, p.Warnings)
	}
}
