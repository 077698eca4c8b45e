package engine_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// without calls a function for copies of a value that lack one field or element each.
func without(v any, at string, do func(pointer string, lacking any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			rest := maps.Clone(v)
			delete(rest, k)
			do(at+"/"+jsonpointer.Escape(k), rest)
			without(v[k], at+"/"+jsonpointer.Escape(k), func(pointer string, lacking any) {
				with := maps.Clone(v)
				with[k] = lacking
				do(pointer, with)
			})
		}
	case []any:
		for i := range v {
			without(v[i], at+"/"+strconv.Itoa(i), func(pointer string, lacking any) {
				with := slices.Clone(v)
				with[i] = lacking
				do(pointer, with)
			})
		}
	}
}

// Whatever somebody leaves out of a manifest of the sample repository: what its policies then suggest helps.
func TestSampleSuggestedFixes(t *testing.T) {
	var sources []policy.Source
	err := filepath.WalkDir("../testdata/sample", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		data, err := os.ReadFile(path)
		sources = append(sources, policy.Source{Path: path, Documents: yamltest.Documents(data)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, sources)
	p, _ := engine.CompilePolicies(sources, engine.Options{Now: conformanceNow})
	by := p.Bind(nil, declared(all))
	findings, helped := 0, 0
	for _, o := range all {
		if id := admission.IdentityOf(o); id.Kind == "" || strings.Contains(id.Group, "kyverno") {
			continue
		}
		without(map[string]any(o), "", func(pointer string, lacking any) {
			object, _ := lacking.(map[string]any)
			if strings.HasPrefix(pointer, "/kind") || strings.HasPrefix(pointer, "/apiVersion") {
				return
			}
			suggestedFixOf(t, by, object, func(a advised) {
				findings++
				if a.fix.Requirement == "" {
					t.Errorf("without %s: %s %s %s says nothing", pointer, a.result.Policy.Name, a.result.Rule, a.field)
				}
				if a.helps(t) {
					helped++
				}
			})
		})
	}
	if findings < 100 || helped < findings/4 {
		t.Errorf("%d findings, %d with something to write", findings, helped)
	}
}
