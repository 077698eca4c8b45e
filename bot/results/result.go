package results

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/access"
	"github.com/lintel-bot/lintel/checks/output"
)

// HTML is a results.Renderer: it makes the pages of package page.
type HTML struct {
	SignIn bool // readers can sign in
}

// frame is what is around a page.
func (of HTML) frame(v View, name output.Link) output.Frame {
	f := output.Frame{Name: name, Static: v.Base + "/static/"}
	switch {
	case v.SignedIn:
		f.SignOut = v.Base + access.SignOutPath
	case of.SignIn && v.Here != "":
		f.SignIn = v.Base + access.SignInPath(v.Here)
	}
	return f
}

// Result implements results.Renderer.
func (of HTML) Result(w io.Writer, r *Stored, v View) error {
	if r.Report == nil {
		name, _ := titles(r)
		return writeMessage(w, of.frame(v, name), "This result cannot be shown any more",
			"It was made by another version of Lintel, or its report is gone: re-run the check on GitHub to have a new one.")
	}
	return of.whole(r, v).Write(w)
}

// titles are what a result is about.
func titles(r *Stored) (name output.Link, detail string) {
	name = output.Link{Text: r.Repository.String(), Address: r.RepositoryURL()}
	detail = r.Branch
	switch {
	case r.Pull != nil:
		name = output.Link{Text: fmt.Sprintf("%s #%d", r.Repository, r.Pull.Number), Address: r.PullURL()}
		detail = r.Pull.Title + " · by " + r.Pull.Author
	case r.Of != nil:
		detail = "what " + r.Of.String() + " would change here"
	case r.Group != "":
		detail = "a merge queue's group for " + r.Group
	}
	return name, detail
}

// whole is the page of a result that has a report.
func (of HTML) whole(r *Stored, v View) *output.Page {
	name, detail := titles(r)
	p := output.PageOf(r.Report.Withhold(v.Withheld), output.PageOptions{Name: name, Detail: detail, Facts: resultFacts(r, v),
		Command: r.Command, BlobURL: output.Blob(r.RepositoryURL(), r.Head), PolicyURL: output.Blob(r.RepositoryURL(), r.Rules),
		BaseURL: output.Blob(r.RepositoryURL(), r.Base), Button: r.Pull != nil})
	around := of.frame(v, p.Name)
	around.Detail, around.Parts = p.Detail, v.Here+"/"
	p.Frame = around
	p.Notices = notices(r, v)
	return p
}

// notices are what the page of a result lacks.
func notices(r *Stored, v View) (list []string) {
	switch {
	case r.TooLarge:
		list = append(list, "The report was too large to be kept: only its totals are here. The command below shows all of it.")
	case len(r.LeftOut) > 0:
		var lacks []string
		for _, name := range r.LeftOut {
			words, ok := leftOut[name]
			if !ok {
				words = "details"
			}
			if !slices.Contains(lacks, words) {
				lacks = append(lacks, words)
			}
		}
		list = append(list, "Of this report was too large to be kept: "+strings.Join(lacks, ", ")+
			". The command below shows all of it.")
	}
	if r.Outdated {
		list = append(list, "This result was made by another version of Lintel: re-run the check on GitHub for all that "+
			"this one would say.")
	}
	if len(v.Withheld) > 0 {
		list = append(list, "Lines of "+output.Visible(strings.Join(v.Withheld, ", "))+
			" are not shown: they are for those who may read it.")
	}
	return list
}

// leftOut says what the fields of a report are that may be left out.
var leftOut = map[string]string{"differences": "the rendered differences", "images": "the changes of images",
	"bumps": "what other versions change", "preview": "the preview of the rules", "excerpts": "the source lines"}

// resultFacts are what a result knows beside its report.
func resultFacts(r *Stored, v View) (facts []output.Fact) {
	add := func(label string, items ...output.Link) {
		if len(items) > 0 && items[0].Text != "" {
			facts = append(facts, output.Fact{Label: label, Items: items})
		}
	}
	commit := func(label, id string) {
		if id == "" {
			return
		}
		facts = append(facts, output.Fact{Label: label, Code: true,
			Items: []output.Link{{Text: id[:min(len(id), 10)], Address: r.RepositoryURL() + "/commit/" + id}}})
	}
	add("Repository", output.Link{Text: r.Repository.String(), Address: v.Base + RepositoryPath(r.Repository)})
	commit("Head", r.Head)
	commit("Base", r.Base)
	commit("Policies from", r.Rules)
	when := r.Completed.UTC().Format("2 January 2006 15:04 UTC")
	if took := r.Completed.Sub(r.Started); !r.Started.IsZero() && took >= time.Second/10 {
		when += ", in " + took.Round(time.Second/10).String()
	}
	add("Checked", output.Link{Text: when, Address: r.CheckRunURL()})
	var others []output.Link
	for _, m := range v.Others {
		if m.ID != r.ID {
			others = append(others, output.Link{Text: m.Completed.UTC().Format("2 January 15:04"), Address: v.Base + m.Path()})
		}
	}
	add("Other results of this commit", others...)
	return facts
}

// Part implements results.Renderer.
func (of HTML) Part(w io.Writer, r *Stored, part string, v View) error {
	if r.Report == nil {
		return ErrNone
	}
	err := of.whole(r, v).WritePart(w, part)
	if errors.Is(err, output.ErrNoPart) {
		return ErrNone
	}
	return err
}

// Message implements results.Renderer.
func (of HTML) Message(w io.Writer, m Message, v View) error {
	return writeMessage(w, of.frame(v, output.Link{}), m.Title, m.Text)
}

func writeMessage(w io.Writer, f output.Frame, title, text string) error {
	return (&output.Message{Frame: f, Heading: title, Text: text}).Write(w)
}
