package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/report"
)

// intruder is a compromised child: it does what the change asks for, and reports what it got.
type intruder struct{}

func (intruder) Show(context.Context, report.Query) (*report.Showing, error) {
	return nil, errors.New("no")
}
func (intruder) Inspect(context.Context, report.Change) (*report.Inspection, error) {
	return nil, errors.New("no")
}

func (intruder) Run(_ context.Context, c report.Change) (*report.Report, error) {
	got, err := intrude(c.Head, c.Base)
	return &report.Report{Title: fmt.Sprintf("%s|%v", got, err)}, nil
}

func intrude(how, target string) (got string, err error) {
	target, source, _ := strings.Cut(target, " from ")
	pid, _ := strconv.Atoi(target)
	switch how {
	case "pid":
		return strconv.Itoa(os.Getpid()), nil
	case "read":
		f, err := os.Open(target)
		if err != nil {
			return "", err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, 1<<16))
		return string(data), err
	case "list":
		entries, err := os.ReadDir(target)
		return fmt.Sprint(entries), err
	case "write":
		return "", os.WriteFile(target, []byte("taken"), 0o600)
	case "remove":
		return "", os.Remove(target)
	case "move":
		return "", os.Rename(source, target)
	case "hard link": // made and read
		if err := os.Link(source, target); err != nil {
			return "", err
		}
		return intrude("read", target)
	case "symbolic link":
		if err := os.Symlink(source, target); err != nil {
			return "", err
		}
		return intrude("read", target)
	case "signal":
		return "", unix.Kill(pid, 0)
	case "memory":
		local := make([]byte, 8)
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &local[0], Len: 8}},
			[]unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return string(local), err
	case "socket":
		c, err := net.Dial("unix", target)
		if err == nil {
			c.Close()
		}
		return "", err
	}
	return "", errors.New("unknown: " + how)
}

func actAsIntruder() int {
	if err := sandbox.Serve(context.Background(), os.Stdin, os.Stdout, intruder{}); err != nil {
		return 1
	}
	return 0
}

// house is a server's data folder with two installations, of which one has two repositories, and sandboxes in which
// intruders are.
type house struct {
	t      *testing.T
	data   string
	pool   *sandbox.Sandbox
	cached *caches
	log    bytes.Buffer
	repos  map[string]forge.Repo
}

const houseSecret = "the-secret-of-"

func newHouse(t *testing.T) *house {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, data: t.TempDir(), repos: map[string]forge.Repo{
		"ours": {Installation: 7, ID: 11}, "sibling": {Installation: 7, ID: 12}, "theirs": {Installation: 8, ID: 13}}}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	client, err := github.NewClient(github.Config{AppID: 1, PrivateKey: block})
	if err != nil {
		t.Fatal(err)
	}
	mirrors, err := mirror.New(mirror.Config{Dir: h.at("mirrors"), Client: client})
	if err != nil {
		t.Fatal(err)
	}
	outside, err := remotes.NewCache(remotes.CacheConfig{Dir: h.at("sources"), Client: client})
	if err != nil {
		t.Fatal(err)
	}
	h.cached = &caches{mirrors: mirrors, fetched: outside, cache: h.at("cache"), limit: 1 << 30}
	h.pool = sandbox.New(sandbox.Config{Executable: os.Args[0], Args: []string{"act-as-intruder"}, Children: len(h.repos),
		Timeout: time.Minute, MemoryLimit: 512 << 20, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		Owned: h.cached.owned(slog.New(slog.DiscardHandler))})
	t.Cleanup(func() { _ = h.pool.Close() })
	for name := range h.repos {
		h.plant(h.mirrorOf(name), "HEAD", name)
		h.plant(h.cacheOf(name), "entry", name)
		h.plant(h.fetchedOf(name), "objects/secret", strings.Replace(name, "sibling", "ours", 1)) // of the installation
	}
	h.plant(h.data, "queue/jobs", "server")
	h.plant(h.data, "app.pem", "server")
	return h
}

func (h *house) at(name string) string { return filepath.Join(h.data, name) }
func (h *house) owner(name string) string {
	return fmt.Sprintf("%d.%d", h.repos[name].Installation, h.repos[name].ID)
}
func (h *house) mirrorOf(name string) string { return h.cached.mirrors.GitDir(h.repos[name]) }
func (h *house) cacheOf(name string) string  { return h.at("cache/" + h.owner(name)) }
func (h *house) fetchedOf(name string) string {
	dir, err := h.cached.fetched.Folder(h.t.Context(), h.repos[name].Installation)
	if err != nil {
		h.t.Fatal(err)
	}
	return dir
}

func (h *house) plant(dir, file, of string) {
	path := filepath.Join(dir, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path, []byte(houseSecret+of), 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

// intrude has the intruder in a repository's sandbox do something.
func (h *house) intrude(name, how, target string) (got, trouble string) {
	h.t.Helper()
	rep, err := h.pool.Run(h.t.Context(), report.Change{Owner: h.owner(name), Head: how, Base: target})
	if err != nil {
		h.t.Fatal(err)
	}
	got, trouble, _ = strings.Cut(rep.Title, "|")
	return got, trouble
}

// A sandbox that was compromised sees its own repository and what its installation fetched, and nothing of another
// installation, of another repository, or of the server; the same attempts succeed on what is its own.
func TestSandboxSeesItsOwn(t *testing.T) {
	t.Setenv("LINTEL_GITHUB_WEBHOOK_SECRET", houseSecret+"server")
	h := newHouse(t)
	open, err := os.Open(h.at("app.pem"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	socket := h.at("server.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	server := strconv.Itoa(os.Getpid())
	own, _ := h.intrude("ours", "pid", "")
	their, _ := h.intrude("theirs", "pid", "")
	sibling, _ := h.intrude("sibling", "pid", "")
	if own == their || own == sibling || own == server {
		t.Fatalf("children %s, %s and %s of %s", own, their, sibling, server)
	}
	// As an earlier intruder could leave them, where the kernel has no rules for files.
	for link, target := range map[string]string{"to-theirs": h.cacheOf("theirs"), "to-key": h.at("app.pem"),
		"to-own": h.mirrorOf("ours")} {
		if err := os.Symlink(target, filepath.Join(h.cacheOf("ours"), link)); err != nil {
			t.Fatal(err)
		}
	}
	cache := h.cacheOf("ours")

	for _, c := range []struct{ how, target, got string }{
		{"read", h.mirrorOf("ours") + "/HEAD", houseSecret + "ours"},
		{"read", cache + "/entry", houseSecret + "ours"},
		{"read", h.fetchedOf("ours") + "/objects/secret", houseSecret + "ours"},
		{"read", cache + "/../" + h.owner("ours") + "/entry", houseSecret + "ours"},
		{"read", cache + "/to-own/HEAD", houseSecret + "ours"},
		{"write", cache + "/new", ""},
		{"hard link", cache + "/hard from " + cache + "/entry", houseSecret + "ours"},
		{"move", cache + "/moved from " + cache + "/new", ""},
		{"remove", cache + "/moved", ""},
		{"signal", own, ""},
	} {
		if got, trouble := h.intrude("ours", c.how, c.target); trouble != "<nil>" || got != c.got {
			t.Errorf("own: %s %s: %q, %s", c.how, c.target, got, trouble)
		}
	}

	lacks := h.log.String()
	missing := func(wall string) bool { return strings.Contains(lacks, wall) }
	if missing("rules for files") {
		t.Skipf("nobody is kept from files here; with a C compiler, set CGO_ENABLED=0: %s", lacks)
	}
	type attempt struct{ how, target string }
	var attempts []attempt
	for _, other := range []string{"theirs", "sibling"} {
		attempts = append(attempts,
			attempt{"read", h.mirrorOf(other) + "/HEAD"}, attempt{"list", h.mirrorOf(other)},
			attempt{"write", h.mirrorOf(other) + "/HEAD"},
			attempt{"read", h.cacheOf(other) + "/entry"}, attempt{"list", h.cacheOf(other)},
			attempt{"write", h.cacheOf(other) + "/entry"}, attempt{"write", h.cacheOf(other) + "/new"},
			attempt{"remove", h.cacheOf(other) + "/entry"},
			attempt{"read", cache + "/../" + h.owner(other) + "/entry"},
			attempt{"hard link", cache + "/h-" + other + " from " + h.cacheOf(other) + "/entry"},
			attempt{"symbolic link", cache + "/s-" + other + " from " + h.cacheOf(other) + "/entry"},
			attempt{"move", cache + "/m-" + other + " from " + h.cacheOf(other) + "/entry"},
			attempt{"move", h.cacheOf(other) + "/entry from " + cache + "/entry"},
		)
	}
	attempts = append(attempts,
		attempt{"read", h.fetchedOf("theirs") + "/objects/secret"}, attempt{"list", h.fetchedOf("theirs")},
		attempt{"write", h.fetchedOf("ours") + "/objects/secret"}, attempt{"write", h.mirrorOf("ours") + "/HEAD"},
		attempt{"hard link", cache + "/h-mirror from " + h.mirrorOf("ours") + "/HEAD"},
		attempt{"read", cache + "/to-theirs/entry"}, attempt{"read", cache + "/to-key"},
		attempt{"write", cache + "/to-theirs/entry"}, attempt{"write", cache + "/to-key"},
		attempt{"read", h.at("app.pem")}, attempt{"read", h.at("queue/jobs")}, attempt{"write", h.at("queue/jobs")},
		attempt{"list", h.data}, attempt{"list", h.at("mirrors")}, attempt{"list", h.at("cache")}, attempt{"list", os.TempDir()},
		attempt{"socket", socket},
	)
	for _, pid := range []string{server, their, sibling} {
		for _, file := range []string{"environ", "mem", "maps", "cmdline", "root" + h.at("app.pem"), "cwd/entry", "fd/0"} {
			attempts = append(attempts, attempt{"read", "/proc/" + pid + "/" + file})
		}
		attempts = append(attempts, attempt{"read", fmt.Sprintf("/proc/%s/fd/%d", server, open.Fd())},
			attempt{"list", "/proc/" + pid + "/fd"}, attempt{"memory", pid}, attempt{"signal", pid})
	}
	for _, a := range attempts {
		switch {
		case a.how == "signal" && missing("signals"), a.how == "socket" && missing("system calls"),
			a.how == "memory" && missing("system calls"):
			continue
		}
		got, trouble := h.intrude("ours", a.how, a.target)
		if trouble == "<nil>" || strings.Contains(got, houseSecret) ||
			!strings.Contains(trouble, "permission denied") && !strings.Contains(trouble, "not permitted") &&
				!strings.Contains(trouble, "invalid cross-device link") { // the kernel's word for a link to elsewhere
			t.Errorf("%s %s: %q, %s", a.how, a.target, got, trouble)
		}
	}
	for name := range h.repos {
		if got, trouble := h.intrude(name, "read", h.cacheOf(name)+"/entry"); got != houseSecret+name || trouble != "<nil>" {
			t.Errorf("%s's own, afterwards: %q, %s", name, got, trouble)
		}
	}
	if h.pool.Restarts() != 0 {
		t.Error("an attempt ended a child")
	}
}

// What a child leaves in its cache leads the server nowhere: links are not followed when caches are tidied.
func TestTidyFollowsNoLinks(t *testing.T) {
	h := newHouse(t)
	long := time.Now().Add(-time.Hour)
	if err := os.Symlink(h.cacheOf("theirs"), filepath.Join(h.cacheOf("ours"), "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.mirrorOf("theirs"), h.at("cache/9.9")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(h.cacheOf("ours"), func(path string, _ os.DirEntry, err error) error {
		at := []unix.Timespec{unix.NsecToTimespec(long.UnixNano()), unix.NsecToTimespec(long.UnixNano())}
		return errors.Join(err, unix.UtimesNanoAt(unix.AT_FDCWD, path, at, unix.AT_SYMLINK_NOFOLLOW))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tidyCaches(h.at("cache"), long.Add(time.Minute), maxDisk); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(h.cacheOf("ours")); err == nil {
		t.Error("an unused cache is kept")
	}
	for _, file := range []string{h.cacheOf("theirs") + "/entry", h.mirrorOf("theirs") + "/HEAD"} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}
