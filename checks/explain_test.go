package checks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// topics are those of a kind.
func topics(kind report.ExplanationKind) (list []report.Explanation) {
	for _, t := range checks.Topics() {
		if t.Kind == kind {
			list = append(list, t)
		}
	}
	return list
}

func TestEveryCheckIsExplained(t *testing.T) {
	var names []string
	for _, topic := range topics(report.ExplainCheck) {
		names = append(names, topic.Name)
		if topic.About == "" || topic.Means == "" || topic.ToDo == "" || topic.Severity == "" {
			t.Errorf("%s lacks a text: %+v", topic.Name, topic)
		}
	}
	slices.Sort(names)
	if want := slices.Sorted(slices.Values(builtin.Names())); !slices.Equal(names, want) {
		t.Errorf("explained %q, there are %q", names, want)
	}
}

// The example of each check is found when it is written, and not any more when it is as it should be.
func TestExamplesOfChecksAreFound(t *testing.T) {
	for _, topic := range topics(report.ExplainCheck) {
		t.Run(topic.Name, func(t *testing.T) {
			t.Parallel()
			r := treetest.New(t)
			commit := func(text string) string {
				for _, f := range txtar.Parse([]byte(text)).Files {
					r.Write(f.Name, string(f.Data))
				}
				return r.Snapshot()
			}
			right := commit(topic.Right)
			wrong := commit(topic.Wrong)
			for _, c := range []struct {
				head string
				want bool
			}{{wrong, true}, {right, false}} {
				rep, err := new(checks.Checker).Run(t.Context(), report.Change{GitDir: r.GitDir, Rules: right, Base: right, Head: c.head,
					Repository: []string{"https://github.com/octo-org/fleet.git"}, Branches: []string{"main"}, All: !c.want, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
				if err != nil {
					t.Fatal(err)
				}
				var rules []string
				for _, f := range rep.Findings {
					if f.New || !c.want {
						rules = append(rules, f.Rule)
					}
				}
				for _, e := range rep.Errors {
					rules = append(rules, e.Message)
				}
				if slices.Contains(rules, topic.Name) != c.want {
					t.Errorf("the findings are of %q, %v is wanted; not checked: %+v", rules, c.want, rep.NotChecked)
				}
				if !c.want && len(rules) > 0 {
					t.Errorf("the right example has findings of %q", rules)
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"api-server": "api-server", "lintel/schema": "schema", "lintel / schema": "schema", "nothing like it": "",
		"needs-the-cluster": "needs-the-cluster", "needs the cluster: Namespace shop": "needs-the-cluster",
		"Several roots declare Namespace shop, and they differ: a, b": "declared-differently",
		"a/b.yaml:3: the chart repository has no chart web":           "source-does-not-exist",
	} {
		var names []string
		for _, topic := range checks.Explain(text) {
			names = append(names, topic.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q is explained by %q, want %q", text, got, want)
		}
	}
}
