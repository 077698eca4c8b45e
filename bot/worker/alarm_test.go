package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// refusing is a publisher that fails to store the first jobs.
type refusing struct {
	publisher
	left atomic.Int32
	at   []time.Time
}

func (p *refusing) Publish(ctx context.Context, key store.Key, m store.Message, id string) error {
	if p.left.Add(-1) >= 0 {
		return errors.New("no answer")
	}
	p.at = append(p.at, time.Now())
	return p.publisher.Publish(ctx, key, m, id)
}

func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		jobs := &refusing{}
		a := NewAlarm(jobs, slog.New(slog.DiscardHandler))
		running := make(chan struct{})
		go func() { a.Run(ctx); close(running) }()
		begun := time.Now()
		repo := forge.Repo{Installation: 7, ID: 11, Owner: "o", Name: "r"}
		key := func(n int) store.Key {
			return store.Key{Installation: 7, Repository: 11, Target: forge.Target{Number: n}}
		}
		a.Set(key(1), repo, begun.Add(time.Hour))
		a.Set(key(2), repo, begun.Add(time.Minute))
		a.Set(key(3), repo, begun.Add(time.Minute))
		a.Set(key(3), repo, time.Time{})             // its exception was taken away
		a.Set(key(4), repo, begun.Add(time.Minute))  // two things end: the later check
		a.Set(key(4), repo, begun.Add(2*time.Hour))  // tells of both
		a.Set(key(5), repo, begun.Add(-time.Second)) // in the past
		time.Sleep(3*time.Hour + time.Second)
		jobs.left.Store(1) // the queue does not answer
		a.Set(key(6), repo, begun.Add(3*time.Hour))
		time.Sleep(time.Minute)
		stop()
		<-running
		type ring struct {
			number int
			after  time.Duration
		}
		var got []ring
		for i, k := range jobs.keys {
			got = append(got, ring{k.Number, jobs.at[i].Sub(begun)})
		}
		want := []ring{{5, 0}, {2, time.Minute}, {1, time.Hour}, {4, 2 * time.Hour}, {6, 3*time.Hour + time.Second + alarmRetry}}
		if len(got) != len(want) {
			t.Fatalf("rang %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("rang %v, want %v", got, want)
			}
		}
		if m := jobs.messages[0]; m.Missing || m.Fresh || m.Owner != "o" || m.Name != "r" {
			t.Errorf("message %+v", m)
		}
	})
}

// A result with an exception contains the time of its expiry, in the check run's id and for the alarm.
func TestResultEndsWithItsException(t *testing.T) {
	b := newBench(t)
	b.Alarm = NewAlarm(b.jobs, nil)
	end := clock.Add(36 * time.Hour)
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		return &report.Report{Conclusion: report.Success, Until: end}, nil
	}
	for range 2 { // posted, and found unchanged
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
		if at := b.Alarm.set[b.task.Key].at; at.Before(end) || at.After(end.Add(time.Second)) {
			t.Errorf("the alarm is set for %s, want %s", at, end)
		}
		clear(b.Alarm.set)
	}
	if id, err := forge.ParseRunID(b.last(t).ExternalID); err != nil || id.Until < end.Unix() || len(b.hub.Runs) != 1 {
		t.Errorf("%+v, %v; %d runs", id, err, len(b.hub.Runs))
	}
}
