package output

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
)

// fleetPreviewed returns a preview with s in every text, and n repositories that change.
func fleetPreviewed(s string, n int) *report.FleetPreview {
	o := &report.FleetPreview{Hidden: 2}
	for i := range n {
		o.Dependents = append(o.Dependents, report.DependentPreview{Repository: fmt.Sprintf("octo-org/%d", i), URL: "https://github.com/octo-org/x",
			Head: "abc", State: report.DependentSeen, PreviewCounts: report.PreviewCounts{Fails: 1, Passes: 2}, Resources: 3, Unseen: 1, Unrendered: 2,
			Settings: []string{s}, Policies: []report.PolicyPreview{{Policy: s, Path: s, Line: i, PreviewCounts: report.PreviewCounts{Fails: 1, Passes: 2}}},
			Findings: []report.PreviewFinding{{Policy: s, Rule: s, Message: s, After: report.Fail, Resource: report.Resource{Kind: s, Name: s},
				Origin: &report.Origin{Path: s, StartLine: 4}}, {Policy: s, Message: s}}})
	}
	for _, state := range []report.DependentState{report.DependentSeen, report.DependentFails, report.DependentWaits, report.DependentUnrelated} {
		o.Dependents = append(o.Dependents, report.DependentPreview{Repository: "octo-org/p", URL: "https://github.com/octo-org/p", State: state,
			Reason: s, Page: "https://pages/p"})
	}
	o.Sort()
	return o
}

func TestFleetPreview(t *testing.T) {
	got := FleetPreview(fleetPreviewed("p", 1), 0)
	want := `The effect of merging this pull request on the repositories that use its rules, based on their default branches. It does not decide whether this pull request may be merged.

| Policy | Once merged | Repositories |
| --- | --- | ---: |
| ` + "`p`" + ` | 1 new failure, 2 no longer reported | 1 |

| Repository | Once merged | Checked |
| --- | --- | --- |
| ` + "[`octo-org/0`](https://github.com/octo-org/x)" + ` | 1 new failure, 2 no longer reported; settings: p | 3 resources; no time for 1 root; 2 roots do not render |

#### Could not be checked

- ` + "[`octo-org/p`](https://pages/p)" + `: p

<details><summary>Nothing changes: 1</summary>

- ` + "[`octo-org/p`](https://pages/p)" + `

</details>

<details><summary>Still to be checked: 1</summary>

- ` + "[`octo-org/p`](https://pages/p)" + `

</details>

<details><summary>Use no rules of this branch: 1</summary>

- ` + "[`octo-org/p`](https://pages/p)" + `

</details>

<details><summary>octo-org/0: 1 new failure, 2 no longer reported</summary>

- ` + "[`p:4`](https://github.com/octo-org/x/blob/abc/p#L4), `p p`: `p / p` no rule → fail, p" + `
- ` + ": `p` no rule → no rule, p" + `

</details>

2 private repositories that take rules from here are not named, since everybody may read this one.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Repositories without a name are summed up.
func TestFleetPreviewWithoutNames(t *testing.T) {
	o := &report.FleetPreview{Page: "https://pages/o/octo-org/policies"}
	for range 2 {
		o.Dependents = append(o.Dependents,
			report.DependentPreview{State: report.DependentSeen, PreviewCounts: report.PreviewCounts{Fails: 3}, Resources: 4, Settings: []string{"block"}, Unseen: 7},
			report.DependentPreview{State: report.DependentFails, Reason: "the App has no access to " +
				"it"}, report.DependentPreview{})
	}
	o.Dependents = append(o.Dependents, report.DependentPreview{State: report.DependentUnrelated})
	want := `
| Repository | Once merged | Checked |
| --- | --- | --- |
| 2 private repositories | 6 new failures; settings of 2 | 8 resources; in part in 2 |

#### Could not be checked

- a private repository: the App has no access to it
- a private repository: the App has no access to it

<details><summary>Still to be checked: 2</summary>

- 2 private repositories

</details>

<details><summary>Use no rules of this branch: 1</summary>

- a private repository

</details>

Private repositories are not named here: ` + "[`a page`](https://pages/o/octo-org/policies)" + ` names to each reader those that the reader may see.
`
	_, got, _ := strings.Cut(FleetPreview(o, 0), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// addresses matches links to GitHub, which contain no markup.
var addresses = regexp.MustCompile(`\(https://github\.com/[^()\s]*\)|href="https://github\.com/[^"]*"`)

// Text of repositories is never markup. A preview of any size fits into a check run, with all markup closed.
func TestFleetPreviewIsSafe(t *testing.T) {
	for _, s := range attacks() {
		for _, n := range []int{1, 60} {
			got := FleetPreview(fleetPreviewed(s, n), 30_000)
			if len(got) > 30_000 || !utf8.ValidString(got) || strings.Count(got, "<details>") != strings.Count(got, "</details>") {
				t.Errorf("%q, %d repositories: %d bytes", s, n, len(got))
			}
			if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && hostile(r) }); i >= 0 {
				t.Errorf("%q: a control character: %q", s, got[i:min(len(got), i+20)])
			}
			left := bare(addresses.ReplaceAllString(got, ""))
			for _, bad := range []string{"<script", "<!--", "@octocat", "@x"} {
				if strings.Contains(left, bad) {
					t.Errorf("%q leaves %q", s, bad)
				}
			}
			for row := range strings.SplitSeq(got, "\n") {
				if strings.HasPrefix(row, "|") && strings.Count(bare(row), "|") != 4 {
					t.Errorf("%q breaks a row: %s", s, row)
				}
			}
		}
	}
}
