package cel

import "github.com/lintel-bot/lintel/engine/admission"

// The outcomes, in the words of the tables of tests.
const (
	Pass    = admission.Pass
	Fail    = admission.Fail
	Skip    = admission.Skip
	Error   = admission.Error
	Unknown = admission.Unknown
)

// Outcome is that of the admission review.
type Outcome = admission.Outcome
