package kustomization_test

import (
	"io"
	"log"
	"path"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/resource"

	"github.com/lintel-bot/lintel/render/kustomization"
)

func TestParseRepo(t *testing.T) {
	for entry, want := range map[string]kustomization.Repo{
		"github.com/org/repo":                            {URL: "https://github.com/org/repo", Marked: true},
		"GitHub.com:org/repo/a/b?ref=v1":                 {URL: "https://github.com/org/repo", Folder: "a/b", Ref: "v1"},
		"http://github.com/org/repo//a?version=x":        {URL: "https://github.com/org/repo", Folder: "a", Ref: "x"},
		"https://github.com/org/repo.git/a?ref=b/c":      {URL: "https://github.com/org/repo.git", Folder: "a", Ref: "b/c"},
		"git::https://example.com/org/repo//a?ref=v1":    {URL: "https://example.com/org/repo", Folder: "a", Ref: "v1"},
		"git@github.com:org/repo.git//a":                 {URL: "git@github.com:org/repo.git", Folder: "a"},
		"org-1@github.com/org/repo/a":                    {URL: "org-1@github.com:org/repo", Folder: "a"},
		"ssh://git@github.com/org/repo/a":                {URL: "git@github.com:org/repo", Folder: "a"},
		"ssh://git@example.com:7999/org/repo.git//a":     {URL: "ssh://git@example.com:7999/org/repo.git", Folder: "a"},
		"git@example.com:a/b/c.git?ref=v1":               {URL: "git@example.com:a/b/c.git", Ref: "v1"},
		"git@example.com/a/b.git//c":                     {URL: "git@example.com/a/b.git", Folder: "c"},
		"https://dev.azure.com/o/p/_git/repo/a?ref=v1":   {URL: "https://dev.azure.com/o/p/_git/repo", Folder: "a", Ref: "v1"},
		"https://u@dev.azure.com/o/p/_git/repo":          {URL: "https://u@dev.azure.com/o/p/_git/repo"},
		"https://gitlab.com/a/b/c":                       {URL: "https://gitlab.com/a/b", Folder: "c"},
		"https://gitlab.com/a/b/c/d.git//e":              {URL: "https://gitlab.com/a/b/c/d.git", Folder: "e"},
		"https://h/a/b?ref=v1&version=v2&timeout=90s":    {URL: "https://h/a/b", Ref: "v1"},
		"https://h/a/b?submodules=false":                 {URL: "https://h/a/b"},
		"https://h/a/b?submodules=perhaps":               {URL: "https://h/a/b"},
		"https://h/a/b?ref=v1;x":                         {URL: "https://h/a/b"},
		"https://github.com/o/r/releases/download/v/f":   {URL: "https://github.com/o/r", Folder: "releases/download/v/f"},
		"https://raw.githubusercontent.com/o/r/m/f.yaml": {URL: "https://raw.githubusercontent.com/o/r", Folder: "m/f.yaml"},
		"file:///tmp/repo":                               {URL: "file:///tmp/repo"},
	} {
		got, ok := kustomization.ParseRepo(entry)
		if got.Submodules != (entry != "https://h/a/b?submodules=false") {
			t.Errorf("%s: submodules %v", entry, got.Submodules)
		}
		want.Marked, want.Submodules = got.Marked, got.Submodules // see TestFileFirst, and above
		if !ok || got != want {
			t.Errorf("%s: got %+v, %v", entry, got, ok)
		}
		agrees(t, entry)
	}
	for _, entry := range []string{"../base", "a.yaml", "/tmp", "src/github.com/a/b", "repo//path", "a.git/b", "host:a/b",
		"gh:org/repo", "https://host", "https://github.com/x.yaml", "https://github.com/o/r//a/../../b", "git::x/y",
		"ssh://git.example.com", "file:////tmp//x", "github.com!o/r//a", "git@scp://github.com/o/r.git//p", ""} {
		if got, ok := kustomization.ParseRepo(entry); ok {
			t.Errorf("%s: got %+v", entry, got)
		}
		agrees(t, entry)
	}
}

func TestFileFirst(t *testing.T) {
	for entry, want := range map[string]bool{
		"https://raw.githubusercontent.com/o/r/main/f.yaml":               true,
		"https://github.com/o/r/releases/download/v1/install.yaml?x=y":    true,
		"https://github.com/o/r/releases/latest/download/components.yaml": true,
		"https://github.com/o/r/releases/download/v1/install":             true,
		"https://github.com/o/r/raw/main/crds":                            true,
		"https://gitlab.com/o/r/-/raw/main/f.json?ref_type=heads":         true,
		"https://example.com/a/b":                                         true,
		"https://example.com/a/b?ref=v1":                                  false,
		"https://example.com/a/b.git":                                     false,
		"https://github.com/o/r/config/default":                           false,
		"https://github.com/o/r//config?ref=v1":                           false,
	} {
		r, ok := kustomization.ParseRepo(entry)
		if got := kustomization.FileFirst(entry, r); got != want || !ok {
			t.Errorf("%s: %v", entry, got)
		}
	}
}

func TestFileURL(t *testing.T) {
	for entry, want := range map[string]string{
		"https://h/a.yaml": "https://h/a.yaml", "HTTP://h/a b": "http://h/a%20b", "https://h/a?b=c": "https://h/a?b=c",
		"a.yaml": "", "ssh://h/a": "", "github.com/a/b": "", "git::https://h/a": "", "https://h/%zz": "",
	} {
		if got, ok := kustomization.FileURL(entry); got != want || ok != (want != "") {
			t.Errorf("%s: %q", entry, got)
		}
	}
}

// agrees compares with the annotations in which kustomize records where a resource came from: they are the only place
// where its parsing of an entry can be seen.
func agrees(t *testing.T, entry string) {
	t.Helper()
	log.SetOutput(io.Discard)
	defer log.SetOutput(log.Default().Writer())
	before := resource.Origin{Repo: "before", Path: "before", Ref: "before"}
	theirs := before.Append(entry)
	r, ok := kustomization.ParseRepo(entry)
	if !ok {
		if theirs.Repo != "before" || theirs.Path != path.Join("before", entry) {
			t.Errorf("%q: kustomize has %+v, not a path", entry, *theirs)
		}
		return
	}
	folder := strings.TrimPrefix(path.Join("/notCloned", r.Folder), "/notCloned/")
	if path.Join("/", r.Folder) == "/" {
		folder = "notCloned" // so it is written for the top of a repository
	}
	if theirs.Repo != r.URL || theirs.Ref != r.Ref || theirs.Path != folder {
		t.Errorf("%q: kustomize has %+v, not %+v", entry, *theirs, r)
	}
}

func FuzzParseRepo(f *testing.F) {
	for _, s := range []string{"github.com/a/b?ref=c", "git::ssh://u@h:1/a.git//b", "https://h/_git/a/b?version=1&submodules=0",
		"git@h:a/b/../c", "file:///a//b", "https://github.com:a/b", "u@github.com:x", "HTTPS://h//a/b", "a:b", "git::git::a"} {
		f.Add(s)
	}
	f.Fuzz(agrees)
}
