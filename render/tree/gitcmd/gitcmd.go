// Package gitcmd runs the git command: to its end, with bounded output, and with all its children when it has to end
// sooner. What git may be configured by is up to the caller, who gives it all of its environment.
package gitcmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	defaultMax = 1 << 20
	maxErrors  = 64 << 10 // bytes of what git says about errors
	// watchEvery is how often a running git is looked at.
	watchEvery = 200 * time.Millisecond
	// waitDelay is for a grandchild that left the process group and holds the output.
	waitDelay = 5 * time.Second
)

// ErrTooMuch means that git wrote more than a call accepts.
var ErrTooMuch = errors.New("the output is larger than allowed")

// Error is a git that did not succeed.
type Error struct {
	Command string // "fetch"
	Code    int    // the exit code; -1: it was killed, or not started
	Stderr  string // what it said, as it said it
	Err     error  // ErrTooMuch, or why it could not be started; nil: it ended by itself
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("git %s failed (exit code %d)", e.Command, e.Code)
}

// Unwrap returns the cause, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// Call is one run of git.
type Call struct {
	Git     string   // absolute path
	Options []string // before the command: --git-dir=...
	Args    []string // the command and its arguments
	Dir     string   // the working folder; empty: that of this process
	Env     []string // all that git sees
	Stdin   string
	Max     int64        // bytes of output that are accepted; 0: 1 MiB
	Watch   func() error // called now and then while git runs; an error stops it. Nil: nothing
}

// Find returns the absolute path of git: the given one where it is absolute, else one of the usual places, which are
// there also for a process without a PATH, else the one on the PATH.
func Find(git string) (string, error) {
	if filepath.IsAbs(git) {
		return git, nil
	}
	for _, p := range []string{"/usr/bin/git", "/usr/local/bin/git", "/opt/homebrew/bin/git", "/bin/git"} {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p, nil
		}
	}
	if p, err := exec.LookPath("git"); err == nil && filepath.IsAbs(p) {
		return p, nil
	}
	return "", errors.New("git is not installed, or not on the PATH")
}

// Isolated is an environment in which neither the machine nor the user configures git, and nobody is asked for
// anything. Home is what git may take for a home directory.
func Isolated(home string) []string {
	return []string{
		"HOME=" + home, "LC_ALL=C", "LANG=C", "TZ=UTC", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0",
	}
}

// Run runs git and returns what it wrote, also where git ended with an exit code other than 0. The end of ctx kills git
// with all its children. Errors are *Error, the context's, or that of Watch.
func (c Call) Run(ctx context.Context) ([]byte, error) {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	cmd := exec.CommandContext(ctx, c.Git, slices.Concat(c.Options, c.Args)...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	limit := cmp.Or(c.Max, defaultMax)
	stdout, stderr := &capped{left: limit}, &capped{left: maxErrors, drop: true}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	group(cmd)
	cmd.WaitDelay = waitDelay

	if err := cmd.Start(); err != nil {
		return nil, &Error{Command: c.Args[0], Code: -1, Err: err}
	}
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(ctx, cancel) })
	err := cmd.Wait()
	cause := context.Cause(ctx)
	cancel(nil)
	watching.Wait()

	switch {
	case parent.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", c.Args[0], context.Cause(parent))
	case cause != nil:
		return nil, cause
	case stdout.over:
		return nil, &Error{Command: c.Args[0], Code: -1, Err: ErrTooMuch}
	case err != nil:
		return stdout.kept.Bytes(), &Error{Command: c.Args[0], Code: cmd.ProcessState.ExitCode(),
			Stderr: stderr.kept.String()}
	}
	return stdout.kept.Bytes(), nil
}

func (c Call) watch(ctx context.Context, stop context.CancelCauseFunc) {
	if c.Watch == nil {
		return
	}
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := c.Watch(); err != nil {
				stop(err)
				return
			}
		}
	}
}

// capped keeps output up to a limit. Beyond it, it fails the process or drops the rest. The buffer is not embedded: its
// ReadFrom would be used in place of Write, and has no limit.
type capped struct {
	kept bytes.Buffer
	left int64
	drop bool
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.left {
		c.left -= int64(len(p))
		return c.kept.Write(p)
	}
	if c.drop {
		c.kept.Write(p[:c.left])
		c.left = 0
		return len(p), nil
	}
	c.over = true
	return 0, ErrTooMuch
}

// IsObjectID reports whether a text is a full SHA-1 or SHA-256 object id in lower case.
func IsObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// IsRefName reports whether a name is safe in a refspec and as an argument; the rules are those of
// git-check-ref-format(1).
func IsRefName(name string) bool {
	if len(name) > 1024 || strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") ||
		strings.Contains(name, "@{") || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("~^:?*[\\", r)
	}) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
