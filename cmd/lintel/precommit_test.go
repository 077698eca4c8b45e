package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What .pre-commit-hooks.yaml has git run is a command of this program that needs no names of files.
func TestPreCommitHooks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Language string
		PassFilenames       *bool `yaml:"pass_filenames"`
		AlwaysRun           bool  `yaml:"always_run"`
	}
	if err := yaml.Unmarshal(data, &hooks); err != nil {
		t.Fatal(err)
	}
	languages := map[string]string{}
	for _, h := range hooks {
		languages[h.ID] = h.Language
		if h.PassFilenames == nil || *h.PassFilenames || !h.AlwaysRun {
			t.Errorf("%s: a change reaches more than the files that pre-commit would name", h.ID)
		}
		words := strings.Fields(h.Entry)
		if len(words) == 0 || words[0] != "lintel" {
			t.Fatalf("%s runs %q", h.ID, h.Entry)
		}
		cmd, args, err := newRootCommand().Find(words[1:])
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if staged, _ := cmd.Flags().GetBool("staged"); err != nil || !staged {
			t.Errorf("%s: %q: --staged is not set (%v)", h.ID, h.Entry, err)
		}
	}
	if len(languages) != 2 || languages["lintel"] != "golang" || languages["lintel-system"] != "system" {
		t.Errorf("the hooks are of the languages %v", languages)
	}
}
