package output

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// However many items there are, and however long their escaped text is, the page and its parts stay small and together
// contain everything.
func TestLargePageIsDivided(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	const n, pageLimit, partLimit = 8000, 3_000_000, 400_000
	token := func(i int) string { return strings.Repeat(`"<&'+`, 20) + fmt.Sprintf("tok%dz", i) }
	resource := func(i int) report.Resource { return report.Resource{Kind: "Pod", Name: token(i)} }
	for name, put := range map[string]func(r *report.Report, i int){
		"findings": func(r *report.Report, i int) {
			f := r.Findings[0]
			f.Resource, f.Message = resource(i), token(i)
			r.Findings = append(r.Findings, f)
		},
		"policies": func(r *report.Report, i int) {
			f := r.Findings[0]
			f.Policy = token(i)
			r.Findings = append(r.Findings, f)
		},
		"roots":     func(r *report.Report, i int) { r.Findings[0].Roots = append(r.Findings[0].Roots, token(i)) },
		"clusters":  func(r *report.Report, i int) { r.Findings[0].Clusters = append(r.Findings[0].Clusters, token(i)) },
		"touched":   func(r *report.Report, i int) { r.Clusters = append(r.Clusters, token(i)) },
		"resources": func(r *report.Report, i int) { r.Findings[0].Resources = append(r.Findings[0].Resources, resource(i)) },
		"chain": func(r *report.Report, i int) {
			f := r.Findings[0]
			o := *f.Origin
			o.StartLine, o.Chain = 100+i, []report.Place{{Path: token(i), StartLine: 1, EndLine: 1}}
			f.Origin = &o
			r.Findings = append(r.Findings, f)
		},
		"images": func(r *report.Report, i int) {
			r.Images = append(r.Images, report.ImageChange{Resource: resource(i), From: token(i), To: "b"})
		},
		"not checked": func(r *report.Report, i int) {
			r.NotChecked = append(r.NotChecked, report.NotChecked{Root: "r", Path: "p", Reason: token(i)})
		},
		"warnings": func(r *report.Report, i int) {
			r.Warnings = append(r.Warnings, report.Problem{Path: "p", Line: 1, Message: token(i)})
		},
		"errors": func(r *report.Report, i int) {
			r.Errors = append(r.Errors, report.Problem{Path: "p", Line: 1, Message: token(i)})
		},
		"exceptions": func(r *report.Report, i int) {
			r.Exceptions = append(r.Exceptions, report.Exception{Name: token(i), Path: "e", Line: 1, State: report.Merged})
		},
		"waiting": func(r *report.Report, i int) {
			r.Exceptions = append(r.Exceptions, report.Exception{Name: token(i), Path: "e", Line: 1, State: report.Pending})
		},
		"upkeep": func(r *report.Report, i int) {
			r.Cleanup = append(r.Cleanup, report.Cleanup{Name: token(i), Path: "e"})
		},
		"differences": func(r *report.Report, i int) {
			r.Differences = append(r.Differences, report.Difference{Resource: resource(i), Roots: []string{"a"}})
		},
		"its roots": func(r *report.Report, i int) { r.Differences[0].Roots = append(r.Differences[0].Roots, token(i)) },
		"versions": func(r *report.Report, i int) {
			r.Bumps = append(r.Bumps, report.Bump{Root: token(i), Added: []report.Resource{resource(i)}})
		},
		"preview": func(r *report.Report, i int) {
			if r.Preview == nil {
				r.Preview = &report.Preview{}
			}
			r.Preview.Warnings = append(r.Preview.Warnings, report.Problem{Path: "p", Message: token(i)})
			r.Preview.Findings = append(r.Preview.Findings, report.PreviewFinding{Policy: token(i)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := sizable(3, 2)
			o := *r.Findings[0].Origin
			r.Findings[0].Origin = &o
			for i := range n {
				put(r, i)
			}
			p := servedPage(r)
			seen, found := map[string]bool{"": true}, map[string]bool{}
			for list := []string{""}; len(list) > 0; list = list[1:] {
				var out bytes.Buffer
				limit, err := pageLimit, error(nil)
				if part := list[0]; part == "" {
					err = p.Write(&out)
				} else {
					limit, err = partLimit, p.WritePart(&out, part)
				}
				if err != nil {
					t.Fatal(err)
				}
				if out.Len() > limit {
					t.Errorf("%q has %d bytes", list[0], out.Len())
				}
				for _, m := range regexp.MustCompile(`tok[0-9]+z`).FindAllString(out.String(), -1) {
					found[m] = true
				}
				for _, m := range regexp.MustCompile(`<p class="rest"><a href="/p/([^"#]+)`).FindAllStringSubmatch(out.String(), -1) {
					if !seen[m[1]] {
						seen[m[1]], list = true, append(list, m[1])
					}
				}
			}
			if len(found) != n {
				t.Errorf("%d of %d are there", len(found), n)
			}
		})
	}
}
