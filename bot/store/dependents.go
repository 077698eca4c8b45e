package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

const (
	// userTTL is for how long it is remembered that a repository takes rules from another, after the last check that did.
	dependentTTL = 180 * 24 * time.Hour
	// userBytes bounds what is remembered: about a hundred thousand repositories.
	dependentBytes = 32 << 20
	// userFresh is how old an entry is at least before it is written anew.
	dependentFresh = 24 * time.Hour
)

// User is a repository that takes rules from another one of its installation.
type Dependent struct {
	ID    int64     `json:"-"`
	Owner string    `json:"owner"`
	Name  string    `json:"name"`
	At    time.Time `json:"at"` // of the last check that is known to have done so, give or take a day
	// Sources are what it takes of the other repository; none where that was not noted yet.
	Sources []report.RuleSource `json:"sources,omitempty"`
}

// Takes reports whether the user may take rules from a branch; refs are the names by which it would.
func (u Dependent) Takes(refs []string) bool {
	return len(u.Sources) == 0 ||
		slices.ContainsFunc(u.Sources, func(s report.RuleSource) bool { return slices.Contains(refs, s.Ref) })
}

// Addresses are those by which the user names the other repository.
func (u Dependent) Addresses() (list []string) {
	for _, s := range u.Sources {
		list = append(list, s.Name)
	}
	return list
}

// AddUser remembers that a repository takes rules from another.
func (q *Queue) AddDependent(ctx context.Context, installation, from int64, u Dependent) error {
	key := fmt.Sprintf("%d.%d.%d", installation, from, u.ID)
	data, _, err := q.dependents.Get(ctx, key)
	if err != nil {
		return err
	}
	var known Dependent
	if data != nil && json.Unmarshal(data, &known) == nil && known.Owner == u.Owner && known.Name == u.Name &&
		slices.Equal(known.Sources, u.Sources) && u.At.Sub(known.At) < dependentFresh {
		return nil
	}
	if data, err = json.Marshal(u); err != nil {
		return fmt.Errorf("remembering who takes rules: %w", err)
	}
	return q.dependents.Put(ctx, key, data)
}

// Users returns the repositories that take rules from another one, those checked last first.
func (q *Queue) Dependents(ctx context.Context, installation, from int64) (list []Dependent, err error) {
	keys, err := q.dependents.Keys(ctx, fmt.Sprintf("%d.%d.*", installation, from))
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		data, _, err := q.dependents.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		var u Dependent
		id, bad := strconv.ParseInt(key[strings.LastIndexByte(key, '.')+1:], 10, 64)
		if bad != nil || data == nil || json.Unmarshal(data, &u) != nil {
			continue // it went meanwhile, or is of no use
		}
		u.ID = id
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b Dependent) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return int(min(1, max(-1, a.ID-b.ID)))
	})
	return list, nil
}
