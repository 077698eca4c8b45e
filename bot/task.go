package bot

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/queue"
)

// Task is one delivery of a job.
type Task struct {
	Key      queue.Key
	Message  queue.Message
	Sequence uint64 // of the publication: the same for each delivery of it
	Try      int    // from 1
	Tries    int    // what cannot be done in this many is reported instead
	Ledger   Ledger
}

// TaskOf describes a job of the queue.
func TaskOf(j *queue.Job) Task {
	return Task{Key: j.Key, Message: j.Message, Sequence: j.Sequence(), Try: j.Try, Tries: j.Tries, Ledger: j}
}

// background reports whether nobody waits for the task: it is about a branch or other repositories,
// or has something looked at again.
func (t Task) background() bool {
	if t.Message.Fresh {
		return false
	}
	event, _, _ := strings.Cut(t.Message.Event, ".")
	return t.Message.Missing || t.Message.Rules || t.Key.Branch != "" || t.Key.All || t.Key.Outlook != 0 ||
		slices.Contains([]string{"push", "sweep", "alarm"}, event)
}

func (t Task) last() bool      { return t.Try >= t.Tries }
func (t Task) exhausted() bool { return t.Try > t.Tries }

func (t Task) repo() github.Repo {
	return github.Repo{Installation: t.Key.Installation, ID: t.Key.Repository, Owner: t.Message.Owner,
		Name: t.Message.Name}
}
