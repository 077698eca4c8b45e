package roots

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// deployers are notes about files with objects of Argo CD and Flux. The key anyFolder has files with objects that
// deploy something, ofFlux those of them with objects of Flux. Other keys are kinds of Flux sources; mentions of a kind
// would also find the many objects that refer to it. The key Secret has files with the label of Secrets that declare
// clusters to Argo CD: manifests, kustomizations, and files of charts.
const deployers = "deployer"

// Keys that are not kinds.
const (
	anyFolder = "\x00any"
	ofFlux    = "\x00flux"
	anyGroup  = "\x00group" // the text contains an API group of objects that deploy, but no such object: it may be a template
)

// deployerGroup matches the API groups of objects that deploy something, as a value or in a template. A version must
// follow, or what may become one, because annotations and descriptions contain these names, too.
var deployerGroup = regexp.MustCompile("(?m)(?:^\\s*[\"']?|[:=]\\s*[\"'`]?|\\}\\}|\\{\\{[^}\n]*[\"'`])" +
	`(?:argoproj|(?:kustomize|helm)\.toolkit\.fluxcd)\.io/(?:v|[^\w-]|$)`)

// NamesDeployers reports whether a text contains one of these groups. A template may compose the kind.
func NamesDeployers(text []byte) bool {
	return (bytes.Contains(text, []byte("argoproj.io/")) || bytes.Contains(text, []byte("toolkit.fluxcd.io/"))) && deployerGroup.Match(text)
}

// Deploying finds the files with objects of Argo CD and Flux that deploy something.
type Deploying struct {
	// Files lists the files with objects that deploy something, sorted. Some may not be manifests (see Manifest). Do not
	// change the list.
	Files func() []string
	// Linked lists the paths through symlinks that lead to files with objects that may deploy something.
	Linked func() []string

	index    *Index
	shaping  env.Memo[string, [2][]Root] // by path: results of Shaping
	printing func() printing
	variable func() []*regexp.Regexp
}

func newDeploying(x *Index) *Deploying {
	d := &Deploying{index: x}
	d.Files = sync.OnceValue(func() []string { return x.Noted(deployers, anyFolder) })
	d.Linked, d.variable = sync.OnceValue(d.findLinked), sync.OnceValue(d.findVariablePaths)
	d.printing = sync.OnceValue(d.findPrinting)
	return d
}

func deployerNotes(limits doc.Limits) graph.Notes {
	return graph.Notes{Of: deployers, Marks: []string{"argoproj.io/", "fluxcd.io/"}, Built: true, Read: func(p string, data []byte,
		note func(string)) {
		text := graph.Plain(p, data, limits)
		if bytes.Contains(text, []byte(gitops.ClusterSecret)) {
			note("Secret")
		}
		if kustomization.IsFileName(p) {
			return
		}
		documents, _ := doc.Parse(p, data, limits) // the documents before the first that cannot be read
		deploys := false
		for node := range doc.Objects(documents) {
			deploys = noteDeployer(node, note) || deploys
		}
		if !deploys && NamesDeployers(text) {
			note(anyGroup)
		}
	}}
}

// noteDeployer notes an object of Argo CD or Flux. It reports whether the object deploys something.
func noteDeployer(n *yaml.Node, note func(string)) bool {
	kind := doc.Text(n, "kind")
	group, _, _ := strings.Cut(doc.Text(n, "apiVersion"), "/")
	deploys, flux := gitops.Deploys(group, kind), strings.HasSuffix(group, "fluxcd.io")
	switch {
	case deploys && flux:
		note(ofFlux)
		fallthrough
	case deploys:
		note(anyFolder)
	case flux:
		note(kind)
	}
	return deploys
}

// Has reports whether a file has objects that deploy something.
func (d *Deploying) Has(p string) bool { return d.index.HasNote(deployers, anyFolder, p) }

// Sources lists the files with Flux sources of a kind, or for Secret those that may declare clusters to Argo CD, sorted.
func (d *Deploying) Sources(kind string) []string { return d.index.Noted(deployers, kind) }

// Any reports whether the tree, or the options, may have objects that deploy something.
func (d *Deploying) Any() bool {
	return len(d.index.options.Charts) > 0 || len(d.Files()) > 0 || len(d.index.Odd()) > 0 || len(d.Linked()) > 0 ||
		len(d.Charts()) > 0 || len(d.printing().inflating) > 0
}

func (d *Deploying) findLinked() (list []string) {
	notes := deployerNotes(d.index.options.Limits)
	for _, l := range d.index.Links() {
		real, e, err := d.index.Tree().Lookup(l)
		if err != nil {
			continue
		}
		paths := []string{l}
		if e.Kind == tree.Dir {
			if paths = nil; real != "." && !strings.HasPrefix(l, real+"/") {
				filesBelow(d.index.Tree(), l, &paths)
			}
		}
		for _, p := range paths {
			at, _, err := d.index.Tree().Lookup(p)
			if err != nil || !graph.IsManifestName(p) {
				continue
			}
			deploys := d.Has(at)
			if !graph.IsManifestName(at) || hidden(at) {
				data, _, _ := d.index.Tree().ReadFile(p) // what cannot be read has no objects
				notes.Read(p, data, func(key string) { deploys = deploys || key == anyFolder })
			}
			if deploys {
				list = append(list, p)
			}
		}
	}
	return list
}

// Including returns the folders whose kustomization includes a file with objects that deploy something, directly or
// not.
func (d *Deploying) Including() map[string]bool {
	taking := slices.Clone(d.printing().inflating)
	for _, p := range d.Files() {
		taking = append(taking, d.index.IncludedBy(p)...)
	}
	return setOf(d.index.Ancestors(taking...))
}

// Matches reports whether a glob matches a file with objects of Argo CD or Flux.
func (d *Deploying) Matches(glob string) bool {
	re, err := Glob(glob)
	return err == nil && slices.ContainsFunc(d.Files(), re.MatchString)
}

// IsLocalConfig reports whether kustomizations leave an object out, because it has an annotation of kustomize with any
// value (https://kubectl.docs.kubernetes.io/references/kustomize).
func IsLocalConfig(object *yaml.Node) bool {
	_, metadata := doc.Field(object, "metadata")
	_, has := texts(metadata, "annotations")["config.kubernetes.io/local-config"]
	return has
}

// DropsLocalConfig reports whether kustomizations include a file, and so leave out its objects that IsLocalConfig is true
// for.
func (d *Deploying) DropsLocalConfig(p string) bool {
	return slices.ContainsFunc(d.index.IncludedBy(p), d.index.IsLive)
}

// IsValuesSource reports whether objects of a kind contain values for other objects, or make Secrets that do.
func IsValuesSource(kind string) bool {
	return graph.Generators[kind] != "" || slices.Contains(gitops.Declaring(), kind)
}

// Generating lists the roots with a kustomization that may generate a ConfigMap or Secret with one of some names.
func (d *Deploying) Generating(kind string, names []string) []Root {
	var dirs []string
	for _, p := range d.index.Mentions(kind) {
		if !kustomization.IsFileName(p) {
			continue
		}
		dir := path.Dir(p)
		f, err := d.index.Kustomization(dir)
		if f == nil || err != nil {
			continue
		}
		for _, item := range doc.Items(f.Node, graph.Generators[kind]) {
			// The requested name may end with a hash, or have a prefix or suffix of an overlay.
			own := doc.Text(item, "name")
			if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, own) }) {
				dirs = append(dirs, dir)
			}
		}
	}
	return d.index.rootsOver(dirs)
}

// printing has the charts whose files contain an API group of objects that deploy something, so that they may print
// such objects.
type printing struct {
	charts    []Root   // not inside another chart, and not rendered by a live kustomization
	inflating []string // folders whose kustomization renders one of these charts
}

// Charts lists the charts that may print objects of Argo CD and Flux that deploy something, sorted. Such objects may
// also deploy the charts.
func (d *Deploying) Charts() []Root { return d.printing().charts }

// findPrinting searches the texts of charts, without rendering them.
func (d *Deploying) findPrinting() (out printing) {
	x, dirs := d.index, map[string]bool{}
	for _, p := range x.Noted(deployers, anyFolder, anyGroup) {
		for _, dir := range Upwards(path.Dir(p)) {
			first, _, below := strings.Cut(strings.TrimPrefix(p, dir+"/"), "/")
			if (!below || slices.Contains(ownFolders, first)) && x.HasChart(dir) {
				dirs[dir] = true
			}
		}
	}
	for dir := range dirs {
		out.inflating = append(out.inflating, x.InflatedBy(dir)...)
	}
	slices.Sort(out.inflating)
	for _, dir := range charts(x, slices.Collect(maps.Keys(dirs))) {
		out.charts = append(out.charts, Root{Path: dir, Kind: Chart})
	}
	out.charts = x.Chosen(out.charts)
	return out
}

// variable matches a variable of Flux in a path
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
var variable = regexp.MustCompile(`\$\{[^{}]*\}`)

// MayDeploy reports whether a Kustomization of Flux may deploy the folder of a root, because its path has variables
// that only the cluster substitutes. With which patches and in which namespace is not known then.
func (d *Deploying) MayDeploy(root Root) bool {
	return matchesAny(d.variable(), root.Path)
}

func (d *Deploying) findVariablePaths() (list []*regexp.Regexp) {
	for _, p := range d.Files() {
		data, _, err := d.index.Tree().ReadFile(p)
		if err != nil || !strings.Contains(string(data), "${") {
			continue
		}
		documents, err := doc.Parse(p, data, d.index.options.Limits)
		if err != nil {
			continue
		}
		for node := range doc.Objects(documents) {
			group, _, _ := strings.Cut(doc.Text(node, "apiVersion"), "/")
			_, spec := doc.Field(node, "spec")
			if folder := variableFolder(doc.Text(spec, "path")); folder != nil && group == "kustomize.toolkit.fluxcd.io" {
				list = append(list, folder)
			}
		}
	}
	return list
}

// maxVariablePath limits the length in bytes of a path with variables.
const maxVariablePath = 4096

// variableFolder returns an expression for the folders that a path with variables may be; nil where it has none.
func variableFolder(dir string) *regexp.Regexp {
	const mark = "\x00"
	if len(dir) > maxVariablePath || !variable.MatchString(dir) {
		return nil
	}
	plain := strings.TrimLeft(path.Clean("/"+variable.ReplaceAllString(dir, mark)), "/")
	folder, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(plain), mark, ".*") + "$")
	if err != nil {
		return nil
	}
	return folder
}

// shaping are the fields of a kustomization that change the content of its resources. The name counts, because Argo CD
// reads parameter files by the name of an Application.
var shaping = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "transformers", "vars",
	"configurations", "components", "namePrefix", "nameSuffix"}

// Shapes reports whether the kustomization of a folder changes the content of its resources. more are names of further
// fields that count.
func (d *Deploying) Shapes(dir string, more ...string) bool {
	f, err := d.index.Kustomization(dir)
	return f != nil && err == nil && (slices.Contains(d.index.Odd(), dir) || hasAny(f, append(more, shaping...)...))
}

// hasAny reports whether a kustomization has one of some fields.
func hasAny(f *kustomization.File, fields ...string) bool {
	return slices.ContainsFunc(fields, func(name string) bool {
		_, v := doc.Field(f.Node, name)
		return v != nil
	})
}

// Shaping lists the roots that change the content of a file. If there are any, plain lists the roots that include it
// unchanged.
func (d *Deploying) Shaping(p string) (shaping, plain []Root) {
	list := d.shaping.Get(p, func() [2][]Root { return d.findShaping(p) })
	return slices.Clip(list[0]), slices.Clip(list[1])
}

func (d *Deploying) findShaping(p string) (none [2][]Root) {
	taking := slices.DeleteFunc(d.index.IncludedBy(p), func(dir string) bool { return !d.index.IsLive(dir) })
	var more []string
	if d.index.MentionsIn(p, "HelmRelease") { // its chart is rendered for its namespace
		more = []string{"namespace"}
	}
	unchanged := func(dir string) bool { return !d.Shapes(dir, more...) }
	shaping := d.index.rootsOver(slices.DeleteFunc(d.index.Ancestors(taking...), unchanged))
	if len(shaping) == 0 {
		return none
	}
	return [2][]Root{shaping, slices.DeleteFunc(d.index.rootsOver(taking), func(r Root) bool { return slices.Contains(shaping, r) })}
}

// OddRoots lists the roots whose objects may have kinds that no manifest contains: patches change them (see
// graph.Graph.Odd), or a chart prints them.
func (d *Deploying) OddRoots() []Root {
	return d.index.rootsOver(append(d.index.Odd(), d.printing().inflating...))
}

// rootsOver lists the kustomizations that are roots and are or include one of some folders.
func (x *Index) rootsOver(dirs []string) (list []Root) {
	for _, dir := range x.TopLevel(dirs, x.Selects) {
		list = append(list, Root{Path: dir})
	}
	return list
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}
