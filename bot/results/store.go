package results

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits bound what is kept. What is above the first two goes, the oldest first.
type Limits struct {
	Age    time.Duration
	Bytes  int64 // of all results
	Result int   // of one report, as JSON: above it, parts are left out (Meta.LeftOut), or all of it (Meta.TooLarge)
}

// The default limits.
const (
	DefaultAge    = 90 * 24 * time.Hour
	DefaultBytes  = 2 << 30
	DefaultResult = 16 << 20
)

// IndexBytes is how many of all bytes the index of results and the overviews may take.
func (l Limits) IndexBytes() int64 { return l.Bytes / 8 }

// DataBytes is how many of all bytes the reports may take.
func (l Limits) DataBytes() int64 { return l.Bytes - l.IndexBytes() }

const (
	// chunk is how much of a report goes into one value of a bucket.
	chunk = 512 << 10
	// maxOfHead is how many results of one commit are looked at.
	maxOfHead = 50
	// maxRepositories is how many repositories the page of an account has.
	maxRepositories = 100
	// updateTries is how often an overview is read again because somebody else changed it meanwhile.
	updateTries = 20
)

// Bucket keeps values by key; *queue.Bucket is one and says what keys and filters are.
type Bucket interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) error
	Update(ctx context.Context, key string, value []byte, revision uint64) (stored bool, err error)
	Keys(ctx context.Context, filter string) ([]string, error)
	Remove(ctx context.Context, filter string) error
}

// Store keeps results. A result is there as a whole or not at all, whenever the process dies: its report is written
// under a new name, in parts, before the record that names it. The index has
//
//	result.<repository id>.<head>.<id>     Meta
//	repo.<repository id>                   Overview, compressed
//	name.<owner>.<name>                    id of the repository that had the name last; hexadecimal, in lower case
//	owned.<installation>.<repository id>   nothing
//
// and the data <repository id>.<parts.Name>.<n>. It is safe for concurrent use, by several processes, too.
type Store struct {
	index, data Bucket
	limits      Limits
	now         func() time.Time
	chunk       int
}

// NewStore makes a store in two buckets; a nil now is time.Now.
func NewStore(index, data Bucket, limits Limits, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	limits.Result = cmp.Or(limits.Result, DefaultResult)
	limits.Age = cmp.Or(limits.Age, DefaultAge)
	return &Store{index: index, data: data, limits: limits, now: now, chunk: chunk}
}

func resultKey(repository int64, head, id string) string {
	return fmt.Sprintf("result.%d.%s.%s", repository, head, id)
}

func overviewKey(repository int64) string { return fmt.Sprintf("repo.%d", repository) }

// nameKey is for a name in any case: GitHub's names are not told apart by it. Names have dots.
func nameKey(owner, name string) string { return "name." + hexOf(owner) + "." + hexOf(name) }

func hexOf(s string) string { return hex.EncodeToString([]byte(strings.ToLower(s))) }

func partKey(repository int64, p parts, n int) string {
	return fmt.Sprintf("%d.%s.%d", repository, p.Name, n)
}

// Put stores a result, and puts it into the overview of its repository. It sets r.Schema, and what had to be left out
// of the report. The same id again replaces the result.
func (s *Store) Put(ctx context.Context, r *Stored) error {
	m := &r.Meta
	if m.Repository.ID <= 0 || !headForm.MatchString(m.Head) || !idForm.MatchString(m.ID) || r.Report == nil {
		return errors.New("storing a result: it lacks its repository, its commit, its id or its report")
	}
	m.Schema = Schema
	data, err := pack(m, r.Report, s.limits.Result)
	if err != nil {
		return err
	}
	packed, err := compress(data)
	if err != nil {
		return err
	}
	m.Parts = parts{Name: rand.Text(), Size: len(data), Sum: sumOf(packed)}
	for piece := range slices.Chunk(packed, s.chunk) {
		if err := s.data.Put(ctx, partKey(m.Repository.ID, m.Parts, m.Parts.Count), piece); err != nil {
			return err
		}
		m.Parts.Count++
	}
	key := resultKey(m.Repository.ID, m.Head, m.ID)
	before, _ := s.meta(ctx, key) // an unreadable one is replaced, too
	if before != nil && m.CheckRun == 0 {
		m.CheckRun = before.CheckRun // the same result again, which needs no other run
	}
	record, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("storing a result: %w", err)
	}
	if err := s.index.Put(ctx, key, record); err != nil {
		return err
	}
	id := strconv.FormatInt(m.Repository.ID, 10)
	if err := s.index.Put(ctx, nameKey(m.Repository.Owner, m.Repository.Name), []byte(id)); err != nil {
		return err
	}
	if err := s.index.Put(ctx, fmt.Sprintf("owned.%d.%s", m.Repository.Installation, id), nil); err != nil {
		return err
	}
	if err := s.enter(ctx, r); err != nil {
		return err
	}
	if before != nil && before.Parts.Name != "" {
		_ = s.data.Remove(ctx, id+"."+before.Parts.Name+".*") // what stays goes with its age
	}
	return nil
}

// enter puts a result into the overview of its repository.
func (s *Store) enter(ctx context.Context, r *Stored) error {
	key := overviewKey(r.Repository.ID)
	for range updateTries {
		o, revision, err := s.overview(ctx, r.Repository.ID)
		if err != nil {
			return err
		}
		o.add(&r.Meta, r.Report, s.now())
		o.prune(s.now().Add(-s.limits.Age))
		data, err := json.Marshal(o)
		if err == nil {
			data, err = compress(data)
		}
		if err != nil {
			return fmt.Errorf("storing an overview: %w", err)
		}
		if stored, err := s.index.Update(ctx, key, data, revision); err != nil || stored {
			return err
		}
	}
	return errors.New("storing an overview: it changes all the time")
}

// Published remembers the check run that shows a result.
func (s *Store) Published(ctx context.Context, repository int64, head, id string, checkRun int64) error {
	key := resultKey(repository, head, id)
	m, err := s.meta(ctx, key)
	if err != nil || m.CheckRun == checkRun {
		return err
	}
	m.CheckRun = checkRun
	record, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("storing a result: %w", err)
	}
	return s.index.Put(ctx, key, record)
}

// meta is ErrNone for what cannot be read, too.
func (s *Store) meta(ctx context.Context, key string) (*Meta, error) {
	data, _, err := s.index.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	var m Meta
	var other *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &m); len(data) == 0 || err != nil && !errors.As(err, &other) {
		return nil, ErrNone
	}
	if resultKey(m.Repository.ID, m.Head, m.ID) != key || m.Completed.Before(s.now().Add(-s.limits.Age)) {
		return nil, ErrNone
	}
	return &m, nil
}

// Meta returns what is known about a result; ErrNone if there is none.
func (s *Store) Meta(ctx context.Context, repository int64, head, id string) (*Meta, error) {
	if !headForm.MatchString(head) || !idForm.MatchString(id) {
		return nil, ErrNone
	}
	return s.meta(ctx, resultKey(repository, head, id))
}

// OfHead returns the results of a commit, newest first.
func (s *Store) OfHead(ctx context.Context, repository int64, head string) ([]Meta, error) {
	if !headForm.MatchString(head) {
		return nil, nil
	}
	keys, err := s.index.Keys(ctx, resultKey(repository, head, "*"))
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	var all []Meta
	for _, key := range keys[:min(len(keys), maxOfHead)] {
		m, err := s.meta(ctx, key)
		switch {
		case err == nil:
			all = append(all, *m)
		case !errors.Is(err, ErrNone):
			return nil, err
		}
	}
	// GitHub's numbers grow whatever the clocks of servers say, but one that was just stored may lack its own.
	unnumbered := slices.ContainsFunc(all, func(m Meta) bool { return m.CheckRun == 0 })
	slices.SortFunc(all, func(a, b Meta) int {
		if !unnumbered && a.CheckRun != b.CheckRun {
			return cmp.Compare(b.CheckRun, a.CheckRun)
		}
		return cmp.Or(b.Completed.Compare(a.Completed), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Load returns a result with its report. Of one that cannot be read, or whose report had to go, Report is nil.
func (s *Store) Load(ctx context.Context, m *Meta) (*Stored, error) {
	r := &Stored{Meta: *m, Outdated: m.Schema != Schema}
	var packed bytes.Buffer
	for n := range m.Parts.Count {
		piece, _, err := s.data.Get(ctx, partKey(m.Repository.ID, m.Parts, n))
		if err != nil {
			return nil, err
		}
		packed.Write(piece)
	}
	if sumOf(packed.Bytes()) != m.Parts.Sum {
		return r, nil
	}
	data, err := decompress(packed.Bytes(), m.Parts.Size)
	if err != nil {
		return r, nil // as stored by another version: to be checked again
	}
	if rep, err := unpack(data); err == nil {
		r.Report = rep
	}
	return r, nil
}

// Find returns the id of the repository that has a name, or had it last; zero if there is none.
func (s *Store) Find(ctx context.Context, owner, name string) (int64, error) {
	data, _, err := s.index.Get(ctx, nameKey(owner, name))
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return 0, nil // nothing, or nothing of ours
	}
	return id, nil
}

// Overview returns the overview of a repository; ErrNone if there is none.
func (s *Store) Overview(ctx context.Context, repository int64) (*Overview, error) {
	o, revision, err := s.overview(ctx, repository)
	if err != nil {
		return nil, err
	}
	if revision == 0 || o.Repository.ID != repository {
		return nil, ErrNone
	}
	o.prune(s.now().Add(-s.limits.Age))
	return o, nil
}

// maxOverview bounds an overview that is read back.
const maxOverview = 32 << 20

// overview is an empty one where there is none, or one that cannot be read.
func (s *Store) overview(ctx context.Context, repository int64) (*Overview, uint64, error) {
	data, revision, err := s.index.Get(ctx, overviewKey(repository))
	if err != nil {
		return nil, 0, err
	}
	o := &Overview{}
	if len(data) == 0 {
		return o, revision, nil
	}
	plain, err := decompressAny(data, maxOverview)
	var other *json.UnmarshalTypeError
	if err == nil {
		err = json.Unmarshal(plain, o)
	}
	if err != nil && !errors.As(err, &other) {
		o = &Overview{}
	}
	return o, revision, nil
}

// Organisation returns the overviews of the repositories of an account, by name.
func (s *Store) Organisation(ctx context.Context, owner string) ([]*Overview, error) {
	keys, err := s.index.Keys(ctx, "name."+hexOf(owner)+".*")
	if err != nil || owner == "" {
		return nil, err
	}
	slices.Sort(keys)
	var all []*Overview
	seen := map[int64]bool{}
	for _, key := range keys {
		if len(all) == maxRepositories {
			break
		}
		data, _, err := s.index.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		id, err := strconv.ParseInt(string(data), 10, 64)
		if err != nil || seen[id] {
			continue
		}
		seen[id] = true
		o, err := s.Overview(ctx, id)
		switch {
		case errors.Is(err, ErrNone):
			continue
		case err != nil:
			return nil, err
		case strings.EqualFold(o.Repository.Owner, owner): // or it was given away
			all = append(all, o)
		}
	}
	return all, nil
}
