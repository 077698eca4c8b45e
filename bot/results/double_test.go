package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

var clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	headA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	headB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// bucketDouble implements store.Values in memory.
type bucketDouble struct {
	mu       sync.Mutex
	values   map[string][]byte
	revision map[string]uint64
	last     uint64
	fail     error
	dies     int // number of writes after which all fail; zero: never
	writings int
	gets     int
	got      func(key string) // called after each read, if not nil
}

func newBucket() *bucketDouble {
	return &bucketDouble{values: map[string][]byte{}, revision: map[string]uint64{}}
}

func (b *bucketDouble) Get(_ context.Context, key string) ([]byte, uint64, error) {
	b.mu.Lock()
	b.gets++
	value, revision, got := b.values[key], b.revision[key], b.got
	b.mu.Unlock()
	if got != nil {
		got(key)
	}
	return value, revision, b.fail
}

func (b *bucketDouble) Put(_ context.Context, key string, value []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.put(key, value)
}

func (b *bucketDouble) put(key string, value []byte) error {
	if b.writings++; b.dies > 0 && b.writings >= b.dies {
		return errors.New("the process died")
	}
	if b.fail != nil {
		return b.fail
	}
	b.last++
	b.values[key], b.revision[key] = slices.Clone(value), b.last
	return nil
}

func (b *bucketDouble) Update(_ context.Context, key string, value []byte, revision uint64) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.revision[key] != revision {
		return false, nil
	}
	err := b.put(key, value)
	return err == nil, err
}

// fits reports whether a key matches a filter of NATS.
func fits(filter, key string) bool {
	f, k := strings.Split(filter, "."), strings.Split(key, ".")
	for i, token := range f {
		if token == ">" {
			return len(k) > i
		}
		if i >= len(k) || token != "*" && token != k[i] {
			return false
		}
	}
	return len(f) == len(k)
}

func (b *bucketDouble) Keys(_ context.Context, filter string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Keys(b.values)), func(k string) bool { return !fits(filter, k) }), b.fail
}

func (b *bucketDouble) Remove(_ context.Context, filter string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.values, func(k string, _ []byte) bool { return fits(filter, k) })
	maps.DeleteFunc(b.revision, func(k string, _ uint64) bool { return fits(filter, k) })
	return b.fail
}

// shop returns the repository of the tests.
func shop() forge.Repository {
	return forge.Repository{Repo: forge.Repo{ID: 11, Installation: 7, Owner: "Octo-Org", Name: "fleet.gitops"}}
}

// resultOf returns a result of pull request 12.
func resultOf(external, head string, at time.Time) *Stored {
	return &Stored{Meta: Meta{ID: ID(external), Repository: shop(), Head: head, Base: headB, Rules: headB,
		Pull: &Pull{Number: 12, Title: "Change", Author: "octocat"}, Conclusion: report.Failure,
		Title: "2 violations", Completed: at, GitHub: "https://github.com"},
		Report: &report.Report{Conclusion: report.Failure, Title: "2 violations",
			Findings: []report.Finding{{Policy: "latest", Message: "no latest", Result: report.Fail, Blocks: true,
				Resources: []report.Resource{{Kind: "Pod", Name: "b"}}}},
			Excerpts: map[string]map[int]string{"a.yaml": {3: "image: a:latest"}}}}
}

func put(t *testing.T, s *Store, r *Stored) {
	t.Helper()
	if err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s *Store, repository int64, head, id string) *Stored {
	t.Helper()
	m, err := s.Meta(t.Context(), repository, head, id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Load(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plain is a Renderer that writes plain words.
type plain struct {
	mu    sync.Mutex
	made  []string
	hold  chan struct{} // if not nil, rendering waits until something is sent
	fails error
	fill  int
}

func (p *plain) note(what string) error {
	p.mu.Lock()
	p.made = append(p.made, what)
	p.mu.Unlock()
	if p.hold != nil {
		<-p.hold
	}
	return p.fails
}

// count returns how many pages were begun.
func (p *plain) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.made)
}

func (p *plain) Result(w io.Writer, r *Stored, v View) error {
	title := "no report"
	if r.Report != nil {
		title = r.Report.Title
	}
	fmt.Fprintf(w, "result of %s at %s: %s; %d of its commit; signed in %t; here %s; outdated %t; %s", r.Repository, r.Head[:7],
		title, len(v.Others), v.SignedIn, v.Here, r.Outdated, strings.Repeat("x", p.fill))
	if len(v.Withheld) > 0 {
		fmt.Fprintf(w, "without %s", v.Withheld)
	}
	return p.note("result " + r.ID)
}

func (p *plain) Part(w io.Writer, r *Stored, part string, _ View) error {
	if part != "diff-1" {
		return ErrNone
	}
	fmt.Fprintf(w, "part %s of %s", part, r.Title)
	return p.note("part")
}

func (p *plain) Repository(w io.Writer, o *Overview, v View) error {
	fmt.Fprintf(w, "repository %s: %d pulls, %d reports; here %s", o.Repository, len(o.Pulls), len(o.Branch), v.Here)
	for i, e := range v.Previews {
		fmt.Fprintf(w, "%s%d %s %s", map[bool]string{true: "; ", false: ", "}[i == 0], e.Number, e.Repository.Name, e.Title)
	}
	return p.note("repository")
}

func (p *plain) Organisation(w io.Writer, owner string, repositories []*Summary, _ View) error {
	fmt.Fprintf(w, "account %s:", owner)
	for _, o := range repositories {
		fmt.Fprintf(w, " %s", o.Repository.Name)
	}
	return p.note("account")
}

// guardDouble is a Guard that returns the levels in seen.
type guardDouble struct {
	mu     sync.Mutex
	seen   map[int64]Level
	err    error
	asked  []int64
	signed bool
	turns  bool
}

func (g *guardDouble) Level(_ *http.Request, r forge.Repository) (Level, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, r.ID)
	return g.seen[r.ID], g.err
}

func (g *guardDouble) Once(r *http.Request) *http.Request { return r }

func (g *guardDouble) Reader(*http.Request) (string, bool) { return "", g.signed }

func (g *guardDouble) Turn(w http.ResponseWriter, r *http.Request) bool {
	if g.turns {
		http.Redirect(w, r, "/auth/login", http.StatusSeeOther)
	}
	return g.turns
}
