package output

import "testing"

func TestBlob(t *testing.T) {
	blob := Blob("https://github.com/o/r/", "c0ffee")
	for path, want := range map[string]string{
		"a/b.yaml":      "a/b.yaml",
		`a b#?%"<>.yml`: "a%20b%23%3F%25%22%3C%3E.yml",
		"中/文.yaml":      "%E4%B8%AD/%E6%96%87.yaml",
	} {
		if got := blob(path, 18); got != "https://github.com/o/r/blob/c0ffee/"+want+"#L18" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := blob("a", 0); got != "https://github.com/o/r/blob/c0ffee/a" {
		t.Error(got)
	}
}
