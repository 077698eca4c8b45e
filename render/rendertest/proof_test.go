package rendertest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/rendertest"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// samples commits testdata/origins, in which each folder shows one feature of kustomize.
func samples(t *testing.T) *tree.Tree {
	t.Helper()
	const dir = "../../testdata/origins"
	r := treetest.New(t)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		to, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			r.Symlink(target, filepath.ToSlash(to))
			return err
		}
		data, err := os.ReadFile(name)
		r.Write(filepath.ToSlash(to), string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Tree(r.Snapshot())
}

// Every origin in the samples names a place that changes the field when it is changed, each kind of place occurs ten
// times, and the output is the same as kustomize's.
func TestSamples(t *testing.T) {
	if raceDetector {
		t.Skip("one goroutine, ten times slower with the race detector: .ci/run and make test run it without")
	}
	fields, want := 60, 10
	if testing.Short() {
		fields, want = 12, 1
	}
	report, err := rendertest.Prove(t.Context(), samples(t), rendertest.Options{Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range report.Broken {
		t.Errorf("does not render: %s", name)
	}
	for _, name := range report.Different {
		t.Errorf("%s renders to other bytes than kustomize's", name)
	}
	folders, roles := map[string]int{}, map[string]int{}
	for _, f := range report.Fields {
		switch {
		case f.Outcome == rendertest.Refuted:
			t.Errorf("refuted: %s", f)
		case f.Place.How == origin.Enclosing && !strings.HasSuffix(f.Class.Role, " missing"):
			t.Errorf("has no place of its own: %s", f)
		case f.Outcome == rendertest.Confirmed:
			folders[strings.Split(f.Root, "/")[0]]++
			roles[f.Class.Role]++
		}
	}
	entries, err := os.ReadDir("../../testdata/origins")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && folders[e.Name()] < want {
			t.Errorf("%s: %d confirmed fields, want %d", e.Name(), folders[e.Name()], want)
		}
	}
	for _, role := range []string{
		"manifest", "patch", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels", "commonAnnotations",
		"replicas",
		"images", "replacements", "vars", "transformers", "generators", "configMapGenerator", "secretGenerator",
		"generatorOptions", "options",
		"manifest list", "manifest missing", "patch missing", "manifest removed", "patch removed", "patch chain",
		"namePrefix chain",
		"namespace chain", "replicas chain", "images chain", "nameSuffix chain", "manifest link",
		"manifest span", "images span", "replacements span",
	} {
		if roles[role] < want {
			t.Errorf("%s: %d confirmed fields, want %d", role, roles[role], want)
		}
	}
	for class, c := range report.Classes() {
		if c.Share() < 98 {
			t.Errorf("%s: %.1f %% confirmed, want 98", class, c.Share())
		}
	}
	if total := report.Total(); total.Undecided > total.Confirmed/4 {
		t.Errorf("%d of %d fields are undecided", total.Undecided, total.Confirmed+total.Undecided)
	}
}

// Only the roots of the folder are checked, and no more fields of each than requested.
func TestOnly(t *testing.T) {
	report, err := rendertest.Prove(t.Context(), samples(t), rendertest.Options{Only: "images", Fields: 12})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Fields {
		if !strings.HasPrefix(f.Root, "images") {
			t.Errorf("tried %s", f)
		}
	}
	if n := len(report.Fields); n == 0 || n > 12*report.Roots {
		t.Errorf("%d fields of %d roots", n, report.Roots)
	}
}
