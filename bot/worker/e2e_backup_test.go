package worker_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRestore copies the data folder of a server in work, kills it, and goes on with the copy: as the same App, with the
// jobs, and whatever became of what deploy/README.md calls a cache. Where LINTEL_OLDER names a program of an earlier version, that
// goes on with it, too, and then this one again.
func TestRestore(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	binary := buildLintel(t)
	hub, data := newHub(t), t.TempDir()
	env := append([]string{"LINTEL_GITHUB_URL=" + hub.URL()}, unconfigured...)
	p := launch(t, binary, data, env...)
	p.register("")
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	head := s.push("change", folderFiles(t, sampleChange))
	s.open("change")
	s.completed(head)
	for _, name := range []string{"app", "queue", "mirrors", "cache", "sources"} {
		if entries, err := os.ReadDir(filepath.Join(data, name)); err != nil || len(entries) == 0 {
			t.Errorf("the data folder has no %s: %v", name, err)
		}
	}
	head = s.push("later", map[string]string{patchPath: "# later\n" + read(t, sampleChange, patchPath)})
	s.open("later")
	backup := filepath.Join(t.TempDir(), "backup")
	if out, err := exec.Command("cp", "-a", data, backup).CombinedOutput(); err != nil {
		t.Logf("cp -a: %v\n%s", err, out) // of what was removed meanwhile
	}
	p.kill()

	whole := func(*testing.T, string) {}
	type restoration struct {
		name    string
		harms   func(t *testing.T, folder string) // each of the caches
		program string
		again   bool // what the last one left, in place of the backup
	}
	cases := []restoration{
		{"as it is", whole, binary, false},
		{"without caches", func(t *testing.T, folder string) {
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
		}, binary, false},
		{"with damaged caches", damage, binary, false},
	}
	if older := os.Getenv("LINTEL_OLDER"); older != "" {
		cases = append(cases, restoration{"by an older version", whole, older, false},
			restoration{"by this version, after that", whole, binary, true})
	}
	restored := ""
	for i, c := range cases {
		before := backup
		if c.again {
			before = restored
		}
		restored = filepath.Join(t.TempDir(), "data")
		if out, err := exec.Command("cp", "-a", before, restored).CombinedOutput(); err != nil {
			t.Fatalf("cp -a: %v\n%s", err, out)
		}
		for _, name := range []string{"mirrors", "cache", "sources"} {
			c.harms(t, filepath.Join(restored, name))
		}
		p := launch(t, c.program, restored, env...)
		p.awaitReady()
		hub.SetHook(p.url + "/webhook")
		if setupLink.MatchString(p.logs.String()) {
			t.Errorf("%s: it is not the App that it was", c.name)
		}
		if run := s.completed(head); run.Conclusion != "failure" {
			t.Errorf("%s: the run that was under way: %s", c.name, show(run))
		}
		next := fmt.Sprintf("next-%d", i)
		head = s.push(next, map[string]string{patchPath: read(t, sampleChange, patchPath) + strings.Repeat("\n", i+1)})
		s.open(next)
		if run := s.completed(head); run.Conclusion != "failure" {
			t.Errorf("%s: a later run: %s", c.name, show(run))
		}
		p.terminate()
	}
	clean(t, hub)
}

// damage writes something else over the first half of each file.
func damage(t *testing.T, folder string) {
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if err := os.Chmod(path, 0o600); err != nil { // objects of git are read-only
			return err
		}
		return os.WriteFile(path, append([]byte(strings.Repeat("\x00{", len(data)/4+1)), data[len(data)/2:]...), 0o600)
	})
	if err != nil || files == 0 {
		t.Errorf("%d files are damaged below %s, %v", files, filepath.Base(folder), err)
	}
}
