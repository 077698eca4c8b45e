package deploy

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
)

// writtenObject is an object of a file that deploys something, or that such objects read.
type writtenObject struct {
	Head  gitops.Head `json:"head"`
	Nth   int         `json:"nth"`             // among all objects of the file
	Local bool        `json:"local,omitempty"` // see roots.IsLocalConfig
}

var writtenTable = env.Table{Name: "written"}

// inFile returns the objects of a file that deploy something, or that such objects read, and that have one of some names;
// nil: any. The file is parsed when more than the head of an object is needed.
func (w *worklist) inFile(p string, names []string) []gitops.Object {
	list, read := w.read.Load(p)
	if !read {
		objects, ok := w.readFile(p, names)
		if !ok {
			return nil
		}
		list, _ = w.read.LoadOrStore(p, objects)
	}
	return slices.DeleteFunc(slices.Clone(list.([]gitops.Object)), func(o gitops.Object) bool {
		return len(names) > 0 && !slices.Contains(names, o.Name)
	})
}

// readFile returns the objects of a file; false where the file cannot be read, or contains none of some names.
func (w *worklist) readFile(p string, names []string) (list []gitops.Object, ok bool) {
	_, e, err := w.index.Tree().Lookup(p)
	if err != nil {
		return nil, false // another check reports the file
	}
	parse := sync.OnceValue(func() (nodes []*yaml.Node) {
		data, _, _ := w.index.Tree().ReadFile(p)
		documents, _ := doc.Parse(p, data, w.limits.Source) // the root of the file reports syntax errors
		for _, document := range documents {
			nodes = append(nodes, doc.Unlist(document)...)
		}
		return nodes
	})
	memory, key := w.cache.Memory(), fmt.Sprint(p, " ", e.ID, " ", w.limits.Source)
	objects, known := env.Get[[]writtenObject](memory, writtenTable, key, nil)
	if !known {
		if data, _, err := w.index.Tree().ReadFile(p); err != nil || graph.IsPlain(data) && !holdsAny(data, names) {
			return nil, false
		}
		deploying, context := gitops.Kinds()
		for nth, node := range parse() {
			if kind := doc.Text(node, "kind"); slices.Contains(deploying, kind) || slices.Contains(context, kind) {
				objects = append(objects, writtenObject{gitops.FromNode(p, node).Head, nth, roots.IsLocalConfig(node)})
			}
		}
		env.Put(memory, writtenTable, key, nil, objects)
	}
	for _, o := range objects {
		if !o.Local || !w.index.Deploying.DropsLocalConfig(p) {
			read := func() gitops.Object {
				if nodes := parse(); o.Nth < len(nodes) {
					return gitops.FromNode(p, nodes[o.Nth])
				}
				return gitops.FromNode(p, nil) // the file could not be read, which fails the check
			}
			list = append(list, gitops.Later(o.Head, read).Identified(fmt.Sprint(key, " ", o.Nth)))
		}
	}
	return list, true
}

// holdsAny reports whether a text contains one of some names, or there are no names.
func holdsAny(data []byte, names []string) bool {
	holds := func(name string) bool { return bytes.Contains(data, []byte(name)) }
	return len(names) == 0 || slices.ContainsFunc(names, holds)
}

func (w *worklist) deployments(objects []gitops.Object, several func(gitops.Object)) ([]gitops.Deployment, []gitops.Problem) {
	return gitops.Deployments(objects, gitops.Options{Tree: w.index.Tree(), Repo: w.repo, Limits: w.limits, Memory: w.cache.Memory(),
		BlobLimit: w.index.Tree().BlobLimit(), Links: len(w.index.Links()) > 0, Several: several})
}
