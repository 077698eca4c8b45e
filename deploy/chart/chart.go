// Package chart makes a Helm chart of the kustomizations in deploy/, which stay the only place where the deployment is
// described: the templates are what kustomize builds of them, with the few things that users set in place of values.
package chart

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Name is the chart's, and that of its objects.
const Name = "lintel"

//go:embed files
var files embed.FS

// variants are the ways to deploy, each a template of its own.
var variants = []struct {
	file, when string
	resource   string // of deploy/
	component  string // likewise; empty: none
}{
	{"single", `and (eq .Values.mode "single") (not .Values.register)`, "overlays/single", ""},
	{"register", `and (eq .Values.mode "single") .Values.register`, "overlays/single", "components/register"},
	{"replicated", `eq .Values.mode "replicated"`, "overlays/replicated", ""},
}

const monitoring = "components/monitoring"

// Build returns the files of the chart by their path below its folder, of the kustomizations in a folder deploy/. The
// version is that of the chart and of the image, without a "v" in front.
func Build(deploy, version string) (map[string][]byte, error) {
	defaults, err := settings(filepath.Join(deploy, "base", "config.env"))
	if err != nil {
		return nil, fmt.Errorf("the settings: %w", err)
	}
	chart := map[string][]byte{"Chart.yaml": fmt.Appendf(nil, `apiVersion: v2
name: %s
description: Lintel checks pull requests of GitOps repositories with Kyverno policies, before they merge.
type: application
version: %s
appVersion: %[2]q
home: https://github.com/lintel-bot/lintel
sources: [https://github.com/lintel-bot/lintel]
kubeVersion: ">=1.26.0-0"
`, Name, version)}
	for name, to := range map[string]string{"values.yaml": "values.yaml", "values.schema.json": "values.schema.json",
		"NOTES.txt": "templates/NOTES.txt", "ingress.yaml": "templates/ingress.yaml"} {
		if chart[to], err = files.ReadFile("files/" + name); err != nil {
			return nil, err
		}
	}
	if chart["values.yaml"], err = withSettings(chart["values.yaml"], defaults); err != nil {
		return nil, err
	}
	for _, v := range variants {
		objects, err := build(deploy, v.resource, v.component)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.file, err)
		}
		if chart["templates/"+v.file+".yaml"], err = template(v.file, v.when, objects, defaults); err != nil {
			return nil, fmt.Errorf("%s: %w", v.file, err)
		}
	}
	plain, err := build(deploy, variants[0].resource, "")
	if err != nil {
		return nil, err
	}
	watched, err := build(deploy, variants[0].resource, monitoring)
	if err != nil {
		return nil, fmt.Errorf("monitoring: %w", err)
	}
	watched, err = without(watched, plain)
	if err != nil {
		return nil, fmt.Errorf("monitoring: %w", err)
	}
	if chart["templates/monitoring.yaml"], err = template("monitoring", ".Values.monitoring", watched, defaults); err != nil {
		return nil, fmt.Errorf("monitoring: %w", err)
	}
	return chart, nil
}

// build is what kustomize makes of a kustomization of deploy/, with a component perhaps.
func build(deploy, resource, component string) ([]*yaml.Node, error) {
	deploy, err := filepath.Abs(deploy)
	if err != nil {
		return nil, err
	}
	// Kustomize knows paths from a kustomization only, and takes no absolute ones.
	dir, err := os.MkdirTemp("", "lintel-chart")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	up, err := filepath.Rel(dir, deploy)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("resources: [%q]\n", filepath.Join(up, resource))
	if component != "" {
		text += fmt.Sprintf("components: [%q]\n", filepath.Join(up, component))
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.DisabledPluginConfig()
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("kustomize: %w", err)
	}
	written, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("kustomize: %w", err)
	}
	var objects []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(written)); ; {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			break
		}
		objects = append(objects, document.Content[0])
	}
	if len(objects) != built.Size() {
		return nil, fmt.Errorf("%d of %d objects can be read", len(objects), built.Size())
	}
	return objects, nil
}

// without are the objects that another build does not have; what both have must be the same in both.
func without(objects, others []*yaml.Node) (rest []*yaml.Node, err error) {
	known := map[string]bool{}
	for _, o := range others {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		known[string(text)] = true
	}
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		if !known[string(text)] {
			rest = append(rest, o)
		}
	}
	if len(rest) != len(objects)-len(others) {
		return nil, fmt.Errorf("the component changes what is there")
	}
	return rest, nil
}

// setting is a line of a file of settings.
type setting struct{ name, value string }

func settings(file string) (list []setting, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%q is no setting", line)
		}
		list = append(list, setting{name, value})
	}
	return list, nil
}

// withSettings puts the defaults into the values.
func withSettings(values []byte, defaults []setting) ([]byte, error) {
	const place = "config: {} # the generator puts deploy/base/config.env here\n"
	var b strings.Builder
	b.WriteString("config:\n")
	for _, s := range defaults {
		fmt.Fprintf(&b, "  %s: %q\n", s.name, s.value)
	}
	if bytes.Count(values, []byte(place)) != 1 {
		return nil, fmt.Errorf("values.yaml has no place for the settings")
	}
	return bytes.Replace(values, []byte(place), []byte(b.String()), 1), nil
}
