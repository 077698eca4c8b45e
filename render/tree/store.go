package tree

import "sync"

// Store keeps objects that were read, for as long as a process reads the same repository: they are named by their
// content, so what it holds never becomes stale. It is bounded and safe for concurrent use; the zero value is ready.
//
// A Store is for one repository: what it holds was in that repository once, whether or not it still is.
type Store struct {
	mu      sync.Mutex
	folders map[string][]Entry
	entries int
	blobs   map[string][]byte // small ones: policies and kustomizations are read at both commits
	bytes   int64
}

// The bounds of a Store: the entries of all folders, the bytes of all blobs, and the bytes of one. Where one is
// met the store starts over.
const (
	heldEntries = 400_000
	heldLimit   = 64 << 20
	heldBlob    = 256 << 10
)

func (s *Store) blob(id string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.blobs[id]
	return data, ok
}

func (s *Store) keepBlob(id string, data []byte) {
	if len(data) > heldBlob {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.blobs[id]; ok {
		return
	}
	if s.blobs == nil || s.bytes+int64(len(data)) > heldLimit {
		s.blobs, s.bytes = map[string][]byte{}, 0
	}
	s.blobs[id] = data
	s.bytes += int64(len(data))
}

func (s *Store) folder(id string) ([]Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := s.folders[id]
	return list, ok
}

func (s *Store) keepFolder(id string, list []Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.folders[id]; ok {
		return
	}
	if s.folders == nil || s.entries+len(list) > heldEntries {
		s.folders, s.entries = map[string][]Entry{}, 0
	}
	s.folders[id] = list
	s.entries += len(list)
}
