package githubtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

// Run is a posted check run, with the annotations of all its updates.
type Run struct {
	ID          int64
	Repo        string // owner/name
	Name        string
	HeadSHA     string
	Status      string
	Conclusion  string
	ExternalID  string
	DetailsURL  string
	StartedAt   time.Time
	CompletedAt time.Time
	Title       string
	Summary     string
	Text        string
	Annotations []Annotation
	Actions     []Action
	History     []string // the status after the creation and every update, with the conclusion ("completed failure")
}

// Annotation is a note on lines of a file, in the form of the API.
type Annotation struct {
	Path        string `json:"path"`
	StartLine   int    `json:"start_line"`
	EndLine     int    `json:"end_line"`
	StartColumn *int   `json:"start_column,omitempty"`
	EndColumn   *int   `json:"end_column,omitempty"`
	Level       string `json:"annotation_level"`
	Title       string `json:"title"`
	Message     string `json:"message"`
	RawDetails  string `json:"raw_details"`
}

// Action is a button of a check run.
type Action struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Identifier  string `json:"identifier"`
}

// runInput is the body of POST and PATCH check-runs; nil fields were not sent.
type runInput struct {
	Name        *string    `json:"name"`
	HeadSHA     *string    `json:"head_sha"`
	Status      *string    `json:"status"`
	Conclusion  *string    `json:"conclusion"`
	ExternalID  *string    `json:"external_id"`
	DetailsURL  *string    `json:"details_url"`
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	Output      *struct {
		Title       *string      `json:"title"`
		Summary     *string      `json:"summary"`
		Text        *string      `json:"text"`
		Annotations []Annotation `json:"annotations"`
	} `json:"output"`
	Actions *[]Action `json:"actions"`
}

func (r *repository) run(id int64) *Run {
	for _, run := range r.runs {
		if run.ID == id {
			return run
		}
	}
	return nil
}

// input reads and validates the body; false if it was refused.
func (s *Server) input(c *call, create bool) (*runInput, bool) {
	in := &runInput{}
	if err := json.Unmarshal(c.body, in); err != nil {
		s.violate("error", c.r, "the body does not have the form that is documented: %v", err)
		c.refuse(http.StatusBadRequest, "Problems parsing JSON")
		return nil, false
	}
	strict := json.NewDecoder(bytes.NewReader(c.body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&runInput{}); err != nil {
		s.violate("warning", c.r, "GitHub ignores this: %v", err)
	}
	if wrong := in.problems(create); len(wrong) > 0 {
		for _, w := range wrong {
			s.violate("error", c.r, "%s", w)
		}
		c.refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n%s", strings.Join(wrong, "\n"))
		return nil, false
	}
	return in, true
}

func (s *Server) createRun(c *call) {
	in, ok := s.input(c, true)
	if !ok {
		return
	}
	if _, err := s.run(c.r.Context(), c.repo, "", nil, "cat-file", "-e", *in.HeadSHA+"^{commit}"); err != nil {
		s.violate("warning", c.r, "No commit found for SHA: %s", *in.HeadSHA)
		c.refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", *in.HeadSHA)
		return
	}
	s.places(c, *in.HeadSHA, in)
	s.mu.Lock()
	defer s.mu.Unlock()
	run := &Run{ID: s.id(), Repo: c.repo.fullName(), Name: *in.Name, HeadSHA: *in.HeadSHA, Status: "queued"}
	c.repo.runs = append(c.repo.runs, run)
	run.apply(in, s.now())
	s.touch()
	c.answer(http.StatusCreated, s.runObject(c.repo, run))
}

func (s *Server) updateRun(c *call) {
	s.mu.Lock()
	run := s.runOf(c)
	s.mu.Unlock()
	if run == nil {
		return
	}
	in, ok := s.input(c, false)
	if !ok {
		return
	}
	s.places(c, run.HeadSHA, in)
	s.mu.Lock()
	defer s.mu.Unlock()
	run.apply(in, s.now())
	s.touch()
	c.answer(http.StatusOK, s.runObject(c.repo, run))
}

// runOf finds the check run of the path. The caller holds the lock.
func (s *Server) runOf(c *call) *Run {
	id, _ := strconv.ParseInt(c.r.PathValue("id"), 10, 64)
	run := c.repo.run(id)
	if run == nil {
		notFound(c)
	}
	return run
}

// apply stores the fields that were sent. Annotations are appended, and all other fields are replaced.
func (run *Run) apply(in *runInput, now time.Time) {
	set(&run.Name, in.Name)
	set(&run.Status, in.Status)
	set(&run.ExternalID, in.ExternalID)
	set(&run.DetailsURL, in.DetailsURL)
	set(&run.StartedAt, in.StartedAt)
	if in.Conclusion != nil {
		run.Conclusion, run.Status = *in.Conclusion, "completed"
	}
	switch {
	case run.Status != "completed":
		run.Conclusion, run.CompletedAt = "", time.Time{} // an update can reopen a completed run
	case in.CompletedAt != nil:
		run.CompletedAt = *in.CompletedAt
	case run.CompletedAt.IsZero():
		run.CompletedAt = now
	}
	if in.Output != nil {
		set(&run.Title, in.Output.Title)
		set(&run.Summary, in.Output.Summary)
		set(&run.Text, in.Output.Text)
		run.Annotations = append(run.Annotations, in.Output.Annotations...)
	}
	if in.Actions != nil {
		run.Actions = *in.Actions
	}
	run.History = append(run.History, strings.TrimSpace(run.Status+" "+run.Conclusion))
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func (s *Server) getRun(c *call) {
	if run := s.runOf(c); run != nil {
		c.answer(http.StatusOK, s.runObject(c.repo, run))
	}
}

func (s *Server) listRuns(c *call) {
	query, out, seen := c.r.URL.Query(), []object{}, map[string]bool{}
	for _, run := range slices.Backward(c.repo.runs) {
		if run.HeadSHA != c.r.PathValue("sha") || query.Get("check_name") != "" && query.Get("check_name") != run.Name ||
			query.Get("status") != "" && query.Get("status") != run.Status ||
			query.Get("app_id") != "" && query.Get("app_id") != strconv.FormatInt(s.app.ID, 10) {
			continue
		}
		if query.Get("filter") != "all" && seen[run.Name] { // GitHub lists only the latest run of each name
			continue
		}
		seen[run.Name] = true
		out = append(out, s.runObject(c.repo, run))
	}
	c.answer(http.StatusOK, object{"total_count": len(out), "check_runs": page(c, out)})
}

// Runs lists all check runs of a repository, oldest first.
func (s *Server) Runs(fullName string) []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repos[strings.ToLower(fullName)]
	if r == nil {
		return nil
	}
	return report.Mapped(r.runs, (*Run).copy)
}

// copy returns a Run that later updates do not change.
func (run *Run) copy() Run {
	c := *run
	c.Annotations = slices.Clone(run.Annotations)
	c.History = slices.Clone(run.History)
	return c
}

// WaitRun waits until the newest check run of a commit meets a condition, and returns it. The condition nil means that
// it is completed. The condition must not call the Server.
func (s *Server) WaitRun(ctx context.Context, fullName, sha string, met func(Run) bool) (Run, error) {
	if met == nil {
		met = func(r Run) bool { return r.Status == "completed" }
	}
	var found Run
	err := s.wait(ctx, func() bool {
		r := s.repos[strings.ToLower(fullName)]
		if r == nil {
			return false
		}
		for _, run := range slices.Backward(r.runs) {
			if run.HeadSHA == sha {
				found = run.copy()
				return met(found)
			}
		}
		return false
	})
	if err != nil && found.ID != 0 {
		return found, fmt.Errorf("the check run of %.8s is %s: %w", sha,
			strings.TrimSpace(found.Status+" "+found.Conclusion), err)
	}
	if err != nil {
		return found, fmt.Errorf("there is no check run of %.8s: %w", sha, err)
	}
	return found, nil
}
