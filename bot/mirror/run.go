package mirror

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
