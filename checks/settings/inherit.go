package settings

import (
	"reflect"

	"github.com/lintel-bot/lintel/checks/report"
)

// Inherit returns the settings of a repository whose organisation also has settings. A repository can add to the
// organisation's settings and restrict them, and never loosen them:
//
//   - The policies and the exceptions of the organisation always apply, see [Settings.Inherits]; its approvers decide
//     about exceptions to its policies.
//   - What fails a check (block, unrendered, the levels of checks) is what either asks for.
//   - How far checks go (mode), and who an account is in the cluster (identities), is the organisation's to say.
//
// Everything else is decided by the repository. The returned problems name the repository's settings that therefore
// have no effect, with their lines. They do not fail the check.
func (s *Settings) Inherit(from *Settings) (*Settings, []report.Problem) {
	out := *s
	out.inherits = from
	var ignored []report.Problem
	ignore := func(field, why string) {
		ignored = append(ignored, report.Problem{Path: Path, Line: s.line("", field),
			Message: field + " is ignored: " + why})
	}
	if s.Mode == ModeAdvisory && from.Mode != ModeAdvisory {
		ignore("mode", "only the organisation's settings can set this")
	}
	if len(s.Identities.Users)+len(s.Identities.Teams) > 0 && !reflect.DeepEqual(s.Identities, from.Identities) {
		ignore("identities", "the organisation's settings take precedence")
	}
	out.Mode, out.Identities = from.Mode, from.Identities
	out.Block = Block{Existing: s.Block.Existing || from.Block.Existing, Audit: s.Block.Audit || from.Block.Audit}
	if from.Unrendered == UnrenderedFailure {
		out.Unrendered = UnrenderedFailure
	}
	out.Checks = s.Checks.atLeast(from.Checks)
	return &out, ignored
}

// Inherits returns the settings of the organisation, nil if there are none.
func (s *Settings) Inherits() *Settings { return s.inherits }

// OrganizationApprovers returns who may approve exceptions to inherited policies, if the organisation's settings name
// anybody, or cannot be read. Otherwise it returns nil, and the approvers of other exceptions decide. Code owners are
// named by the repository, so they count only if the organisation says so.
func (s *Settings) OrganizationApprovers() *report.Approvers {
	from := s.inherits
	if from == nil || !from.unread && len(from.Approvers.Users)+len(from.Approvers.Teams) == 0 {
		return nil
	}
	whom := from.AllApprovers()
	whom.CodeOwners = !whom.Nobody && from.Approvers.CodeOwners != nil && *from.Approvers.CodeOwners && !s.unowned
	return &whom
}

// Demands reports whether the organisation's settings set the level of a check that needs no policies.
func (s *Settings) Demands() bool { return s.inherits != nil && s.inherits.Checks != Checks{} }
