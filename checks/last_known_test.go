package checks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// While a chart or a remote base cannot be fetched, look-ups use its last known rendering. That may be of another
// version if only the base branch names the new one. It is not used with other values, for a root that the change
// touches, or for a source that does not exist.
func TestLastKnownRenderingAnswersLookups(t *testing.T) {
	store := treetest.New(t)
	store.Write("Chart.yaml", chartFile)
	store.Write("values.yaml", "team: red\n")
	store.Write("templates/cm.yaml", printsAllowed)
	chart := strings.TrimSpace(store.Rev(store.Snapshot() + "^{tree}"))
	store.Git("rm", "-rqf", ".")
	store.Write("kustomization.yaml", "resources: [cm.yaml]\n")
	store.Write("cm.yaml", configMap("red"))
	plain := strings.TrimSpace(store.Rev(store.Snapshot() + "^{tree}"))

	settings := func(version string) remote.Want {
		return remote.Want{Kind: remote.Chart, URL: "https://charts.example.com", Name: "settings", Ref: version}
	}
	base := remote.Want{Kind: remote.Git, URL: "https://git.example.com/base.git", Ref: "v1", Submodules: true}
	there := remote.Lock{{Want: settings("1.0.0"), Tree: chart, Revision: "1.0.0"}, {Want: base, Tree: plain, Revision: "0123"}}
	lacking := func(broken bool) (lock remote.Lock) {
		for _, w := range []remote.Want{settings("1.0.0"), settings("2.0.0"), base} {
			lock = append(lock, remote.Entry{Want: w, Failure: &remote.Failure{Message: "no answer", Broken: broken}})
		}
		return lock
	}
	ingresses := func(ops string) map[string]string {
		return map[string]string{"ops/release.yaml": ops, "apps/other.yaml": ingressOf("other", "b.example.com")}
	}
	release := map[string]string{"ops/release.yaml": fetchedRelease("1.0.0")}
	values := map[string]string{"ops/release.yaml": fetchedRelease("1.0.0") + "  values: {team: blue}\n"}
	newer := map[string]string{"ops/release.yaml": fetchedRelease("2.0.0")}
	store.Write("kustomization.yaml", "resources: ['https://git.example.com/more.git?ref=v1']\n")
	further := strings.TrimSpace(store.Rev(store.Snapshot() + "^{tree}"))
	deeper := lacking(false)
	deeper[2] = remote.Entry{Want: base, Tree: further, Revision: "4567"}
	deeper = append(deeper, remote.Entry{Want: remote.Want{Kind: remote.Git, URL: "https://git.example.com/more.git", Ref: "v1", Submodules: true},
		Failure: &remote.Failure{Message: "no answer"}})
	remoteBase := func(more string) map[string]string {
		return map[string]string{"remote/kustomization.yaml": "namespace: ops\nresources: ['https://git.example.com/base.git?ref=v1']\n" + more}
	}
	otherRef := map[string]string{"remote/kustomization.yaml": strings.Replace(remoteBase("")["remote/kustomization.yaml"], "v1", "v2", 1)}
	deploysRemote := with(remoteBase(""), "ops/remote.yaml", `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: remote, namespace: argocd}
spec:
  source: {repoURL: "https://git.example.com/fleet", path: remote}
  project: default
  destination: {name: in-cluster, namespace: ops}
`)
	pod := func(team string) map[string]string {
		return map[string]string{"apps/pod.yaml": podOf("shop", team, "")}
	}
	for _, c := range []struct {
		name                string
		known, merged, head map[string]string // the base when all could be fetched, files added to the base later, and those of the change
		lock                remote.Lock
		conclusion          report.Conclusion
		says                bool // whether the report says from which day the rendering is
	}{
		{"the last rendering lets the Pod pass", release, nil, pod("red"), lacking(false), report.Success, true},
		{"the last rendering lets no Pod pass", release, nil, pod("blue"), lacking(false), report.Failure, true},
		{"another rule is violated, too", with(map[string]string{"apps/ns.yaml": namespaceOf("shop", "restricted")}, "ops/release.yaml",
			fetchedRelease("1.0.0")), nil, map[string]string{"apps/pod.yaml": podOf("shop", "blue", ", hostNetwork: true")}, lacking(false),
			report.Failure, true},
		{"only another rule is violated", with(map[string]string{"apps/ns.yaml": namespaceOf("shop", "restricted")}, "ops/release.yaml",
			fetchedRelease("1.0.0")), nil, map[string]string{"apps/pod.yaml": podOf("shop", "red", ", hostNetwork: true")}, lacking(false),
			report.Failure, true},
		{"nobody tried to fetch it", release, nil, pod("blue"), remote.Lock{}, report.Failure, true},
		{"it can be fetched", release, nil, pod("blue"), there, report.Failure, false},
		{"never fetched", nil, release, pod("blue"), lacking(false), report.Neutral, false},
		{"the base names a later version", release, newer, pod("blue"), lacking(false), report.Failure, true},
		{"the change names a later version", release, nil, with(pod("blue"), "ops/release.yaml", fetchedRelease("2.0.0")),
			lacking(false), report.Neutral, false},
		{"the base has other values", release, values, pod("red"), lacking(false), report.Neutral, false},
		{"the change has other values", release, nil, with(pod("red"), "ops/release.yaml", values["ops/release.yaml"]),
			lacking(false), report.Neutral, false},
		{"it does not exist", release, nil, pod("blue"), lacking(true), report.Neutral, false},
		{"the last rendering has no object of the kind", ingresses(fetchedRelease("1.0.0")), nil, map[string]string{"apps/i.yaml": ingressOf("mine", "a.example.com")},
			lacking(false), report.Success, true},
		{"never fetched, so it may have objects of the kind", nil, ingresses(fetchedRelease("1.0.0")), map[string]string{
			"apps/i.yaml": ingressOf("mine", "a.example.com")}, lacking(false), report.Neutral, false},
		{"a remote base", remoteBase(""), nil, pod("blue"), lacking(false), report.Failure, true},
		{"a remote base, and the change touches the root", remoteBase(""), nil,
			with(pod("blue"), "remote/kustomization.yaml", remoteBase("namePrefix: ''\n")["remote/kustomization.yaml"]),
			lacking(false), report.Neutral, false},
		{"a remote base of which the base branch names a later ref", remoteBase(""), otherRef, pod("blue"), lacking(false), report.Failure, true},
		{"a remote base that an Application deploys, and of which the base branch names a later ref", deploysRemote, otherRef,
			pod("blue"), lacking(false), report.Failure, true},
		{"a remote base of which the change names a later ref", remoteBase(""), nil,
			with(pod("blue"), "remote/kustomization.yaml", otherRef["remote/kustomization.yaml"]), lacking(false), report.Neutral, false},
		{"a remote base that moved to another base", remoteBase(""), nil, pod("blue"), deeper, report.Failure, true},
		{"a remote base of a root that the base branch changed", remoteBase(""), remoteBase("commonLabels: {a: b}\n"), pod("blue"),
			lacking(false), report.Neutral, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, cache := treetest.New(t), t.TempDir()
			r.Commit(allowed + uniqueHosts + "-- flux/source.yaml --\n" + fleet)
			run := func(change report.Change, lock remote.Lock) *report.Report {
				data, err := json.Marshal(lock)
				if err != nil {
					t.Fatal(err)
				}
				change.Cache, change.GitDir, change.Repository = cache, r.GitDir, []string{"https://git.example.com/fleet"}
				change.Now, change.Sources = now, &report.Sources{GitDir: store.GitDir, Lock: data, Last: true}
				rep, err := (&checks.Checker{}).Run(t.Context(), change)
				if err != nil {
					t.Fatal(err)
				}
				return rep
			}
			edit(t, r, c.known)
			known := r.Snapshot()
			edit(t, r, c.merged)
			tip := r.Snapshot()
			edit(t, r, c.head)
			change := report.Change{Rules: tip, Base: tip, Head: r.Snapshot()}
			run(change, c.lock) // a report about an unknown source is kept no longer than the source is unknown
			run(report.Change{All: true, Rules: known, Head: known}, there)
			rep := run(change, c.lock)
			for _, f := range rep.Findings {
				if f.Result == report.Fail && strings.Contains(f.Message, "as of 2026-01-02") != (c.says && f.Rule == "team") {
					t.Errorf("%q", f.Message)
				}
			}
			said := toldOf(rep) + problems(rep.Warnings)
			if rep.Conclusion != c.conclusion || strings.Contains(said, "as they were on 2026-01-02, ") != c.says {
				t.Errorf("%s (%s), want %s: %s", rep.Conclusion, rep.Title, c.conclusion, said)
			}
			if c.says { // the last known rendering was not used
				if rep := run(report.Change{All: true, Rules: tip, Head: tip}, c.lock); rep.Conclusion != report.Neutral || len(rep.NotChecked) == 0 {
					t.Errorf("of all: %s (%s) %+v", rep.Conclusion, rep.Title, rep.NotChecked)
				}
			}
		})
	}
}
