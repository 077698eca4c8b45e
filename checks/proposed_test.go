package checks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// proposedBase is the address of the remote base of some repositories.
const proposedBase = "https://host.example/o/base"

// foretell previews a change of a repository of policies in a repository that uses them. Every requested source can be
// fetched. It returns the report, and the fetched URLs with their revisions.
func foretell(t *testing.T, change report.Change, store *treetest.Repo) (*report.Report, []string) {
	t.Helper()
	change.All, change.Rules, change.Host, change.Now = true, change.Head, "https://host.example", time.Unix(1_700_000_000, 0)
	var lock remote.Lock
	var fetched []string
	var checker checks.Checker
	for range 6 {
		data, err := json.Marshal(lock)
		if err != nil {
			t.Fatal(err)
		}
		change.Sources = &report.Sources{GitDir: store.GitDir, Lock: data}
		rep, err := checker.Run(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Wanted == nil {
			slices.Sort(fetched)
			return rep, fetched
		}
		var request remote.Request
		if err := json.Unmarshal(rep.Wanted, &request); err != nil {
			t.Fatal(err)
		}
		for _, a := range request.Wants {
			e := remote.Entry{Want: a.Want}
			revision := a.Want.Ref
			if revision == "" {
				revision = "main"
			}
			if !slices.Contains([]string{"https://host.example/o/policies", proposedBase}, a.Want.URL) {
				e.Failure = &remote.Failure{Message: "there is nothing"}
			} else {
				e.Revision, e.Tree = store.Rev(revision), store.Rev(revision+"^{tree}")
			}
			side := "head"
			if a.Base {
				side = "base"
			}
			if a.Given {
				side += ", given"
			}
			fetched = append(fetched, strings.TrimPrefix(a.Want.URL, "https://host.example/")+"@"+revision[:4]+" "+side)
			lock = append(lock, e)
		}
	}
	t.Fatal("something is wanted again and again")
	return nil, nil
}

// The preview of a proposed change of policies equals the difference between checks before and after its merge.
func TestPreviewOfProposedPoliciesEqualsTheDifferenceOfTwoChecks(t *testing.T) {
	policies := treetest.New(t)
	policy := func(label string) string {
		return "-- kyverno/team.yaml --\n" + strings.ReplaceAll(teamPolicy, "team: ", label+": ")
	}
	base := policies.Commit("-- .lintel.yaml --\npolicies: [kyverno]\n" + policy("team"))
	policies.Git("checkout", "--quiet", "-b", "other")
	head := policies.Commit(policy("owner"))
	policies.Git("checkout", "--quiet", "-b", "broken", base)
	broken := policies.Commit("-- kyverno/team.yaml --\n" + strings.ReplaceAll(teamPolicy, "pattern:", "patern:"))
	policies.Git("checkout", "--quiet", "-b", "greedy", base)
	greedy := policies.Commit("-- .lintel.yaml --\npolicies: [kyverno, {repository: o/secret}]\n")
	policies.Git("checkout", "--quiet", "-b", "same", base)
	same := policies.Commit("-- README.md --\nread me\n")
	policies.Git("checkout", "--quiet", "main")

	const address = "https://host.example/o/policies"
	const team = `
-- a/pod.yaml --
apiVersion: v1
kind: Pod
metadata:
  name: has
  labels: {team: us}
spec: {containers: [{name: c, image: "i:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: lacks}
spec: {containers: [{name: c, image: "i:1"}]}
`
	for name, tt := range map[string]struct {
		repo     string
		defaults string
		refs     []string
		head     string
		want     []string // the title, what is fetched, the words of the preview
	}{
		"the named branch": {
			repo: "-- .lintel.yaml --\npolicies: [{repository: o/policies, ref: main, path: kyverno}]\n" + team,
			want: []string{"neutral: Once merged: 1 new failure", "o/policies@BASE base, given", "o/policies@HEAD head, given",
				"policy team (Enforce) would newly fail for 1 resource of 2 in 1 root", "fails label a/pod.yaml:5 pass>fail 1"},
		},
		"the default branch": {
			repo: "-- .lintel.yaml --\npolicies: [{repository: o/policies}]\n" + team,
			want: []string{"neutral: Once merged: 1 new failure", "o/policies@BASE base, given", "o/policies@HEAD head, given",
				"policy team (Enforce) would newly fail for 1 resource of 2 in 1 root", "fails label a/pod.yaml:5 pass>fail 1"},
		},
		"a branch that is not the default one": {
			repo: "-- .lintel.yaml --\npolicies: [{repository: o/policies}]\n" + team, refs: []string{"next", "refs/heads/next"},
			want: []string{"success: This repository takes no rules from the changed branch", "o/policies@main base"},
		},
		"a commit": {
			repo: "-- .lintel.yaml --\npolicies: [{repository: o/policies, ref: " + base + "}]\n" + team,
			want: []string{"success: This repository takes no rules from the changed branch", "o/policies@BASE base"},
		},
		"the organisation's policies": {
			repo: "-- .lintel.yaml --\nsources: {allow: []}\n" + team, defaults: address,
			want: []string{"neutral: Once merged: 1 new failure", "o/policies@BASE base, given", "o/policies@HEAD head, given",
				"policy team (Enforce) would newly fail for 1 resource of 2 in 1 root", "fails label a/pod.yaml:5 pass>fail 1"},
		},
		"only one cluster": {
			repo: "-- .lintel.yaml --\nclusters: {one: {roots: [a], policies: [{repository: o/policies}]}, two: {roots: [b]}}\n" + team +
				strings.ReplaceAll(team, "a/pod.yaml", "b/pod.yaml"),
			want: []string{"neutral: Once merged: 1 new failure", "o/policies@BASE base, given", "o/policies@HEAD head, given",
				"policy team (Enforce) would newly fail for 1 resource of 2 in 1 root", "fails label a/pod.yaml:5 pass>fail 1"},
		},
		"invalid policies": {
			repo: "-- .lintel.yaml --\npolicies: [{repository: o/policies}]\n" + team, head: broken,
			want: []string{"neutral: The effect is not known: 2 errors", "o/policies@BASE base, " +
				"given", "o/policies@HEAD head, given",
				"policy team has errors, so what it would do is not known"},
		},
		"a source that the change names is not fetched": {
			repo: "-- .lintel.yaml --\n" + team, defaults: address, head: greedy,
			want: []string{"neutral: The effect is not known: 1 error", "o/policies@BASE base, " +
				"given", "o/policies@HEAD head, given",
				"o/secret@main head"},
		},
		"a change without rules": {
			repo: "-- .lintel.yaml --\npolicies: [{repository: o/policies}]\n" + team, head: same,
			want: []string{"success: Nothing would change", "o/policies@BASE base, given", "o/policies@HEAD head, given"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			own := treetest.New(t)
			change := report.Change{GitDir: own.GitDir, Head: own.Commit(tt.repo), Defaults: tt.defaults, Proposed: &report.ProposedRules{
				Addresses: []string{address}, Refs: tt.refs, Base: base, Head: tt.head}}
			if tt.refs == nil {
				change.Proposed.Refs = []string{"main", "refs/heads/main", ""}
			}
			if tt.head == "" {
				change.Proposed.Head = head
			}
			rep, fetched := foretell(t, change, policies)
			got := append([]string{string(rep.Conclusion) + ": " + rep.Title}, fetched...)
			for i := range got {
				got[i] = strings.NewReplacer("@"+base[:4]+" ", "@BASE ", "@"+change.Proposed.Head[:4]+" ", "@HEAD ").Replace(got[i])
			}
			got = append(got, words(rep.Preview)...)
			slices.Sort(got[1 : 1+len(fetched)])
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s%v", diff, rep.Errors)
			}
		})
	}
}

// An organisation's policies look up the context of its own proposed settings first. A repository's own policies look
// there last.
func TestProposedContext(t *testing.T) {
	policies := treetest.New(t)
	said := func(team string) string {
		return "-- cluster/teams.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: teams, namespace: policies}\ndata: {team: " + team + "}\n"
	}
	base := policies.Commit("-- .lintel.yaml --\npolicies: [kyverno]\ncontext: [cluster]\n" + said("us") + `-- kyverno/team.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: known
    match: {any: [{resources: {kinds: [Pod]}}]}
    context: [{name: teams, configMap: {name: teams, namespace: policies}}]
    validate:
      failureAction: Enforce
      message: "the team is {{ teams.data.team }}"
      deny: {conditions: {any: [{key: "{{ request.object.metadata.labels.team }}", operator: NotEquals, value: "{{ teams.data.team }}"}]}}
`)
	policies.Git("checkout", "--quiet", "-b", "other")
	head := policies.Commit(said("them"))
	policies.Git("checkout", "--quiet", "main")
	own := treetest.New(t)
	rep, _ := foretell(t, report.Change{GitDir: own.GitDir, Head: own.Commit("-- a/pod.yaml --\n" + podOf("shop", "us", "")),
		Defaults: "https://host.example/o/policies", Proposed: &report.ProposedRules{
			Addresses: []string{"https://host.example/o/policies"}, Refs: []string{"main", "refs/heads/main", ""}, Base: base, Head: head}}, policies)
	if rep.Title != "Once merged: 1 new failure" || len(rep.Preview.Findings) != 1 || rep.Preview.Findings[0].Message != "the team is them" {
		t.Errorf("%s, %+v", rep.Title, rep.Preview)
	}
}

// The report names the repositories in which places of the preview are, so that readers without access do not see them.
func TestProposedPreviewNamesRepositoriesOfItsPlaces(t *testing.T) {
	store := treetest.New(t)
	base := store.Commit("-- kyverno/other.yaml --\n" + strings.ReplaceAll(teamPolicy, "team: ", "other: "))
	store.Git("checkout", "--quiet", "-b", "other")
	head := store.Commit("-- kyverno/other.yaml --\n" + strings.ReplaceAll(teamPolicy, "team: ", "owner: "))
	store.Git("checkout", "--quiet", "--orphan", "private")
	store.Git("rm", "-rqf", "--ignore-unmatch", ".")
	store.Commit("-- kustomization.yaml --\nresources: [pod.yaml]\n-- pod.yaml --\n" +
		strings.Replace(podOf("base", "us", ""), "team: us", "other: us", 1))
	own := treetest.New(t)
	rep, fetched := foretell(t, report.Change{GitDir: own.GitDir, Proposed: &report.ProposedRules{
		Addresses: []string{"https://host.example/o/policies"}, Refs: []string{"main", "refs/heads/main", ""}, Base: base, Head: head},
		Head: own.Commit("-- .lintel.yaml --\npolicies: [{repository: o/policies}]\n-- remote/kustomization.yaml --\nresources:\n" +
			"- " + proposedBase + "?ref=private\n")}, store)
	if rep.Title != "Once merged: 1 new failure" {
		t.Fatalf("%s, %v, %+v", rep.Title, fetched, rep.Preview)
	}
	if diff := cmp.Diff([]report.RemoteSource{{URL: proposedBase, Roots: []string{"remote"}}}, rep.RemoteSources); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	data, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var there report.Report // as read by the process outside of the sandbox
	if err := json.Unmarshal(data, &there); err != nil {
		t.Fatal(err)
	}
	shown := func(r *report.Report) bool {
		return slices.ContainsFunc(r.Preview.Findings[0].Origin.Chain, func(p report.Place) bool { return strings.HasPrefix(p.Path, proposedBase) })
	}
	if hidden := there.Withhold([]string{proposedBase}); !shown(&there) || shown(hidden) {
		t.Errorf("%+v, withheld %+v", there.Preview.Findings[0].Origin, hidden.Preview.Findings[0].Origin)
	}
}
