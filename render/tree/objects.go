// Package tree reads the trees of a git repository without a checkout.
//
// Objects is one "git cat-file --batch" process. Content is found by object id, so that what two commits share is read once. A
// Tree is the folder of one commit, in which symlinks are followed, but not out of it. This package writes nothing and does
// not read the work tree.
package tree

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// Errors that callers decide on.
var (
	// ErrNoObject means that the repository has no object with that name.
	ErrNoObject = errors.New("no such object in the repository")
	// ErrNotExist means that a path does not exist in a tree.
	ErrNotExist = errors.New("no such file or folder in the repository")
)

// TooLargeError means that a blob is over the limit and was not read.
type TooLargeError struct {
	Path        string // empty where only the object is known
	Size, Limit int64  // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("is %d bytes large, more than the limit of %d", e.Size, e.Limit)
}

// AbsentError means that a repository lacks files that its folders contain: it is a partial clone, or damaged.
type AbsentError struct {
	GitDir string   // as given to Open; not part of the message
	IDs    []string // object ids, sorted; incomplete if there are very many
}

func (e *AbsentError) Error() string {
	return fmt.Sprintf("objects that its commits name are missing, such as %s", e.IDs[0])
}

// Is makes it match ErrNoObject.
func (e *AbsentError) Is(target error) bool { return target == ErrNoObject }

// Config describes which repository to read and how.
type Config struct {
	GitDir     string   // absolute path of the git directory
	Alternates []string // further object folders, absolute
	Git        string   // absolute path of the git binary; looked for in the usual places when empty
	BlobLimit  int64    // bytes; blobs over it give *TooLargeError. 0 means 16 MiB
	Store      *Store   // cache for the same repository; nil: none
}

const (
	defaultBlobLimit = 16 << 20
	maxFolder        = 64 << 20 // bytes of a folder's or a commit's object: over a million entries
	maxAbsent        = 50_000   // files that an AbsentError names
)

// Objects reads objects of one repository. It is safe for concurrent use.
type Objects struct {
	config Config
	mu     sync.Mutex
	limit  int64
	files  int // see SetFileLimit
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	broken error // the process can no longer be used
	first  error // the first error while reading a tree, except paths that do not exist
	store  *Store
	absent map[string]bool // missing files, by object id
}

// Open starts a process that reads a repository. It ends with the context or with Close.
func Open(ctx context.Context, c Config) (*Objects, error) {
	o := &Objects{config: c, store: cmp.Or(c.Store, &Store{}), absent: map[string]bool{}}
	o.SetBlobLimit(c.BlobLimit)
	if err := o.Reopen(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

// Reopen starts reading again after Close. Trees that were opened before can be used again.
func (o *Objects) Reopen(ctx context.Context) error {
	c := o.config
	git, err := gitcmd.Find(c.Git)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, git, "--git-dir="+c.GitDir, "cat-file", "--batch")
	// Git gets nothing of the caller's environment: no credentials, and no configuration except the repository's. It
	// fetches nothing, even if it does not know GIT_NO_LAZY_FETCH.
	cmd.Env = append(gitcmd.Isolated(os.DevNull), "GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none")
	if len(c.Alternates) > 0 {
		cmd.Env = append(cmd.Env,
			"GIT_ALTERNATE_OBJECT_DIRECTORIES="+strings.Join(c.Alternates, string(os.PathListSeparator)))
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cmd, o.in, o.out, o.broken = cmd, in, bufio.NewReaderSize(out, 64<<10), nil
	return nil
}

// Close ends the process.
func (o *Objects) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken == nil {
		o.broken = errors.New("the repository is closed")
	}
	_ = o.in.Close()
	_, _ = io.Copy(io.Discard, o.out)
	return o.cmd.Wait()
}

// SetBlobLimit changes the maximum size of files that are read from now on, in bytes; 0 means the default.
func (o *Objects) SetBlobLimit(bytes int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limit = cmp.Or(max(0, bytes), defaultBlobLimit)
}

// object reads one object by name, which must not contain white space.
func (o *Objects) object(name string) (id, kind string, data []byte, err error) {
	if name == "" || strings.ContainsAny(name, " \t\r\n\x00") {
		return "", "", nil, fmt.Errorf("object %q: %w", name, ErrNoObject)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken != nil {
		return "", "", nil, o.broken
	}
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return "", "", nil, o.fail(err)
	}
	return o.answer(name)
}

// answer reads git's answer for one name. The lock is held.
func (o *Objects) answer(name string) (id, kind string, data []byte, err error) {
	header, err := o.out.ReadString('\n')
	if errors.Is(err, io.EOF) && o.partial() { // git before 2.45 ends at an object that it may not fetch
		o.absent[name] = true
		o.broken = o.absentError(name)
		return "", "", nil, o.broken
	}
	if err != nil {
		return "", "", nil, o.fail(err)
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return "", "", nil, fmt.Errorf("object %s: %w", name, ErrNoObject)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return "", "", nil, o.fail(fmt.Errorf("unexpected header %q", header))
	}
	limit := o.limit
	if fields[1] != "blob" {
		limit = maxFolder
	}
	if size > limit {
		if _, err := io.CopyN(io.Discard, o.out, size+1); err != nil {
			return "", "", nil, o.fail(err)
		}
		return fields[0], fields[1], nil, &TooLargeError{Size: size, Limit: limit}
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(o.out, data); err != nil {
		return "", "", nil, o.fail(err)
	}
	if _, err := o.out.Discard(1); err != nil {
		return "", "", nil, o.fail(err)
	}
	return fields[0], fields[1], data, nil
}

// partial reports whether the repository is a partial clone, which fetches objects when they are read.
func (o *Objects) partial() bool {
	git, err := gitcmd.Find(o.config.Git)
	if err != nil {
		return false
	}
	_, err = gitcmd.Call{Git: git, Options: []string{"--git-dir=" + o.config.GitDir}, Env: gitcmd.Isolated(os.DevNull),
		Args: []string{"config", "--get-regexp", `^remote\..*\.promisor$`}}.Run(context.Background())
	return err == nil
}

func (o *Objects) fail(err error) error {
	o.broken = fmt.Errorf("read from git: %w", err)
	return o.broken
}

// Err returns the error that kept part of the repository from being read, nil if there was none. Callers that rely on
// "does not exist" must check it at the end, because an object that cannot be read looks the same. For missing files it
// is an *AbsentError with all of them.
func (o *Objects) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.absent) > 0 {
		return o.absentError(slices.Sorted(maps.Keys(o.absent))...)
	}
	if o.first != nil {
		return o.first
	}
	return o.broken
}

// Absent reports whether a requested file is missing.
func (o *Objects) Absent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.absent) > 0
}

func (o *Objects) absentError(ids ...string) error {
	return &AbsentError{GitDir: o.config.GitDir, IDs: ids}
}

// lack records a missing file. The lock is held.
func (o *Objects) lack(id string, err error) error {
	if o.broken != nil || !errors.Is(err, ErrNoObject) {
		return err
	}
	if len(o.absent) < maxAbsent {
		o.absent[id] = true
	}
	return o.absentError(id)
}

func (o *Objects) remember(err error) error {
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.first == nil {
			o.first = err
		}
	}
	return err
}

// Content is a result of Blobs for one file.
type Content struct {
	Data []byte // shared: do not change it
	Err  error  // as from Blob
}

// batch is how many names are written before the first content is read. They fit into the pipe's buffer (pipe(7)), so
// that neither side blocks.
const batch = 400

// Blobs reads many files by object id, in the given order. It is several times faster than calls of Blob, and caches
// nothing.
func (o *Objects) Blobs(ids []string) []Content {
	out := make([]Content, len(ids))
	var missing []int
	for i, id := range ids {
		if data, ok := o.store.blobs.get(id); ok && int64(len(data)) <= o.blobLimit() {
			out[i].Data = data
		} else {
			missing = append(missing, i)
		}
	}
	for part := range slices.Chunk(missing, batch) {
		o.blobs(ids, part, out)
	}
	return out
}

func (o *Objects) blobs(ids []string, part []int, out []Content) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names strings.Builder
	for _, i := range part {
		names.WriteString(ids[i])
		names.WriteByte('\n')
	}
	if o.broken == nil {
		if _, err := io.WriteString(o.in, names.String()); err != nil {
			_ = o.fail(err)
		}
	}
	for _, i := range part {
		if o.broken != nil {
			out[i].Err = o.broken
			continue
		}
		_, kind, data, err := o.answer(ids[i])
		err = o.lack(ids[i], err)
		if err == nil && kind != "blob" {
			err = fmt.Errorf("object %s is a %s, not a file", ids[i], kind)
		}
		out[i] = Content{Data: data, Err: err}
	}
}

// blobLimit returns the current maximum size of files in bytes.
func (o *Objects) blobLimit() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.limit
}

// Blob reads a file's content by object id. The content is shared: do not change it.
func (o *Objects) Blob(id string) ([]byte, error) {
	if data, ok := o.store.blobs.get(id); ok {
		if limit := o.blobLimit(); int64(len(data)) > limit {
			return nil, &TooLargeError{Size: int64(len(data)), Limit: limit}
		}
		return data, nil
	}
	_, kind, data, err := o.object(id)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		return nil, o.lack(id, err)
	}
	if kind != "blob" {
		return nil, fmt.Errorf("object %s is a %s, not a file", id, kind)
	}
	if len(data) <= heldBlob {
		o.store.blobs.keep(id, data, len(data), heldLimit)
	}
	return data, nil
}

// Tree opens the tree of a commit, a tag or a tree.
func (o *Objects) Tree(rev string) (*Tree, error) {
	next := map[string]string{"commit": "tree", "tag": "object"}
	id, kind, data, err := o.object(rev)
	for err == nil && next[kind] != "" {
		id, kind, data, err = o.object(header(data, next[kind]))
	}
	if err != nil {
		return nil, fmt.Errorf("read the tree of %s: %w", rev, err)
	}
	if kind != "tree" {
		return nil, fmt.Errorf("%s is a %s, not a commit", rev, kind)
	}
	return &Tree{objects: o, root: id}, nil
}

// Empty returns a tree without files, which is the merge base of unrelated histories.
func (o *Objects) Empty() *Tree { return &Tree{objects: o} }

// entries reads a folder by object id, sorted by name.
func (o *Objects) entries(id string) ([]Entry, error) {
	if id == "" {
		return nil, nil
	}
	if list, ok := o.store.folders.get(id); ok {
		return list, nil
	}
	_, kind, data, err := o.object(id)
	if err != nil {
		return nil, err
	}
	if kind != "tree" {
		return nil, fmt.Errorf("object %s is a %s, not a folder", id, kind)
	}
	list, err := parseTree(data, len(id)/2)
	if err != nil {
		return nil, err
	}
	o.store.folders.keep(id, list, len(list), heldEntries)
	return list, nil
}
