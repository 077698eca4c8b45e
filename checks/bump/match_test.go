package bump

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
)

// A range is no name that GitHub could compare: what it came to is.
func TestCompareURL(t *testing.T) {
	const at = "https://github.com/o/r"
	for want, refs := range map[string][2]string{
		"v1...v2":   {"v1", "v2"},
		"old...new": {remote.Versions + "1.x", remote.Versions + "2.x"},
	} {
		from, to := report.Version{Ref: refs[0], Revision: "old"}, report.Version{Ref: refs[1], Revision: "new"}
		got := compareURL(at, at+".git", from, to)
		if !strings.HasSuffix(got, "/o/r/compare/"+want) {
			t.Errorf("%q: %s", refs, got)
		}
	}
}
