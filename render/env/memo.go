package env

import "sync"

// Memo keeps the results of a function, by key. It is safe for concurrent use, and the function may be called twice for a key.
// The zero value is empty.
type Memo[K comparable, V any] struct{ known sync.Map }

// Get returns the result for a key. On the first call it is what compute returns.
func (m *Memo[K, V]) Get(key K, compute func() V) V {
	if known, ok := m.known.Load(key); ok {
		return known.(V)
	}
	value := compute()
	m.known.Store(key, value)
	return value
}

// Clear forgets all results.
func (m *Memo[K, V]) Clear() { m.known.Clear() }
