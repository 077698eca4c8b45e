package access

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// decideTimeout is how long a reader waits for a decision, and questionTimeout how long GitHub may take for one
	// question, whoever still waits.
	decideTimeout   = 10 * time.Second
	questionTimeout = 15 * time.Second
	// maxQuestions is how many questions are under way at GitHub at a time, of all readers.
	maxQuestions = 16
	// refusalTTL is how long a no is remembered: who was just let in at GitHub does not wait for long here.
	refusalTTL = 30 * time.Second
	// failureTTL is how long it is remembered that GitHub did not answer, so that it is not asked by each request.
	failureTTL = time.Second
	// maxRemembered bounds the answers of one kind; those not used for longest go first.
	maxRemembered = 20_000
	// reserve is the part of an hourly rate limit that is left to the checks: one of ten.
	reserve = 10
)

// asker asks questions, each once at a time, and remembers the answers. It is safe for concurrent use.
type asker[K comparable, V any] struct {
	slots   chan struct{}
	now     func() time.Time
	flights singleflight.Group

	mu      sync.Mutex
	answers map[K]*list.Element
	order   *list.List // of *answer[K, V], most recently used in front
}

type answer[K comparable, V any] struct {
	key   K
	value V
	err   error
	span
}

// span is how long an answer counts: life, from before its question was asked.
type span struct {
	from time.Time
	life time.Duration
}

// holds reports whether now is in the span by both clocks of the machine: the one that people set, which may go back,
// and the steady one, which stands still while the machine sleeps.
func (s span) holds(now time.Time) bool {
	steady, set := now.Sub(s.from), now.Round(0).Sub(s.from.Round(0))
	return min(steady, set) >= 0 && max(steady, set) < s.life
}

func newAsker[K comparable, V any](slots chan struct{}, now func() time.Time) *asker[K, V] {
	return &asker[K, V]{slots: slots, now: now, answers: map[K]*list.Element{}, order: list.New()}
}

// lookup is an answer that still counts.
func (a *asker[K, V]) lookup(key K) (answer[K, V], bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.answers[key]
	if !ok {
		return answer[K, V]{}, false
	}
	known := e.Value.(*answer[K, V])
	if !known.holds(a.now()) {
		a.order.Remove(e)
		delete(a.answers, key)
		return answer[K, V]{}, false
	}
	a.order.MoveToFront(e)
	return *known, true
}

func (a *asker[K, V]) remember(key K, value V, counts span) {
	a.put(&answer[K, V]{key: key, value: value, span: counts})
}

func (a *asker[K, V]) put(n *answer[K, V]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ok := a.answers[n.key]; ok {
		e.Value = n
		a.order.MoveToFront(e)
	} else {
		a.answers[n.key] = a.order.PushFront(n)
	}
	for a.order.Len() > maxRemembered {
		oldest := a.order.Back()
		a.order.Remove(oldest)
		delete(a.answers, oldest.Value.(*answer[K, V]).key)
	}
}

// ask is the remembered answer, or the one of question, which says how long it counts. A question goes on when who
// asked first does not wait any more: others do.
func (a *asker[K, V]) ask(ctx context.Context, key K,
	question func(context.Context) (V, span, error)) (V, error) {
	if known, ok := a.lookup(key); ok {
		return known.value, known.err
	}
	flight := a.flights.DoChan(fmt.Sprint(key), func() (any, error) {
		if known, ok := a.lookup(key); ok { // answered since
			return known.value, known.err
		}
		asking, done := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
		defer done()
		n := &answer[K, V]{key: key}
		select {
		case a.slots <- struct{}{}:
			n.value, n.span, n.err = question(asking)
			<-a.slots
		case <-asking.Done():
			n.err = asking.Err()
		}
		if n.err != nil {
			n.span = span{a.now(), failureTTL}
		}
		a.put(n)
		return n.value, n.err
	})
	select {
	case r := <-flight:
		value, _ := r.Val.(V)
		return value, r.Err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// bucket lets so many through at once, and so many a second after that.
type bucket struct {
	size, rate float64
	now        func() time.Time

	mu   sync.Mutex
	left float64
	at   time.Time
}

func newBucket(size, rate float64, now func() time.Time) *bucket {
	return &bucket{size: size, rate: rate, now: now, left: size, at: now()}
}

func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.left = min(b.size, b.left+max(now.Sub(b.at).Seconds(), 0)*b.rate)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
