package settings

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Code owners approve if the tree of the settings has a CODEOWNERS file; the same holds for the organisation's
// policies.
func TestCodeOwnersApproveWhereThereIsAFile(t *testing.T) {
	for _, c := range []struct {
		file, settings string
		want           bool
	}{
		{".github/CODEOWNERS", "{}", true},
		{"CODEOWNERS", "{}", true},
		{"docs/CODEOWNERS", "approvers: {codeowners: true}", true},
		{"CODEOWNERS", "approvers: {codeowners: false}", false},
		{"apps/CODEOWNERS", "{}", false},
		{"apps/CODEOWNERS", "approvers: {codeowners: true}", false},
		{"apps/CODEOWNERS", "broken: true", false},
	} {
		r := treetest.New(t)
		head := r.Commit("-- .lintel.yaml --\n" + c.settings + "\n-- " + c.file + " --\n* @octocat\n")
		s, _, err := Read(r.Tree(head))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.AllApprovers().CodeOwners; got != c.want {
			t.Errorf("%s, %s: %v", c.file, c.settings, got)
		}
		yes := true
		inherited, _ := s.Inherit(&Settings{Approvers: Approvers{Users: []string{"olga"}, CodeOwners: &yes}})
		if got, want := inherited.OrganizationApprovers().CodeOwners, c.file != "apps/CODEOWNERS"; got != want {
			t.Errorf("%s: %v for the organisation's policies", c.file, got)
		}
	}
}

// TestNobodyApprovesWhereSettingsCannotBeRead requires that a mistake in the settings does not widen who may approve.
func TestNobodyApprovesWhereSettingsCannotBeRead(t *testing.T) {
	for text, nobody := range map[string]bool{
		"approvers: {users: [olga]}":                            false,
		"approvers: {users: [olga]}\nchecks: {scheme: enforce}": true,
		"approvers: {users: [olga]}\nx: [":                      true,
		"approvers: {users: [olga]}\n---\nx: y":                 true,
	} {
		r := treetest.New(t)
		s, problems, err := Read(r.Tree(r.Commit("-- .lintel.yaml --\n" + text + "\n-- CODEOWNERS --\n* @octocat\n")))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.AllApprovers(); got.Nobody != nobody || nobody && (got.CodeOwners || len(got.Users) > 0) || nobody != (len(problems) > 0) {
			t.Errorf("%s: %+v %v", text, got, problems)
		}
		own, _ := Default().Inherit(s)
		if got := own.OrganizationApprovers(); got == nil || got.Nobody != nobody {
			t.Errorf("%s: %+v for the organisation's policies", text, got)
		}
	}
}

// Settings that are there and cannot be read, or have another name, are a problem: the defaults would loosen what they
// say. A link to a file of the repository is read.
func TestSettingsThatAreNotReadAreAProblem(t *testing.T) {
	for _, c := range []struct {
		name, archive, link string
		problems            string
		mode                Mode
		nobody              bool
	}{
		{name: "none", archive: "-- a --\n", mode: ModeEnforce},
		{name: "a link", archive: "-- s.yaml --\nmode: advisory\n", link: "s.yaml", mode: ModeAdvisory},
		{name: "a link to nothing", archive: "-- a --\n", link: "s.yaml", mode: ModeEnforce, nobody: true,
			problems: ".lintel.yaml: is neither a file nor a link to a file of the repository: write the settings into a file"},
		{name: "a link out of the repository", archive: "-- a --\n", link: "../s.yaml", mode: ModeEnforce, nobody: true,
			problems: ".lintel.yaml: is neither a file nor a link"},
		{name: "a folder", archive: "-- .lintel.yaml/a --\n", mode: ModeEnforce, nobody: true,
			problems: ".lintel.yaml: is neither a file nor a link"},
		{name: "another name", archive: "-- .lintel.yml --\nmode: advisory\n", mode: ModeEnforce, nobody: true,
			problems: ".lintel.yml: is not read: rename it to .lintel.yaml, or remove it"},
		{name: "JSON", archive: "-- .lintel.json --\n{}\n", mode: ModeEnforce, nobody: true, problems: ".lintel.json: is not read"},
		{name: "both names", archive: "-- .lintel.yml --\nmode: enforce\n-- .lintel.yaml --\nmode: advisory\n",
			mode: ModeAdvisory, problems: ".lintel.yml: is not read"},
		{name: "in a folder", archive: "-- apps/.lintel.yml --\nmode: advisory\n", mode: ModeEnforce},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			if c.link != "" {
				r.Symlink(c.link, Path)
			}
			s, problems, err := Read(r.Tree(r.Commit(c.archive)))
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			got := strings.Join(all, "\n")
			if !strings.HasPrefix(got, c.problems) || (got == "") != (c.problems == "") || s.Mode != c.mode {
				t.Errorf("mode %s, problems %q", s.Mode, got)
			}
			if nobody := s.AllApprovers().Nobody; nobody != c.nobody || nobody != (s.Sources.Allow != nil) {
				t.Errorf("nobody approves: %v, sources: %v", nobody, s.Sources.Allow)
			}
		})
	}
}
