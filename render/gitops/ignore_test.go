package gitops

import (
	"testing"

	"github.com/lintel-bot/lintel/render/tree"
)

// noFiles is a tree without files.
type noFiles struct{ Tree }

func (noFiles) ReadFile(string) ([]byte, string, error) { return nil, "", tree.ErrNotExist }

// TestIgnorePatternsMatchLikeGoGit compares with results of go-git's matcher.
func TestIgnorePatternsMatchLikeGoGit(t *testing.T) {
	for _, test := range []struct {
		e     Exclusion
		path  string
		lacks bool
	}{
		{Exclusion{}, "a/appveyor.yml", true}, {Exclusion{Ignore: "b"}, "a/appveyor.yml", false},
		{Exclusion{Ignore: "a"}, "x/a/b.yaml", true}, {Exclusion{Ignore: "a/"}, "x/a", false},
		{Exclusion{Ignore: "/a"}, "x/a/b.yaml", false}, {Exclusion{Ignore: "/x/a"}, "x/a/b.yaml", true},
		{Exclusion{Ignore: "/*\n!/a\n!/b/c"}, "a/x/y.yaml", false}, {Exclusion{Ignore: "/*\n!/a\n!/b/c"}, "b/c/d.yaml", false},
		{Exclusion{Ignore: "/*\n!/a\n!/b/c"}, "b/d.yaml", true}, {Exclusion{Ignore: "!a\na"}, "a", true},
		{Exclusion{Ignore: "**/a"}, "x/y/a", true}, {Exclusion{Ignore: "x/**/a"}, "x/a", true},
		{Exclusion{Ignore: "x/**"}, "x/y/a", true}, {Exclusion{Ignore: "x/a**"}, "x/ab", false},
		{Exclusion{Ignore: "# a\n\n*.yaml  "}, "x/a.yaml", true}, {Exclusion{Ignore: "[a"}, "[a", false},
		{Exclusion{Ignore: `[a\-c]`}, "b", false}, {Exclusion{Ignore: `[a\-c]`}, "-", true}, {Exclusion{Ignore: `[a-c]`}, "b", true},
		{Exclusion{Sparse: []string{"./a", "b/c/"}}, "a/x.yaml", false}, {Exclusion{Sparse: []string{"./a", "b/c/"}}, "b/x.yaml", true},
		{Exclusion{Sparse: []string{"a"}}, "ab/x.yaml", true},
	} {
		if got := newArtifact(noFiles{}, test.e).lacks(test.path, false); got != test.lacks {
			t.Errorf("%+v leaves out %s: %v", test.e, test.path, got)
		}
	}
	if newArtifact(noFiles{}, Exclusion{Sparse: []string{"a/b"}}).lacks("a", true) {
		t.Error("a folder around what is checked out is left out")
	}
}
