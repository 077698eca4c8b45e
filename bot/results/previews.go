package results

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// PreviewOf identifies a pull request of a rules repository. A preview result says what it would change in another
// repository.
type PreviewOf struct {
	Repository forge.Repository `json:"repository"` // of the pull request
	Number     int              `json:"number"`
}

// String is owner/name#number.
func (p PreviewOf) String() string { return fmt.Sprintf("%s#%d", p.Repository, p.Number) }

// PreviewResult is the newest result of a PreviewOf in one repository, as the page of the rules repository lists it.
type PreviewResult struct {
	Repository forge.Repository  `json:"repository"` // that the pull request would change
	Number     int               `json:"number"`     // of the pull request
	ID         string            `json:"id"`
	Head       string            `json:"head"`
	Conclusion report.Conclusion `json:"conclusion"`
	Title      string            `json:"title"`
	Completed  time.Time         `json:"completed"`
}

// Path returns the path of the result's page.
func (o *PreviewResult) Path() string { return ResultsPath(o.Repository, o.Head) + "/" + o.ID }

// previewKey returns the key of the newest preview of a pull request in a repository.
func previewKey(of PreviewOf, repository int64) string {
	return fmt.Sprintf("outlook.%d.%d.%d", of.Repository.ID, of.Number, repository)
}

// listPreview lists a preview on the page of the rules repository. It does nothing for other results.
func (s *Store) listPreview(ctx context.Context, m *Meta) error {
	if m.Of == nil {
		return nil
	}
	data, err := json.Marshal(PreviewResult{Repository: m.Repository, Number: m.Of.Number, ID: m.ID, Head: m.Head, Conclusion: m.Conclusion,
		Title: m.Title, Completed: m.Completed})
	if err == nil {
		err = s.index.Put(ctx, previewKey(*m.Of, m.Repository.ID), data)
	}
	return err
}

// Previews returns the previews of a repository's pull requests in other repositories, at most maxAsked. Those of the
// newest pull requests come first.
func (s *Store) Previews(ctx context.Context, repository int64) ([]*PreviewResult, error) {
	keys, err := s.index.Keys(ctx, fmt.Sprintf("outlook.%d.>", repository))
	if err != nil {
		return nil, err
	}
	number := func(key string) int {
		n, _ := strconv.Atoi(strings.Split(key+"...", ".")[2]) // zero for what is not a number, which comes last
		return n
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(number(b), number(a)), strings.Compare(a, b)) })
	all, err := each(ctx, keys[:min(len(keys), maxAsked)], func(ctx context.Context, key string) (*PreviewResult, error) {
		data, _, err := s.index.Get(ctx, key)
		var o PreviewResult
		if err != nil || readJSON(data, &o) != nil {
			return nil, err
		}
		of := PreviewOf{Repository: forge.Repository{Repo: forge.Repo{ID: repository}}, Number: o.Number}
		if previewKey(of, o.Repository.ID) != key || o.Completed.Before(s.now().Add(-s.limits.Age)) {
			return nil, nil
		}
		return &o, nil
	})
	return slices.DeleteFunc(all, func(o *PreviewResult) bool { return o == nil }), err
}

// previews adds to a view the previews of a repository's pull requests in those other repositories that the reader may
// see. which identifies this selection of previews; private says that one of the repositories shown is private.
func (h *Handler) previews(r *http.Request, repository forge.Repository,
	view *View) (which string, private bool, err error) {
	all, err := cachedLookup(r.Context(), h, fmt.Sprintf("w/%d", repository.ID), accountLife, func(ctx context.Context) ([]*PreviewResult, error) {
		return h.config.Store.Previews(ctx, repository.ID)
	})
	if err != nil || len(all) == 0 {
		return "", false, err
	}
	var others []*Summary
	for _, o := range all {
		if !slices.ContainsFunc(others, func(s *Summary) bool { return s.Repository.ID == o.Repository.ID }) {
			others = append(others, &Summary{Repository: o.Repository})
		}
	}
	shown, err := h.visible(r, others, view.SignedIn)
	if err != nil {
		return "", false, err
	}
	view.More = len(shown) > maxShown
	ids := sha256.New()
	for _, o := range all {
		at := slices.IndexFunc(shown[:min(len(shown), maxShown)], func(s *Summary) bool { return s.Repository.ID == o.Repository.ID })
		if at >= 0 {
			private = private || shown[at].Repository.Private
			view.Previews = append(view.Previews, *o)
			fmt.Fprint(ids, o.Number, o.ID, " ")
		}
	}
	return fmt.Sprintf("%x", ids.Sum(nil)), private, nil
}
