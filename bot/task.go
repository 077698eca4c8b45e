package bot

import (
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

func (t Task) last() bool      { return t.Try >= t.Tries }
func (t Task) exhausted() bool { return t.Try > t.Tries }

func (t Task) repo() github.Repo {
	return github.Repo{Installation: t.Key.Installation, ID: t.Key.Repository, Owner: t.Message.Owner,
		Name: t.Message.Name}
}
