package diff_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/roots"
)

// An error in a base is one problem, however many roots include the base.
func TestErrorOfASharedBaseIsOneProblem(t *testing.T) {
	var list []*diff.Root
	shared := doc.Error{Path: "base/p.yaml", Line: 3, Message: "is wrong"}
	for i := range 7 {
		shared.By = fmt.Sprint("apps/", i, ".yaml:1")
		list = append(list, &diff.Root{Root: roots.Root{Path: fmt.Sprint("r", i)}, Head: []doc.Error{shared}})
	}
	list[1].Head = append(list[1].Head, doc.Error{Path: "r1/x.yaml", Message: "is missing", By: "apps/1.yaml:1"})
	want := []report.Problem{
		{Path: "base/p.yaml", Line: 3, Message: "is wrong (this stops 7 roots: r0, r1, r2, r3, r4 and 2 more)"},
		{Path: "r1/x.yaml", Message: "is missing (deployed by apps/1.yaml:1)"},
	}
	if got := diff.Failures(list); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
