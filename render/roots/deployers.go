package roots

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// deployers notes of each folder the files with objects of Argo CD and Flux that may deploy it.
const deployers = "deployer"

// The keys of these notes that are not folders.
const (
	anyFolder   = "\x00any"         // all such files
	anywhere    = "\x00anywhere"    // which folders the file's objects deploy cannot be told from its text
	ofFlux      = "\x00flux"        // there are objects of Flux among them
	substituted = "\x00substituted" // the file's objects replace variables by what others hold
	naming      = "\x00naming "     // and a name: the file's objects read an object of this name; without one: of any
)

// deploymentMarks are the groups of the objects that deploy something.
func deploymentMarks() []string {
	return []string{"argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"}
}

// deployerNotes records which folders the objects of Argo CD and Flux in a file may deploy, and errs on the side of too
// many: every value of a field called path counts, whatever it is the path of.
func deployerNotes(limits doc.Limits) graph.Notes {
	return graph.Notes{Of: deployers, Marks: deploymentMarks(), Read: func(p string, data []byte, note func(string)) {
		documents, err := doc.Parse(p, data, limits)
		if err != nil {
			return // nothing can be read from it later, either
		}
		for _, document := range documents {
			for _, node := range doc.Unlist(document) {
				noteDeployer(p, node, note)
			}
		}
	}}
}

func noteDeployer(file string, n *yaml.Node, note func(string)) {
	kind := doc.Text(n, "kind")
	group, _, _ := strings.Cut(doc.Text(n, "apiVersion"), "/")
	found, unclear := 0, kind == "ApplicationSet"
	switch {
	case group == "argoproj.io" && (kind == "Application" || kind == "ApplicationSet"):
	case group == "kustomize.toolkit.fluxcd.io" && kind == "Kustomization":
		note(ofFlux)
		_, spec := doc.Field(n, "spec")
		_, ref := doc.Field(spec, "sourceRef")
		unclear = doc.Text(ref, "kind") == "ExternalArtifact" // it says which folder of it is one of the repository
	case group == "helm.toolkit.fluxcd.io" && kind == "HelmRelease":
		noteRelease(n, note)
		note(path.Dir(file))
		return
	default:
		return
	}
	note(anyFolder)
	steps := 0
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n = doc.Deref(n); n == nil {
			return
		}
		if steps++; steps > maxDeployerNodes {
			unclear = true
			return
		}
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				switch doc.Key(n.Content[i-1]) {
				case "path":
					found++
					folder, ok := folderOf(doc.Deref(c))
					if ok {
						note(folder)
					}
					unclear = unclear || !ok
				case "chart":
					found++
					note(path.Dir(file))
				case "helm":
					noteValues(n, c, note)
				case "substituteFrom":
					note(substituted)
					noteNames(c, note)
				case "sourceRef":
					noteName(c, note)
				}
			}
			walk(c)
		}
	}
	walk(n)
	if unclear || found == 0 { // without a path, Flux deploys the whole repository
		note(anywhere)
	}
}

// noteRelease records what a HelmRelease reads: it deploys a chart, and what changes that may be the chart's folder,
// its values, or what says where it comes from.
func noteRelease(n *yaml.Node, note func(string)) {
	note(anyFolder)
	note(ofFlux)
	_, spec := doc.Field(n, "spec")
	_, template := doc.Field(spec, "chart")
	_, chart := doc.Field(template, "spec")
	_, from := doc.Field(chart, "sourceRef")
	_, ref := doc.Field(spec, "chartRef")
	_, values := doc.Field(spec, "valuesFrom")
	noteName(from, note)
	noteName(ref, note)
	noteNames(values, note)
	if doc.Text(ref, "kind") == "HelmChart" {
		note(anywhere) // it says where the chart is
	}
	if kind := doc.Text(from, "kind"); kind == "" || kind == "GitRepository" {
		if folder, ok := folderOf(&yaml.Node{Kind: yaml.ScalarNode, Value: doc.Text(chart, "chart")}); ok {
			note(folder)
		}
		for _, file := range append(doc.Items(chart, "valuesFiles"), fieldOf(chart, "valuesFile")) {
			if folder, ok := folderOf(file); ok {
				note(path.Dir(folder))
			}
		}
	}
}

func fieldOf(n *yaml.Node, name string) *yaml.Node {
	_, v := doc.Field(n, name)
	return v
}

// noteName records the name of an object that is referred to.
func noteName(ref *yaml.Node, note func(string)) {
	if name := doc.Text(ref, "name"); name != "" {
		note(naming)
		note(naming + name)
	}
}

// noteNames is noteName for a list.
func noteNames(list *yaml.Node, note func(string)) {
	if list = doc.Deref(list); list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	for _, ref := range list.Content {
		noteName(doc.Deref(ref), note)
	}
}

// noteValues records the folders of the files of values that a source of Argo CD reads.
func noteValues(n, helm *yaml.Node, note func(string)) {
	helm = doc.Deref(helm)
	files := doc.Items(helm, "valueFiles")
	for _, parameter := range doc.Items(helm, "fileParameters") {
		files = append(files, fieldOf(doc.Deref(parameter), "path"))
	}
	for _, file := range files {
		if file = doc.Deref(file); file == nil || file.Kind != yaml.ScalarNode {
			continue
		}
		name := file.Value
		if _, inside, ok := strings.Cut(name, "/"); ok && strings.HasPrefix(name, "$") {
			name = inside
		} else if !strings.HasPrefix(name, "/") {
			name = path.Join(doc.Text(n, "path"), name)
		}
		folder, wild, _ := strings.Cut(name, "*")
		if wild != "" {
			folder += "x"
		}
		if folder, ok := folderOf(&yaml.Node{Kind: yaml.ScalarNode, Value: path.Dir(folder)}); ok {
			note(folder)
		} else {
			note(anywhere) // it has a variable
		}
	}
}

// fluxSources notes of each kind of Flux' sources the files with objects of it: whoever refers to one mentions the kind,
// too, and these are many.
const fluxSources = "source"

func sourceNotes(limits doc.Limits) graph.Notes {
	return graph.Notes{Of: fluxSources, Marks: []string{"fluxcd.io/"}, Read: func(p string, data []byte,
		note func(string)) {
		documents, err := doc.Parse(p, data, limits)
		if err != nil {
			return // nothing can be read from it later, either
		}
		for _, document := range documents {
			for _, node := range doc.Unlist(document) {
				if group, _, ok := strings.Cut(doc.Text(node, "apiVersion"), "/"); ok &&
					strings.HasSuffix(group, "fluxcd.io") {
					note(doc.Text(node, "kind"))
				}
			}
		}
	}}
}

// maxDeployerNodes is how many nodes of an object, aliases counted each time, are looked at.
const maxDeployerNodes = 20_000

// folderOf returns the folder that the value of a path field names, and false where it takes more than that to know.
func folderOf(n *yaml.Node) (string, bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!binary" ||
		strings.Contains(n.Value, "{{") || strings.Contains(n.Value, "$") {
		return "", false
	}
	folder, ok := tree.Clean(strings.TrimLeft(path.Clean("/"+n.Value), "/"))
	return cmp.Or(folder, "."), ok
}

// deployer reports whether a file has such objects.
func (s *Set) deployer(p string) bool { return s.HasNote(deployers, anyFolder, p) }

// deployersOf lists the files with objects that may deploy one of the given folders, those whose folders cannot be told
// from their text included. All of them are listed where no folder is given. Some may be no manifests (see Manifest).
func (s *Set) deployersOf(folders ...string) []string {
	if len(folders) == 0 {
		return s.Noted(deployers, anyFolder)
	}
	keys := append([]string{anywhere}, folders...)
	for _, l := range s.links() {
		for _, dir := range folders {
			if rest, below := strings.CutPrefix(dir, l.real); below && (rest == "" || rest[0] == '/') {
				keys = append(keys, l.path+rest)
			}
		}
	}
	return s.Noted(deployers, keys...)
}

// deployersBelow lists the files with objects that deploy and that one of some changed kustomizations takes over,
// directly or not: it may be what brings them to a cluster.
func (s *Set) deployersBelow(changed []string) (files []string) {
	var dirs []string
	for _, p := range changed {
		if kustomization.IsFileName(p) {
			dirs = append(dirs, path.Dir(p))
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	for _, dir := range dirs {
		files = append(files, s.deployersBy()[dir]...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// findDeployersBy finds, by folder, the files with objects that deploy and that the folder's kustomization takes over,
// directly or not.
func (s *Set) findDeployersBy() map[string][]string {
	files := map[string][]string{}
	for _, p := range s.Noted(deployers, anyFolder) {
		taking := map[string]bool{}
		for _, dir := range s.Taking(p) {
			taking[dir] = true
		}
		for _, up := range s.Above(taking) {
			files[up] = append(files[up], p)
		}
	}
	return files
}
