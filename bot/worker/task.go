package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// Task is one delivery of a job.
type Task struct {
	Key      store.Key
	Message  store.Message
	Sequence uint64 // of the publication: the same for each delivery of it
	Try      int    // from 1
	Tries    int    // what cannot be done in this many is reported instead
	Ledger   Ledger
}

// TaskOf describes a job of the queue.
func TaskOf(j *store.Job) Task {
	return Task{Key: j.Key, Message: j.Message, Sequence: j.Sequence(), Try: j.Try, Tries: j.Tries, Ledger: j}
}

// reachable handles an error of a request about the subject of a task. done says that the subject is out of reach, so
// that there is nothing to do.
func (w *Worker) reachable(ctx context.Context, t Task, log *slog.Logger, what string, err error) (done bool, _ error) {
	switch {
	case forge.IsGone(err) && !w.early(t):
		log.Warn("the " + what + " is not accessible; nothing to do")
		return true, t.Ledger.SetNote(ctx, "")
	case err != nil:
		return false, fmt.Errorf("reading the %s: %w", what, err)
	}
	return false, nil
}

// following is the message of the job that continues the task.
func (t Task) following(at time.Time) store.Message {
	m := t.Message
	return store.Message{Delivery: m.Delivery, Event: m.Event, Owner: m.Owner, Name: m.Name, At: at}
}

// background reports whether nobody waits for the task: it is about a branch or other repositories, or a repeated
// check.
func (t Task) background() bool {
	if t.Message.Fresh {
		return false
	}
	event, _, _ := strings.Cut(t.Message.Event, ".")
	return t.Message.Missing || t.Message.Rules || t.Key.Branch != "" || t.Key.All || t.Key.Preview != 0 ||
		slices.Contains([]string{"push", "sweep", "alarm"}, event)
}

func (t Task) last() bool      { return t.Try >= t.Tries }
func (t Task) exhausted() bool { return t.Try > t.Tries }

func (t Task) repo() forge.Repo {
	return forge.Repo{Installation: t.Key.Installation, ID: t.Key.Repository, Owner: t.Message.Owner,
		Name: t.Message.Name}
}
