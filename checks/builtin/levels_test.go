package builtin

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/settings"
)

// Every check that can be turned off is a field of the settings, and every field is a check.
func TestSwitchedAreSettings(t *testing.T) {
	var names []string
	for _, s := range switched() {
		names = append(names, s.name)
		if got := s.compile(Facts{}); got.Name != s.name || got.Severity == "" {
			t.Errorf("%s is called %+v", s.name, got)
		}
	}
	slices.Sort(names)
	want := settings.CheckNames()
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("checks %q, settings %q", names, want)
	}
	all := Names()
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("two checks of one name: %q", all)
	}
}
