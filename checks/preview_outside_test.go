package checks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// A change of rules is also previewed for roots with remote sources. All sources that the preview needs are requested
// at once before it runs, only for the preview. Roots whose sources cannot be fetched are counted.
func TestPreviewRequestsRemoteSources(t *testing.T) {
	store := treetest.New(t)
	put := func(files map[string]string) string {
		store.Git("rm", "-rq", "--ignore-unmatch", ".")
		edit(t, store, files)
		return strings.TrimSpace(store.Rev(store.Snapshot() + "^{tree}"))
	}
	chart := remote.Want{Kind: remote.Chart, URL: "https://charts.example.com", Name: "settings", Ref: "1.0.0"}
	base := remote.Want{Kind: remote.Git, URL: "https://git.example.com/base.git", Ref: "v1", Submodules: true}
	lock := remote.Lock{
		{Want: chart, Revision: "1.0.0", Tree: put(map[string]string{"Chart.yaml": chartFile,
			"templates/pod.yaml": podOf("ops", "blue", "")})},
		{Want: base, Revision: "0123", Tree: put(map[string]string{"kustomization.yaml": "resources: [pod.yaml]\n",
			"pod.yaml": podOf("base", "blue", "")})},
	}
	r := treetest.New(t)
	r.Commit("-- ops/release.yaml --\n" + fetchedRelease("1.0.0") + "-- remote/kustomization.yaml --\nresources:\n" +
		"- https://git.example.com/base.git?ref=v1\n-- apps/pod.yaml --\n" + podOf("shop", "blue", ""))
	at := r.Snapshot()
	r.Write("policies/red.yaml", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: red}\nspec:\n  rules:\n"+
		"  - name: red\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate:\n      failureAction: Enforce\n"+
		"      message: red only\n      pattern: {metadata: {labels: {team: red}}}\n")
	head := r.Snapshot()
	for _, c := range []struct {
		name       string
		lock       remote.Lock
		last       bool
		nothing    bool // the program does not fetch at all
		wants      []remote.Want
		fails      int
		unrendered int
	}{
		{"no source is fetched yet", remote.Lock{}, false, false, []remote.Want{chart, base}, 0, 0},
		{"one source is fetched", lock[:1], false, false, []remote.Want{base}, 0, 0},
		{"all sources are fetched", lock, false, false, nil, 3, 0},
		{"one source is not fetched in time", lock[:1], true, false, nil, 2, 1},
		{"the program does not fetch", nil, false, true, nil, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := report.Change{Base: at, Rules: at, Head: head}
			if !c.nothing {
				data, err := json.Marshal(c.lock)
				if err != nil {
					t.Fatal(err)
				}
				change.Sources = &report.Sources{GitDir: store.GitDir, Lock: data, Last: c.last}
			}
			rep := check(t, r, change)
			if len(c.wants) > 0 {
				var request remote.Request
				if err := json.Unmarshal(rep.Wanted, &request); err != nil {
					t.Fatal(err)
				}
				var got []remote.Want
				for _, a := range request.Wants {
					if got = append(got, a.Want); !a.Preview || a.Base || a.Given {
						t.Errorf("%+v", a)
					}
				}
				if !slices.Equal(got, c.wants) {
					t.Errorf("wants %v", got)
				}
				return
			}
			if rep.Wanted != nil || rep.Preview == nil {
				t.Fatalf("wants %s", rep.Wanted)
			}
			if p := rep.Preview; p.Policies[0].Fails != c.fails || p.Stats.Unrendered != c.unrendered || p.Stats.Unseen > 0 {
				t.Errorf("%+v", p)
			}
			from := slices.ContainsFunc(rep.RemoteSources, func(o report.RemoteSource) bool {
				return o.URL == base.URL && slices.Equal(o.Roots, []string{"remote"})
			})
			if from != (c.fails == 3) {
				t.Errorf("from outside: %+v", rep.RemoteSources)
			}
			hidden := rep.Withhold([]string{base.URL})
			for _, f := range hidden.Preview.Findings {
				if f.Origin == nil || slices.ContainsFunc(f.Origin.Chain, func(p report.Place) bool {
					return strings.HasPrefix(p.Path, base.URL)
				}) && from {
					t.Errorf("%+v", f.Origin)
				}
			}
		})
	}
}
