package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/report"
)

// EvalJSON writes the report of "lintel eval" for programs, one line for each result. It holds a part of the text
// at a time: there can be hundreds of thousands of results.
func EvalJSON(w io.Writer, r *eval.Report) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteString("{\n\"results\": [\n")
	for i := range r.Results {
		if err := e.Encode(&r.Results[i]); err != nil {
			return err
		}
		if i < len(r.Results)-1 {
			b.Truncate(b.Len() - 1)
			b.WriteString(",\n")
		}
		if b.Len() > 32<<10 {
			if _, err := w.Write(safeJSON(b.Bytes())); err != nil {
				return err
			}
			b.Reset()
		}
	}
	b.WriteString("],\n")
	for _, part := range []struct {
		name  string
		value any
	}{{"errors", r.Errors}, {"warnings", r.Warnings}, {"stats", r.Stats}, {"conclusion", r.Conclusion}} {
		if part.name == "warnings" && len(r.Warnings) == 0 {
			continue
		}
		b.WriteString("\"" + part.name + "\": ")
		if err := e.Encode(part.value); err != nil {
			return err
		}
		if part.name != "conclusion" {
			b.Truncate(b.Len() - 1)
			b.WriteString(",\n")
		}
	}
	b.WriteString("}\n")
	_, err := w.Write(safeJSON(b.Bytes()))
	return err
}

// safeJSON is the rest of what writeJSON does.
func safeJSON(data []byte) []byte {
	return bytes.ReplaceAll(escapeJSON(data), []byte("##"), []byte(`#\u0023`))
}

// EvalText writes the report of "lintel eval" for people: what is wrong with the files, then what did not pass,
// object by object, and what it comes to.
func EvalText(w io.Writer, r *eval.Report, o TextOptions) error {
	width := o.Width
	if width <= 0 {
		width = 80
	}
	t := &text{report: &report.Report{}, width: max(width, 24), paint: painter{color: o.Color}}
	for i := range r.Errors {
		t.problem("error", red, &r.Errors[i])
	}
	var last report.Resource
	for i := range r.Results {
		res := &r.Results[i]
		if res.Result == eval.Pass && !res.Combined {
			continue
		}
		if res.Resource != last {
			t.blank()
			t.head(t.paint.with(cyan), "", line(resourceName(res.Resource)), line(res.Path))
			last = res.Resource
		}
		t.evalResult(res)
	}
	t.blank()
	for i := range r.Warnings {
		t.problem("warning", yellow, &r.Warnings[i])
	}
	tone := red
	switch r.Conclusion {
	case report.Success:
		tone = green
	case report.Neutral:
		tone = yellow
	}
	for _, row := range wrap(evalCounts(r), t.width) {
		t.line(t.paint.with(tone).mark(row))
	}
	for _, row := range wrap(evalWork(r.Stats), t.width) {
		t.line(t.paint.dim(row))
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

func (t *text) evalResult(r *eval.Result) {
	paint := t.paint.with(yellow)
	switch {
	case r.Blocks():
		paint = t.paint.with(red)
	case r.Result == report.Skip || r.Result == eval.Pass:
		paint = t.paint.with(green)
	}
	name := r.Policy
	if r.Rule != "" {
		name += " / " + r.Rule
	}
	t.line("  " + paint.mark(string(r.Result)) + strings.Repeat(" ", max(1, 9-len(r.Result))) + line(name))
	for _, row := range wrap(lines(r.Message), t.width-11) {
		t.line("           " + row)
	}
	fields := slices.DeleteFunc(slices.Clone(r.Fields), func(f string) bool { return f == "" })
	for _, f := range fields {
		t.line("           " + t.paint.dim(line(f)))
	}
	if r.Tolerated {
		t.line("           " + t.paint.dim("the old object is in violation, too: such an update is let through"))
	}
	if r.Combined {
		t.line("           " + t.paint.dim(line("only "+strings.Join(r.Exceptions, " and ")+" together allow it: none of them alone does")))
	}
}

// evalCounts says how many results of each kind there are.
func evalCounts(r *eval.Report) string {
	var parts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{len(r.Errors), "file error", "file errors"}, {r.Stats.Fail, "fail", "fail"}, {r.Stats.Error, "error", "error"}, {r.Stats.Warn, "warn", "warn"},
		{r.Stats.Unknown, "unknown", "unknown"}, {r.Stats.Skip, "skip", "skip"}, {r.Stats.Pass, "pass", "pass"},
	} {
		if c.n > 0 {
			parts = append(parts, count(c.n, c.one, c.many))
		}
	}
	if len(parts) == 0 {
		return "no policy is about these resources"
	}
	return strings.Join(parts, ", ")
}

func evalWork(s eval.Stats) string {
	out := fmt.Sprintf("%s, %s with %s", count(s.Resources, "resource", "resources"), count(s.Policies, "policy", "policies"), count(s.Rules, "rule", "rules"))
	if s.Exceptions > 0 {
		out += ", " + count(s.Exceptions, "exception", "exceptions")
	}
	return out
}
