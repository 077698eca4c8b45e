package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

const (
	// outlookTTL is for how long it is remembered what a pull request would change in another repository.
	outlookTTL = 30 * 24 * time.Hour
	// outlookBytes bounds what is remembered: some ten thousand repositories.
	outlookBytes = 64 << 20
)

// Outlook is what a pull request would change in a repository that takes its rules.
type Outlook struct {
	Of    string             `json:"of"`    // what it depends on beside the repository: another one is of no use
	Tries int                `json:"tries"` // how often the repository was looked at
	User  report.UserOutlook `json:"user"`
}

// outlookKey is the key of a repository; 0: a filter for all.
func outlookKey(key Key, user int64) string {
	last := "*"
	if user != 0 {
		last = strconv.FormatInt(user, 10)
	}
	return fmt.Sprintf("%d.%d.%d.%s", key.Installation, key.Repository, key.Outlook, last)
}

// PutOutlook remembers what the pull request of a key would change in a repository.
func (q *Queue) PutOutlook(ctx context.Context, key Key, user int64, o Outlook) error {
	data, err := json.Marshal(o)
	if err == nil && len(data) > MaxValue {
		o.User.Policies, o.User.Findings = nil, nil
		data, err = json.Marshal(o)
	}
	if err != nil {
		return fmt.Errorf("remembering what would change: %w", err)
	}
	return q.outlooks.Put(ctx, outlookKey(key, user), data)
}

// Outlooks returns what is remembered about the pull request of a key that depends on of, by repository.
func (q *Queue) Outlooks(ctx context.Context, key Key, of string) (map[int64]Outlook, error) {
	keys, err := q.outlooks.Keys(ctx, outlookKey(key, 0))
	if err != nil {
		return nil, err
	}
	all := map[int64]Outlook{}
	for _, k := range keys {
		data, _, err := q.outlooks.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		var o Outlook
		id, bad := strconv.ParseInt(k[strings.LastIndexByte(k, '.')+1:], 10, 64)
		if bad == nil && data != nil && json.Unmarshal(data, &o) == nil && o.Of == of {
			all[id] = o
		}
	}
	return all, nil
}
