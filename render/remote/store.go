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

// StoreOptions are what OpenStore needs. Only Dir is required.
type StoreOptions struct {
	Dir      string           // made if absent, for this user only
	Git      string           // absolute path of git; empty: as gitcmd.Find finds it
	MaxBytes int64            // of packed content; what was not used for longest goes first. 0: 4 GiB
	InUse    time.Duration    // what was used since then stays, whatever the size: a check may read it. 0: 2 hours
	Clock    func() time.Time // nil: time.Now
}

// Store keeps what came from outside: the trees in one bare git repository, and notes about what each thing came to. It
// is safe for concurrent use. Several processes may use one folder at the same time, and one that is killed leaves nothing
// that misleads: objects arrive in a folder of their own, are moved when they are whole, then get a reference, and the
// note comes last.
type Store struct {
	o   StoreOptions
	git string
}

// The parts of the folder.
const (
	objectsDir = "objects.git"
	notesDir   = "notes"
	filesDir   = "files" // indexes of chart repositories as they were received
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

// GitDir is the absolute path of the repository that has the trees; it is to be read only.
func (s *Store) GitDir() string { return s.o.GitDir() }

// GitDir is the git directory that a store of these options has.
func (o StoreOptions) GitDir() string { return filepath.Join(o.Dir, objectsDir) }

// Git is the absolute path of git.
func (s *Store) Git() string { return s.git }

// Now is the time by the clock of the store.
func (s *Store) Now() time.Time { return s.o.Clock() }

// create makes the repository in two steps, so that a folder with the final name is always whole.
func (s *Store) create() error {
	fresh := filepath.Join(s.o.Dir, scratchDir, objectsDir)
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(s.GitDir()), skeleton(fresh)); err != nil {
		return fmt.Errorf("making the store: %w", err)
	}
	if err := os.Rename(fresh, s.GitDir()); err != nil {
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

// Key names a thing by its parts.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// Note is what is known of one thing.
type Note struct {
	What     string    `json:"what"`           // in words
	Want     *Want     `json:"want,omitempty"` // of what somebody asked for; nil: what others share
	Tree     string    `json:"tree,omitempty"`
	Revision string    `json:"revision,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	First    string    `json:"first,omitempty"`   // the digest, or the commit, that it had when it was first seen
	Changed  string    `json:"changed,omitempty"` // First, where it is another one now
	Private  []string  `json:"private,omitempty"` // repositories that only a token could read
	ETag     string    `json:"etag,omitempty"`
	Content  string    `json:"content,omitempty"` // the key of the note that has the tree
	Hosts    []string  `json:"hosts,omitempty"`   // further addresses that it came from
	Bytes    int64     `json:"bytes,omitempty"`   // of packed content
	Asked    time.Time `json:"asked"`             // when its source last said so
	Failure  *Failure  `json:"failure,omitempty"` // of a later try
	Failed   time.Time `json:"failed,omitzero"`
}

func (s *Store) notePath(key string) string {
	return filepath.Join(s.o.Dir, notesDir, key[:2], key+".json")
}

// Note returns what is known of a thing; the zero Note where nothing is. A note that cannot be read is as good as none.
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

// Put keeps a note.
func (s *Store) Put(key string, n Note) error {
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("writing the store: %w", err)
	}
	return s.write(s.notePath(key), data)
}

// Used notes that a thing was used now.
func (s *Store) Used(keys ...string) {
	now := s.Now()
	for _, key := range keys {
		_ = os.Chtimes(s.notePath(key), now, now) // at worst it goes too early
	}
}

// write replaces a file at once, with the time of the store's clock.
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

// File reads a file that was kept as it is; nil where there is none.
func (s *Store) File(key string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.o.Dir, filesDir, key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the store: %w", WithoutPath(err))
	}
	return data, nil
}

// PutFile keeps a file as it is.
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

// Sizes returns how many bytes came, packed, for each want that the store has something for.
func (s *Store) Sizes() (map[Want]int64, error) {
	sizes := map[Want]int64{}
	err := s.Notes(func(_ string, n Note, _ time.Time) {
		if n.Want == nil || n.Tree == "" {
			return
		}
		size := n.Bytes
		if n.Content != "" {
			content, _ := s.Note(n.Content) // at worst no size is shown
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

// WithoutPath returns the reason of an error of the file system, without the path.
func WithoutPath(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
