package render

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/render/helm"
)

// chartWords is the message why a chart is not rendered. name stands for the chart: "the chart", "the chart db".
func chartWords(name string, e *helm.Error) string {
	message := e.Message
	switch e.Cause {
	case helm.CauseRequired:
		message = name + " requires a value that is not set: " + message
	case helm.CauseFail:
		message = name + " rejects its values: " + message
	case helm.CauseSyntax:
		message = "a template of " + name + " cannot be parsed: " + message
	case helm.CauseTemplate:
		message = "a template of " + name + " fails: " + message
	case helm.CauseOutput:
		message = "a template of " + name + " " + message
	default:
		if !strings.HasPrefix(message, "the ") {
			message = name + " " + message
		}
	}
	if len(e.Lookups) > 0 {
		message += "; before that, it looked up " + lookedUp(e.Lookups[0]) + " in the cluster (lookup), which " +
			"nothing in this repository declares"
	}
	return message
}

// chartPlace is the place of an error in a remote chart, for a message.
func chartPlace(e *helm.Error) string {
	where := e.File
	if where == "" {
		where = e.Template
	}
	switch {
	case where == "":
		return ""
	case e.Line > 0:
		return fmt.Sprintf(" (%s, line %d)", where, e.Line)
	}
	return " (" + where + ")"
}

var readValue = regexp.MustCompile(`\.Values((?:\.[A-Za-z_][A-Za-z0-9_]*)+)`)

// valueRead returns the path of the value that a template failed at, nil where the error does not name one.
func valueRead(e *helm.Error) []string {
	if m := readValue.FindStringSubmatch(e.Message); e.Cause == helm.CauseTemplate && m != nil {
		return strings.Split(m[1][1:], ".")
	}
	return nil
}
