package checks_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// A clone may have only the files of the compared commits. A check there does not compute a wrong age of an exception:
// it names the missing objects of the history. Once they are fetched, its report is that of a full clone.
func TestPartialCloneNamesTheMissingHistory(t *testing.T) {
	lives := strings.Replace(narrow("a", "new"), "namespace: ops", "namespace: ops, labels: {cleanup.kyverno.io/ttl: 9d}", 1)
	patch := "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: ops, labels: " +
		"{cleanup.kyverno.io/ttl: 9d}}\n"
	for name, c := range map[string]struct {
		step   func(r *treetest.Repo, n string)
		lacked int
	}{
		"edits of the exception": {func(r *treetest.Repo, n string) { r.Write("e/a.yaml", "# "+n+"\n"+lives) }, 4},
		"edits of its patch": {func(r *treetest.Repo, n string) {
			r.Write("e/a.yaml", "# "+n+"\n"+narrow("a", "new"))
			r.Write("e/p.yaml", "# "+n+"\n"+patch)
			r.Write("e/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: PolicyException}}]\n")
		}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(pods)
			for i, n := range []string{"1", "2", "3", "4", "5"} {
				r.Date = now.AddDate(0, 0, i-4).Format("2006-01-02T15:04:05Z")
				c.step(r, n)
				r.Snapshot()
			}
			base := r.Rev("HEAD")
			r.Write("apps/new.yaml", pod("new", hostNetwork))
			change := report.Change{Base: base, Rules: base, Head: r.Snapshot(), GitDir: r.GitDir, Now: now}
			want := check(t, r, change)
			if want.Until.IsZero() {
				t.Fatalf("the exception does not count: %q", lines(want))
			}

			kept := strings.Fields(r.Git("rev-list", "--objects", "--no-object-names", base+"^{tree}", change.Head+"^{tree}"))
			type lost struct {
				file   string
				object []byte
			}
			away := map[string]lost{}
			for _, line := range strings.Split(r.Git("cat-file", "--batch-check", "--batch-all-objects"), "\n") {
				if f := strings.Fields(line); f[1] == "blob" && !slices.Contains(kept, f[0]) {
					file, object := r.Lose(f[0])
					away[f[0]] = lost{file, object}
				}
			}
			checker := &checks.Checker{}
			rep, err := checker.Run(t.Context(), change)
			var absent *tree.AbsentError
			if !errors.As(err, &absent) || rep != nil || len(absent.IDs) != c.lacked {
				t.Fatalf("without the history: %v, %v", rep, err)
			}
			for _, id := range absent.IDs {
				if err := os.WriteFile(away[id].file, away[id].object, 0o444); err != nil {
					t.Fatal(err)
				}
			}
			if rep, err = checker.Run(t.Context(), change); err != nil || !rep.Until.Equal(want.Until) ||
				rep.Conclusion != want.Conclusion {
				t.Errorf("with what it lacked: %+v, %v", rep, err)
			}
		})
	}
}
