package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// readmeBlocks are those of the README.
func readmeBlocks(t *testing.T, heading, language string, count int) []string {
	t.Helper()
	return documentBlocks(t, "README.md", heading, language, count)
}

// documentBlocks are the code blocks of one language below a heading of a document, up to the next heading, without their
// indentation. There have to be as many as the test plays, so that it sees each.
func documentBlocks(t *testing.T, document, heading, language string, count int) []string {
	t.Helper()
	var blocks []string
	var block *strings.Builder
	var here bool
	var fence, indent string
	for line := range strings.Lines(readFile(t, filepath.Join("..", "..", filepath.FromSlash(document)))) {
		text := strings.TrimLeft(line, " ")
		switch {
		case block != nil && strings.TrimSpace(line) == "```":
			if here && fence == language {
				blocks = append(blocks, block.String())
			}
			block = nil
		case block != nil:
			block.WriteString(strings.TrimPrefix(line, indent))
		case strings.HasPrefix(text, "```"):
			block, indent = &strings.Builder{}, line[:len(line)-len(text)]
			fence = strings.TrimSpace(strings.TrimPrefix(text, "```"))
		case strings.HasPrefix(line, "#"):
			here = strings.TrimSpace(line) == heading
		}
	}
	if len(blocks) != count {
		t.Fatalf("%s has %d blocks of %q below %q, and the test knows %d", document, len(blocks), language, heading, count)
	}
	return blocks
}

// newcomer is somebody with a bare machine: an empty home, and no other programs than those of Debian's base and those that
// are named. What they ask github.com for is answered by a server of the test, through a proxy; nobody else is asked.
type newcomer struct {
	t                *testing.T
	home, tools, bin string // bin is the /usr/local/bin of this machine
	env              map[string]string
}

// debian are programs of Debian's essential packages.
var debian = []string{"sh", "bash", "env", "awk", "basename", "cat", "chmod", "cp", "cut", "dirname", "echo", "expr", "find",
	"grep", "gzip", "head", "id", "install", "ls", "mkdir", "mktemp", "mv", "printf", "pwd", "readlink", "rm", "sed",
	"sha256sum", "sort", "tail", "tar", "test", "touch", "tr", "true", "uname", "wc", "which", "xargs"}

func newNewcomer(t *testing.T, programs ...string) *newcomer {
	t.Helper()
	top := t.TempDir()
	n := &newcomer{t: t, home: filepath.Join(top, "home"), tools: filepath.Join(top, "usr", "bin"),
		bin: filepath.Join(top, "usr", "local", "bin")}
	for _, dir := range []string{n.home, n.tools, n.bin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(programs, debian...) {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not installed", name)
		}
		if err := os.Symlink(program, filepath.Join(n.tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	n.program("editor", `printf 'Check with Lintel\n' >"$1"`)
	n.env = map[string]string{"HOME": n.home, "PATH": n.bin + ":" + n.tools, "EDITOR": "editor", "TMPDIR": t.TempDir()}
	// Whoever has a clone has told git who they are.
	writeFile(t, filepath.Join(n.home, ".gitconfig"), "[user]\n\tname = New\n\temail = new@example.com\n")
	return n
}

// program is one that the machine has of the test's making.
func (n *newcomer) program(name, script string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.tools, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

// types runs a script as somebody types it who stops at the first failure, and returns its exit code and what it said.
func (n *newcomer) types(dir, script string) (int, string) {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), filepath.Join(n.tools, "sh"), "-e")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	for name, value := range n.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		n.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// succeeds is what a script says that has to succeed.
func (n *newcomer) succeeds(dir, script string) string {
	n.t.Helper()
	code, out := n.types(dir, script)
	if code != 0 {
		n.t.Fatalf("exit code %d of\n%s\n%s", code, script, out)
	}
	return out
}

// releaseFiles are the files of a release with this test as the program, by their names.
func releaseFiles(t *testing.T) map[string]string {
	t.Helper()
	program, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	info, err := program.Stat()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const name = "lintel_linux_amd64.tar.gz"
	file, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	zip, err := gzip.NewWriterLevel(io.MultiWriter(file, sum), gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zip)
	add := func(name string, mode, size int64, content io.Reader) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: size}); err != nil {
			return err
		}
		_, err := io.Copy(w, content)
		return err
	}
	if err := errors.Join(add("LICENSE", 0o644, 0, strings.NewReader("")), add("README.md", 0o644, 0, strings.NewReader("")),
		add("lintel", 0o755, info.Size(), program), w.Close(), zip.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	checksums := filepath.Join(dir, "checksums.txt")
	writeFile(t, checksums, strings.Repeat("0", 64)+"  lintel_darwin_arm64.tar.gz\n"+hex.EncodeToString(sum.Sum(nil))+"  "+name+"\n")
	writeFile(t, checksums+".sigstore.json", "{}")
	return map[string]string{name: file.Name(), "checksums.txt": checksums, "checksums.txt.sigstore.json": checksums + ".sigstore.json"}
}

// reachesGitHub has the machine find releases on github.com, the newest of which has a version, as GitHub gives them away:
// by a redirect.
func (n *newcomer) reachesGitHub(version string, files map[string]string) {
	t := n.t
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "github.com"},
		DNSNames: []string{"github.com"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	const releases = "/lintel-bot/lintel/releases/"
	hub := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, releases+"latest/download/"); ok {
			http.Redirect(w, r, releases+"download/"+version+"/"+name, http.StatusFound)
			return
		}
		name, _ := strings.CutPrefix(r.URL.Path, releases+"download/"+version+"/")
		if file, ok := files[name]; ok {
			http.ServeFile(w, r, file)
			return
		}
		t.Errorf("%s of github.com was asked for", r.URL.Path)
		http.NotFound(w, r)
	}))
	hub.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	hub.StartTLS()
	t.Cleanup(hub.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "github.com:443" {
			t.Errorf("%s %s was asked for", r.Method, r.Host)
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		tunnel(w, hub.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	n.env["HTTPS_PROXY"], n.env["CURL_CA_BUNDLE"] = proxy.URL, authority
}

// at is the line of a text that first matches.
func at(t *testing.T, text, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringIndex(text)
	if found == nil {
		t.Fatalf("nothing matches %s in\n%s", pattern, text)
	}
	return 1 + strings.Count(text[:found[0]], "\n")
}
