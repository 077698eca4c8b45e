package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
)

// The place of each field of a remote source is correct: an edit there changes the field. The edit names another
// revision, in which every value differs. Fields that the repository patches are tested, too.
func TestEditsAtMountPlacesDecide(t *testing.T) {
	w := newWorld(t, host, `
-- app/kustomization.yaml --
resources:
- own.yaml
- HOST/o/base//deploy?ref=v1
images:
- name: img
  newTag: tag
patches:
- path: patch.yaml
- target: {kind: Deployment}
  patch: |
    - op: add
      path: /metadata/annotations
      value: {json: patch}
- patch: |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: base-nested
    data:
      b: two
replicas:
- name: base-d
  count: 3
commonLabels:
  team: blue
-- app/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: own
data: {k: v}
-- app/patch.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: base-d
spec:
  minReadySeconds: 9
  template:
    spec:
      containers:
      - name: c
        env:
        - name: PATCHED
          value: here
`+mountsBase)
	base, nested := w.repos["o/base"], w.repos["o/nested"]
	data, err := os.ReadFile(filepath.Join(base.Dir, "deploy/deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	base.Write("deploy/deployment.yaml", strings.NewReplacer("replicas: 1", "replicas: 2", "image: img:1", "image: img:2").
		Replace(string(data)))
	base.Write("deploy/kustomization.yaml", strings.ReplaceAll(`resources:
- deployment.yaml
- ../common
- HOST/o/nested//x?ref=v2
namePrefix: base-
commonAnnotations: {all: new}
`, "HOST", host))
	base.Snapshot()
	base.Tag("v2")
	nested.Write("x/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: nested\ndata:\n  a: other\n")
	nested.Snapshot()
	nested.Tag("v2")

	_, out, problems := w.render("app")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	confirmed := 0
	for i, res := range out.Resources {
		for _, f := range res.Fields() {
			last := f.Pointer[strings.LastIndexByte(f.Pointer, '/')+1:]
			if !f.Scalar() || last == "kind" || last == "apiVersion" || last == "name" {
				continue
			}
			p := res.Origin(f.Pointer)
			if strings.HasPrefix(p.Path, "/") || p.StartColumn == 0 {
				t.Errorf("%s: no place of the repository: %+v", f.Pointer, p)
				continue
			}
			before := f.Value()
			file := filepath.Join(w.repo.Dir, p.Path)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			line := []rune(lines[p.StartLine-1])
			old := string(line[p.StartColumn-1 : p.EndColumn-1])
			lines[p.StartLine-1] = string(line[:p.StartColumn-1]) + another(old) + string(line[p.EndColumn-1:])
			w.repo.Write(p.Path, strings.Join(lines, "\n"))
			w.repo.Snapshot()
			_, changed, _ := w.render("app")
			if i < len(changed.Resources) && reflect.DeepEqual(at(changed.Resources[i], f.Pointer), before) {
				t.Errorf("%s of resource %d stays %v without %q at %s", f.Pointer, i, before, old, describe(p))
			} else {
				confirmed++
			}
			w.repo.Write(p.Path, string(text))
			w.repo.Snapshot()
			if strings.Contains(old, "?ref=v1") && (p.Role != "resources" || p.How != origin.Writer || len(p.Chain) == 0) {
				t.Errorf("%s: %+v", f.Pointer, p)
			}
		}
	}
	if confirmed < 14 {
		t.Errorf("only %d fields", confirmed)
	}
}

// another returns a different text.
func another(text string) string {
	if before, ok := strings.CutSuffix(text, "?ref=v1"); ok {
		return before + "?ref=v2"
	}
	if n, err := strconv.Atoi(text); err == nil {
		return fmt.Sprint(n + 1)
	}
	return text + "x"
}

func at(res *render.Resource, pointer string) any {
	p, err := jsonpointer.New(pointer)
	if err != nil {
		return nil
	}
	v, _, err := p.Get(res.Object)
	if err != nil {
		return nil
	}
	return v
}
