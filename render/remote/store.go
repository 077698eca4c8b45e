package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// StoreOptions are the options of OpenStore. Only Dir is required.
type StoreOptions struct {
	Dir      string           // created if missing, for this user only
	Git      string           // absolute path of git; empty: as found by gitcmd.Find
	MaxBytes int64            // maximum size of packed content; the least recently used is removed first. 0: 4 GiB
	InUse    time.Duration    // what was used within this time is kept regardless of the size, because a check may read it. 0: 2 hours
	Clock    func() time.Time // nil: time.Now
}

// Store keeps fetched sources: their trees in a bare git repository, and a note about each. It is safe for concurrent
// use, also by several processes. A killed process leaves nothing wrong: objects arrive in a separate folder, are moved
// when they are complete, then get a reference, and the note is written last.
type Store struct {
	o   StoreOptions
	git string
}

// Parts of the folder.
const (
	objectsDir = "objects.git"
	notesDir   = "notes"
	filesDir   = "files" // indexes of chart repositories as received
	locksDir   = "locks"
	scratchDir = "scratch"
)

// OpenStore prepares a folder.
func OpenStore(ctx context.Context, o StoreOptions) (*Store, error) {
	if o.Dir == "" {
		return nil, errors.New("the store of sources needs a folder")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("the folder of the store: %w", err)
	}
	git, err := gitcmd.Find(o.Git)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	o.MaxBytes, o.InUse = cmp.Or(o.MaxBytes, 4<<30), cmp.Or(o.InUse, 2*time.Hour)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	s := &Store{o: o, git: git}
	for _, name := range []string{notesDir, filesDir, locksDir, scratchDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return nil, fmt.Errorf("the folder of the store: %w", err)
		}
	}
	unlock, err := s.Lock(ctx, "open")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(s.GitDir(), "HEAD")); errors.Is(err, fs.ErrNotExist) {
		return s, s.create()
	}
	return s, nil
}

// GitDir returns the absolute path of the repository with the trees. Only read it.
func (s *Store) GitDir() string { return s.o.GitDir() }

// GitDir returns the git directory of a store with these options.
func (o StoreOptions) GitDir() string { return filepath.Join(o.Dir, objectsDir) }

// Git is the absolute path of git.
func (s *Store) Git() string { return s.git }

// Now is the time by the clock of the store.
func (s *Store) Now() time.Time { return s.o.Clock() }

// create makes the repository in two steps, so that a folder with the final name is always complete.
func (s *Store) create() error {
	fresh := filepath.Join(s.o.Dir, scratchDir, objectsDir)
	err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(s.GitDir()), skeleton(fresh))
	if err == nil {
		err = os.Rename(fresh, s.GitDir())
	}
	if err != nil {
		return fmt.Errorf("making the store: %w", err)
	}
	return nil
}

// skeleton writes an empty bare repository, as git-init(1) makes one without templates.
func skeleton(dir string) error {
	for _, name := range []string{"objects/pack", "objects/info", "refs/heads", refsDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	for name, content := range map[string]string{
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
		"HEAD":   "ref: refs/heads/main\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Key returns the key of a note for some parts.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// Note is what is known about one source.
type Note struct {
	What     string    `json:"what"`           // description
	Want     *Want     `json:"want,omitempty"` // of a note for a want; nil: a note that wants share
	Tree     string    `json:"tree,omitempty"`
	Revision string    `json:"revision,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	First    string    `json:"first,omitempty"`   // the digest, or the commit, when it was first seen
	Changed  string    `json:"changed,omitempty"` // First, if it is different now
	Private  []string  `json:"private,omitempty"` // repositories that could only be read with a token
	ETag     string    `json:"etag,omitempty"`
	Content  string    `json:"content,omitempty"` // the key of the note that has the tree
	Hosts    []string  `json:"hosts,omitempty"`   // further addresses that it came from
	Bytes    int64     `json:"bytes,omitempty"`   // of packed content
	Asked    time.Time `json:"asked"`             // when its source was last asked
	Failure  *Failure  `json:"failure,omitempty"` // of a later try
	Failed   time.Time `json:"failed,omitzero"`
}

// Entry returns the entry for a want whose note this is. It must have a tree.
func (n Note) Entry(w Want) Entry {
	return Entry{Want: w, Tree: n.Tree, Revision: n.Revision, Digest: n.Digest, Changed: n.Changed}
}

func (s *Store) notePath(key string) string {
	return filepath.Join(s.o.Dir, notesDir, key[:2], key+".json")
}

// Note returns the note for a key, the zero Note where there is none. A note that cannot be parsed counts as missing.
func (s *Store) Note(key string) (n Note, err error) {
	data, err := os.ReadFile(s.notePath(key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Note{}, nil
	case err != nil:
		return Note{}, fmt.Errorf("reading the store: %w", WithoutPath(err))
	}
	if json.Unmarshal(data, &n) != nil {
		return Note{}, nil
	}
	return n, nil
}

// Put writes a note.
func (s *Store) Put(key string, n Note) error {
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("writing the store: %w", err)
	}
	return s.write(s.notePath(key), data)
}

// Used records that notes were used now.
func (s *Store) Used(keys ...string) {
	now := s.Now()
	for _, key := range keys {
		_ = os.Chtimes(s.notePath(key), now, now) // if it fails, it is removed too early
	}
}

// write replaces a file atomically, with the time of the store's clock.
func (s *Store) write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Join(s.o.Dir, scratchDir), "file-")
	if err != nil {
		return fmt.Errorf("writing the store: %w", WithoutPath(err))
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	now := s.Now()
	if err == nil {
		err = errors.Join(os.Chtimes(f.Name(), now, now), os.MkdirAll(filepath.Dir(path), 0o700))
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing the store: %w", WithoutPath(err))
	}
	return nil
}

// File reads a file that PutFile wrote; nil where there is none.
func (s *Store) File(key string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.o.Dir, filesDir, key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the store: %w", WithoutPath(err))
	}
	return data, nil
}

// PutFile keeps a file unchanged.
func (s *Store) PutFile(key string, data []byte) error {
	return s.write(filepath.Join(s.o.Dir, filesDir, key), data)
}

// Notes calls do with all notes.
func (s *Store) Notes(do func(key string, n Note, used time.Time)) error {
	err := filepath.WalkDir(filepath.Join(s.o.Dir, notesDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		key, ok := strings.CutSuffix(d.Name(), ".json")
		info, err := d.Info()
		if err != nil || !ok {
			return ignoreGone(err)
		}
		n, err := s.Note(key)
		if err == nil && n.What != "" {
			do(key, n, info.ModTime())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the store: %w", WithoutPath(err))
	}
	return nil
}

// Sizes returns the packed size in bytes of each want in the store.
func (s *Store) Sizes() (map[Want]int64, error) {
	sizes := map[Want]int64{}
	err := s.Notes(func(_ string, n Note, _ time.Time) {
		if n.Want == nil || n.Tree == "" {
			return
		}
		size := n.Bytes
		if n.Content != "" {
			content, _ := s.Note(n.Content) // if it fails, no size is shown
			size = content.Bytes
		}
		sizes[*n.Want] = size
	})
	return sizes, err
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// WithoutPath returns the reason of a file system error, without the path.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}
