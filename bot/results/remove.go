package results

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Drop removes the results of a repository, or with zero those of all repositories of an installation.
func (s *Store) Drop(ctx context.Context, installation, repository int64) error {
	if repository != 0 {
		return s.drop(ctx, repository)
	}
	owned := fmt.Sprintf("owned.%d.", installation)
	keys, err := s.index.Keys(ctx, owned+"*")
	if err != nil {
		return err
	}
	for _, key := range keys {
		id, err := strconv.ParseInt(strings.TrimPrefix(key, owned), 10, 64)
		if err != nil {
			continue
		}
		o, _, err := s.overview(ctx, id)
		if err != nil {
			return err
		}
		if o.Repository.Installation != installation && o.Repository.ID != 0 {
			continue // another one has it by now
		}
		if err := s.drop(ctx, id); err != nil {
			return err
		}
	}
	return s.index.Remove(ctx, owned+"*")
}

// drop begins with what pages are found by.
func (s *Store) drop(ctx context.Context, repository int64) error {
	o, _, err := s.overview(ctx, repository)
	if err != nil {
		return err
	}
	id := strconv.FormatInt(repository, 10)
	var all []error
	if o.Repository.ID != 0 {
		all = append(all, s.index.Remove(ctx, nameKey(o.Repository.Owner, o.Repository.Name)))
	}
	for _, filter := range []string{overviewKey(repository), "result." + id + ".>", "owned.*." + id} {
		all = append(all, s.index.Remove(ctx, filter))
	}
	all = append(all, s.data.Remove(ctx, id+".>"))
	return errors.Join(all...)
}

// Retain drops the repositories that are not among those that the App can reach; of installations that are not known
// to be complete nothing is dropped. It is for events that were lost.
func (s *Store) Retain(ctx context.Context, reached func(installation, repository int64) bool) error {
	keys, err := s.index.Keys(ctx, "owned.*.*")
	if err != nil {
		return err
	}
	gone := map[int64]bool{}
	for _, key := range keys {
		part := strings.Split(key, ".")
		if len(part) != 3 {
			continue
		}
		installation, err := strconv.ParseInt(part[1], 10, 64)
		id, err2 := strconv.ParseInt(part[2], 10, 64)
		if errors.Join(err, err2) != nil {
			continue
		}
		if reached(installation, id) {
			gone[id] = false
		} else if _, known := gone[id]; !known {
			gone[id] = true
		}
	}
	for id, is := range gone {
		if !is {
			continue
		}
		if err := s.drop(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
