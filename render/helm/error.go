package helm

import "fmt"

// Cause says what kind of error a chart has.
type Cause string

// The causes.
const (
	CauseInvalid  Cause = "invalid"  // Helm does not load it: no Chart.yaml, a bad name or version, invalid values
	CauseLibrary  Cause = "library"  // a library chart, which cannot be installed
	CauseMissing  Cause = "missing"  // declared dependencies are missing
	CauseVersion  Cause = "version"  // the chart does not support this version of Kubernetes
	CauseValues   Cause = "values"   // values do not fit the chart: a scalar at the key of a subchart
	CauseSchema   Cause = "schema"   // values.schema.json rejects the values
	CauseSyntax   Cause = "syntax"   // a template that cannot be parsed
	CauseRequired Cause = "required" // a required value is not set
	CauseFail     Cause = "fail"     // the chart calls the function fail
	CauseTemplate Cause = "template" // any other error during the execution of a template
	CauseOutput   Cause = "output"   // a template printed something that is not YAML
	CauseLimit    Cause = "limit"    // larger, deeper or slower than the limits
)

// Error says why a chart cannot be loaded or rendered. The message is one sentence without values, except those that
// the chart passes to required and fail.
type Error struct {
	Cause Cause
	// File is the path in the chart's folder, for subcharts below charts/NAME; empty if the error is not in one file.
	// Template is the engine's name for the file.
	File     string
	Template string
	Line     int // in File, 0 if unknown
	Message  string
	// Names are the missing dependencies.
	Names []string
	// Paths are the paths of values that the schema rejects, from the values of the top chart.
	Paths [][]string
	// Lookups are the look-ups before the error that had no answer. With an answer there might be no error.
	Lookups []Lookup
	// AnsweredLookups are the look-ups before the error that had an answer. The message may quote the answer.
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
