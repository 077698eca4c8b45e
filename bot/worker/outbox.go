package worker

import (
	"context"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
)

const (
	// maxOutbox bounds the results in memory: as many as workers, at most, meet a rate limit at once.
	maxOutbox = 64
	// outboxAge is longer than GitHub has ever anybody wait.
	outboxAge = 2 * time.Hour
)

// result is what a check came to, ready to be sent.
type result struct {
	id   forge.RunID
	run  forge.CheckRun // its prose
	kept *results.Stored

	sequence uint64
	head     string
	at       time.Time
}

// outbox are results that GitHub did not take yet: the next delivery of the same job sends them, rather than check
// again. A newer job of the key checks anew, as it knows of news. They are lost with the process, and checked again then.
// The zero value has none; it is safe for concurrent use.
type outbox struct {
	mu    sync.Mutex
	byKey map[store.Key]result
}

func (u *outbox) put(t Task, head string, r result, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, old := range u.byKey {
		if now.Sub(old.at) > outboxAge {
			delete(u.byKey, key)
		}
	}
	if u.byKey == nil {
		u.byKey = map[store.Key]result{}
	}
	if len(u.byKey) < maxOutbox {
		if r.sequence, r.head = t.Sequence, head; r.at.IsZero() { // it gets no younger by being refused again
			r.at = now
		}
		u.byKey[t.Key] = r
	}
}

// take removes what is there of a key, and returns it if it is the result of the same job for the same head, and still
// holds.
func (u *outbox) take(t Task, head string, now time.Time) (result, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r, ok := u.byKey[t.Key]
	delete(u.byKey, t.Key)
	ends := r.id.Ends()
	return r, ok && r.sequence == t.Sequence && r.head == head && now.Sub(r.at) <= outboxAge &&
		(ends.IsZero() || now.Before(ends))
}

// send completes the check run with a result; where GitHub does not take it now, or the job is handed back, it is
// remembered.
func (c *check) send(ctx context.Context, r result) error {
	c.run.Conclusion, c.run.Title, c.run.Summary, c.run.Text = r.run.Conclusion, r.run.Title, r.run.Summary, r.run.Text
	c.run.Annotations, c.run.DetailsURL, c.run.Actions = r.run.Annotations, r.run.DetailsURL, r.run.Actions
	if err := c.complete(ctx, r.id); err != nil {
		if !forge.IsGone(err) {
			c.outbox.put(c.task, c.head, r, c.Now())
		}
		return err
	}
	c.published(ctx, r.kept)
	return c.requestPreview(ctx)
}
