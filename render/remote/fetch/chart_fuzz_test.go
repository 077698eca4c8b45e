package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"path"
	"strings"
	"testing"
)

// Every index is either read or refused, and the line-by-line reader gives the same result as parsing everything.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nentries:\n  a:\n  - version: 1.0.0\n    name: a\n    urls:\n    - x\n",
		"apiVersion: v1\nentries:\n    a:\n      - {version: 1.0.0, name: a, urls: [x]}\n    b: []\n",
		`{"apiVersion":"v1","entries":{"a":[{"name":"a","version":"1.0.0","urls":["x"]}]}}`,
		"apiVersion: v1\nentries: {a: [{name: a, version: 1.0.0, urls: [x]}]}\n",
		"x: &x [1]\napiVersion: v1\nentries:\n  a: *x\n", "entries:\n",
		"---\n# c\napiVersion: v1\nentries:\n  'a':\n  -\n    name: a\n",
		"apiVersion: v1\nentries:\n  a:\n  - name: a\n    description: |\n      - x\n     y: z\n    version: 1.0.0\n    " +
			"urls: [x]\n",
	} {
		f.Add([]byte(seed), "a", "")
		f.Add([]byte(seed), "a", "1.x")
	}
	f.Fuzz(func(t *testing.T, index []byte, name, ref string) {
		v, err := findVersion(index, name, ref)
		if err != nil {
			if failureOf(err) == nil {
				t.Fatalf("an error that is no failure: %v", err)
			}
			return
		}
		if v.Version == "" || v.URLs[0] == "" || !parses(v.Version) {
			t.Fatalf("got %+v", v)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, data := range map[string]string{"a/Chart.yaml": "version: 1.0.0", "a/x/y": "z", "a/../b": "c", "a\\b": "d"} {
		_ = w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644, Typeflag: tar.TypeReg})
		_, _ = w.Write([]byte(data))
	}
	_ = w.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, archive []byte) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(archive)
		_ = z.Close()
		l := ChartLimits{Packed: 1 << 20, Unpacked: 1 << 16, Files: 50}
		for _, data := range [][]byte{packed.Bytes(), archive} {
			files, _, err := unpack(data, l)
			if err != nil {
				if failureOf(err) == nil {
					t.Fatalf("an error that is no failure: %v", err)
				}
				continue
			}
			var sum int64
			for _, f := range files {
				sum += int64(len(f.Data))
				if f.Name != path.Clean(f.Name) || path.IsAbs(f.Name) || strings.HasPrefix(f.Name, "..") {
					t.Fatalf("name %q", f.Name)
				}
			}
			if sum > l.Unpacked || len(files) > l.Files {
				t.Fatalf("%d bytes, %d files", sum, len(files))
			}
		}
	})
}
