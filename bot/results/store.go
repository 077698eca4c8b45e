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
	"sync/atomic"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// Limits limit what is stored. Above the first two, the oldest results are removed first. Zero values mean the
// defaults.
type Limits struct {
	Age   time.Duration
	Bytes int64 // of all results
	// Result limits one report, as JSON. Of a larger report, fields are left out (Meta.LeftOut), or everything but the
	// totals (Meta.TooLarge). It is at most a quarter of DataBytes, so that no result removes all others or its own
	// first parts.
	Result int
}

// The default limits.
const (
	DefaultAge    = 90 * 24 * time.Hour
	DefaultBytes  = 2 << 30
	DefaultResult = 16 << 20
	// MaxResult is the maximum of Limits.Result, and of what is read back, whatever a record claims.
	MaxResult = 256 << 20
)

// IndexBytes returns how many of all bytes the index of results and the overviews may use.
func (l Limits) IndexBytes() int64 { return l.Bytes / 8 }

// DataBytes returns how many of all bytes the reports may use.
func (l Limits) DataBytes() int64 { return l.Bytes - l.IndexBytes() }

const (
	// chunk is the size of the parts that a report is stored in.
	chunk = 512 << 10
	// maxOfHead limits how many results of one commit are read, and maxOthers how many of them are listed.
	maxOfHead, maxOthers = 1000, 50
	// maxValue is less than the maximum size of a value in a bucket.
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
	entering    chan struct{} // held while this process changes an overview; other processes may change it at the same time
}

// NewStore makes a store in two buckets.
func NewStore(index, data store.Values, limits Limits, now func() time.Time) *Store {
	limits.Age, limits.Bytes = cmp.Or(limits.Age, DefaultAge), cmp.Or(limits.Bytes, DefaultBytes)
	limits.Result = min(cmp.Or(limits.Result, DefaultResult), MaxResult, int(min(limits.DataBytes()/4, MaxResult)))
	return &Store{index: index, data: data, limits: limits, now: now, chunk: chunk, entering: make(chan struct{}, 1)}
}

func resultKey(repository int64, head, id string) string {
	return fmt.Sprintf("result.%d.%s.%s", repository, head, id)
}

func overviewKey(repository int64) string { return fmt.Sprintf("overview.%d", repository) }

// nameKey returns the key of a repository's name. It ignores case, as GitHub does, and encodes the dots that names may
// have.
func nameKey(owner, name string) string { return "name." + hexOf(owner) + "." + hexOf(name) }

func hexOf(s string) string { return hex.EncodeToString([]byte(strings.ToLower(s))) }

func partKey(repository int64, p parts, n int) string {
	return fmt.Sprintf("%d.%s.%d", repository, p.Name, n)
}

// Put stores a result, and adds it to the overview of its repository. It sets r.Schema and, in r.Meta, which fields of
// the report were left out. A result with the same id is replaced.
func (s *Store) Put(ctx context.Context, r *Stored) error {
	m := &r.Meta
	if m.Repository.ID <= 0 || !gitcmd.IsObjectID(m.Head) || !idPattern.MatchString(m.ID) || r.Report == nil {
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
	before, _ := s.meta(ctx, key) // nil also for a record that cannot be read, which is replaced
	if before != nil && m.CheckRun == 0 {
		m.CheckRun = before.CheckRun // the same result again keeps its check run
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
		_ = s.data.Remove(ctx, filter) // on failure, the parts are removed when they are too old
	}
	return nil
}

// enter adds a result to the overview of its repository, and derives the repository's summary from the overview. With
// two concurrent calls, the later summary is made of an overview with both results.
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

// Published stores the id of the check run that shows a result. It returns ErrNone if there is no such result.
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

// meta returns a record; ErrNone if there is none, or if it cannot be read.
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

// Meta returns the record of a result; ErrNone if there is none.
func (s *Store) Meta(ctx context.Context, repository int64, head, id string) (*Meta, error) {
	if !gitcmd.IsObjectID(head) || !idPattern.MatchString(id) {
		return nil, ErrNone
	}
	return s.meta(ctx, resultKey(repository, head, id))
}

// OfHead returns the results of a commit without previews. They are ordered by the store's revision and not by a clock,
// the last one stored first.
func (s *Store) OfHead(ctx context.Context, repository int64, head string) ([]Meta, error) {
	if !gitcmd.IsObjectID(head) {
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
		m, _ := s.decodeMeta(data, key) // nil if it cannot be read
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

// Load returns a result with its report. Report is nil if the report was removed or cannot be read.
func (s *Store) Load(ctx context.Context, m *Meta) (*Stored, error) {
	r := &Stored{Meta: *m, Outdated: m.Schema != Schema}
	if m.Parts.Size > MaxResult || m.Parts.Count > MaxResult/s.chunk+1 { // Put never stores such a record
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
	if err == nil && len(data) == m.Parts.Size && readJSON(data, &rep) == nil { // otherwise, the report has to be checked again
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
	kept := s.now().Add(-s.limits.Age) // since then
	old := func(e Entry) bool { return e.Completed.Before(kept) }
	o.Pulls, o.Branch = slices.DeleteFunc(o.Pulls, old), slices.DeleteFunc(o.Branch, old)
	return o, nil
}

const (
	// storeTimeout limits how long a check waits for the store.
	storeTimeout = 5 * time.Second
	// storePause is how long the store is not asked again after it failed.
	storePause = time.Minute
)

// ErrPaused means that the store failed recently and is not asked again yet.
var ErrPaused = errors.New("the store of results failed recently")

// Recorder stores the results whose page somebody can open, and returns the addresses of the pages. It is safe for
// concurrent use.
type Recorder struct {
	// Room returns an error with the reason if there is no room for results, which share a disk with the jobs. Nil:
	// there always is room.
	Room func() error

	store     *Store
	publicURL string // without a trailing slash
	private   bool
	now       func() time.Time

	after atomic.Pointer[time.Time] // the store is not asked before this time; nil: it did not fail
}

// NewRecorder makes a Recorder for pages below a public address. private says that readers can sign in; without it,
// results of private repositories are not stored.
func NewRecorder(store *Store, publicURL string, private bool, now func() time.Time) *Recorder {
	return &Recorder{store: store, publicURL: publicURL, private: private, now: now}
}

// Records reports whether results of a repository have a page that somebody can open.
func (k *Recorder) Records(private bool) bool { return k.private || !private }

// Record stores a result and returns the absolute address of its page. If nobody could open the page, it stores nothing
// and returns "". It takes at most five seconds. For a minute after a failure, it returns ErrPaused at once.
func (k *Recorder) Record(ctx context.Context, r *Stored) (address string, err error) {
	if !k.Records(r.Repository.Private) {
		return "", nil
	}
	if k.paused() {
		return "", ErrPaused
	}
	if k.Room != nil {
		if err := k.Room(); err != nil {
			k.pause()
			return "", err
		}
	}
	storing, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := k.store.Put(storing, r); err != nil {
		if ctx.Err() == nil {
			k.pause()
		}
		return "", err
	}
	return k.publicURL + r.Path(), nil
}

// Overview returns the absolute address of the page of a repository; "" if nobody could open it.
func (k *Recorder) Overview(r forge.Repository) string {
	if !k.Records(r.Private) {
		return ""
	}
	return k.publicURL + RepositoryPath(r)
}

// Published stores the id of the check run that shows a result.
func (k *Recorder) Published(ctx context.Context, r *Stored, checkRun int64) error {
	if k.paused() {
		return ErrPaused
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return k.store.Published(ctx, r.Repository.ID, r.Head, r.ID, checkRun)
}

func (k *Recorder) paused() bool {
	after := k.after.Load()
	return after != nil && k.now().Before(*after)
}

func (k *Recorder) pause() {
	after := k.now().Add(storePause)
	k.after.Store(&after)
}
