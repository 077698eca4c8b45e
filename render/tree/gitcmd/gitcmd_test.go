package gitcmd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// shell has something else run as if it were git.
func shell(t *testing.T, script string) Call {
	t.Helper()
	return Call{Git: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.TempDir()}
}

func TestRun(t *testing.T) {
	git, err := Find("")
	if err != nil {
		t.Skip(err)
	}
	out, err := Call{Git: git, Args: []string{"--version"}, Env: Isolated(t.TempDir())}.Run(t.Context())
	if err != nil || !strings.HasPrefix(string(out), "git version") {
		t.Errorf("%q, %v", out, err)
	}
	c := shell(t, "cat; env")
	c.Stdin = "said\n"
	if out, err := c.Run(t.Context()); err != nil || !strings.HasPrefix(string(out), "said\n") ||
		strings.Contains(string(out), "HOME=") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestErrors(t *testing.T) {
	var failed *Error
	out, err := shell(t, "echo some; echo fatal: it is not so >&2; exit 3").Run(t.Context())
	if !errors.As(err, &failed) || failed.Code != 3 || failed.Stderr != "fatal: it is not so\n" ||
		string(out) != "some\n" {
		t.Errorf("%q, %v", out, err)
	}
	large := shell(t, "yes")
	large.Max = 100
	if _, err := large.Run(t.Context()); !errors.Is(err, ErrTooMuch) {
		t.Errorf("too much: %v", err)
	}
	absent := shell(t, "")
	absent.Git = "/nonexistent/git"
	if _, err := absent.Run(t.Context()); !errors.As(err, &failed) || failed.Err == nil || failed.Code != -1 {
		t.Errorf("not there: %v", err)
	}
}

// What git started ends with it, whoever ends it.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := shell(t, "sleep 60 & wait").Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the end of the context: %v", err)
	}
	enough := errors.New("enough")
	watched := shell(t, "sleep 60 & wait")
	watched.Watch = func() error { return enough }
	if _, err := watched.Run(t.Context()); !errors.Is(err, enough) {
		t.Errorf("the end by who watches: %v", err)
	}
	if took := time.Since(begun); took > waitDelay {
		t.Errorf("a child was waited for: %s", took)
	}
}

func FuzzIsRefName(f *testing.F) {
	for _, s := range []string{"main", "feat/x", "-x", "a..b", "a:b", "x.lock", "@{", "ünï", "", "/a", "a/", "a//b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !IsRefName(name) {
			return
		}
		if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, ":*?[ ~^\\\n\x00") || strings.Contains(name, "..") {
			t.Errorf("%q passes", name)
		}
	})
}
