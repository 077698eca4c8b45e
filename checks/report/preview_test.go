package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The counts of one policy or exception in clusters with different rules are added, and listed once.
func TestPreviewsOfClustersSumUp(t *testing.T) {
	of := func(lets int, fails int, action Action) *Preview {
		p := &Preview{
			Policies: []PolicyPreview{{Policy: "team", Edit: Changed, Path: "team.yaml", Line: 4, Action: action, Before: Audit,
				Applies: fails, Roots: fails, PreviewCounts: PreviewCounts{Fails: fails}}},
			Exceptions: []ExceptionPreview{{Exception: "shop/web", Edit: Added, Path: "web.yaml", Line: 1, Lets: lets, Roots: lets}},
		}
		p.SetNotices(func(string) bool { return true })
		return p
	}
	var p *Preview
	for _, q := range []*Preview{of(0, 0, ""), of(1, 2, Enforce), of(0, 1, Enforce), of(1, 0, Audit)} {
		p = p.With(q)
	}
	other := of(0, 0, "")
	other.Exceptions[0].Line = 9 // another document of the file
	other.SetNotices(func(string) bool { return true })
	p = p.With(other)

	want := []ExceptionPreview{{Exception: "shop/web", Edit: Added, Path: "web.yaml", Line: 1, Lets: 2, Roots: 2},
		{Exception: "shop/web", Edit: Added, Path: "web.yaml", Line: 9}}
	if diff := cmp.Diff(want, p.Exceptions); diff != "" {
		t.Error(diff)
	}
	policies := []PolicyPreview{{Policy: "team", Edit: Changed, Path: "team.yaml", Line: 4, Action: Mixed, Before: Audit, Applies: 3, Roots: 3,
		PreviewCounts: PreviewCounts{Fails: 3}}}
	if diff := cmp.Diff(policies, p.Policies); diff != "" {
		t.Error(diff)
	}
	fresh := &Preview{Policies: p.Policies, Exceptions: p.Exceptions}
	fresh.SetNotices(func(string) bool { return true })
	if diff := cmp.Diff(fresh.Notices, p.Notices); diff != "" {
		t.Error(diff)
	}
}
