package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// yamlBlocks are the YAML blocks of a document, without their indentation.
func yamlBlocks(t *testing.T, name string) (blocks []string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var block *strings.Builder
	indent := ""
	for line := range strings.Lines(string(data)) {
		text := strings.TrimLeft(line, " ")
		switch {
		case block == nil && strings.TrimSpace(text) == "```yaml":
			block, indent = &strings.Builder{}, line[:len(line)-len(text)]
		case block != nil && strings.TrimSpace(text) == "```":
			blocks = append(blocks, block.String())
			block = nil
		case block != nil:
			block.WriteString(strings.TrimPrefix(line, indent))
		}
	}
	return blocks
}

// Each kustomization of the README builds, where it says that deploy/ is, and each of its values is one that the chart has.
// What lacks resources is for an overlay, with an App of one's own.
func TestReadme(t *testing.T) {
	p := chart(t)
	const settings, volume = "ConfigMap lintel/data/", "Deployment lintel/spec/template/spec/volumes"
	wants := []struct{ kustomize, values string }{
		{kustomize: settings + "LINTEL_PUBLIC_URL=https://lintel.example.com"},
		{kustomize: settings + "LINTEL_GITHUB_CLIENT_SECRET_FILE=/etc/lintel/client-secret"},
		{values: volume + "/3/name=client"},
		{kustomize: volume + "/3/name=sources"},
		{values: volume + "/3/name=sources"},
	}
	blocks := yamlBlocks(t, "README.md")
	if len(blocks) != len(wants) {
		t.Fatalf("the README has %d blocks, and the test knows %d", len(blocks), len(wants))
	}
	for i, want := range wants {
		var all map[string]object
		var err error
		if want.values != "" {
			all, err = p.rendered(t, blocks[i])
		} else {
			all, err = kustomized(t, blocks[i])
		}
		if err != nil {
			t.Errorf("%v\n%s", err, blocks[i])
			continue
		}
		path, value, _ := strings.Cut(want.kustomize+want.values, "=")
		if got := fmt.Sprint(valueAt(same(t, all, want.values != ""), path)); got != value {
			t.Errorf("%s is %q, want %q, of\n%s", path, got, value, blocks[i])
		}
	}
}

// kustomized are the objects of a kustomization that stands beside lintel/deploy and ingress.yaml.
func kustomized(t *testing.T, text string) (map[string]object, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "lintel", "deploy"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	var fields object
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		return nil, err
	}
	if fields["resources"] == nil {
		text += "resources: [lintel/deploy/overlays/single]\nnamespace: lintel\n"
	}
	for name, content := range map[string]string{"kustomization.yaml": text,
		"ingress.yaml": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: lintel}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	written, err := made.AsYaml()
	if err != nil {
		return nil, err
	}
	all := map[string]object{}
	add(t, all, string(written))
	return all, nil
}
