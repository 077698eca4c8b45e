package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
func (q *Queue) AddDependent(ctx context.Context, installation, from int64, u Dependent) error {
	key := fmt.Sprintf("%d.%d.%d", installation, from, u.ID)
	known, found, err := readRecord[Dependent](ctx, q.dependents, key)
	if err != nil || found && known.Owner == u.Owner && known.Name == u.Name &&
		slices.Equal(known.RuleSources, u.RuleSources) && u.At.Sub(known.At) < dependentFresh {
		return err
	}
	return writeRecord(ctx, q.dependents, key, u)
}

// Dependents returns the repositories that take rules from another one, those checked last first.
func (q *Queue) Dependents(ctx context.Context, installation, from int64) (list []Dependent, err error) {
	all, err := listRecords[Dependent](ctx, q.dependents, fmt.Sprintf("%d.%d.*", installation, from))
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
