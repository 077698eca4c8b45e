package checks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Before anybody knows who makes the change, rules that look at that give no result, and other rules give theirs.
func TestUserIsAskedFor(t *testing.T) {
	const policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: team}\nspec:\n  background: false\n  rules:\n" +
		"  - name: team\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n%s" +
		"    validate:\n      failureAction: Enforce\n      message: Name a team.\n      pattern: {metadata: {labels: {team: \"?*\"}}}\n"
	for exclude, asks := range map[string]bool{
		"": false, "    exclude: {any: [{subjects: [{kind: User, name: olga}]}]}\n": true,
	} {
		r := treetest.New(t)
		r.Write("policies/team.yaml", fmt.Sprintf(policy, exclude))
		base := r.Snapshot()
		r.Write("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
		head := r.Snapshot()
		for _, tt := range []struct {
			user report.User
			want report.Conclusion // "": none
		}{{report.User{Unasked: true}, ""}, {report.User{}, report.Failure}, {report.User{Login: "olga"}, report.Success}} {
			if !asks {
				tt.want = report.Failure
			}
			rep, err := (&checks.Checker{}).Run(t.Context(), report.Change{GitDir: r.GitDir, Rules: base, Base: base, Head: head,
				Now: time.Now(), User: tt.user})
			if err != nil {
				t.Fatal(err)
			}
			if rep.AsksUser != (tt.want == "") || rep.Conclusion != tt.want {
				t.Errorf("%q, %+v: %s, asks %v", exclude, tt.user, rep.Conclusion, rep.AsksUser)
			}
		}
	}
}
