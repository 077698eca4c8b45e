package results

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// errBusy means that as many pages are made as may be at a time.
var errBusy = errors.New("too many pages are made at this moment")

// pageCache keeps values that are expensive to make, those used last, up to a number of bytes. One key is made by one
// goroutine at a time, which the others wait for.
type pageCache[T any] struct {
	limit  int64
	size   func(T) int64
	places chan struct{} // for those who make something
	wait   time.Duration // for a place
	most   int           // things that are made or wait for a place; what is more is refused at once
	now    func() time.Time

	mu     sync.Mutex
	bytes  int64
	order  *list.List // of *item[T], the one used last first
	items  map[string]*list.Element
	making map[string]*attempt[T]
}

type item[T any] struct {
	key   string
	value T
	until time.Time // zero: it stays right
}

type attempt[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func newPageCache[T any](limit int64, places, waiting int, wait time.Duration, now func() time.Time,
	size func(T) int64) *pageCache[T] {
	return &pageCache[T]{limit: limit, size: size, places: make(chan struct{}, places), most: places + waiting, wait: wait, now: now,
		order: list.New(), items: map[string]*list.Element{}, making: map[string]*attempt[T]{}}
}

// get returns what is kept, or makes it; life is how long it is right, zero for good. What others make is not ended
// with ctx, which is the reader's.
func (s *pageCache[T]) get(ctx context.Context, key string, life time.Duration,
	produce func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	if e := s.items[key]; e != nil {
		it := e.Value.(*item[T])
		if it.until.IsZero() || s.now().Before(it.until) {
			s.order.MoveToFront(e)
			s.mu.Unlock()
			return it.value, nil
		}
		s.remove(e)
	}
	a := s.making[key]
	if a == nil && len(s.making) >= s.most {
		s.mu.Unlock()
		var none T
		return none, errBusy
	}
	if a == nil {
		a = &attempt[T]{done: make(chan struct{})}
		s.making[key] = a
		go s.produce(context.WithoutCancel(ctx), key, life, a, produce)
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// makeTimeout bounds the making of one thing, requests to the store included.
const makeTimeout = 20 * time.Second

func (s *pageCache[T]) produce(ctx context.Context, key string, life time.Duration, a *attempt[T],
	produce func(context.Context) (T, error)) {
	ctx, cancel := context.WithTimeout(ctx, makeTimeout)
	defer cancel()
	a.err = errors.New("making a page ended early") // should it panic, which ends the process unless somebody recovers
	defer func() {
		if p := recover(); p != nil {
			a.err = errors.New("making a page panicked")
		}
		s.mu.Lock()
		delete(s.making, key)
		if a.err == nil {
			s.add(key, a.value, life)
		}
		s.mu.Unlock()
		close(a.done)
	}()
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-timer.C:
		a.err = errBusy
		return
	}
	a.value, a.err = produce(ctx)
}

// add keeps a value that is not larger than a quarter of everything.
func (s *pageCache[T]) add(key string, value T, life time.Duration) {
	if e := s.items[key]; e != nil {
		s.remove(e)
	}
	if s.size(value) > s.limit/4 {
		return
	}
	it := &item[T]{key: key, value: value}
	if life > 0 {
		it.until = s.now().Add(life)
	}
	s.items[key] = s.order.PushFront(it)
	s.bytes += s.size(value)
	for s.bytes > s.limit {
		s.remove(s.order.Back())
	}
}

func (s *pageCache[T]) remove(e *list.Element) {
	it := s.order.Remove(e).(*item[T])
	delete(s.items, it.key)
	s.bytes -= s.size(it.value)
}
