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
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// Limits bound what is kept. What is above the first two goes, the oldest first. Zero values are the defaults.
type Limits struct {
	Age   time.Duration
	Bytes int64 // of all results
	// Result is of one report, as JSON: above it, parts are left out (Meta.LeftOut), or all of it (Meta.TooLarge). It is at
	// most a quarter of DataBytes, so that no result takes the room of all others and of its own beginning.
	Result int
}

// The default limits.
const (
	DefaultAge    = 90 * 24 * time.Hour
	DefaultBytes  = 2 << 30
	DefaultResult = 16 << 20
	// MaxResult is the most that Limits.Result may be, and the most that is read back whatever a record says.
	MaxResult = 256 << 20
)

// IndexBytes is how many of all bytes the index of results and the overviews may take.
func (l Limits) IndexBytes() int64 { return l.Bytes / 8 }

// DataBytes is how many of all bytes the reports may take.
func (l Limits) DataBytes() int64 { return l.Bytes - l.IndexBytes() }

const (
	// chunk is how much of a report goes into one value of a bucket.
	chunk = 512 << 10
	// maxOfHead is how many results of one commit are looked at, and maxOthers how many of them are listed.
	maxOfHead, maxOthers = 1000, 50
	// maxValue is below what a value of a bucket may be.
	maxValue = 700 << 10
)

// Store keeps results. A result is there as a whole or not at all, whenever the process dies: its report is written
// under a new name, in parts, before the record that names it. The index has
//
//	result.<repository id>.<head>.<id>   Meta
//	repo.<repository id>                 Summary
//	overview.<repository id>             Overview, compressed
//	outlook.<repository id>.<pull request>.<id of another repository>   PreviewResult
//	name.<owner>.<name>                  id of the repository that had the name last; hexadecimal, in lower case
//
// and the data <repository id>.<parts.Name>.<n>. It is safe for concurrent use, by several processes, too.
//
// A clock that is wrong removes nothing that a right one would keep, except the clock of the NATS server: by that one
// what is too old goes. Where the clock of this process is wrong, less is shown until it is right.
type Store struct {
	index, data store.Values
	limits      Limits
	now         func() time.Time
	chunk       int
	entering    chan struct{} // whoever puts a result into an overview; other processes may at the same time
}

// NewStore makes a store in two buckets; a nil now is time.Now.
func NewStore(index, data store.Values, limits Limits, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	limits.Age, limits.Bytes = cmp.Or(limits.Age, DefaultAge), cmp.Or(limits.Bytes, DefaultBytes)
	limits.Result = min(cmp.Or(limits.Result, DefaultResult), MaxResult, int(min(limits.DataBytes()/4, MaxResult)))
	return &Store{index: index, data: data, limits: limits, now: now, chunk: chunk, entering: make(chan struct{}, 1)}
}

func resultKey(repository int64, head, id string) string {
	return fmt.Sprintf("result.%d.%s.%s", repository, head, id)
}

func overviewKey(repository int64) string { return fmt.Sprintf("overview.%d", repository) }

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
	if m.Repository.ID <= 0 || !headPattern.MatchString(m.Head) || !idPattern.MatchString(m.ID) || r.Report == nil {
		return errors.New("storing a result: it lacks its repository, its commit, its id or its report")
	}
	m.Schema = Schema
	data, err := pack(m, r.Report, s.limits.Result)
	if err != nil {
		return err
	}
	packed := compress(data)
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
	if err := s.name(ctx, m.Repository); err != nil {
		return err
	}
	if err := s.enter(ctx, r); err != nil {
		return err
	}
	if err := s.listPreview(ctx, m); err != nil {
		return err
	}
	if before != nil && before.Parts.Name != "" {
		filter := fmt.Sprintf("%d.%s.*", m.Repository.ID, before.Parts.Name)
		_ = s.data.Remove(ctx, filter) // what stays goes with its age
	}
	return nil
}

// enter puts a result into the overview of its repository, and that into its summary. Who comes second writes the
// summary from an overview that has both.
func (s *Store) enter(ctx context.Context, r *Stored) error {
	select {
	case s.entering <- struct{}{}:
		defer func() { <-s.entering }()
	case <-ctx.Done():
		return fmt.Errorf("storing an overview: %w", ctx.Err())
	}
	err := store.Change(ctx, s.index, overviewKey(r.Repository.ID), func(data []byte) ([]byte, error) {
		o := decodeOverview(data)
		o.add(&r.Meta, r.Report, s.now())
		return o.encode()
	})
	if err != nil {
		return err
	}
	return store.Change(ctx, s.index, summaryKey(r.Repository.ID), func([]byte) ([]byte, error) {
		data, _, err := s.index.Get(ctx, overviewKey(r.Repository.ID))
		if err != nil {
			return nil, err
		}
		now := Summary{Schema: Schema, Repository: r.Repository, Stored: s.now().UTC()}
		now.summarize(decodeOverview(data))
		return json.Marshal(now)
	})
}

// Published remembers the check run that shows a result.
func (s *Store) Published(ctx context.Context, repository int64, head, id string, checkRun int64) error {
	key := resultKey(repository, head, id)
	return store.Change(ctx, s.index, key, func(data []byte) ([]byte, error) {
		m, err := s.decodeMeta(data, key)
		if err != nil || m.CheckRun == checkRun {
			return nil, err
		}
		m.CheckRun = checkRun
		return json.Marshal(m)
	})
}

// meta is ErrNone for what cannot be read, too.
func (s *Store) meta(ctx context.Context, key string) (*Meta, error) {
	data, _, err := s.index.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.decodeMeta(data, key)
}

func (s *Store) decodeMeta(data []byte, key string) (*Meta, error) {
	var m Meta
	if readJSON(data, &m) != nil || resultKey(m.Repository.ID, m.Head, m.ID) != key || m.Completed.Before(s.now().Add(-s.limits.Age)) {
		return nil, ErrNone
	}
	return &m, nil
}

// Meta returns what is known about a result; ErrNone if there is none.
func (s *Store) Meta(ctx context.Context, repository int64, head, id string) (*Meta, error) {
	if !headPattern.MatchString(head) || !idPattern.MatchString(id) {
		return nil, ErrNone
	}
	return s.meta(ctx, resultKey(repository, head, id))
}

// OfHead returns the results of a commit, the one that was stored last first: no clock has a say. What only changes
// elsewhere would bring is not among them.
func (s *Store) OfHead(ctx context.Context, repository int64, head string) ([]Meta, error) {
	if !headPattern.MatchString(head) {
		return nil, nil
	}
	keys, err := s.index.Keys(ctx, resultKey(repository, head, "*"))
	if err != nil {
		return nil, err
	}
	type written struct {
		meta     *Meta
		revision uint64
	}
	all, err := each(ctx, keys[:min(len(keys), maxOfHead)], func(ctx context.Context, key string) (written, error) {
		data, revision, err := s.index.Get(ctx, key)
		if err != nil {
			return written{}, err
		}
		m, _ := s.decodeMeta(data, key) // nil for what cannot be read
		return written{m, revision}, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b written) int { return cmp.Compare(b.revision, a.revision) })
	var list []Meta
	for _, w := range all {
		if w.meta != nil && w.meta.Of == nil && len(list) < maxOthers {
			list = append(list, *w.meta)
		}
	}
	return list, nil
}

// Load returns a result with its report. Of one that cannot be read, or whose report had to go, Report is nil.
func (s *Store) Load(ctx context.Context, m *Meta) (*Stored, error) {
	r := &Stored{Meta: *m, Outdated: m.Schema != Schema}
	if m.Parts.Size > MaxResult || m.Parts.Count > MaxResult/s.chunk+1 { // as nobody stored it
		return r, nil
	}
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
	data, err := decompress(packed.Bytes(), int64(m.Parts.Size)+1)
	var rep report.Report
	if err == nil && len(data) == m.Parts.Size && readJSON(data, &rep) == nil { // else it is to be checked again
		r.Report = &rep
	}
	return r, nil
}

// Overview returns the overview of a repository; ErrNone if there is none.
func (s *Store) Overview(ctx context.Context, repository int64) (*Overview, error) {
	data, _, err := s.index.Get(ctx, overviewKey(repository))
	if err != nil {
		return nil, err
	}
	o := decodeOverview(data)
	if o.Repository.ID != repository || repository <= 0 {
		return nil, ErrNone
	}
	o.prune(s.now().Add(-s.limits.Age))
	return o, nil
}
