package mirror

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// A git server that asks to wait is left in peace for as long.
func TestFetchIsAskedToWait(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	head := s.commit("feat", pullRef, "b", "2")
	s.set(func() {
		s.fault = func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	var e *forge.RetryLater
	if _, err := s.mirrors().Fetch(t.Context(), testRepo, wantOf(base, head)); !errors.As(err, &e) ||
		e.After < 7*time.Second {
		t.Errorf("want *github.RetryLater, got %v", err)
	}
}
