package render

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// charts caches loaded charts by the content that they were loaded from, so that templates are parsed once for base and
// head. It is safe for concurrent use; the zero value is ready.
type charts struct {
	mu     sync.Mutex
	loaded map[string]func() (*helm.Chart, error)
}

// maxCharts is how many charts are cached.
const maxCharts = 64

// load loads a chart once for a key. An error is cached, too, if the chart itself is wrong.
func (c *charts) load(key string, load func() (*helm.Chart, error)) (*helm.Chart, error) {
	if c == nil {
		return load()
	}
	c.mu.Lock()
	if c.loaded == nil || len(c.loaded) >= maxCharts && c.loaded[key] == nil {
		c.loaded = map[string]func() (*helm.Chart, error){}
	}
	if c.loaded[key] == nil {
		c.loaded[key] = sync.OnceValues(load)
	}
	once := c.loaded[key]
	c.mu.Unlock()
	chart, err := once()
	if wrong := (*helm.Error)(nil); err != nil && !errors.As(err, &wrong) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.loaded, key)
	}
	return chart, err
}

// chartFolder is the folder that holds the files of a chart.
type chartFolder struct {
	tree *tree.Tree
	dir  string
	here bool // tree is the repository
	// packed means that the chart was one file, in which .helmignore means nothing.
	packed bool
	from   *remote.Source // the fetched source that contains the chart; nil: the repository
	// instead has other contents of files of the repository, by path; nil: the file does not exist.
	instead map[string][]byte
}

// file returns the path of a file of the chart in this repository, or its address in a remote source: see origin.Link.
func (f chartFolder) file(name string) string {
	name = path.Join(f.dir, name)
	if f.from == nil {
		return name
	}
	return addressOf(f.from, name)
}

// maxChartFiles and maxChartBytes limit what is read from a chart's folder, before Helm's own limits apply.
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
		if folders++; depth > 64 || folders > maxChartFiles { // symlinks may lead back to a parent folder
			return &helm.Error{Cause: helm.CauseLimit, Message: fmt.Sprintf("the chart has more than %d folders, or "+
				"folders nested more than 64 deep", maxChartFiles)}
		}
		for _, e := range entries {
			at, inside := path.Join(dir, e.Name), path.Join(name, e.Name)
			if e.Kind == tree.Symlink {
				if _, left := f.instead[at]; left { // what the source of a chart leaves out
					continue
				}
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
				if large, ok := errors.AsType[*tree.TooLargeError](err); ok {
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
	at      gitops.Position             // what asks for the chart: see asked
	homes   map[*helm.Chart]chartFolder // the folders of the loaded charts

	whole map[string]*helm.Chart // charts with their dependencies, by key
	sizes map[string]int         // how many charts each of them consists of
	open  map[string]bool        // charts whose dependencies are being loaded
}

// maxCharted is how many charts one chart may consist of, counted each time. Charts that are packed in it do not count.
const maxCharted = 500

// chart loads the chart of a folder with its dependencies. defaults replace its values.yaml; nil: they do not.
func (c *chartReader) chart(f chartFolder, defaults []byte) (*helm.Chart, error) {
	chart, _, err := c.load(f, defaults)
	return chart, err
}

// load is like chart, but also returns how many charts the result consists of.
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
		noteRead(c.out.Reads, c.out.links, f.dir, real, e)
		for _, l := range links {
			if l.Real == "" { // its target may exist the next time
				c.out.Reads[l.Path] = ""
				continue
			}
			noteRead(c.out.Reads, c.out.links, l.Path, l.Real, l.Entry)
		}
	}
	key := fmt.Sprint(e.State(links), f.packed, f.tree.BlobLimit())
	place := fmt.Sprintf("%t %p %s %s", f.here, f.from, real, key) // the folder is part of it, as dependencies are looked up relative to it
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

// noteRead notes that an entry of the repository was read, and by which path. A mounted one is not noted: its source is.
func noteRead(reads, links map[string]string, p, real string, e tree.Entry) {
	switch {
	case isMounted(real):
		return
	case e.Kind == tree.Dir:
		reads[real+"/"] = e.ID
	default:
		reads[real] = e.ID
	}
	if real != p {
		links[p] = real
	}
}

// withDefaults replaces values.yaml of a chart.
func withDefaults(list []helm.File, defaults []byte) []helm.File {
	out := []helm.File{{Name: "values.yaml", Data: defaults}}
	for _, file := range list {
		if file.Name != "values.yaml" {
			out = append(out, file)
		}
	}
	return out
}

// sourceError says that a remote source could not be had.
type sourceError struct {
	want remote.Want
	at   gitops.Position // what asks for it; no path: the object or entry that the error is reported for
	err  error
}

func (e *sourceError) Error() string {
	if errors.Is(e.err, remote.ErrWanted) {
		return e.want.String() + " has not been fetched"
	}
	return e.want.String() + ": " + e.err.Error()
}

func (e *sourceError) Unwrap() error { return e.err }

// tell appends to the message of a problem that the source is missing, and why.
func (e *sourceError) tell(out *doc.Error) {
	out.Message, out.Unknown = out.Message+e.Error(), e.unknown()
	if out.Unknown {
		out.Missing, out.Reason = e.want.String(), e.err.Error()
	}
}

// unknown reports whether the content of the source is unknown. It is false where the source is known to be wrong.
func (e *sourceError) unknown() bool {
	var f *remote.Failure
	return !errors.As(e.err, &f) || !f.Broken
}

// complete fetches the dependencies that a chart declares and does not contain, and adds them. It returns how many
// charts the result consists of.
func (c *chartReader) complete(f chartFolder, chart *helm.Chart) (*helm.Chart, int, error) {
	missing := chart.Missing()
	if len(missing) == 0 {
		return chart, 1, nil
	}
	deps, size := map[string]*helm.Chart{}, 1
	var wanted error
	for _, d := range missing {
		from, err := c.dependency(f, d)
		if err == nil {
			var one *helm.Chart
			var n int
			if one, n, err = c.load(from, nil); err == nil {
				deps[d.Key()] = one
				if size += n; size > maxCharted {
					return nil, 0, &helm.Error{Cause: helm.CauseLimit,
						Message: fmt.Sprintf("includes more than %d charts, repeated ones counted each time", maxCharted)}
				}
				continue
			}
		}
		if !errors.Is(err, remote.ErrWanted) {
			return nil, 0, f.blames(d, from, err)
		}
		wanted = err // keep going: the other dependencies are wanted, too
	}
	if wanted != nil {
		return nil, 0, wanted
	}
	out, err := chart.With(deps)
	return out, size, err
}

// blames describes what is wrong with a dependency, in terms of the chart of f. The place is the file of the dependency
// where that is in this repository, else the line that declares it.
func (f chartFolder) blames(d helm.Dependency, from chartFolder, err error) error {
	wrong, ok := errors.AsType[*helm.Error](err)
	if !ok || from.tree == nil || f.packed { // without a tree the declaration is wrong
		return err
	}
	e := *wrong
	if from.here {
		if inside, err := filepath.Rel(f.dir, from.dir); err == nil && e.File != "" {
			e.File = path.Join(filepath.ToSlash(inside), e.File)
		}
		return &e
	}
	separator := ", which "
	if strings.HasPrefix(e.Message, "the ") {
		separator = ": "
	}
	e.Message = "depends on " + d.Key() + separator + e.Message
	e.File, e.Line = d.File, d.Line
	return &e
}

// dependency returns the folder of a chart's dependency.
func (c *chartReader) dependency(f chartFolder, d helm.Dependency) (chartFolder, error) {
	refused := func(format string, args ...any) error {
		return &helm.Error{Cause: helm.CauseMissing, File: d.File, Line: d.Line, Message: fmt.Sprintf(format, args...),
			Names: []string{d.Key()}}
	}
	version := d.LockedVersion
	if version == "" {
		version = d.Version
	}
	at := c.at
	if f.here {
		at = gitops.Position{Path: path.Join(f.dir, d.File), Line: d.Line}
	}
	switch repository := d.Repository; {
	case strings.HasPrefix(repository, "file://"):
		dir, ok := tree.Clean(path.Join(f.dir, strings.TrimPrefix(repository, "file://")))
		if !ok || f.packed {
			return chartFolder{}, refused("the dependency %s is outside the repository", d.Key())
		}
		file := path.Join(dir, "Chart.yaml")
		if _, _, err := f.tree.Lookup(file); err != nil {
			if errors.Is(err, tree.ErrNotExist) {
				if f.here {
					c.out.Reads[file] = ""
				}
				return chartFolder{}, refused("the dependency %s was not found: %s is not a chart", d.Key(), dir)
			}
			return chartFolder{}, err
		}
		return chartFolder{tree: f.tree, dir: dir, here: f.here, from: f.from, instead: f.instead}, nil
	case strings.HasPrefix(repository, "oci://"):
		return c.fetched(remote.Want{Kind: remote.Chart, URL: strings.TrimSuffix(repository, "/") + "/" + d.Name, Ref: version},
			at)
	case strings.HasPrefix(repository, "https://"), strings.HasPrefix(repository, "http://"):
		return c.fetched(remote.Want{Kind: remote.Chart, URL: repository, Name: d.Name, Ref: version}, at)
	case repository == "":
		return chartFolder{}, refused("the dependency %s is not in charts/ and names no repository", d.Key())
	}
	return chartFolder{}, refused("the repository %.80q of the dependency %s is an alias of a local Helm "+
		"configuration: write its URL, or put the chart into charts/", d.Repository, d.Key())
}

// fetched returns the folder of a chart that was fetched.
func (c *chartReader) fetched(w remote.Want, at gitops.Position) (chartFolder, error) {
	src, err := c.builder.fetched(c.out, w, at)
	if err != nil {
		return chartFolder{}, &sourceError{w, at, err}
	}
	return chartFolder{tree: src.Tree, dir: ".", packed: true, from: src}, nil
}

// chartWords is the message why a chart is not rendered. name stands for the chart: "the chart", "the chart db".
func chartWords(name string, e *helm.Error) string {
	message := e.Message
	switch e.Cause {
	case helm.CauseRequired:
		message = name + " requires a value that is not set: " + message
	case helm.CauseFail:
		message = name + " rejects its values: " + message
	case helm.CauseSyntax:
		message = "a template of " + name + " cannot be parsed: " + message
	case helm.CauseTemplate:
		message = "a template of " + name + " fails: " + message
	case helm.CauseOutput:
		message = "a template of " + name + " " + message
	default:
		if !strings.HasPrefix(message, "the ") {
			message = name + " " + message
		}
	}
	if len(e.Lookups) > 0 {
		message += "; before that, it looked up " + lookedUp(e.Lookups[0]) + " in the cluster (lookup), which " +
			"nothing in this repository declares"
	}
	return message
}

// chartPlace is the place of an error in a remote chart, for a message.
func chartPlace(e *helm.Error) string {
	where := e.File
	if where == "" {
		where = e.Template
	}
	switch {
	case where == "":
		return ""
	case e.Line > 0:
		return fmt.Sprintf(" (%s, line %d)", where, e.Line)
	}
	return " (" + where + ")"
}

var readValue = regexp.MustCompile(`\.Values((?:\.[A-Za-z_][A-Za-z0-9_]*)+)`)

// valueRead returns the path of the value that a template failed at, nil where the error does not name one.
func valueRead(e *helm.Error) []string {
	if m := readValue.FindStringSubmatch(e.Message); e.Cause == helm.CauseTemplate && m != nil {
		return strings.Split(m[1][1:], ".")
	}
	return nil
}
