package tree

import "sync"

// Store caches objects while a process reads the same repository. Objects are named by their content, so the cache is
// never outdated. It is bounded and safe for concurrent use; the zero value is ready.
//
// A Store is for one repository. It may contain objects that the repository no longer has.
type Store struct {
	folders shelf[[]Entry]
	blobs   shelf[[]byte] // small ones: policies and kustomizations are read at base and head
}

// Limits of a Store: the entries of all folders, the bytes of all blobs, and the bytes of one. When a limit is reached,
// the cache is cleared.
const (
	heldEntries = 400_000
	heldLimit   = 64 << 20
	heldBlob    = 256 << 10
)

// shelf has cached objects by object id.
type shelf[T any] struct {
	mu    sync.Mutex
	items map[string]T
	size  int
}

func (s *shelf[T]) get(id string) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, ok := s.items[id]
	return item, ok
}

func (s *shelf[T]) keep(id string, item T, size, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.items[id]; ok {
		return
	}
	if s.items == nil || s.size+size > limit {
		s.items, s.size = map[string]T{}, 0
	}
	s.items[id] = item
	s.size += size
}
