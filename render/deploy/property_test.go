package deploy_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// A fleet is a random repository of Flux with several clusters. Each deploys some folders as they are, through an overlay
// or with edits of its own, and the folders have Kustomizations of further folders.
type fleet struct {
	files   strings.Builder
	folders []folder
	want    []string // CLUSTER deploys FOLDER
}

// folder is a folder with a kustomization. Its children are the Kustomizations in it, with the folders that they deploy.
type folder struct {
	path     string
	children map[string]string
}

func (f *fleet) write(name, text string) { fmt.Fprintf(&f.files, "-- %s --\n%s", name, text) }

func fluxObject(name, dir, more string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\n" +
		"spec:\n  path: ./" + dir + "\n  sourceRef: {kind: GitRepository, name: flux-system}\n" + more
}

// patched is a patch of the path of a Kustomization, below a key.
func patched(name, dir string) string {
	return "patches:\n- patch: |\n    apiVersion: kustomize.toolkit.fluxcd.io/v1\n    kind: Kustomization\n" +
		"    metadata: {name: " + name + ", namespace: flux-system}\n    spec: {path: ./" + dir + "}\n"
}

func newFleet(random *rand.Rand) *fleet {
	f := &fleet{}
	var leaves []string
	for i := range 6 {
		dir := fmt.Sprintf("leaf/%c", 'a'+i)
		leaves = append(leaves, dir)
		f.write(dir+"/c.yaml", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}\n", i))
		f.write(dir+"/kustomization.yaml", "resources: [c.yaml]\n")
		f.folders = append(f.folders, folder{path: dir})
	}
	leaf := func() string { // or a folder with Kustomizations, made before
		if i := random.IntN(len(f.folders)); random.IntN(3) == 0 {
			return f.folders[i].path
		}
		return leaves[random.IntN(len(leaves))]
	}
	for i := range 3 { // a base with children, and its overlays
		base := folder{path: fmt.Sprintf("mid/%c/base", 'a'+i), children: map[string]string{}}
		list := ""
		for k := range 1 + random.IntN(2) {
			name := fmt.Sprintf("child-%c-%d", 'a'+i, k)
			base.children[name] = leaf()
			f.write(path.Join(base.path, name+".yaml"), fluxObject(name, base.children[name], ""))
			list += "- " + name + ".yaml\n"
		}
		f.write(base.path+"/kustomization.yaml", "resources:\n"+list)
		f.folders = append(f.folders, base)
		for k := range random.IntN(3) {
			over := folder{path: fmt.Sprintf("mid/%c/over%d", 'a'+i, k), children: map[string]string{}}
			text := "resources: [../base]\n"
			for name, dir := range base.children {
				over.children[name] = dir
			}
			if name := fmt.Sprintf("child-%c-0", 'a'+i); random.IntN(3) > 0 {
				over.children[name] = leaf()
				text += patched(name, over.children[name])
			}
			f.write(over.path+"/kustomization.yaml", text)
			f.folders = append(f.folders, over)
		}
	}
	for c := range 3 {
		f.cluster(random, fmt.Sprintf("clusters/c%d", c), leaf)
	}
	bare := f.folders[random.IntN(len(f.folders))] // the folder of a cluster elsewhere, which no object deploys
	f.write("bare/kustomization.yaml", "resources: [../"+bare.path+"]\n")
	for _, dir := range bare.children {
		f.sends("", f.folder(dir))
	}
	slices.Sort(f.want)
	f.want = slices.Compact(f.want)
	return f
}

func (f *fleet) folder(dir string) folder {
	return f.folders[slices.IndexFunc(f.folders, func(other folder) bool { return other.path == dir })]
}

// cluster adds a cluster that deploys some folders.
func (f *fleet) cluster(random *rand.Rand, cluster string, leaf func() string) {
	f.write(cluster+"/flux-system.yaml", fluxObject("flux-system", cluster, ""))
	for k := range 1 + random.IntN(3) {
		sent := f.folders[random.IntN(len(f.folders))]
		children, more := map[string]string{}, ""
		for name, dir := range sent.children {
			children[name] = dir
		}
		switch random.IntN(4) {
		case 0:
			for name := range children {
				children[name] = leaf()
				more = strings.ReplaceAll("\n"+patched(name, children[name]), "\n", "\n  ")
				more = strings.TrimPrefix(strings.TrimRight(more, " "), "\n")
				break
			}
		case 1:
			more = "  commonMetadata: {labels: {of: c}}\n"
		}
		f.write(fmt.Sprintf("%s/k%d.yaml", cluster, k), fluxObject(fmt.Sprintf("k%d-%s", k, strings.ReplaceAll(sent.path, "/", "-")), sent.path, more))
		f.sends(cluster, folder{sent.path, children})
	}
}

// sends notes that a cluster deploys a folder, and what its Kustomizations deploy.
func (f *fleet) sends(cluster string, sent folder) {
	f.want = append(f.want, cluster+" deploys "+sent.path)
	for _, dir := range sent.children {
		f.sends(cluster, f.folder(dir))
	}
}

// Each cluster deploys what its objects send to it: no other cluster's edit of a folder hides that.
func TestEachClusterDeploysItsOwnVersion(t *testing.T) {
	for seed := range uint64(40) {
		f := newFleet(rand.New(rand.NewPCG(seed, 1)))
		repo := treetest.New(t)
		set := open(t, repo.Tree(repo.Commit(f.files.String())))
		var got []string
		for _, l := range set.List() {
			if strings.HasPrefix(l.Path, "clusters/") {
				continue
			}
			for _, c := range set.Placement(l.Root).Clusters {
				if one := c.Name + " deploys " + l.Path; c.Name != "" || slices.Contains(f.want, one) { // other overlays may be for clusters elsewhere, too
					got = append(got, one)
				}
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, f.want) {
			missing := slices.DeleteFunc(slices.Clone(f.want), func(s string) bool { return slices.Contains(got, s) })
			extra := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return slices.Contains(f.want, s) })
			t.Errorf("seed %d: missing %q, extra %q", seed, missing, extra)
		}
	}
}
