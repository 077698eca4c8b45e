package checks_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// TestConclusions checks the changes of testdata/conclusions. Each line of an archive's comment is one change:
//
//	name: part part => conclusion, text, text
//
// The base has the files of the folders PART, and those of NAME.base. The change writes the files of PART.next and of
// NAME. The base branch then has what NAME.tip changes of the base. A file that says only "DELETE" is removed, one that says "LINK target" is a symlink. The report must contain
// each text: in a finding as "OPERATION Kind namespace/name at FILE:LINE", or in what it says about files, or "N findings", "the change proposes
// POLICY changed", or "the change proposes no rules", or what the preview says. Each attack stands beside a similar harmless change.
func TestConclusions(t *testing.T) {
	t.Parallel()
	for _, c := range conclusions(t) {
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			r := treetest.New(t)
			concluded(t, check(t, r, c.commit(t, r)), strings.Split(c.want, ", "))
		})
	}
}

// conclusion is a change of testdata/conclusions.
type conclusion struct {
	archive    *txtar.Archive
	file, name string // of the archive, and of the change in it
	parts      []string
	want       string
}

// conclusions reads the changes of testdata/conclusions, by archive.
func conclusions(t *testing.T) (list []conclusion) {
	t.Helper()
	files, err := filepath.Glob("testdata/conclusions/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(archive.Comment)) {
			name, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
			parts, want, is := strings.Cut(rest, "=> ")
			if !ok || !is {
				t.Fatalf("%s: %q is no change and its conclusion", file, line)
			}
			for _, part := range strings.Fields(parts) {
				if !hasFolder(archive, part) && !hasFolder(archive, part+".next") {
					t.Fatalf("%s: %s has no part %s", file, name, part)
				}
			}
			list = append(list, conclusion{archive, strings.TrimSuffix(filepath.Base(file), ".txtar"), name, strings.Fields(parts), want})
		}
	}
	return list
}

// commit commits the change to a repository. The work tree then has the files of the head.
func (c conclusion) commit(t *testing.T, r *treetest.Repo) report.Change {
	t.Helper()
	of, next := slices.Clone(c.parts), []string(nil)
	for _, part := range of {
		next = append(next, part+".next")
	}
	if !hasFolder(c.archive, c.name) && !slices.ContainsFunc(next, func(part string) bool { return hasFolder(c.archive, part) }) {
		t.Fatal("nothing changes")
	}
	of = append(of, c.name+".base")
	base := write(r, c.archive, of...)
	tip := base
	if hasFolder(c.archive, c.name+".tip") {
		tip = write(r, c.archive, c.name+".tip")
		write(r, c.archive, of...)
	}
	head := write(r, c.archive, append(next, c.name)...)
	return report.Change{Rules: tip, Base: base, Head: head, Repository: []string{"https://github.com/acme/fleet.git"}, Branches: []string{"main"}}
}

func hasFolder(archive *txtar.Archive, folder string) bool {
	return slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, folder+"/") })
}

// write commits the files of some folders of an archive.
func write(r *treetest.Repo, archive *txtar.Archive, folders ...string) string {
	for _, folder := range folders {
		for _, f := range archive.Files {
			name, ok := strings.CutPrefix(f.Name, folder+"/")
			text := string(f.Data)
			switch target, link := strings.CutPrefix(strings.TrimSpace(text), "LINK "); {
			case !ok:
			case text == "DELETE\n":
				r.Remove(name)
			case link:
				r.Symlink(target, name)
			default:
				r.Write(name, text)
			}
		}
	}
	return r.Snapshot()
}

// concluded requires a conclusion, and texts that the report must contain.
func concluded(t *testing.T, rep *report.Report, want []string) {
	t.Helper()
	said := fmt.Sprintf("%s\n%s\n%d findings", toldOf(rep), problems(rep.Warnings), len(rep.Findings))
	if rep.Preview == nil {
		said += "\nthe change proposes no rules"
	} else {
		said += "\n" + rep.Preview.SettingsWords()
		for _, p := range rep.Preview.Policies {
			said += fmt.Sprintf("\nthe change proposes %s %s\n%s", p.Policy, p.Edit, p.Words())
		}
		said += fmt.Sprintf("\n%d policies in the preview", len(rep.Preview.Policies))
	}
	for _, f := range rep.Findings {
		said += fmt.Sprintf("\n%s %s %s", f.Operation, f.Resource.Kind, report.Name(f.Resource.Namespace, f.Resource.Name))
		if o := f.Origin; o != nil {
			said += fmt.Sprintf(" at %s:%d", o.Path, o.StartLine)
		}
	}
	if string(rep.Conclusion) != want[0] {
		t.Errorf("the conclusion is %s, want %s: %s\n%s", rep.Conclusion, want[0], rep.Title, said)
	}
	for _, text := range want[1:] {
		if !strings.Contains(said, text) {
			t.Errorf("%q is not said:\n%s", text, said)
		}
	}
}
