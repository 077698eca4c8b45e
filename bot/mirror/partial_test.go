package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// readable requires that all files of commits can be read from a mirror by who has no network and no token.
func readable(t *testing.T, gitDir string, commits ...string) {
	t.Helper()
	objects, err := tree.Open(t.Context(), tree.Config{GitDir: gitDir})
	if err != nil {
		t.Fatal(err)
	}
	defer objects.Close()
	for _, c := range commits {
		at, err := objects.Tree(c)
		if err != nil {
			t.Fatal(err)
		}
		err = at.Walk(func(p string, e tree.Entry) error {
			_, err := objects.Blob(e.ID)
			if err != nil {
				t.Errorf("%s of %.12s: %v", p, c, err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("walking %.12s: %v", c, err)
		}
	}
}

// large is the size of a file of which a partial mirror has not all versions, in bytes.
const large = 100 << 10

// has reports whether a mirror has an object.
func has(t *testing.T, m *Mirrors, gitDir, id string) bool {
	t.Helper()
	lacking, err := m.git.lacking(t.Context(), gitDir, []string{id})
	if err != nil {
		t.Fatal(err)
	}
	return len(lacking) == 0
}

func TestPartial(t *testing.T) {
	s := newServer(t)
	s.commit("main", mainRef, "big", noise(1, large))
	s.commit("main", mainRef, "dir/a", "1")
	fork := s.commit("main", mainRef, "big", noise(2, large))
	head := s.commit("feat", pullRef, "b", "2")
	tip := s.commit("main", mainRef, "c", "3")
	old := s.git(s.work, "rev-parse", fork+"~2:big")
	m := s.mirrors()
	got, err := m.Fetch(t.Context(), testRepo, wantOf(tip, head))
	if err != nil {
		t.Fatal(err)
	}
	readable(t, got.GitDir, tip, fork, head)
	if has(t, m, got.GitDir, old) {
		t.Error("a file that no check reads was fetched")
	}
	config, err := os.ReadFile(filepath.Join(got.GitDir, "config"))
	if err != nil || strings.Contains(string(config), "remote") {
		t.Errorf("git is left with somebody to ask: %v\n%s", err, config)
	}
	before := s.count()
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(tip, head)); err != nil || s.count() != before {
		t.Errorf("again: %v, %d requests", err, s.count()-before)
	}

	t.Run("what a check finds absent", func(t *testing.T) {
		if err := m.Complete(t.Context(), got.GitDir, []string{tip, head}, []string{old}); err != nil {
			t.Fatal(err)
		}
		if !has(t, m, got.GitDir, old) {
			t.Error("it is still absent")
		}
		if err := m.Complete(t.Context(), got.GitDir, []string{fork + "~1"}, nil); err == nil {
			t.Error("a revision was taken for a commit")
		}
		if err := m.Complete(t.Context(), t.TempDir(), []string{tip}, nil); err == nil {
			t.Error("a folder was taken for a mirror")
		}
	})
	t.Run("a further commit", func(t *testing.T) {
		m, first := s.mirrors(), s.git(s.work, "rev-parse", fork+"~2")
		got, err := m.Fetch(t.Context(), testRepo, Want{BaseRef: "main", BaseSHA: tip, HeadSHA: tip, Also: first})
		if err != nil {
			t.Fatal(err)
		}
		readable(t, got.GitDir, tip, first)
		nowhere := strings.Repeat("ab", 20)
		if _, err := m.Fetch(t.Context(), testRepo, Want{BaseSHA: tip, HeadSHA: tip, Also: nowhere}); err != nil {
			t.Errorf("one that is nowhere: %v", err)
		}
		if _, err := m.Fetch(t.Context(), testRepo, Want{BaseSHA: tip, HeadSHA: tip, Also: "main"}); err == nil {
			t.Error("a name was taken for a commit")
		}
	})
	t.Run("an older commit", func(t *testing.T) {
		first := s.git(s.work, "rev-parse", fork+"~2")
		if _, err := m.Fetch(t.Context(), testRepo, Want{BaseSHA: first, HeadSHA: tip}); err != nil {
			t.Fatal(err)
		}
		readable(t, got.GitDir, first)
	})
}

// What is fetched by ids is a request that has this one.
func asks(id string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if !isPost(r) {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		return bytes.Contains(body, []byte("want "+id))
	}
}

func TestPartialFaults(t *testing.T) {
	type fault = func(http.ResponseWriter, *http.Request, http.Handler)
	for name, at := range map[string]func(id string) fault{
		"the connection is cut": func(id string) fault {
			match := asks(id)
			return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if match(r) {
					panic(http.ErrAbortHandler)
				}
				next.ServeHTTP(w, r)
			}
		},
		"a file is kept back": func(id string) fault {
			match, line := asks(id), []byte("0032want "+id+"\n")
			return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if match(r) {
					body, _ := io.ReadAll(r.Body)
					body = bytes.ReplaceAll(body, line, nil)
					r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				}
				next.ServeHTTP(w, r)
			}
		},
		"trouble": func(id string) fault {
			match := asks(id)
			return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if match(r) {
					http.Error(w, "no "+secret, http.StatusInternalServerError)
					return
				}
				next.ServeHTTP(w, r)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			base := s.commit("main", mainRef, "a", "1")
			head := s.commit("feat", pullRef, "b", noise(1, large))
			m := s.mirrors()
			s.set(func() { s.fault = at(s.git(s.work, "rev-parse", head+":b")) })
			_, err := m.Fetch(t.Context(), testRepo, wantOf(base, head))
			var gone *Vanished
			if err == nil || errors.As(err, &gone) {
				t.Errorf("want an error that a later try may cure, got %v", err)
			} else {
				noSecret(t, m, err)
			}
			s.set(func() { s.fault = nil })
			got, err := m.Fetch(t.Context(), testRepo, wantOf(base, head))
			if err != nil {
				t.Fatal(err)
			}
			readable(t, got.GitDir, base, head)
			if !isPartial(got.GitDir) {
				t.Error("all of the repository was fetched")
			}
		})
	}
}

// Servers that give no parts, and histories of which git takes none in parts, are mirrored whole.
func TestServersWithoutPartialCloneAreMirroredWhole(t *testing.T) {
	for name, change := range map[string]func(s *server){
		"no filter": func(s *server) {
			s.git(s.dir, "config", "uploadpack.allowFilter", "false")
		},
		"an old defect": func(s *server) {
			s.commit("main", mainRef, "x", "0")
			text := s.git(s.work, "cat-file", "commit", "HEAD")
			text = strings.ReplaceAll(text, "+0000", "+7")
			file := filepath.Join(s.t.TempDir(), "commit")
			if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
				s.t.Fatal(err)
			}
			s.git(s.work, "reset", "-q", "--hard", s.git(s.work, "hash-object", "-t", "commit", "-w", "--literally", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			change(s)
			s.commit("main", mainRef, "a", "0")
			base := s.commit("main", mainRef, "a", "1")
			head := s.commit("feat", pullRef, "b", "2")
			m := s.mirrors()
			got, err := m.Fetch(t.Context(), testRepo, wantOf(base, head))
			if err != nil {
				t.Fatal(err)
			}
			readable(t, got.GitDir, base, head)
			next := s.commit("feat", pullRef, "b", "3")
			if _, err = m.Fetch(t.Context(), testRepo, wantOf(base, next)); err != nil {
				t.Fatal(err)
			}
			readable(t, got.GitDir, next)
		})
	}
}

// The commit is there from a later one's history, its files are not, and nobody has them any more.
func TestFilesVanished(t *testing.T) {
	s := newServer(t)
	old := s.commit("main", mainRef, "a", noise(1, large))
	tip := s.commit("main", mainRef, "a", noise(2, large))
	m := s.mirrors()
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(tip, tip)); err != nil {
		t.Fatal(err)
	}
	s.git(s.work, "checkout", "-q", "--orphan", "other")
	s.commit("other", mainRef, "z", "9")
	s.git(s.dir, "prune", "--expire=now")
	s.git(s.dir, "gc", "-q", "--prune=now")
	var gone *Vanished
	if _, err := m.Fetch(t.Context(), testRepo, Want{BaseSHA: old, HeadSHA: tip}); !errors.As(err, &gone) ||
		gone.SHA != old {
		t.Errorf("want *Vanished, got %v", err)
	}
	if _, err := m.Fetch(t.Context(), testRepo, Want{BaseSHA: tip, HeadSHA: tip}); err != nil {
		t.Errorf("what is complete needs no server: %v", err)
	}
}

// Whatever the history, all files of the three commits can be read without the network.
func TestAllFilesAreThere(t *testing.T) {
	seeds := int64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewSource(seed)) //nolint:gosec // a test that can be repeated
			s := newServer(t)
			s.commit("main", mainRef, "start", "")
			m := s.mirrors()
			for step := range 6 {
				branch, ref := "main", mainRef
				if step%2 == 1 {
					branch, ref = fmt.Sprintf("feat%d", random.Intn(2)), pullRef
				}
				// Few names and contents, so that files come back, move and stand in several places.
				for range 1 + random.Intn(3) {
					name := fmt.Sprintf("d%d/f%d", random.Intn(3), random.Intn(3))
					n := random.Int63n(6)
					s.commit(branch, ref, name, noise(n, int(1+n%2*large)))
				}
				if random.Intn(4) == 0 {
					s.git(s.work, "merge", "-q", "-s", "ours", "-m", "merge", "main")
				}
				head := s.git(s.work, "rev-parse", "HEAD")
				treetest.Publish(t, s.dir, ref, head)
				tip := s.git(s.dir, "rev-parse", mainRef)
				if random.Intn(3) == 0 {
					head = s.git(s.work, "rev-parse", head+"^")
				}
				got, err := m.Fetch(t.Context(), testRepo, wantOf(tip, head))
				if err != nil {
					t.Fatal(err)
				}
				readable(t, got.GitDir, got.BaseTip, got.MergeBase, head)
			}
		})
	}
}

// Git looks into files of this name when it receives a folder that has one.
func TestPartialWithSubmodules(t *testing.T) {
	s := newServer(t)
	modules := func(name string) string {
		return "[submodule \"" + name + "\"]\n\tpath = a\n\turl = https://example.com/a\n# " + noise(1, large) + "\n"
	}
	s.commit("main", mainRef, ".gitmodules", modules("a"))
	old := s.commit("main", mainRef, ".gitmodules", modules("b"))
	base := s.commit("main", mainRef, ".gitmodules", modules("c"))
	head := s.commit("feat", pullRef, "b", "2")
	m := s.mirrors()
	got, err := m.Fetch(t.Context(), testRepo, wantOf(base, head))
	if err != nil {
		t.Fatal(err)
	}
	readable(t, got.GitDir, base, head)
	next := s.commit("feat", pullRef, ".gitmodules", modules("d"))
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, next)); err != nil {
		t.Fatal(err)
	}
	readable(t, got.GitDir, next)
	if !isPartial(got.GitDir) || has(t, m, got.GitDir, s.git(s.work, "rev-parse", old+":.gitmodules")) {
		t.Error("all of the repository was fetched")
	}
}

// A server may send a small file as its difference from a large one of a commit that is here, though the file is not.
func TestDifferenceFromWhatIsAbsent(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	text := noise(1, large)
	reviewed := s.commit("feat", pullRef, "b", text)
	m := s.mirrors()
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, base)); err != nil {
		t.Fatal(err)
	}
	if err := m.Ensure(t.Context(), testRepo, reviewed); err != nil {
		t.Fatal(err)
	}
	head := s.commit("feat", pullRef, "b", text[:large/2])
	got, err := m.Fetch(t.Context(), testRepo, wantOf(base, head))
	if err != nil {
		t.Fatal(err)
	}
	readable(t, got.GitDir, head)
}
