package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// Sweep removes the folders of killed processes, and keeps those of other users and of running children.
func TestSweep(t *testing.T) {
	temp, outside := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	at := func(parts ...string) string { return filepath.Join(append([]string{temp}, parts...)...) }
	for _, dir := range []string{at(homePrefix+"dead", "go-build"), at(homePrefix + "held"), at("lintel-snapshot-1"), at(homePrefix + "theirs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{at(homePrefix+"dead", "a"), at(homePrefix + "file"), filepath.Join(outside, "precious")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{at(homePrefix + "link"), at(homePrefix+"dead", "link")} {
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
	}
	stays := []string{homePrefix + "file", homePrefix + "held", homePrefix + "link", "lintel-snapshot-1"}
	if os.Chown(at(homePrefix+"theirs"), 54321, 54321) == nil { // succeeds only as root
		stays = append(stays, homePrefix+"theirs")
	}
	lock, err := lockFolder(at(homePrefix + "held"))
	if err != nil {
		t.Fatal(err)
	}
	b := testSandbox(t, nil)
	title(t, b, "pid")
	home := filepath.Base(b.idle[0].child.home)
	stays = append(stays, home)

	there := func() (names []string) {
		entries, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	slices.Sort(stays)
	if err := Sweep(); err != nil || !slices.Equal(there(), stays) {
		t.Errorf("%v, left %v, want %v", err, there(), stays)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Error(err)
	}
	if _, err := b.Run(t.Context(), report.Change{Head: "pid"}); err != nil {
		t.Errorf("the child that runs: %v", err)
	}
	lock.Close()
	b.Close()
	stays = slices.DeleteFunc(stays, func(name string) bool { return name == homePrefix+"held" || name == home })
	if err := Sweep(); err != nil || !slices.Equal(there(), stays) {
		t.Errorf("later: %v, left %v, want %v", err, there(), stays)
	}
}
