package worker_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestStandinSuggestions: suggestions are one review that GitHub's description of its API takes, posted once, and asked
// for only with the permission.
func TestStandinSuggestions(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	s := newStandin(t)
	settings := read(t, sampleRepo, ".lintel.yaml") + "suggestions: review\n"
	s.control(http.MethodPost, "/repos/"+s.repo+"/commits?wait=1", fields{"branch": "main", "user": "olga",
		"message": "Suggest", "files": fields{".lintel.yaml": settings}}, nil)
	// reviews are those that the App posted.
	reviews := func() (list []struct {
		Status int
		Body   json.RawMessage
	}) {
		t.Helper()
		s.control(http.MethodGet, "/requests?op=pulls/create-review", nil, &list)
		return list
	}
	head := s.commit(s.repo, folderFiles(t, sampleChange))
	s.control(http.MethodPost, "/repos/"+s.repo+"/pulls?wait=1", fields{"head": "change", "title": "Change", "user": "alice"},
		nil)
	run := s.completed(s.repo, head, 1)
	if got := reviews(); len(got) > 0 || !strings.Contains(string(run.Output), "*Pull requests: Read and write*") {
		t.Errorf("without the permission: %v, %s", got, run.Output)
	}
	granted := maps.Clone(permissions)
	granted["pull_requests"] = "write"
	s.control(http.MethodPatch, "/apps/lintel", fields{"permissions": granted}, nil)
	s.control(http.MethodPost, fmt.Sprintf("/installations/%d/permissions?wait=1", s.installation),
		fields{"permissions": granted}, nil)
	time.Sleep(1100 * time.Millisecond) // so old has a token to be before another one is asked for

	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/check-runs/%d/rerequest?wait=1", s.repo, run.ID),
		fields{"user": "alice"}, nil)
	run = s.completed(s.repo, head, 2)
	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/check-runs/%d/rerequest?wait=1", s.repo, run.ID),
		fields{"user": "alice"}, nil)
	run = s.completed(s.repo, head, 3)
	got := reviews()
	if len(got) != 1 || got[0].Status != http.StatusOK || run.Conclusion != "failure" ||
		!strings.Contains(string(got[0].Body), "suggestion\\n            privileged: false") {
		t.Errorf("with the permission: %v, %s", got, run.Output)
	}
	s.clean()
}
