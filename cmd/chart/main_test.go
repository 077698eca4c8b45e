package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A chart has a version that can be the tag of an image; whatever is wrong leaves no package.
func TestRun(t *testing.T) {
	deploy := filepath.Join("..", "..", "deploy")
	for _, c := range []struct {
		deploy, version string
		good            bool
	}{
		{deploy, "1.2.3", true}, {deploy, "1.2.3-rc.1", true}, {deploy, "1.2.3+build", false}, {deploy, "1.2", false}, {deploy, "", false},
		{deploy, "../1.2.3", false}, {t.TempDir(), "1.2.3", false},
	} {
		out := filepath.Join(t.TempDir(), "dist")
		err := run(c.deploy, c.version, out, time.Unix(0, 0))
		made, _ := filepath.Glob(filepath.Join(out, "*"))
		if (err == nil) != c.good || (len(made) == 1) != c.good {
			t.Errorf("%q of %s: %v, %q", c.version, c.deploy, err, made)
		}
		if c.good {
			if data, err := os.ReadFile(filepath.Join(out, "lintel-"+c.version+".tgz")); err != nil || len(data) < 1000 {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		}
	}
}
