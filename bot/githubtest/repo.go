package githubtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// repository is a bare repository and what GitHub knows about it.
type repository struct {
	id          int64
	owner, name string
	dir         string
	public      bool
	pulls       []*pull
	runs        []*Run
	permissions map[string]string // by login, lower case
}

func (r *repository) fullName() string { return r.owner + "/" + r.name }

// Commit is a commit to create and push to a branch.
type Commit struct {
	Branch  string            // without refs/heads/
	Files   map[string]string // path to content; a content of Symlink(target) makes a symbolic link
	Delete  []string          // paths of files
	From    string            // revision from which a new branch starts; default main
	Parent  string            // parent of the commit, which makes the push a forced one; default the branch's tip
	Author  string            // login; default "alice"
	Pusher  string            // login; default Author
	Message string            // default "Change"
}

// Symlink returns the content of a symbolic link in Commit.Files.
func Symlink(target string) string { return "\x00symlink\x00" + target }

// run runs git in a repository, without the user's git configuration. It returns the output without the last line
// break.
func (s *Server) run(ctx context.Context, r *repository, stdin string, env []string, args ...string) (string, error) {
	call := gitcmd.Call{Git: s.git, Options: []string{"--git-dir=" + r.dir}, Args: args, Dir: r.dir, Stdin: stdin,
		Env: s.environment(env...), Max: maxGitOutput}
	out, err := call.Run(ctx)
	var failed *gitcmd.Error
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(failed.Stderr))
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// environment returns an environment without the user's git configuration.
func (s *Server) environment(more ...string) []string {
	return append(append(gitcmd.Isolated(s.dir), "PATH="+os.Getenv("PATH")), more...)
}

// maxGitOutput limits git's output about a test's repository.
const maxGitOutput = 256 << 20

// AddRepo creates a repository with the full name "owner/name". Its branch main has the files of a folder in one
// commit; an empty folder name means no files. It installs the App on the owner, and sends no webhook. It returns the
// commit.
func (s *Server) AddRepo(ctx context.Context, fullName, folder string) (string, error) {
	owner, name, ok := strings.Cut(fullName, "/")
	if !ok {
		return "", fmt.Errorf("%q is no owner/name", fullName)
	}
	s.mu.Lock()
	r := &repository{id: s.id(), owner: owner, name: name, permissions: map[string]string{}}
	if s.installations[strings.ToLower(owner)] == nil {
		s.installations[strings.ToLower(owner)] = &installation{id: s.id(), account: owner}
	}
	s.mu.Unlock()
	r.dir = filepath.Join(s.dir, strconv.FormatInt(r.id, 10)+".git")
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return "", err
	}
	if _, err := s.run(ctx, r, "", nil, "init", "--quiet", "--bare", "--initial-branch=main"); err != nil {
		return "", err
	}
	// Like GitHub, serve any object by its id, and partial clones.
	for _, setting := range []string{"uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"} {
		if _, err := s.run(ctx, r, "", nil, "config", setting, "true"); err != nil {
			return "", err
		}
	}
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(r.dir, "new-index")}
	if folder != "" {
		abs, err := filepath.Abs(folder)
		if err != nil {
			return "", err
		}
		if _, err := s.run(ctx, r, "", index, "--work-tree="+abs, "add", "--all", "--force", abs); err != nil {
			return "", err
		}
	}
	tree, err := s.run(ctx, r, "", index, "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := s.commitTree(ctx, r, tree, "", "olga", "Start")
	if err != nil {
		return "", err
	}
	if _, err := s.run(ctx, r, "", nil, "update-ref", "refs/heads/main", commit); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repos[strings.ToLower(fullName)] = r
	s.touch()
	return commit, nil
}

func (s *Server) commitTree(ctx context.Context, r *repository, tree, parent, login, message string) (string, error) {
	args := []string{"commit-tree", "-m", message}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	date := strconv.FormatInt(s.now().Unix(), 10) + " +0000"
	return s.run(ctx, r, "", []string{
		"GIT_AUTHOR_NAME=" + login, "GIT_AUTHOR_EMAIL=" + login + "@users.noreply.github.com", "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + login, "GIT_COMMITTER_EMAIL=" + login + "@users.noreply.github.com", "GIT_COMMITTER_DATE=" +
			date,
	}, append(args, tree)...)
}

// repo finds a repository by its full name.
func (s *Server) repo(fullName string) (found *repository, err error) {
	err = s.change(fullName, func(r *repository) { found = r })
	return found, err
}

// change calls do for a repository, with the lock held.
func (s *Server) change(fullName string, do func(*repository)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repos[strings.ToLower(fullName)]
	if r == nil {
		return fmt.Errorf("there is no repository %s", fullName)
	}
	do(r)
	return nil
}

// runIn runs git in a repository with a full name.
func (s *Server) runIn(ctx context.Context, fullName string, args ...string) (string, error) {
	r, err := s.repo(fullName)
	if err != nil {
		return "", err
	}
	return s.run(ctx, r, "", nil, args...)
}

// Push creates a commit and pushes it. It sends the webhook push, and pull_request synchronize for the open pull
// requests from this branch. It returns the commit.
func (s *Server) Push(ctx context.Context, fullName string, c Commit) (string, error) {
	r, err := s.repo(fullName)
	if err != nil {
		return "", err
	}
	before, err := s.run(ctx, r, "", nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+c.Branch)
	if err != nil {
		before = "" // a new branch
	}
	parent := cmp.Or(c.Parent, before)
	if parent == "" {
		if parent = c.From; parent == "" {
			parent = "main"
		}
	}
	if parent, err = s.run(ctx, r, "", nil, "rev-parse", "--verify", parent+"^{commit}"); err != nil {
		return "", err
	}
	tree, err := s.writeTree(ctx, r, parent, c)
	if err != nil {
		return "", err
	}
	c.Author = cmp.Or(c.Author, "alice")
	c.Message = cmp.Or(c.Message, "Change")
	commit, err := s.commitTree(ctx, r, tree, parent, c.Author, c.Message)
	if err != nil {
		return "", err
	}
	c.Pusher = cmp.Or(c.Pusher, c.Author)
	return commit, s.move(ctx, r, c, before, commit)
}

// writeTree returns the tree of a commit with the changes applied.
func (s *Server) writeTree(ctx context.Context, r *repository, parent string, c Commit) (string, error) {
	file, err := os.CreateTemp(r.dir, "index-")
	if err != nil {
		return "", err
	}
	_ = file.Close()
	_ = os.Remove(file.Name()) // git refuses an empty file
	defer func() { _ = os.Remove(file.Name()) }()
	index := []string{"GIT_INDEX_FILE=" + file.Name()}
	if _, err := s.run(ctx, r, "", index, "read-tree", parent); err != nil {
		return "", err
	}
	var info strings.Builder
	for _, path := range c.Delete {
		fmt.Fprintf(&info, "0 %s\t%s\n", strings.Repeat("0", 40), path)
	}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		content, mode := c.Files[path], "100644"
		if target, ok := strings.CutPrefix(content, Symlink("")); ok {
			content, mode = target, "120000"
		}
		blob, err := s.run(ctx, r, content, nil, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&info, "%s %s\t%s\n", mode, blob, path)
	}
	if _, err := s.run(ctx, r, info.String(), index, "update-index", "--index-info"); err != nil {
		return "", err
	}
	return s.run(ctx, r, "", index, "write-tree")
}

// move sets a branch to a commit, and sends the webhooks about it.
func (s *Server) move(ctx context.Context, r *repository, c Commit, before, after string) error {
	branch, sender := c.Branch, c.Pusher
	if _, err := s.run(ctx, r, "", nil, "update-ref", "refs/heads/"+branch, after); err != nil {
		return err
	}
	s.mu.Lock()
	var moved []*pull
	for _, p := range r.pulls {
		if p.open && p.headRef == branch {
			p.headSHA = after
			moved = append(moved, p)
		}
	}
	s.touch()
	s.mu.Unlock()
	for _, p := range moved {
		if _, err := s.run(ctx, r, "", nil, "update-ref", fmt.Sprintf("refs/pull/%d/head", p.number), after); err != nil {
			return err
		}
	}
	zero := strings.Repeat("0", 40)
	before = cmp.Or(before, zero)
	s.send("push", r, sender, object{"ref": "refs/heads/" + branch, "before": before, "after": after,
		"created": before == zero, "deleted": false, "forced": false, "commits": []any{},
		"head_commit": object{"id": after, "author": object{"username": c.Author},
			"committer": object{"username": c.Author}}})
	for _, p := range moved {
		s.sendPull("synchronize", r, p, sender, object{"before": before, "after": after})
	}
	return nil
}

// Vanish removes every object that no branch and no pull request of the repository reaches, such as the old head after
// a forced push.
func (s *Server) Vanish(ctx context.Context, fullName string) error {
	_, err := s.runIn(ctx, fullName, "prune", "--expire=now")
	return err
}

// Resolve returns the commit of a revision of a repository.
func (s *Server) Resolve(ctx context.Context, fullName, revision string) (string, error) {
	return s.runIn(ctx, fullName, "rev-parse", "--verify", revision+"^{commit}")
}

// File returns the content of a file at a commit.
func (s *Server) File(ctx context.Context, fullName, commit, path string) (string, error) {
	return s.runIn(ctx, fullName, "cat-file", "blob", commit+":"+path)
}

// SetPermission gives a person a permission on a repository: none, read, write or admin. The default is read.
func (s *Server) SetPermission(fullName, login, permission string) error {
	if !slices.Contains([]string{"none", "read", "write", "admin"}, permission) {
		return errors.New("the permission is one of none, read, write and admin")
	}
	return s.change(fullName, func(r *repository) { r.permissions[strings.ToLower(login)] = permission })
}

// SetTeam creates a team, "org/slug", with exactly these members.
func (s *Server) SetTeam(team string, members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := map[string]bool{}
	for _, m := range members {
		set[strings.ToLower(m)] = true
	}
	s.teams[strings.ToLower(team)] = set
}

// timestamp formats a time like the API.
func timestamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// notFound sends GitHub's answer for what does not exist or is hidden.
func notFound(c *call) { c.refuse(http.StatusNotFound, "Not Found") }
