package githubtest

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of check runs (https://docs.github.com/en/rest/checks/runs#create-a-check-run). GitHub counts the
// texts in bytes, although the page says characters.
const (
	maxAnnotations = 50
	maxText        = 65535
	maxMessage     = 64 << 10
	maxTitle       = 255
	maxActions     = 3
	maxLabel       = 20
	maxDescription = 40
	maxIdentifier  = 20
)

var (
	statuses    = []string{"queued", "in_progress", "completed"}
	conclusions = []string{"action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"}
	levels      = []string{"notice", "warning", "failure"}
)

// wrong lists the reasons for which GitHub refuses a request.
type wrong []string

func (w *wrong) add(bad bool, format string, args ...any) {
	if bad {
		*w = append(*w, fmt.Sprintf(format, args...))
	}
}

// problems lists everything for which GitHub refuses a check run.
func (in *runInput) problems(create bool) []string {
	var out wrong
	out.add(create && (in.Name == nil || *in.Name == ""), `"name" wasn't supplied.`)
	out.add(create && (in.HeadSHA == nil || !isSHA(*in.HeadSHA)), `"head_sha" wasn't supplied or is no commit id.`)
	out.add(!create && in.HeadSHA != nil, `"head_sha" is not a permitted key.`)
	out.add(in.Status != nil && !slices.Contains(statuses, *in.Status), "status %q is not one of %v", value(in.Status),
		statuses)
	out.add(in.Conclusion != nil && !slices.Contains(conclusions, *in.Conclusion), "conclusion %q is not one of %v",
		value(in.Conclusion), conclusions)
	out.add(in.Conclusion == nil && value(in.Status) == "completed", "a completed check run needs a conclusion")
	out.add(in.Conclusion != nil && in.Status != nil && *in.Status != "completed",
		"a check run with a conclusion is completed, not %s", value(in.Status))
	if in.DetailsURL != nil {
		u, err := url.Parse(*in.DetailsURL)
		out.add(err != nil || u.Scheme != "http" && u.Scheme != "https" ||
			u.Host == "", "details_url must use http or https scheme")
	}
	if o := in.Output; o != nil {
		out.add(create && (o.Title == nil || *o.Title == ""), `"output.title" wasn't supplied.`)
		out.add(o.Summary == nil || *o.Summary == "", `"output.summary" wasn't supplied.`)
		summary := len(value(o.Summary))
		out.add(summary > maxText, "output.summary has %d bytes, the limit is %d", summary, maxText)
		out.add(len(value(o.Text)) > maxText, "output.text has %d bytes, the limit is %d", len(value(o.Text)), maxText)
		out.add(len(o.Annotations) > maxAnnotations, "%d annotations, the limit is %d a request", len(o.Annotations),
			maxAnnotations)
		for i, a := range o.Annotations {
			for _, p := range a.problems() {
				out.add(true, "annotations/%d: %s", i, p)
			}
		}
	}
	if in.Actions != nil {
		out.add(len(*in.Actions) > maxActions, "%d actions, the limit is %d", len(*in.Actions), maxActions)
		for i, a := range *in.Actions {
			for _, part := range []struct {
				name, text string
				limit      int
			}{{"label", a.Label, maxLabel}, {"description", a.Description, maxDescription},
				{"identifier", a.Identifier, maxIdentifier}} {
				n := utf8.RuneCountInString(part.text)
				out.add(n == 0 || n > part.limit, "actions/%d/%s has %d characters, between 1 and %d are allowed", i, part.name, n,
					part.limit)
			}
		}
	}
	return out
}

func (a *Annotation) problems() []string {
	var out wrong
	out.add(strings.TrimSpace(a.Path) == "", "path is blank")
	out.add(strings.HasPrefix(a.Path, "/") || strings.HasPrefix(a.Path, "./"), "path %q is not relative to the repository",
		a.Path)
	out.add(a.StartLine < 1, "start_line is %d, lines count from 1", a.StartLine)
	out.add(a.EndLine < a.StartLine, "end_line %d is before start_line %d", a.EndLine, a.StartLine)
	out.add(!slices.Contains(levels, a.Level), "annotation_level %q is not one of %v", a.Level, levels)
	out.add(strings.TrimSpace(a.Message) == "", "message is blank")
	out.add(len(a.Message) > maxMessage, "message has %d bytes, the limit is %d", len(a.Message), maxMessage)
	out.add(len(a.RawDetails) > maxMessage, "raw_details has %d bytes, the limit is %d", len(a.RawDetails), maxMessage)
	out.add(utf8.RuneCountInString(a.Title) > maxTitle, "title has %d characters, the limit is %d",
		utf8.RuneCountInString(a.Title), maxTitle)
	if a.StartColumn != nil || a.EndColumn != nil {
		out.add(a.StartLine != a.EndLine, "columns are given for more than one line")
		out.add(a.StartColumn == nil || a.EndColumn == nil, "only one of start_column and end_column is given")
		if a.StartColumn != nil && a.EndColumn != nil {
			out.add(*a.StartColumn < 1 || *a.EndColumn < *a.StartColumn, "columns %d to %d: they count from 1 and are in order",
				*a.StartColumn, *a.EndColumn)
		}
	}
	return out
}

// places records warnings about annotations that nobody sees, because the head lacks the file or the line.
func (s *Server) places(c *call, sha string, in *runInput) {
	if in.Output == nil {
		return
	}
	for _, a := range in.Output.Annotations {
		text, err := s.run(c.r.Context(), c.repo, "", nil, "cat-file", "blob", sha+":"+a.Path)
		if err != nil {
			s.violate("warning", c.r, "annotation on %s, which the commit does not have", a.Path)
			continue
		}
		if lines := strings.Count(text, "\n") + 1; a.EndLine > lines {
			s.violate("warning", c.r, "annotation on %s:%d, which has %d lines", a.Path, a.EndLine, lines)
		}
	}
}

var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

func isSHA(s string) bool { return shaPattern.MatchString(s) }

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
