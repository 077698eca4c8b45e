package store

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy means that too many values of a Cache are being fetched or waited for.
var ErrBusy = errors.New("there are too many requests at the moment")

// CacheConfig is the configuration of a Cache. Limit is required, and Places and Timeout for Ask.
type CacheConfig[V any] struct {
	Limit  int64            // of the weight of all values; none is kept that weighs more than a quarter of it
	Weight func(V) int64    // nil: each weighs 1
	Now    func() time.Time // nil: time.Now

	Places  chan struct{} // each value that is got takes a place, which caches can share
	Wait    time.Duration // for a place, before it is ErrBusy
	Most    int           // values that are got or wait for a place; what is more is ErrBusy at once. 0: any number
	Timeout time.Duration // for a value, the place included
	Failure time.Duration // how long an error counts for which no span is given; 0: each who asks has it tried again
}

// Cache keeps expensive values in memory, the most recently used ones. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	config CacheConfig[V]

	mu      sync.Mutex
	weight  int64
	order   *list.List // of *entry[K, V], the one used last first
	entries map[K]*list.Element
	getting map[K]*attempt[V]
}

// Span is how long a value is valid: Life, from a time that should be before it was requested. Without a Life it is
// valid forever, unless it is an error.
type Span struct {
	From time.Time
	Life time.Duration
}

// Holds reports whether now is in the span by both clocks of the machine: the wall clock, which may be set back, and
// the monotonic clock, which may stop while the machine sleeps.
func (s Span) Holds(now time.Time) bool {
	steady, set := now.Sub(s.From), now.Round(0).Sub(s.From.Round(0))
	return s.Life == 0 || min(steady, set) >= 0 && max(steady, set) < s.Life
}

type answer[V any] struct {
	value V
	span  Span
	err   error
}

type entry[K comparable, V any] struct {
	key K
	answer[V]
}

// attempt is the fetch of one value. The result is there when done is closed.
type attempt[V any] struct {
	done chan struct{}
	answer[V]
}

// NewCache makes an empty cache.
func NewCache[K comparable, V any](c CacheConfig[V]) *Cache[K, V] {
	if c.Weight == nil {
		c.Weight = func(V) int64 { return 1 }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Cache[K, V]{config: c, order: list.New(), entries: map[K]*list.Element{}, getting: map[K]*attempt[V]{}}
}

// Get returns a value that is still valid.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.lookup(key)
	return known.value, ok && known.err == nil
}

func (c *Cache[K, V]) lookup(key K) (known answer[V], ok bool) {
	e := c.entries[key]
	if e == nil {
		return known, false
	}
	if known = e.Value.(*entry[K, V]).answer; !known.span.Holds(c.config.Now()) {
		c.remove(e)
		return answer[V]{}, false
	}
	c.order.MoveToFront(e)
	return known, true
}

// Put stores a value for a key.
func (c *Cache[K, V]) Put(key K, value V, counts Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, answer[V]{value: value, span: counts})
}

func (c *Cache[K, V]) put(key K, a answer[V]) {
	if e := c.entries[key]; e != nil {
		c.remove(e)
	}
	weight := c.config.Weight(a.value)
	if weight > max(c.config.Limit/4, 1) {
		return
	}
	c.entries[key] = c.order.PushFront(&entry[K, V]{key, a})
	for c.weight += weight; c.weight > c.config.Limit; {
		c.remove(c.order.Back())
	}
}

func (c *Cache[K, V]) remove(e *list.Element) {
	old := c.order.Remove(e).(*entry[K, V])
	delete(c.entries, old.key)
	c.weight -= c.config.Weight(old.value)
}

// Clear forgets everything.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.order.Init()
	c.weight = 0
}

// Ask returns a valid value, or fetches it, once for all concurrent callers, and stores it. The fetch continues after
// ctx ends, since others may wait for it. An error of get is also cached, for its span or for Config.Failure.
func (c *Cache[K, V]) Ask(ctx context.Context, key K, get func(context.Context) (V, Span, error)) (V, error) {
	var none V
	c.mu.Lock()
	if known, ok := c.lookup(key); ok {
		c.mu.Unlock()
		return known.value, known.err
	}
	a := c.getting[key]
	if a == nil && c.config.Most > 0 && len(c.getting) >= c.config.Most {
		c.mu.Unlock()
		return none, ErrBusy
	}
	if a == nil {
		a = &attempt[V]{done: make(chan struct{})}
		c.getting[key] = a
		go c.get(context.WithoutCancel(ctx), key, a, get)
	}
	c.mu.Unlock()
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// get fetches a value. A panic becomes an error for its callers, so that the process continues.
func (c *Cache[K, V]) get(ctx context.Context, key K, a *attempt[V], get func(context.Context) (V, Span, error)) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	a.err = errors.New("reading a value ended early") // unless there is another end
	defer func() {
		_ = recover()
		if a.err != nil && a.span.Life == 0 {
			a.span = Span{c.config.Now(), c.config.Failure}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.getting, key)
		if a.err == nil || a.span.Life > 0 {
			c.put(key, a.answer)
		}
		close(a.done)
	}()
	late := time.NewTimer(c.config.Wait)
	defer late.Stop()
	select {
	case c.config.Places <- struct{}{}:
		defer func() { <-c.config.Places }()
		a.value, a.span, a.err = get(ctx)
	case <-late.C:
		a.err = ErrBusy
	}
}
