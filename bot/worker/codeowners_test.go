package worker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOwnersPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern  string
		yes, not []string
	}{
		{"*", []string{"a", "a/b/c.go"}, nil},
		{"*.js", []string{"x.js", "a/b/x.js"}, []string{"x.jsx", "x.ts"}},
		{"/build/logs/", []string{"build/logs/a", "build/logs/a/b"}, []string{"x/build/logs/a", "build/logs"}},
		{"docs/*", []string{"docs/getting-started.md"}, []string{"docs/build-app/troubleshooting.md", "a/docs/x.md"}},
		{"docs/*.md", []string{"docs/a.md"}, []string{"docs/x/a.md", "docs/a.txt"}},
		{"apps/", []string{"apps/x", "a/b/apps/c/d"}, []string{"apps", "myapps/x"}},
		{"/docs/", []string{"docs/a", "docs/a/b"}, []string{"x/docs/a"}},
		{"/scripts/", []string{"scripts/a"}, []string{"a/scripts/b"}},
		{"**/logs", []string{"logs", "build/logs/x", "deeply/nested/logs/a/b"}, []string{"logs2/x"}},
		{"/apps/github", []string{"apps/github", "apps/github/x"}, []string{"apps/github2", "x/apps/github"}},
		{"exceptions", []string{"exceptions", "exceptions/a.yaml", "x/exceptions/y/z"}, []string{"exceptions.yaml"}},
		{"a/**", []string{"a/b", "a/b/c"}, []string{"a", "b/a/c"}},
		{"a/**/z", []string{"a/z", "a/b/c/z", "a/b/z/below"}, []string{"z", "a/b"}},
		{"/*", []string{"README.md"}, []string{"a/README.md"}},
		{"a/*/c", []string{"a/b/c", "a/b/c/d"}, []string{"a/c", "a/b/b/c"}},
		{"file?.txt", []string{"file1.txt", "a/file2.txt"}, []string{"file10.txt", "file/.txt"}},
		{`with\ space/x`, []string{"with space/x"}, []string{`with\ space/x`}},
		{`a\*b`, []string{"a*b"}, []string{"axb"}},
		{"Makefile", []string{"Makefile"}, []string{"makefile"}},
		{"**", []string{"a", "a/b"}, nil},
		{"/**/", []string{"a/b"}, nil},
	} {
		c := ParseCodeOwners([]byte(tt.pattern + " @x\n"))
		for _, path := range tt.yes {
			if len(c.Owners(path)) == 0 {
				t.Errorf("%q does not match %q", tt.pattern, path)
			}
		}
		for _, path := range tt.not {
			if len(c.Owners(path)) != 0 {
				t.Errorf("%q matches %q", tt.pattern, path)
			}
		}
	}
}

func TestOwnersFile(t *testing.T) {
	c := ParseCodeOwners([]byte("\uFEFF# comment\r\n" +
		"*  @all @org/everyone # inline comment\r\n" +
		"/exceptions/ @org/security\n" +
		"/exceptions/free/\n" +
		"/exceptions/mail/ sec@example.com\n" +
		"!/exceptions/a.yaml @nobody\n" +
		"[ab].yaml @nobody\n" +
		"/exceptions/b.yaml @ok not-an-owner\n" +
		"\\#tag @hash\n"))
	for path, want := range map[string][]string{
		"README.md":              {"@all", "@org/everyone"},
		"exceptions/a.yaml":      {"@org/security"}, // a negated pattern is skipped
		"exceptions/b.yaml":      {"@org/security"}, // and so is a line with an unknown form of owner
		"a.yaml":                 {"@all", "@org/everyone"},
		"exceptions/free/x.yaml": nil, // the last match decides, even without owners
		"exceptions/mail/x.yaml": {"sec@example.com"},
	} {
		if diff := cmp.Diff(want, c.Owners(path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if got := ParseCodeOwners([]byte("* @x\n" + strings.Repeat("#", maxOwnersFile))).Owners("a"); got != nil {
		t.Errorf("a file over GitHub's limit has owners: %v", got)
	}
}

func FuzzCodeOwners(f *testing.F) {
	f.Add("* @a\n/x/ @b/c\n", "x/y")
	f.Add("a/**/b/**/c @x\n\\ \\\n", "a/b/c")
	f.Add("***/*?*\\ @x", "//")
	f.Fuzz(func(t *testing.T, file, path string) {
		owners := ParseCodeOwners([]byte(file)).Owners(path)
		for _, o := range owners {
			if !ownerPattern.MatchString(o) {
				t.Errorf("owner %q", o)
			}
		}
		// A last rule for everything wins over whatever was before.
		if path == "" || strings.Contains(path, "//") || strings.HasSuffix(path, "/") {
			return
		}
		if got := ParseCodeOwners([]byte(file + "\n* @last\n")).Owners(path); len(file) < 1000 &&
			(len(got) != 1 || got[0] != "@last") {
			t.Errorf("%q: %v", path, got)
		}
	})
}

func BenchmarkOwnersManyStars(b *testing.B) {
	c := ParseCodeOwners([]byte("/" + strings.Repeat("**/a*a*a*a*/", 50) + "z @x\n"))
	path := strings.Repeat("aaaaaaaaaaaaaaaa/", 100) + "y"
	for b.Loop() {
		c.Owners(path)
	}
}
