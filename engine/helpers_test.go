package engine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

var conformanceNow = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func conformanceDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "shared", "conformance"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the conformance cases are not here")
	}
	return dir
}

func objects(t testing.TB, sources []policy.Source) []admission.Object {
	t.Helper()
	var out []admission.Object
	for _, s := range sources {
		docs, _ := policy.Documents(s)
		for _, d := range docs {
			if o, ok := d.Value().(map[string]any); ok {
				out = append(out, o)
			}
		}
	}
	return out
}

// declared is a cluster of some objects.
type declared []admission.Object

func (c declared) Get(_ context.Context, group, kind, namespace, name string) (admission.Object, bool) {
	for _, o := range c {
		id := admission.IdentityOf(o)
		if id.Group == group && id.Kind == kind && id.Name == name && (id.Namespace == namespace || id.Namespace == "" &&
			namespace == "default") {
			return o, true
		}
	}
	return nil, false
}

func (c declared) List(_ context.Context, group, kind, namespace string) []admission.Object {
	var out []admission.Object
	for _, o := range c {
		id := admission.IdentityOf(o)
		if id.Group == group && id.Kind == kind && (namespace == "" || id.Namespace == namespace) {
			out = append(out, o)
		}
	}
	return out
}
