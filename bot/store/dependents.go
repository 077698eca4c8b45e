package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

const (
	// dependentTTL is for how long it is remembered that a repository takes rules from another, after the last check that did.
	dependentTTL = 180 * 24 * time.Hour
	// dependentBytes bounds what is remembered: about a hundred thousand repositories.
	dependentBytes = 32 << 20
	// dependentFresh is how old an entry is at least before it is written anew.
	dependentFresh = 24 * time.Hour
)

// Dependent is a repository that takes rules from another one of its installation.
type Dependent struct {
	ID    int64     `json:"-"`
	Owner string    `json:"owner"`
	Name  string    `json:"name"`
	At    time.Time `json:"at"` // of the last check that is known to have done so, give or take a day
	// RuleSources are what it takes of the other repository; none where that was not noted yet.
	RuleSources []report.RuleSource `json:"sources,omitempty"`
}

// Takes reports whether the user may take rules from a branch; refs are the names by which it would.
func (u Dependent) Takes(refs []string) bool {
	return len(u.RuleSources) == 0 ||
		slices.ContainsFunc(u.RuleSources, func(s report.RuleSource) bool { return slices.Contains(refs, s.Ref) })
}

// Addresses are those by which the user names the other repository.
func (u Dependent) Addresses() (list []string) {
	for _, s := range u.RuleSources {
		list = append(list, s.Name)
	}
	return list
}

// AddDependent remembers that a repository takes rules from another.
func (m *Memory) AddDependent(ctx context.Context, installation, from int64, u Dependent) error {
	key := fmt.Sprintf("%d.%d.%d", installation, from, u.ID)
	known, found, err := readRecord[Dependent](ctx, m.dependents, key)
	if err != nil || found && known.Owner == u.Owner && known.Name == u.Name &&
		slices.Equal(known.RuleSources, u.RuleSources) && u.At.Sub(known.At) < dependentFresh {
		return err
	}
	return writeRecord(ctx, m.dependents, key, u)
}

// Dependents returns the repositories that take rules from another one, those checked last first.
func (m *Memory) Dependents(ctx context.Context, installation, from int64) (list []Dependent, err error) {
	all, err := listRecords[Dependent](ctx, m.dependents, fmt.Sprintf("%d.%d.*", installation, from))
	if err != nil {
		return nil, err
	}
	for id, u := range all {
		u.ID = id
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b Dependent) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

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
func (m *Memory) PutPreview(ctx context.Context, key Key, user int64, o Preview) error {
	data, err := json.Marshal(o)
	if err == nil && len(data) > MaxValue {
		o.Repository.Policies, o.Repository.Findings = nil, nil
	}
	return writeRecord(ctx, m.previews, previewKey(key, user), o)
}

// Previews returns what is remembered about the pull request of a key that depends on of, by repository.
func (m *Memory) Previews(ctx context.Context, key Key, of string) (map[int64]Preview, error) {
	all, err := listRecords[Preview](ctx, m.previews, previewKey(key, 0))
	maps.DeleteFunc(all, func(_ int64, p Preview) bool { return p.Of != of })
	return all, err
}
