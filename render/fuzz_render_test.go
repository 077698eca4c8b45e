package render_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// The limits of one rendering of a mutated root are far above what any needs.
const (
	fuzzTime   = 20 * time.Second
	fuzzMemory = 1 << 30 // bytes allocated, not held
)

// secretWord is the content of a file of the repository that no message may quote.
const secretWord = "hunter2"

// For any kustomization or manifest: rendering ends soon, with little memory, without a panic and without the network.
// Messages name files of the repository and quote none of them. What is rendered is what kustomize renders.
func FuzzRender(f *testing.F) {
	sandbox, few := newFuzzSandbox(f), raceDetector || testing.Short()
	for i, p := range sandbox.files {
		if few && i%8 > 0 {
			continue // one goroutine is ten times slower with the race detector; the long tests without it try all seeds
		}
		f.Add(uint16(i), []byte{}, []byte{})
		if i%16 > 0 {
			continue // a few seeds are enough for the fuzzer's own mutations of bytes
		}
		data, _, err := sandbox.tree.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint16(i), []byte{}, data)
	}
	for b := range snippets {
		if few && b%4 > 0 {
			continue
		}
		f.Add(uint16(7*b), []byte{11, 0, byte(b)}, []byte{})
		f.Add(uint16(5*b), []byte{byte(b), byte(b), byte(2 * b), 11, 0, byte(b)}, []byte{})
	}
	for b := range donors {
		if few && b%4 > 0 {
			continue
		}
		f.Add(uint16(3*b), []byte{3, byte(b), byte(b)}, []byte{})
	}
	for i := range 8 { // words that some readers do not take for text, texts that look like numbers, and duplicate names
		f.Add(uint16(i*11), []byte{},
			[]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Y, labels: {a: on, b: 010}, annotations: {d: "+
				"2001-01-01, e: !!binary YQ==}}\n"))
		f.Add(uint16(i*11), []byte{},
			[]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b, a: c, 1: d}\n"))
		f.Add(uint16(i*11), []byte{}, []byte("[{\"op\": \"add\", path: /a, value: 1}]"))
	}
	f.Fuzz(func(t *testing.T, which uint16, program, raw []byte) {
		if len(raw) > 1<<16 {
			return
		}
		// PATH is changed only here, because the process that starts the fuzz workers needs its programs.
		t.Setenv("PATH", sandbox.programs)
		os.Stderr = sandbox.silence // kustomize warns there
		name := sandbox.files[int(which)%len(sandbox.files)]
		data, _, err := sandbox.tree.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 0 {
			data = raw
		}
		data = mutate(data, program)
		defer func() {
			if t.Failed() {
				t.Logf("%s is\n%s", name, data)
			}
		}()
		sandbox.render(t, name, data)
	})
}

type fuzzSandbox struct {
	silence  *os.File
	tree     *tree.Tree
	set      *deploy.Set
	files    []string // kustomizations, and manifests that one reads
	traps    string   // a program that was run creates this file
	programs string   // the only folder in PATH
	network  *trap
}

// trap is an http.RoundTripper that refuses each request and records it.
type trap struct{ asked []string }

func (n *trap) RoundTrip(r *http.Request) (*http.Response, error) {
	n.asked = append(n.asked, r.URL.String())
	return nil, errors.New("no network here")
}

func newFuzzSandbox(f *testing.F) *fuzzSandbox {
	f.Helper()
	r := treetest.New(f)
	err := filepath.WalkDir("../testdata", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		r.Write(strings.TrimPrefix(filepath.ToSlash(p), "../testdata/"), string(data))
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	s := &fuzzSandbox{network: &trap{}, traps: f.TempDir()}
	err = filepath.WalkDir(r.Dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !kustomization.IsFileName(p) {
			return err
		}
		in, err := filepath.Rel(r.Dir, filepath.Dir(p))
		if err != nil {
			return err
		}
		// Beside each kustomization are the files that a hostile one would name.
		in = filepath.ToSlash(in)
		r.Write(path.Join(in, "secret.yaml"),
			"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: "+secretWord+"}\n")
		r.Write(path.Join(in, "gh:o/r", "kustomization.yaml"), "resources: [x.yaml]\n")
		r.Write(path.Join(in, "user@h:o/r", "kustomization.yaml"), "resources: [x.yaml]\n")
		r.Write(path.Join(in, "user@h/o/r", "kustomization.yaml"), "resources: [x.yaml]\n")
		r.Write(path.Join(in, "github.com/o/r", "kustomization.yaml"), "resources: [x.yaml]\n")
		r.Write(path.Join(in, "http:/127.0.0.1:9/x"), "a: b\n")
		r.Symlink("loop", path.Join(in, "loop"))
		r.Symlink("secret.yaml", path.Join(in, "link.yaml"))
		r.Symlink("../../../../../../../../etc", path.Join(in, "outside"))
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	s.tree = r.Tree(r.Snapshot())
	if s.set, err = deploy.Open(s.tree, roots.Options{}, &graph.Cache{}, render.Config{Limits: render.Limits{Source: doc.Limits{Nodes: 20_000}, Layers: 200, Resources: 1000}}); err != nil {
		f.Fatal(err)
	}
	err = s.tree.Walk(func(p string, e tree.Entry) error {
		if e.Kind == tree.File && graph.IsManifestName(p) && !strings.Contains(p, ":") &&
			!strings.Contains(p, "github.com/") && path.Base(p) != "secret.yaml" {
			s.files = append(s.files, p)
		}
		return nil
	})
	if err != nil || len(s.files) < 50 {
		f.Fatalf("%d files, %v", len(s.files), err)
	}
	// From here on, neither HTTP requests nor programs work.
	before, stderr := http.DefaultTransport, os.Stderr
	http.DefaultTransport = s.network
	if s.silence, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		f.Fatal(err)
	}
	log.SetOutput(io.Discard)
	f.Cleanup(func() { http.DefaultTransport, os.Stderr = before, stderr; log.SetOutput(stderr) })
	programs := f.TempDir()
	for _, name := range []string{"git", "helm", "docker", "ssh"} {
		script := "#!/bin/sh\necho \"$0 $*\" >> '" + s.traps + "/run'\nexit 1\n"
		if err := os.WriteFile(filepath.Join(programs, name), []byte(script), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	s.programs = programs
	return s
}

func (s *fuzzSandbox) render(t *testing.T, name string, data []byte) {
	files := map[string][]byte{name: data}
	renderer := s.set.Renderer.With(files)
	var reached []roots.Root
	if dir := path.Dir(name); kustomization.IsFileName(name) {
		reached = []roots.Root{{Path: dir}}
	} else if reached = s.set.Reach([]string{name}, nil); len(reached) > 2 {
		reached = reached[:2]
	}
	for _, root := range reached {
		begun, before := time.Now(), allocated()
		rendering, problems, err := renderer.Render(t.Context(), s.set.Target(root))
		if err != nil {
			t.Fatal(err)
		}
		if took, size := time.Since(begun), allocated()-before; took > fuzzTime || size > fuzzMemory {
			t.Fatalf("took %s and %d MiB", took, size>>20)
		}
		problems = append(problems, rendering.Broken()...)
		s.harmless(t, problems)
		if len(problems) > 0 || root.Kind != roots.Kustomization || root.Object != "" {
			continue
		}
		want, err := renderer.Unmarked(t.Context(), root)
		if err != nil {
			t.Fatalf("kustomize alone does not render what is rendered: %v", err)
		}
		got, err := rendering.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("renders\n%s\nkustomize renders\n%s", got, want)
		}
		judged(t, rendering)
		for _, res := range rendering.Resources[:min(len(rendering.Resources), 5)] {
			for _, field := range res.Fields() {
				place := res.Origin(field.Pointer)
				if _, err := s.tree.Entry(place.Path); err != nil || place.StartLine < 1 || place.EndLine < place.StartLine {
					t.Fatalf("%s is at %+v", field.Pointer, place)
				}
			}
		}
	}
}

// judged requires that policies see the same fields of a resource as the cluster.
func judged(t *testing.T, rendering *render.Rendering) {
	for _, res := range rendering.Resources {
		text, err := res.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var printed any
		if err := sigsyaml.Unmarshal(text, &printed); err != nil {
			t.Fatal(err)
		}
		seen, err := json.Marshal(res.Object)
		if err != nil {
			t.Fatal(err)
		}
		var object any
		if err := json.Unmarshal(seen, &object); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(printed, object) {
			t.Fatalf("policies see\n%s\nbut what is deployed is\n%s", seen, text)
		}
	}
}

// harmless checks the messages and that rendering had no side effects.
func (s *fuzzSandbox) harmless(t *testing.T, problems []doc.Error) {
	for _, p := range problems {
		if _, err := s.tree.Entry(p.Path); err != nil {
			t.Fatalf("%q names no file of the repository", p.Error())
		}
		if p.Line < 0 || p.Message == "" {
			t.Fatalf("%q has no line or words", p.Error())
		}
		for _, word := range []string{secretWord, "/repository", os.TempDir() + "/", "goroutine", "/root/", "runtime error"} {
			if strings.Contains(p.Message, word) {
				t.Fatalf("%q says %q", p.Error(), word)
			}
		}
		if strings.ContainsAny(p.Message, "\n\x00") || len(p.Message) > 4096 {
			t.Fatalf("%q is not one short line", p.Error())
		}
	}
	if len(s.network.asked) > 0 {
		t.Fatalf("asks the network for %q", s.network.asked)
	}
	if run, err := os.ReadFile(filepath.Join(s.traps, "run")); err == nil {
		t.Fatalf("runs %s", run)
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
