package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

const (
	// previewTTL is for how long it is remembered what a pull request would change in another repository.
	previewTTL = 30 * 24 * time.Hour
	// previewBytes bounds what is remembered: some ten thousand repositories.
	previewBytes = 64 << 20
)

// Preview is what a pull request would change in a repository that takes its rules.
type Preview struct {
	Of         string             `json:"of"`    // what it depends on beside the repository: another one is of no use
	Tries      int                `json:"tries"` // how often the repository was looked at
	Repository report.UserOutlook `json:"user"`
}

// previewKey is the key of a repository; 0: a filter for all.
func previewKey(key Key, user int64) string {
	last := "*"
	if user != 0 {
		last = strconv.FormatInt(user, 10)
	}
	return fmt.Sprintf("%d.%d.%d.%s", key.Installation, key.Repository, key.Preview, last)
}

// PutPreview remembers what the pull request of a key would change in a repository.
func (q *Queue) PutPreview(ctx context.Context, key Key, user int64, o Preview) error {
	data, err := json.Marshal(o)
	if err == nil && len(data) > MaxValue {
		o.Repository.Policies, o.Repository.Findings = nil, nil
	}
	return writeRecord(ctx, q.previews, previewKey(key, user), o)
}

// Previews returns what is remembered about the pull request of a key that depends on of, by repository.
func (q *Queue) Previews(ctx context.Context, key Key, of string) (map[int64]Preview, error) {
	all, err := listRecords[Preview](ctx, q.previews, previewKey(key, 0))
	maps.DeleteFunc(all, func(_ int64, p Preview) bool { return p.Of != of })
	return all, err
}
