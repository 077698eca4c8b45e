package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// CheckRuns returns this App's check runs for a commit, newest first, without annotations. It returns a *Gone for a
// commit that GitHub does not have.
func (a *Client) CheckRuns(ctx context.Context, repo forge.Repo, headSHA string) ([]forge.CheckRun, error) {
	found, err := a.runsOf(ctx, repo, headSHA)
	if err != nil {
		return nil, err
	}
	return report.Mapped(found, func(r *gh.CheckRun) forge.CheckRun {
		return forge.CheckRun{
			ID: r.GetID(), Part: partOf(r.GetName()), HeadSHA: r.GetHeadSHA(), Status: r.GetStatus(),
			Conclusion: r.GetConclusion(), ExternalID: r.GetExternalID(),
			DetailsURL: r.GetDetailsURL(), StartedAt: r.GetStartedAt().Time, CompletedAt: r.GetCompletedAt().Time,
			Title: r.GetOutput().GetTitle(), Summary: r.GetOutput().GetSummary(), Text: r.GetOutput().GetText(),
		}
	}), nil
}

func (a *Client) runsOf(ctx context.Context, repo forge.Repo, headSHA string) ([]*gh.CheckRun, error) {
	what := "check runs of commit " + headSHA + " of " + repo.String()
	all, err := pages(a, what, func(o gh.ListOptions) ([]*gh.CheckRun, *gh.Response, error) {
		list, resp, err := a.of(repo).Checks.ListCheckRunsForRef(ctx, repo.Owner, repo.Name, headSHA,
			&gh.ListCheckRunsOptions{Filter: gh.String("all"), AppID: gh.Int64(a.id), ListOptions: o})
		if err != nil {
			return nil, resp, err
		}
		return report.Kept(list.CheckRuns, func(r *gh.CheckRun) bool {
			return r.GetApp().GetID() == a.id && r.GetName() == nameOf(partOf(r.GetName()))
		}), resp, nil
	})
	if unprocessable(err) { // "No commit found for SHA"
		return nil, &forge.Gone{What: "commit " + headSHA + " of " + repo.String(), Err: err}
	}
	slices.SortFunc(all, func(x, y *gh.CheckRun) int { return cmp.Compare(y.GetID(), x.GetID()) })
	return all, err
}

// runName is the name of the check runs, but for their part.
const runName = "Lintel"

// nameOf returns the name of a check run with a part.
func nameOf(part string) string {
	if part == "" {
		return runName
	}
	return runName + " (" + part + ")"
}

// partOf is the reverse of nameOf, "" for all other names.
func partOf(name string) string {
	rest, ok := strings.CutPrefix(name, runName+" (")
	part, closed := strings.CutSuffix(rest, ")")
	if !ok || !closed {
		return ""
	}
	return part
}

// Publish makes GitHub's check run equal to run and sets run.ID. Texts are cut to GitHub's limits (see Fit).
//
// Annotations are sent 50 at a time while the run is in progress, the last of them together with the conclusion, so
// that a completed run is complete. The conclusion does not depend on the texts: if GitHub rejects annotations or
// texts, the run is concluded without them and says so.
//
// Publish can be repeated after any error, also if GitHub executed a request and its answer was lost. If the newest run
// has the same ExternalID, it is continued after its annotations. If it is an unfinished one with the same subject and
// demand (see forge.RunID), it is reused, so that a job that died leaves no open run. While the digest of the result is
// unknown, any run with the same subject and demand is reused, and keeps its digest.
//
// An older run never gets a result. GitHub cannot remove annotations, so a run with annotations of another ExternalID
// is left alone (or cancelled if unfinished), and a new one is created. It returns a *Gone for a commit that GitHub
// does not have (any more).
func (a *Client) Publish(ctx context.Context, repo forge.Repo, run *forge.CheckRun) error {
	if err := validate(run); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		fitted := Fit(*run)
		p := &publication{client: a, repo: repo, run: &fitted, what: "check run for commit " + run.HeadSHA + " of " +
			repo.String()}
		err := p.publish(ctx)
		if fitted.ID != 0 {
			run.ID = fitted.ID
		}
		// A run whose creation was not answered may not be in GitHub's lists yet: that is for a later try.
		if fitted.ID == 0 || attempt == attempts || !transient(err) {
			return err
		}
		if err := pause(ctx, a.after, attempt); err != nil {
			return err
		}
	}
}

func validate(run *forge.CheckRun) error {
	ends := []string{"success", "failure", "neutral", forge.Cancelled, "skipped", "timed_out", "action_required"}
	switch {
	case !slices.Contains([]string{forge.Queued, forge.InProgress, forge.Completed}, run.Status):
		return fmt.Errorf("a check run cannot be %q", run.Status)
	case run.Status != forge.Completed && run.Conclusion != "":
		return fmt.Errorf("a check run that is %s has no conclusion", run.Status)
	case run.Status == forge.Completed && !slices.Contains(ends, run.Conclusion):
		return fmt.Errorf("a check run cannot conclude with %q", run.Conclusion)
	case run.HeadSHA == "":
		return errors.New("a check run needs a commit")
	}
	return nil
}

// publication is the state of one call of Publish.
type publication struct {
	client *Client
	repo   forge.Repo
	run    *forge.CheckRun // fitted; its ID is set as soon as it is known
	what   string

	status string // of the run at GitHub, "" before it exists
	sent   int    // how many of our annotations it has
}

func (p *publication) publish(ctx context.Context) error {
	leftover, err := p.locate(ctx)
	if err != nil {
		return err
	}
	todo := p.run.Annotations[min(p.sent, len(p.run.Annotations)):]
	for len(todo) > MaxBatch {
		err := p.send(ctx, p.partial(todo[:MaxBatch]))
		if unprocessable(err) {
			p.run.Summary = withNotes(p.run.Summary, []string{fmt.Sprintf(
				"GitHub rejected %d annotations, which are therefore not shown on their lines.", len(todo))})
			todo = nil
			break
		}
		if err != nil {
			return err
		}
		todo = todo[MaxBatch:]
	}
	if err := p.finish(ctx, todo); err != nil {
		return err
	}
	if leftover == 0 {
		return nil
	}
	return p.cancel(ctx, leftover)
}

// finish sends the final state, with less text each time that GitHub rejects it.
func (p *publication) finish(ctx context.Context, todo []report.Annotation) error {
	least := gh.UpdateCheckRunOptions{Status: &p.run.Status, Conclusion: optional(p.run.Conclusion)}
	full := least
	full.Output, full.DetailsURL = p.output(todo), optional(p.run.DetailsURL)
	for _, a := range p.run.Actions {
		full.Actions = append(full.Actions, (*gh.CheckRunAction)(&a))
	}
	attempts := []gh.UpdateCheckRunOptions{full}
	if full.Output != nil {
		bare := least
		note := "GitHub rejected the details of this check; its conclusion is not affected."
		if n := len(todo); n > 0 {
			note = fmt.Sprintf("GitHub rejected the details of this check and %d annotations; its conclusion is not "+
				"affected.", n)
		}
		bare.Output = &gh.CheckRunOutput{Title: full.Output.Title, Summary: gh.String(note)}
		attempts = append(attempts, bare, least)
	}
	var err error
	for _, m := range attempts {
		if err = p.send(ctx, m); !unprocessable(err) {
			return err
		}
	}
	if p.run.ID == 0 {
		// The last attempt contained only the name and the commit.
		return &forge.Gone{What: "commit " + p.run.HeadSHA + " of " + p.repo.String(), Err: err}
	}
	return err
}

// locate finds the run to continue, and an unfinished one that must be cancelled.
func (p *publication) locate(ctx context.Context) (leftover int64, err error) {
	var found *gh.CheckRun
	switch {
	case p.run.ID != 0 && len(p.run.Annotations) == 0 && p.run.Status != forge.Completed:
		return 0, nil
	case p.run.ID != 0:
		found, _, err = p.client.of(p.repo).Checks.GetCheckRun(ctx, p.repo.Owner, p.repo.Name, p.run.ID)
		if err != nil {
			return 0, p.client.classify(p.what, err)
		}
	case p.run.ExternalID != "":
		runs, err := p.client.runsOf(ctx, p.repo, p.run.HeadSHA)
		if err != nil {
			return 0, err
		}
		found, leftover = p.choose(runs)
	}
	if found == nil {
		return leftover, nil
	}
	has := found.GetOutput().GetAnnotationsCount()
	if found.GetExternalID() != p.run.ExternalID && has > 0 && !p.open() {
		p.run.ID = 0
		if found.GetStatus() != forge.Completed {
			leftover = found.GetID()
		}
		return leftover, nil
	}
	p.run.ID, p.status, p.sent = found.GetID(), found.GetStatus(), has
	return leftover, nil
}

// open reports whether the result of the run is still unknown.
func (p *publication) open() bool {
	id, err := forge.ParseRunID(p.run.ExternalID)
	return err == nil && id.Outcome() == "" && p.run.Status != forge.Completed && len(p.run.Annotations) == 0
}

// choose selects the run to continue from ours for the commit, newest first. Only the newest of its name qualifies,
// since GitHub decides by that one. An older unfinished one with the same subject and demand is left over.
func (p *publication) choose(runs []*gh.CheckRun) (found *gh.CheckRun, leftover int64) {
	wanted, err := forge.ParseRunID(p.run.ExternalID)
	newest := true
	for _, r := range runs {
		if r.GetName() != nameOf(p.run.Part) {
			continue
		}
		id, foreign := forge.ParseRunID(r.GetExternalID())
		same := err == nil && foreign == nil && id.Target == wanted.Target && id.Demand == wanted.Demand
		unfinished := r.GetStatus() != forge.Completed
		switch {
		case newest && (r.GetExternalID() == p.run.ExternalID || same && (unfinished || p.open())):
			found = r
		case same && unfinished:
			leftover = cmp.Or(leftover, r.GetID())
		}
		newest = false
	}
	return found, leftover
}

// partial returns a request with a batch of annotations that leaves the run unfinished.
func (p *publication) partial(batch []report.Annotation) (opts gh.UpdateCheckRunOptions) {
	opts.Output = &gh.CheckRunOutput{
		Title:       gh.String(orName(p.run.Title, runName)),
		Summary:     gh.String(fmt.Sprintf("%d annotations are being written …", len(p.run.Annotations))),
		Annotations: annotations(batch),
	}
	if p.status != forge.Completed {
		opts.Status = gh.String(forge.InProgress)
	}
	return opts
}

func (p *publication) output(batch []report.Annotation) *gh.CheckRunOutput {
	if p.run.Title == "" && p.run.Summary == "" && p.run.Text == "" && len(batch) == 0 {
		return nil
	}
	return &gh.CheckRunOutput{
		Title:       gh.String(orName(p.run.Title, runName)),
		Summary:     gh.String(orName(p.run.Summary, orName(p.run.Title, runName))),
		Text:        optional(p.run.Text),
		Annotations: annotations(batch),
	}
}

func orName(s, name string) string {
	if strings.TrimSpace(s) == "" {
		return name
	}
	return s
}

func annotations(batch []report.Annotation) []*gh.CheckRunAnnotation {
	var out []*gh.CheckRunAnnotation
	for _, a := range batch {
		c := &gh.CheckRunAnnotation{Path: gh.String(a.Path), StartLine: gh.Int(a.StartLine), EndLine: gh.Int(a.EndLine),
			AnnotationLevel: gh.String(a.Level), Message: gh.String(a.Message), Title: optional(a.Title)}
		if a.StartColumn > 0 {
			c.StartColumn, c.EndColumn = gh.Int(a.StartColumn), gh.Int(a.EndColumn)
		}
		out = append(out, c)
	}
	return out
}

// send creates or updates the run, with what every request has besides the given options.
func (p *publication) send(ctx context.Context, opts gh.UpdateCheckRunOptions) error {
	opts.Name, opts.ExternalID = nameOf(p.run.Part), optional(p.run.ExternalID)
	if opts.GetStatus() == forge.Completed {
		at := p.run.CompletedAt
		if at.IsZero() {
			at = p.client.now()
		}
		opts.CompletedAt = &gh.Timestamp{Time: at.UTC()}
	}
	checks := p.client.of(p.repo).Checks
	if p.run.ID != 0 {
		if p.open() {
			opts.ExternalID = nil
		}
		_, _, err := checks.UpdateCheckRun(ctx, p.repo.Owner, p.repo.Name, p.run.ID, opts)
		if err == nil && opts.Status != nil {
			p.status = *opts.Status
		}
		return p.client.classify(p.what, err)
	}
	create := gh.CreateCheckRunOptions{Name: opts.Name, HeadSHA: p.run.HeadSHA, DetailsURL: opts.DetailsURL,
		ExternalID: opts.ExternalID, Status: opts.Status,
		Conclusion: opts.Conclusion, CompletedAt: opts.CompletedAt, Output: opts.Output, Actions: opts.Actions}
	if !p.run.StartedAt.IsZero() {
		create.StartedAt = &gh.Timestamp{Time: p.run.StartedAt.UTC()}
	}
	created, _, err := checks.CreateCheckRun(ctx, p.repo.Owner, p.repo.Name, create)
	if err != nil {
		return p.client.classify(p.what, err)
	}
	if created.GetID() == 0 {
		return fmt.Errorf("%s: GitHub's answer has no id", p.what)
	}
	p.run.ID, p.status = created.GetID(), created.GetStatus()
	return nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// cancel concludes a run that is not continued, so that it does not stay open.
func (p *publication) cancel(ctx context.Context, id int64) error {
	_, _, err := p.client.of(p.repo).Checks.UpdateCheckRun(ctx, p.repo.Owner, p.repo.Name, id, gh.UpdateCheckRunOptions{
		Name: nameOf(p.run.Part), Status: gh.String(forge.Completed), Conclusion: gh.String(forge.Cancelled),
		CompletedAt: &gh.Timestamp{Time: p.client.now().UTC()},
		Output: &gh.CheckRunOutput{Title: gh.String("Superseded"),
			Summary: gh.String("A newer check run of this commit has the result.")},
	})
	if err = p.client.classify(p.what, err); notFound(err) {
		return nil
	}
	return err
}
