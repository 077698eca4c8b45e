package settings

import (
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
