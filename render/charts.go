package render

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// charts are those that were loaded, by what they were loaded from: templates are parsed once for both sides of a change.
// It is safe for concurrent use; the zero value is ready.
type charts struct {
	mu     sync.Mutex
	loaded map[string]*loadedChart
}

type loadedChart struct {
	once  sync.Once
	chart *helm.Chart
	err   error
}

// maxCharts is how many charts are kept.
const maxCharts = 64

// load loads a chart once for a key. What keeps it from being loaded is kept, too, where it is the chart's own mistake.
func (c *charts) load(key string, load func() (*helm.Chart, error)) (*helm.Chart, error) {
	if c == nil {
		return load()
	}
	c.mu.Lock()
	if c.loaded == nil || len(c.loaded) >= maxCharts && c.loaded[key] == nil {
		c.loaded = map[string]*loadedChart{}
	}
	one := c.loaded[key]
	if one == nil {
		one = &loadedChart{}
		c.loaded[key] = one
	}
	c.mu.Unlock()
	one.once.Do(func() { one.chart, one.err = load() })
	if wrong := (*helm.Error)(nil); one.err != nil && !errors.As(one.err, &wrong) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.loaded[key] == one {
			delete(c.loaded, key)
		}
	}
	return one.chart, one.err
}

// chartFolder is where the files of a chart are.
type chartFolder struct {
	tree *tree.Tree
	dir  string
	here bool // tree is the repository
	// packed means that the chart was one file, in which .helmignore means nothing.
	packed bool
	from   *remote.Source // what it came with; nil: the repository
	// instead has other contents of files of the repository, by path; nil: the file is not there.
	instead map[string][]byte
}

// file returns where a file of the chart is: in this repository, or see origin.Link.
func (f chartFolder) file(name string) string {
	name = path.Join(f.dir, name)
	if f.from == nil {
		return name
	}
	return addressOf(f.from, name)
}

// maxChartFiles and maxChartBytes bound what is read of a chart's folder before Helm's own limits count.
const (
	maxChartFiles = 10_000
	maxChartBytes = 100 << 20
)

// files reads the files below a folder, symlinks followed.
func (f chartFolder) files() (list []helm.File, err error) {
	bytes, folders := 0, 0
	seen := map[string]bool{}
	var walk func(dir, name string, depth int) error
	walk = func(dir, name string, depth int) error {
		entries, err := f.tree.ReadDir(dir)
		if err != nil {
			return err
		}
		if folders++; depth > 64 || folders > maxChartFiles { // links may lead back
			return &helm.Error{Cause: helm.CauseLimit, Message: fmt.Sprintf("the chart has more than %d folders, or "+
				"folders nested more than 64 deep", maxChartFiles)}
		}
		for _, e := range entries {
			at, inside := path.Join(dir, e.Name), path.Join(name, e.Name)
			if e.Kind == tree.Symlink {
				real, to, err := f.tree.Lookup(at)
				if errors.Is(err, tree.ErrNotExist) {
					return &helm.Error{Cause: helm.CauseInvalid, File: inside, Message: "is a symlink whose target " +
						"does not exist"}
				}
				if err != nil {
					return err
				}
				at, e = real, to
			}
			switch e.Kind {
			case tree.Dir:
				if err := walk(at, inside, depth+1); err != nil {
					return err
				}
			case tree.File:
				data, _, err := f.tree.ReadFile(at)
				var large *tree.TooLargeError
				if errors.As(err, &large) {
					return &helm.Error{Cause: helm.CauseLimit, File: inside, Message: large.Error()}
				}
				if err != nil {
					return err
				}
				if other, ok := f.instead[at]; ok {
					if seen[at] = true; other == nil {
						continue
					}
					data = other
				}
				if bytes += len(data); bytes > maxChartBytes || len(list) >= maxChartFiles {
					return &helm.Error{Cause: helm.CauseLimit, Message: fmt.Sprintf("the chart has more than %d MiB or %d files",
						maxChartBytes>>20, maxChartFiles)}
				}
				list = append(list, helm.File{Name: inside, Data: data})
			}
		}
		return nil
	}
	if err := walk(f.dir, "", 0); err != nil {
		return nil, err
	}
	for at, data := range f.instead {
		inside, ok := at, f.dir == "."
		if !ok {
			inside, ok = strings.CutPrefix(at, f.dir+"/")
		}
		if ok && !seen[at] && data != nil {
			list = append(list, helm.File{Name: inside, Data: data})
		}
	}
	return list, nil
}

// chartReader loads the charts of one release and notes what it read.
type chartReader struct {
	builder *builder
	out     *Rendering
	at      gitops.Position             // what asks for the first of them: see asked
	homes   map[*helm.Chart]chartFolder // where those are that were loaded

	whole map[string]*helm.Chart // with what they depend on, by key
	sizes map[string]int         // of these: how many charts each of them is
	open  map[string]bool        // those that are being completed
}

// maxCharted is of how many charts one may be that were not packed in it, counted each time.
const maxCharted = 500

// chart loads the chart of a folder with what it depends on. defaults take the place of its values.yaml; nil: they do not.
func (c *chartReader) chart(f chartFolder, defaults []byte) (*helm.Chart, error) {
	chart, _, err := c.load(f, defaults)
	return chart, err
}

// load is chart; it also returns how many charts it is.
func (c *chartReader) load(f chartFolder, defaults []byte) (*helm.Chart, int, error) {
	real, e, err := f.tree.Lookup(f.dir)
	if err != nil {
		return nil, 0, err
	}
	links, err := tree.Links(f.tree, f.dir)
	if err != nil {
		return nil, 0, err
	}
	if f.here {
		c.reads(f.dir, real, e)
		for _, l := range links {
			if l.Real != "" {
				c.reads(l.Path, l.Real, l.Entry)
			}
		}
	}
	key := fmt.Sprint(e.State(links), f.packed, f.tree.BlobLimit())
	place := fmt.Sprintf("%t %p %s %s", f.here, f.from, real, key) // dependencies are looked for beside it
	switch {
	case c.open[place]:
		return nil, 0, &helm.Error{Cause: helm.CauseInvalid, Message: "depends on itself, through " + f.file("Chart.yaml")}
	case c.whole[place] != nil && defaults == nil:
		return c.whole[place], c.sizes[place], nil
	case c.whole == nil:
		c.whole, c.sizes, c.open = map[string]*helm.Chart{}, map[string]int{}, map[string]bool{}
	}
	c.open[place] = true
	defer delete(c.open, place)
	var charts *charts
	if c.builder.cache != nil && defaults == nil && f.instead == nil {
		charts = &c.builder.cache.charts
	}
	chart, err := charts.load(key, func() (*helm.Chart, error) {
		list, err := f.files()
		if err != nil {
			return nil, err
		}
		if defaults != nil {
			list = withDefaults(list, defaults)
		}
		if f.packed {
			return helm.LoadPackage(list, helm.Limits{})
		}
		return helm.Load(list, helm.Limits{})
	})
	if err != nil {
		return nil, 0, err
	}
	if c.homes == nil {
		c.homes = map[*helm.Chart]chartFolder{}
	}
	if _, known := c.homes[chart]; !known {
		c.homes[chart] = f
	}
	chart, size, err := c.complete(f, chart)
	if err == nil && defaults == nil {
		c.whole[place], c.sizes[place] = chart, size
	}
	return chart, size, err
}

// reads notes that something of this repository was read, by which path.
func (c *chartReader) reads(p, real string, e tree.Entry) {
	if e.Kind == tree.Dir {
		c.out.Reads[real+"/"] = e.ID
	} else {
		c.out.Reads[real] = e.ID
	}
	if real != p {
		c.out.links[p] = real
	}
}

// withDefaults puts another values.yaml in a chart.
func withDefaults(list []helm.File, defaults []byte) []helm.File {
	out := []helm.File{{Name: "values.yaml", Data: defaults}}
	for _, file := range list {
		if file.Name != "values.yaml" {
			out = append(out, file)
		}
	}
	return out
}

// sourceError is the error of a remote source that is not there.
type sourceError struct {
	want remote.Want
	at   gitops.Position // that asks for it; no path: what the error is about does
	err  error
}

func (e *sourceError) Error() string {
	if errors.Is(e.err, remote.ErrWanted) {
		return e.want.String() + " has not been fetched"
	}
	return e.want.String() + ": " + e.err.Error()
}

func (e *sourceError) Unwrap() error { return e.err }

// tell says in a problem, behind the words of its message, that the source is not there.
func (e *sourceError) tell(out *doc.Error) {
	out.Message, out.Unknown = out.Message+e.Error(), e.unknown()
	if out.Unknown {
		out.Missing, out.Reason = e.want.String(), e.err.Error()
	}
}

// unknown reports whether only the operator, or the cluster, can tell what is there.
func (e *sourceError) unknown() bool {
	var f *remote.Failure
	return !errors.As(e.err, &f) || !f.Broken
}
