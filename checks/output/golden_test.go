package output

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
)

var update = flag.Bool("update", false, "write the golden files")

// styles matches the styles and scripts, which are the same for all pages.
var styles = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|<meta http-equiv="Content-Security-Policy"[^>]*>`)

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if strings.HasSuffix(name, ".html") {
		got = styles.ReplaceAllString(got, "")
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func blobURL(path string, line int) string {
	return "https://github.com/org/repo/blob/4b825dc6/" + path + "#L" + string(rune('0'+line%10))
}

func TestGolden(t *testing.T) {
	for name, r := range fixtures() {
		for _, f := range Names[*report.Report]() {
			t.Run(name+"/"+f, func(t *testing.T) {
				var b bytes.Buffer
				if err := Write(f, &b, r, Options{Version: "v0.1.0"}); err != nil {
					t.Fatal(err)
				}
				golden(t, name+"."+f, b.String())
			})
		}
	}
	var narrow, color bytes.Buffer
	checkText(&narrow, rich(), Options{Width: 44})
	golden(t, "rich.narrow.text", narrow.String())
	checkText(&color, rich(), Options{Color: true})
	golden(t, "rich.color.text", color.String())
	golden(t, "rich.links.markdown", Markdown(rich(), MarkdownOptions{BlobURL: blobURL}))
	golden(t, "rich.details.markdown", Details(rich(), MarkdownOptions{BlobURL: blobURL,
		NewFileURL: func(path, _ string) string { return "https://github.com/org/repo/new/fix?filename=" + path }}))
	golden(t, "rich.short.markdown", Markdown(rich(), MarkdownOptions{BlobURL: blobURL, MaxBytes: 3000}))
}

func TestUnknownFormat(t *testing.T) {
	err := Write("yaml", io.Discard, clear(), Options{})
	if want := "unknown output format \"yaml\": choose one of text, json, "; err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.Contains(err.Error(), "policyreport") {
		t.Errorf("error %v", err)
	}
	if names := Names[*report.Report](); slices.Contains(names, "yaml") || !slices.Contains(names, "html") {
		t.Errorf("names %v", names)
	}
}

// An error of the writer is returned by every format.
func TestWriteErrors(t *testing.T) {
	for _, name := range Names[*report.Report]() {
		if err := Write(name, failing{}, rich(), Options{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
