package helm

import "fmt"

// Cause is what kind of thing is wrong with a chart.
type Cause string

// The causes.
const (
	CauseInvalid  Cause = "invalid"  // Helm does not load it: no Chart.yaml, a bad name or version, broken values
	CauseLibrary  Cause = "library"  // a library chart, which nobody can install
	CauseMissing  Cause = "missing"  // dependencies that are declared and not there
	CauseVersion  Cause = "version"  // the chart does not allow this version of Kubernetes
	CauseValues   Cause = "values"   // values that do not fit together with the chart's: a scalar where a subchart is
	CauseSchema   Cause = "schema"   // values that values.schema.json refuses
	CauseSyntax   Cause = "syntax"   // a template that cannot be parsed
	CauseRequired Cause = "required" // the chart asks for a value that is not set
	CauseFail     Cause = "fail"     // the chart refuses its values by the function fail
	CauseTemplate Cause = "template" // any other error while a template ran
	CauseOutput   Cause = "output"   // a template printed what is not YAML
	CauseLimit    Cause = "limit"    // larger, deeper or slower than the limits allow
)

// Error is the reason why a chart cannot be loaded or rendered. The message is one sentence and has no values in it,
// except those that the chart itself puts into the words of required and fail.
type Error struct {
	Cause Cause
	// File is the file in the chart's folder, subcharts by the folder of their name in charts/; empty if it is not one
	// file's fault. Template is the name that the engine has for it.
	File     string
	Template string
	Line     int // in File, 0 if unknown
	Message  string
	// Names has the dependencies that are missing.
	Names []string
	// Paths has the paths of the values that the schema refuses, from the values of the top chart.
	Paths [][]string
	// Lookups has what was asked of the cluster before, and not answered: with the answer it may be no error.
	Lookups []Lookup
	// AnsweredLookups has what was asked of the cluster before, and answered: the message may quote it.
	AnsweredLookups []Lookup
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Message
	case e.Line == 0:
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}
