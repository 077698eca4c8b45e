package store

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
	previewTTL = 30 * 24 * time.Hour
	// outlookBytes bounds what is remembered: some ten thousand repositories.
	previewBytes = 64 << 20
)

// Outlook is what a pull request would change in a repository that takes its rules.
type Preview struct {
	Of         string             `json:"of"`    // what it depends on beside the repository: another one is of no use
	Tries      int                `json:"tries"` // how often the repository was looked at
	Repository report.UserOutlook `json:"user"`
}

// outlookKey is the key of a repository; 0: a filter for all.
func previewKey(key Key, user int64) string {
	last := "*"
	if user != 0 {
		last = strconv.FormatInt(user, 10)
	}
	return fmt.Sprintf("%d.%d.%d.%s", key.Installation, key.Repository, key.Preview, last)
}

// PutOutlook remembers what the pull request of a key would change in a repository.
func (q *Queue) PutPreview(ctx context.Context, key Key, user int64, o Preview) error {
	data, err := json.Marshal(o)
	if err == nil && len(data) > MaxValue {
		o.Repository.Policies, o.Repository.Findings = nil, nil
		data, err = json.Marshal(o)
	}
	if err != nil {
		return fmt.Errorf("remembering what would change: %w", err)
	}
	return q.previews.Put(ctx, previewKey(key, user), data)
}

// Outlooks returns what is remembered about the pull request of a key that depends on of, by repository.
func (q *Queue) Previews(ctx context.Context, key Key, of string) (map[int64]Preview, error) {
	keys, err := q.previews.Keys(ctx, previewKey(key, 0))
	if err != nil {
		return nil, err
	}
	all := map[int64]Preview{}
	for _, k := range keys {
		data, _, err := q.previews.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		var o Preview
		id, bad := strconv.ParseInt(k[strings.LastIndexByte(k, '.')+1:], 10, 64)
		if bad == nil && data != nil && json.Unmarshal(data, &o) == nil && o.Of == of {
			all[id] = o
		}
	}
	return all, nil
}
