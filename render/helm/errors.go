package helm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

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

// refusal is the error of a function call, with its own message.
type refusal struct {
	cause   Cause
	message string
}

func (r *refusal) Error() string { return r.message }

// unparsed returns why a template cannot be parsed.
func (in *Input) unparsed(name string, err error) error {
	if h, ok := errors.AsType[*halt](err); ok {
		return in.at(h.error, name, 0)
	}
	line, message := place(err.Error(), name)
	return in.at(&Error{Cause: CauseSyntax, Message: sentence(message)}, name, line)
}

// unparsedText returns why the argument of tpl cannot be parsed. It does not quote that text, which is a value.
func unparsedText(err error) error {
	if _, ok := errors.AsType[*halt](err); ok {
		return err
	}
	_, message := place(err.Error(), "gotpl")
	return &refusal{CauseTemplate, "cannot parse the text that is given to tpl: " + withoutValues(message)}
}

// at returns an error with the file of a template added.
func (in *Input) at(e *Error, name string, line int) error {
	out := *e
	out.Template, out.Line = name, line
	if owner, file := in.Source(name); owner != nil {
		out.File = file
	} else if _, inside, ok := strings.Cut(name, "/"); ok {
		out.File = inside
	}
	return &out
}

// failed returns why a template failed. The place is the innermost one: the line that called required, and not the
// lines that include it.
func (in *Input) failed(name string, err error) error {
	where, line, message := name, 0, ""
	for at := err; at != nil; {
		exec, ok := errors.AsType[template.ExecError](at)
		if !ok {
			break
		}
		if known, l, m := executing(exec.Err.Error()); known != "" {
			where, line, message = known, l, m
		}
		at = errors.Unwrap(exec.Err)
	}
	if h, ok := errors.AsType[*halt](err); ok {
		return in.at(h.error, where, line)
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return in.at(&Error{Cause: r.cause, Message: sentence(r.message)}, where, line)
	}
	if message == "" {
		message = err.Error()
	}
	return in.at(&Error{Cause: CauseTemplate, Message: sentence(unquote(message))}, where, line)
}

// execution matches the beginning of an error of text/template: "template: NAME:LINE:COLUMN: executing NAME at <NODE>: MESSAGE".
// What follows may be megabytes, of templates in templates, and is cut without an expression.
var execution = regexp.MustCompile(`(?s)^template: (.*?):(\d+):\d+: executing `)

// executing returns the parts of such an error.
func executing(text string) (name string, line int, message string) {
	m := execution.FindStringSubmatch(text)
	if m == nil || m[1] == "gotpl" { // the argument of tpl has no file
		return "", 0, ""
	}
	message = text[len(m[0]):]
	if _, inside, ok := strings.Cut(message, " at <"); ok {
		message = "<" + inside
	}
	line, _ = strconv.Atoi(m[2])
	return m[1], line, message
}

// unquote removes quoted texts from an error, because they may be values. It keeps the node, which is part of the
// template.
func unquote(message string) string {
	node, words, ok := strings.Cut(message, ">: ")
	if !ok {
		return withoutValues(message)
	}
	return node + ">: " + withoutValues(words)
}

// withoutValues removes quoted texts, and values that text/template and the YAML parser print without quotes.
func withoutValues(words string) string {
	return said.ReplaceAllString(quoted.ReplaceAllString(words, "…"), "$1 …")
}

// place parses "template: NAME:LINE: MESSAGE".
func place(text, name string) (line int, message string) {
	rest, ok := strings.CutPrefix(text, "template: "+name+":")
	if !ok {
		return 0, text
	}
	number, message, _ := strings.Cut(rest, ": ")
	number, _, _ = strings.Cut(number, ":")
	line, _ = strconv.Atoi(number)
	return line, message
}

var (
	quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	said   = regexp.MustCompile(`(?s)(range can't iterate over|if/with can't use|unknown anchor) .*`)
	spaces = regexp.MustCompile(`\s+`)
)

// sentence puts a message on one line and limits its length.
func sentence(message string) string {
	message = strings.TrimSpace(spaces.ReplaceAllString(message, " "))
	if len(message) > 1000 {
		message = strings.ToValidUTF8(message[:1000], "") + "…"
	}
	return message
}
