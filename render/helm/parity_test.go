package helm_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/helm"
)

// TestParity compares with the helm program that LINTEL_HELM names, for every chart below the folder LINTEL_CHARTS,
// with default values and with each of its ci/*-values.yaml.
func TestParity(t *testing.T) {
	program, charts := os.Getenv("LINTEL_HELM"), os.Getenv("LINTEL_CHARTS")
	if program == "" || charts == "" {
		t.Skip("LINTEL_HELM and LINTEL_CHARTS name no helm program and no folder of charts")
	}
	var count struct{ same, random, refused, differ int }
	for _, folder := range chartFolders(t, charts) {
		name, err := filepath.Rel(charts, folder)
		if err != nil {
			t.Fatal(err)
		}
		files := readFolder(t, folder)
		c, loadError := helm.Load(files, helm.Limits{})
		values, _ := filepath.Glob(filepath.Join(folder, "ci", "*values.yaml"))
		for _, file := range append([]string{""}, values...) {
			t.Run(name+"/"+filepath.Base(file), func(t *testing.T) {
				options := helm.Options{Name: "parity", Namespace: "parity"}
				args := []string{"template", "parity", folder, "-n", "parity", "--include-crds", "--skip-tests"}
				if file != "" {
					data, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if options.Values, err = helm.ParseValues(data); err != nil {
						t.Fatal(err)
					}
					args = append(args, "-f", file)
				}
				want, wantError := template(program, args)
				var out *helm.Output
				err := loadError
				if err == nil {
					out, err = c.Render(t.Context(), options)
				}
				switch {
				case err != nil && wantError != "":
					count.refused++
					t.Logf("both refuse it: %v\nhelm: %s", err, wantError)
				case err != nil:
					count.differ++
					t.Errorf("helm renders it: %v", err)
				case wantError != "" && len(out.Unvalidated) > 0:
					count.refused++
				case wantError != "":
					count.differ++
					t.Errorf("helm refuses it: %s", wantError)
				case out.Text() == want:
					count.same++
				case len(out.Frozen) > 0 && sameBut(program, args, want, out.Text()):
					count.random++
				default:
					count.differ++
					t.Errorf("differs (frozen %v): %s", out.Frozen, firstDifference(out.Text(), want))
				}
			})
		}
	}
	t.Logf("%d equal, %d equal but for random functions, %d refused by both, %d differ",
		count.same, count.random, count.refused, count.differ)
}

func template(program string, args []string) (text, failure string) {
	cmd := exec.Command(program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", err.Error() + ": " + stderr.String()
	}
	return stdout.String(), ""
}

// sameBut reports whether our output is Helm's, except in lines that differ between two runs of Helm, or that contain
// hashes of such lines.
func sameBut(program string, args []string, first, ours string) bool {
	again, failure := template(program, args)
	a, b, c := strings.Split(first, "\n"), strings.Split(again, "\n"), strings.Split(ours, "\n")
	if failure != "" || len(a) != len(b) {
		return false
	}
	// If the number of lines differs (keys of other lengths), texts between BEGIN and END are removed first.
	if len(a) != len(c) {
		pem := regexp.MustCompile(`(?s)-----BEGIN.*?-----END[^\n]*`)
		a = strings.Split(pem.ReplaceAllString(first, "PEM"), "\n")
		b = strings.Split(pem.ReplaceAllString(again, "PEM"), "\n")
		c = strings.Split(pem.ReplaceAllString(ours, "PEM"), "\n")
		if len(a) != len(b) || len(a) != len(c) {
			return false
		}
	}
	for i := range a {
		if a[i] == b[i] && a[i] != c[i] {
			return false
		}
	}
	return true
}

func firstDifference(ours, helms string) string {
	a, b := strings.Split(ours, "\n"), strings.Split(helms, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "\nours: " + strings.Join(a[max(0, i-3):min(len(a), i+3)], "\n      ") +
				"\nhelm: " + strings.Join(b[max(0, i-3):min(len(b), i+3)], "\n      ")
		}
	}
	return "one is longer"
}

func chartFolders(t *testing.T, root string) []string {
	t.Helper()
	var folders []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, "Chart.yaml")); err != nil {
			return nil
		}
		folders = append(folders, path)
		return fs.SkipDir
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(folders)
	return folders
}

// readFolder reads the files of a chart's folder. It follows symlinks, as Helm does.
func readFolder(t testing.TB, root string) []helm.File {
	t.Helper()
	var files []helm.File
	var walk func(folder, prefix string)
	walk = func(folder, prefix string) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			if info.IsDir() {
				walk(path, prefix+e.Name()+"/")
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, helm.File{Name: prefix + e.Name(), Data: data})
		}
	}
	walk(root, "")
	return files
}
