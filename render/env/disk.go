package env

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultDiskLimit is the default maximum size of a Disk in bytes.
const DefaultDiskLimit = 512 << 20

// Disk is a folder of cached results that are expensive to compute and depend only on named contents. It is safe for
// concurrent use, also by several processes.
//
// An entry belongs to a scope, a name and the version of the program that wrote it, and has a checksum. A damaged
// entry, or one of another build, counts as missing. The folder may be deleted at any time.
type Disk struct {
	dir     string
	version string
	limit   int64

	mu      sync.Mutex
	trimmed bool  // in this process
	written int64 // bytes since then
}

// OpenDisk uses a folder, which is created with the first entry. A limit of 0 bytes means DefaultDiskLimit. Each
// process may exceed it by a sixteenth before it removes entries. It fails if the version of the running program cannot
// be found, so that nothing can be cached.
func OpenDisk(dir string, limit int64) (*Disk, error) {
	version, err := programVersion()
	if err != nil {
		return nil, err
	}
	return open(dir, limit, version), nil
}

func open(dir string, limit int64, version string) *Disk {
	return &Disk{dir: dir, version: version, limit: cmp.Or(max(0, limit), DefaultDiskLimit)}
}

// Scope returns the name of a set of entries that depend on the same settings: a digest of the parts and of the
// program's version.
func (d *Disk) Scope(parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{d.version}, parts...) {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// suffix is the end of entries' file names. Other files in the folder are not read or removed.
const suffix = ".entry"

// errName is the error for a name that could lead out of the folder.
var errName = errors.New("the name of a cache entry holds other than letters, digits and dashes")

var names = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

func (d *Disk) file(scope, name string) (string, error) {
	for _, s := range []string{scope, name} {
		if !names.MatchString(s) {
			return "", errName
		}
	}
	return filepath.Join(d.dir, scope, name+suffix), nil
}

// seal returns the checksum of an entry. It includes the scope and name, so that a renamed file is not valid.
func seal(scope, name string, data []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s%d:%s", len(scope), scope, len(name), name)
	h.Write(data)
	return h.Sum(nil)
}

// Get returns an entry, and false where there is none or it is damaged. A damaged one is removed.
func (d *Disk) Get(scope, name string) ([]byte, bool) {
	file, err := d.file(scope, name)
	if err != nil {
		return nil, false
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	if len(data) < sha256.Size || !bytes.Equal(data[:sha256.Size], seal(scope, name, data[sha256.Size:])) {
		_ = os.Remove(file)
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(file, now, now) // it was used now; if this fails, it is only removed too early
	return data[sha256.Size:], true
}

// Put writes an entry. From time to time it removes the least recently used ones. The error is only for logs, because
// entries may always be missing.
func (d *Disk) Put(scope, name string, data []byte) error {
	file, err := d.file(scope, name)
	if err != nil {
		return err
	}
	if int64(len(data)) > d.limit {
		return nil
	}
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("keep a cache entry: %w", err)
	}
	temp, err := os.CreateTemp(folder, "*.tmp") // made with mode 0600
	if err != nil {
		return fmt.Errorf("keep a cache entry: %w", err)
	}
	_, err = temp.Write(seal(scope, name, data))
	if err == nil {
		_, err = temp.Write(data)
	}
	err = cmp.Or(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("keep a cache entry: %w", err)
	}
	if d.full(int64(len(data))) {
		d.trim()
	}
	return nil
}

// marker is the file whose time says when a process last removed entries.
const marker = "trimmed"

// full reports whether to remove entries, which reads the whole folder. It is true when a process writes its first
// entry, unless another process removed entries in the last minute. Then it is true again for each sixteenth of the
// limit that was written.
func (d *Disk) full(size int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written += size
	if d.trimmed && d.written < d.limit/16 {
		return false
	}
	at := filepath.Join(d.dir, marker)
	info, err := os.Stat(at)
	if lately := err == nil && time.Since(info.ModTime()) < time.Minute; !d.trimmed && lately {
		d.trimmed = true
		return false
	}
	d.trimmed, d.written = true, 0
	_ = os.WriteFile(at, nil, 0o600)
	now := time.Now()
	_ = os.Chtimes(at, now, now)
	return true
}

// Names lists the entries of a scope, the most recently used first.
func (d *Disk) Names(scope string) []string {
	if _, err := d.file(scope, "x"); err != nil {
		return nil
	}
	var found []string
	for _, e := range list(filepath.Join(d.dir, scope)) {
		if name, ok := strings.CutSuffix(filepath.Base(e.path), suffix); ok {
			found = append(found, name)
		}
	}
	return found
}

type entry struct {
	path string
	size int64
	used time.Time
}

// list returns the files below a folder, the most recently used first.
func list(dir string) []entry {
	var out []entry
	_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(p, suffix) && !strings.HasSuffix(p, ".tmp") {
			return nil
		}
		if info, err := e.Info(); err == nil { // otherwise another process removed it
			out = append(out, entry{p, info.Size(), info.ModTime()})
		}
		return nil
	})
	slices.SortFunc(out, func(a, b entry) int {
		return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.path, b.path))
	})
	return out
}

// abandoned is the age after which a temporary file no longer has a writer.
const abandoned = time.Hour

// trim removes entries over the limit, and abandoned temporary files.
func (d *Disk) trim() {
	var sum int64
	for _, e := range list(d.dir) {
		sum += e.size
		if sum > d.limit || strings.HasSuffix(e.path, ".tmp") && time.Since(e.used) > abandoned {
			_ = os.Remove(e.path)
			_ = os.Remove(filepath.Dir(e.path)) // fails unless the folder is empty
			sum -= e.size
		}
	}
}
