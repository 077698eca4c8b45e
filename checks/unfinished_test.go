package checks

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// What objects deploy is found once for all rounds of a check, unless what was fetched in between says otherwise; the report
// is the same as if each round were the first.
func TestRoundsGoOnWithWhatIsDeployed(t *testing.T) {
	const apps = `
-- argo/kustomization.yaml --
resources: [shop.yaml]
patches: [{path: patch.yaml}]
-- argo/patch.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {source: {path: apps/shop}}
-- argo/shop.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  destination: {namespace: shop}
  source: {repoURL: "https://git.example.com/fleet", path: none}
-- apps/shop/kustomization.yaml --
resources: [cm.yaml]
-- apps/next/kustomization.yaml --
resources: [cm.yaml]
-- apps/next/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: next}}
-- apps/shop/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: shop}}
`
	store := treetest.New(t)
	part := strings.TrimSpace(store.Rev(store.Commit(`
-- next/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Application}
  patch: '- {op: replace, path: /spec/source/path, value: apps/next}'
-- plain/kustomization.yaml --
resources: [cm.yaml]
-- plain/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}
`) + "^{tree}"))
	plain := "resources: [cm.yaml, 'https://git.example.com/parts//plain?ref=v1']\n"
	patched := "resources: [shop.yaml]\ncomponents: ['https://git.example.com/parts//next?ref=v1']\n"
	for _, c := range []struct {
		name, path, text string
		failure          bool   // of the repository: then a file is wanted
		kept             []bool // whether what objects deploy was kept from one round that wants something to the next
		deployed         string
	}{
		{"an application's folder", "apps/shop/kustomization.yaml", plain, false, nil, "plain"},
		{"an application's folder fails", "apps/shop/kustomization.yaml", plain, true, []bool{true}, ""},
		{"the applications", "argo/kustomization.yaml", patched, false, nil, "next"},
		{"the applications fail", "argo/kustomization.yaml", patched, true, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(apps)
			r.Write(c.path, c.text)
			change := report.Change{GitDir: r.GitDir, Now: time.Unix(0, 0), Base: base, Rules: base, Head: r.Snapshot(),
				Differences: true, Repository: []string{"https://git.example.com/fleet"}}
			// rounds checks the change with one checker, or with one for each round.
			rounds := func(one *Checker) (rep *report.Report, kept []bool) {
				var lock remote.Lock
				var before map[*roots.Set]*render.Basis
				for {
					data, err := json.Marshal(lock)
					if err != nil {
						t.Fatal(err)
					}
					change.Sources = &report.Sources{GitDir: store.GitDir, Lock: data}
					checker := cmp.Or(one, &Checker{})
					rep, err := checker.Run(t.Context(), change)
					if err != nil {
						t.Fatal(err)
					}
					left := checker.kept[0].unfinished
					if rep.Wanted == nil {
						if left != nil {
							t.Error("something is left of a check that ended")
						}
						return rep, kept
					}
					if before != nil {
						same := true
						for set := range left.sets {
							same = same && before[set] != nil
						}
						kept = append(kept, same)
					}
					before = left.sets
					var request remote.Request
					if err := json.Unmarshal(rep.Wanted, &request); err != nil {
						t.Fatal(err)
					}
					for _, a := range request.Wants {
						e := remote.Entry{Want: a.Want, Tree: part, Revision: "v1"}
						if c.failure || a.Want.Kind != remote.Git {
							e = remote.Entry{Want: a.Want, Failure: &remote.Failure{Message: "it is not there", Broken: true}}
						}
						lock = append(lock, e)
					}
				}
			}
			got, kept := rounds(&Checker{})
			want, _ := rounds(nil)
			got.Work, want.Work = nil, nil
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("another report than with a new checker for each round:\n%s", diff)
			}
			if !slices.Equal(kept, c.kept) {
				t.Errorf("kept %v, want %v", kept, c.kept)
			}
			var names []string
			for _, d := range got.Differences {
				names = append(names, d.Resource.Name)
			}
			if c.deployed != "" && !slices.Contains(names, c.deployed) {
				t.Errorf("%q differ, %s does not", names, c.deployed)
			}
		})
	}
}
