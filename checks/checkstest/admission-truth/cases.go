package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

//go:embed testdata
var testdata embed.FS

// pair is an object and what it was before.
type pair struct {
	from     string // where it is from, and what was done to it
	now, was map[string]any
}

// parse returns the objects of a file.
func parse(name string, data []byte) (out []map[string]any) {
	documents, _ := doc.Documents(name, data, doc.Limits{})
	for _, d := range documents {
		o, ok := doc.Value(d, false).(map[string]any)
		if ok && o["kind"] != nil && jsonpointer.At(o, "/metadata/name") != nil {
			out = append(out, o)
		}
	}
	return out
}

// embedded returns the objects of a file of testdata.
func embedded(name string) ([]map[string]any, error) {
	data, err := testdata.ReadFile("testdata/" + name)
	return parse(name, data), err
}

// written returns the valid objects of testdata, and those with one edit each. A line of edits.txt is a kind (or the
// name of the object of that kind), a pointer and the value that stands there then, in YAML; nothing: it is removed.
// More edits of the same object follow after "&&".
func written() (out []pair, err error) {
	valid, err := embedded("valid.yaml")
	if err != nil {
		return nil, err
	}
	base := map[string]map[string]any{}
	for _, o := range valid {
		name, _ := jsonpointer.At(o, "/metadata/name").(string)
		kind, _ := o["kind"].(string)
		base[name] = o
		if base[kind] == nil {
			base[kind] = o
		}
		out = append(out, pair{from: "valid.yaml " + kind + " " + name, now: o})
	}
	data, err := testdata.ReadFile("testdata/edits.txt")
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		of, edits, _ := strings.Cut(line, " ")
		was := base[of]
		if was == nil {
			return nil, fmt.Errorf("edits.txt:%d: valid.yaml has no %s", i+1, of)
		}
		now := runtime.DeepCopyJSON(was)
		for edit := range strings.SplitSeq(edits, " && ") {
			pointer, text, set := strings.Cut(edit, " ")
			var value any
			if documents, _ := doc.Documents("edits.txt", []byte(text), doc.Limits{}); set && len(documents) > 0 {
				value = doc.Value(documents[0], false)
			}
			if !put(now, pointer, value, set) {
				return nil, fmt.Errorf("edits.txt:%d: nothing at %s", i+1, pointer)
			}
		}
		out = append(out, pair{fmt.Sprintf("edits.txt:%d %s", i+1, line), now, was})
	}
	return out, err
}

// put sets what a pointer points at, or removes it. The token - stands for the end of a list.
func put(o any, pointer string, value any, set bool) bool {
	parent, last := o, ""
	at := strings.LastIndexByte(pointer, '/')
	last = jsonpointer.Unescape(pointer[at+1:])
	parent = jsonpointer.At(o, pointer[:at])
	switch p := parent.(type) {
	case map[string]any:
		if !set {
			_, there := p[last]
			delete(p, last)
			return there
		}
		p[last] = value
		return true
	case []any:
		list := slices.Clone(p)
		i, ok := jsonpointer.Index(last, len(p))
		switch {
		case last == "-":
			list = append(list, value)
		case !ok:
			return false
		case set:
			list[i] = value
		default:
			list = slices.Delete(list, i, i+1)
		}
		return put(o, pointer[:at], list, true)
	}
	return set && at > 0 && put(o, pointer[:at], map[string]any{}, true) && put(o, pointer, value, set)
}

// found returns n objects at most of the YAML files of folders, of as many kinds that the server has as there are: each
// as it is, and with a few changes.
func found(ctx context.Context, s *server, folders string, n int, seed uint64) (out []pair, err error) {
	byKind := map[string][]pair{}
	seen := map[string]bool{}
	for folder := range strings.SplitSeq(folders, ",") {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".yaml") || ctx.Err() != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte("${")) {
				return err // others fill it in
			}
			for _, o := range parse(path, data) {
				kind := fmt.Sprint(o["apiVersion"], " ", o["kind"])
				key := kind + fmt.Sprint(jsonpointer.At(o, "/metadata/name"))
				if _, served := s.resources[kind]; served && !seen[key] && !schema.Encrypted(o) {
					seen[key] = true
					byKind[kind] = append(byKind[kind], pair{from: path, was: o})
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(seed, seed))
	kinds := slices.Sorted(func(yield func(string) bool) {
		for kind := range byKind {
			if !yield(kind) {
				return
			}
		}
	})
	for _, kind := range kinds {
		random.Shuffle(len(byKind[kind]), func(i, j int) {
			byKind[kind][i], byKind[kind][j] = byKind[kind][j], byKind[kind][i]
		})
	}
	for i := range n {
		for _, kind := range kinds {
			p := byKind[kind][i%len(byKind[kind])] // again, with another change
			if i < 30*len(byKind[kind]) && len(out) < n {
				if i < len(byKind[kind]) {
					out = append(out, pair{from: p.from, now: p.was})
				}
				p.now = runtime.DeepCopyJSON(p.was)
				p.from += ": " + worsen(random, p.now)
				out = append(out, p)
			}
		}
	}
	return out, ctx.Err()
}
