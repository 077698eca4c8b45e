package mirror

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// runner starts git.
type runner struct {
	path string // absolute
	home string // what git may take for a home directory; nothing is kept there
}

// call is one run of git.
type call struct {
	dir   string // git directory
	args  []string
	stdin string
	max   int64 // bytes of output that are accepted; 0: 1 MB

	origin, token string       // set: this call may use the network, with this token, at this server only
	hide          []string     // further texts to keep out of errors
	config        []string     // further configuration, names and values
	watch         func() error // called now and then while git runs; an error stops it
}

// run runs git and returns what it wrote. The end of ctx kills git with all its children. Errors are
// *Failed, the context's, or that of watch.
func (r runner) run(ctx context.Context, c call) ([]byte, error) {
	options := []string{"--literal-pathspecs", "--no-replace-objects", "--no-optional-locks"}
	if c.dir != "" {
		options = append(options, "--git-dir="+c.dir)
	}
	out, err := gitcmd.Call{Git: r.path, Options: options, Args: c.args, Dir: r.home, Env: r.environment(c),
		Stdin: c.stdin, Max: c.max, Watch: c.watch}.Run(ctx)
	var failed *gitcmd.Error
	switch {
	case !errors.As(err, &failed):
		return out, err
	case errors.Is(err, gitcmd.ErrTooMuch):
		return out, &Failed{Command: failed.Command, Code: -1, Reason: failed.Err.Error(), Err: failed.Err}
	case failed.Err != nil:
		reason := "git could not be started"
		return out, &Failed{Command: failed.Command, Code: -1, Reason: reason, Err: remote.WithoutPath(failed.Err)}
	}
	return out, &Failed{Command: failed.Command, Code: failed.Code, Reason: reason(failed.Stderr, r.secrets(c))}
}

// inherited are the variables that a process with network access keeps, so that proxies and the authorities
// of an Enterprise Server work as they do for the rest of the server.
var inherited = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY",
	"all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}

// environment is all that git sees.
func (r runner) environment(c call) []string {
	env := append(gitcmd.Isolated(r.home), "PATH="+filepath.Dir(r.path), "GIT_LFS_SKIP_SMUDGE=1")
	config := gitcmd.Closed()
	if c.token != "" {
		config = append(config, gitcmd.Careful()...)
		config = append(config, "protocol.http.allow", "always", "protocol.https.allow", "always", "http.followRedirects", "false")
		for _, name := range inherited {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
		// Limited to the server's address: git sends it to no other.
		config = append(config, "http."+c.origin+"/.extraHeader", "Authorization: Basic "+basic(c.token))
	}
	return append(env, gitcmd.Configured(append(config, c.config...)...)...)
}

// basic is the form in which GitHub takes an installation token from git
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/authenticating-as-a-github-app-installation).
func basic(token string) string {
	return base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
}

func (r runner) secrets(c call) []string {
	var out []string
	if c.token != "" {
		out = append(out, basic(c.token), c.token)
	}
	out = append(out, c.hide...)
	if c.dir != "" {
		out = append(out, c.dir)
	}
	return append(out, r.home, r.path)
}

// Vanished means that GitHub does not have a commit (any more), for example after a forced push.
type Vanished struct{ SHA string }

func (e *Vanished) Error() string { return "commit " + e.SHA + " is no longer on GitHub" }

// NoMergeBase means that head and base have no common history.
type NoMergeBase struct{ Base, Head string }

func (e *NoMergeBase) Error() string {
	return fmt.Sprintf("the head %.12s and the base branch (%.12s) have no commit in common, so there is nothing to "+
		"compare with", e.Head, e.Base)
}

// TooLarge means that the repository exceeds the size that a mirror may have.
type TooLarge struct {
	Repo  string
	Limit int64 // bytes
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s is larger than the limit of %d MB for a mirror", e.Repo, e.Limit>>20)
}

// Denied means that the server refuses access to the repository or does not have it.
type Denied struct {
	Repo   string
	Status int // of the HTTP answer
}

func (e *Denied) Error() string {
	return fmt.Sprintf("%s does not exist, or the App may not read it (HTTP %d)", e.Repo, e.Status)
}

// NoFile means that a commit has no regular file at a path.
type NoFile struct{ Commit, Path string }

func (e *NoFile) Error() string { return fmt.Sprintf("%s is not a file in %.12s", e.Path, e.Commit) }

// Failed is a git process that did not succeed, with git's own reason. It contains no token, no address and
// no path of this machine.
type Failed struct {
	Command string // "fetch"
	Code    int    // -1: killed
	Reason  string
	Err     error
}

func (e *Failed) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("git %s failed (exit code %d)", e.Command, e.Code)
	}
	return "git " + e.Command + ": " + e.Reason
}
func (e *Failed) Unwrap() error { return e.Err }

// reason makes one line of what git wrote to stderr and takes out the secrets, in any form they take.
func reason(stderr string, secrets []string) string {
	var said []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal:", "error:", "remote:"} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				if rest = strings.TrimSpace(rest); rest != "" {
					said = append(said, rest)
				}
			}
		}
	}
	text := strings.Join(said, "; ")
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	if r := []rune(text); len(r) > 500 {
		text = string(r[:499]) + "…"
	}
	return text
}

// maxBlob bounds a file that Blob reads; the files it is for are far smaller.
const maxBlob = 16 << 20

// maxAnswer bounds what git says about one object, in bytes.
const maxAnswer = 128

// missing returns those of the commits that a repository does not have.
func (r runner) missing(ctx context.Context, gitDir string, shas ...string) ([]string, error) {
	kinds, err := r.kinds(ctx, gitDir, shas, "^{commit}")
	return pick(shas, func(i int) bool { return kinds[i] != "commit" }), err
}

// lacking returns those of the objects that a repository does not have.
func (r runner) lacking(ctx context.Context, gitDir string, ids []string) ([]string, error) {
	kinds, err := r.kinds(ctx, gitDir, ids, "")
	return pick(ids, func(i int) bool { return isMissing(kinds[i]) }), err
}

func isMissing(kind string) bool { return strings.HasSuffix(kind, " missing") }

// kinds returns what each of the objects is, by git's machine-readable answer, which ends with " missing" for what is
// not there. Suffix says what each is taken for. On an error there are none.
func (r runner) kinds(ctx context.Context, gitDir string, ids []string, suffix string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var ask strings.Builder
	for _, id := range ids {
		ask.WriteString(id + suffix + "\n")
	}
	out, err := r.run(ctx, call{dir: gitDir, args: []string{"cat-file", "--batch-check=%(objecttype)"},
		stdin: ask.String(), max: int64(len(ids)) * maxAnswer})
	if err != nil {
		return make([]string, len(ids)), err
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(ids) {
		return make([]string, len(ids)), &Failed{Command: "cat-file", Reason: "unexpected answer"}
	}
	return answers, nil
}

func pick(list []string, want func(i int) bool) (out []string) {
	for i, s := range list {
		if want(i) {
			out = append(out, s)
		}
	}
	return out
}

// BlobID returns the object id of the regular file or symbolic link at a path of a commit; that of a link says nothing about
// the content behind it. Errors are *Vanished if the repository does not have the commit, *NoFile if that has no such file,
// or others.
func (m *Mirrors) BlobID(ctx context.Context, gitDir, commit, path string) (string, error) {
	return m.blobID(ctx, gitDir, commit, path, "100", "120")
}

// blobID is BlobID for files with a mode that begins with one of some texts.
func (m *Mirrors) blobID(ctx context.Context, gitDir, commit, path string, modes ...string) (string, error) {
	if err := m.have(ctx, gitDir, commit); err != nil {
		return "", err
	}
	if path == "" || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return "", &NoFile{Commit: commit, Path: path}
	}
	out, err := m.git.run(ctx, call{dir: gitDir, args: []string{"ls-tree", "-z", "--full-tree", commit, "--", path}})
	if err != nil {
		return "", fmt.Errorf("looking for a file: %w", err)
	}
	// "<mode> <type> <id>\t<path>\0"
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		meta, name, ok := strings.Cut(string(entry), "\t")
		fields := strings.Fields(meta)
		if ok && name == path && len(fields) == 3 && fields[1] == "blob" && slices.Contains(modes, fields[0][:3]) {
			return fields[2], nil
		}
	}
	return "", &NoFile{Commit: commit, Path: path}
}

// Blob returns the content and the object id of the regular file at a path of a commit, of at most 16 MB.
// Its errors are those of BlobID.
func (m *Mirrors) Blob(ctx context.Context, gitDir, commit, path string) (content []byte, id string, err error) {
	id, err = m.blobID(ctx, gitDir, commit, path, "100")
	if err != nil {
		return nil, "", err
	}
	content, err = m.git.run(ctx, call{dir: gitDir, args: []string{"cat-file", "blob", id}, max: maxBlob})
	if errors.Is(err, gitcmd.ErrTooMuch) {
		return nil, "", fmt.Errorf("%s is larger than %d MB: %w", path, maxBlob>>20, err)
	}
	return content, id, err
}

// maxNames bounds the output of a comparison: far more than a push ever changes.
const maxNames = 64 << 20

// Changed returns the paths that differ between two commits of a mirror, renames as two paths. A commit that
// the mirror does not have is a *Vanished.
func (m *Mirrors) Changed(ctx context.Context, gitDir, old, now string) ([]string, error) {
	return m.between(ctx, gitDir, old, now, "\x00", "diff-tree", "-r", "-z", "--no-renames", "--name-only", old, now)
}

// Commits returns the commits that now has and old has not, of at most a million.
func (m *Mirrors) Commits(ctx context.Context, gitDir, old, now string) ([]string, error) {
	return m.between(ctx, gitDir, old, now, "\n", "rev-list", "--max-count=1000000", now, "^"+old)
}

// between returns what a command of git lists about two commits, with a separator after each.
func (m *Mirrors) between(ctx context.Context, gitDir, old, now, separator string, args ...string) ([]string, error) {
	if err := m.have(ctx, gitDir, old, now); err != nil {
		return nil, err
	}
	out, err := m.git.run(ctx, call{dir: gitDir, args: args, max: maxNames})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), separator), separator), nil
}

// have returns a *Vanished for the first commit that is not in the mirror.
func (m *Mirrors) have(ctx context.Context, gitDir string, shas ...string) error {
	for _, sha := range shas {
		if !gitcmd.IsObjectID(sha) {
			return &Vanished{SHA: sha}
		}
	}
	missing, err := m.git.missing(ctx, gitDir, shas...)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return &Vanished{SHA: missing[0]}
	}
	return nil
}
