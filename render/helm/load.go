package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
)

// Load reads a chart from its files. Vendored charts in charts/ are part of it, as folders or packed. .helmignore
// applies, as in a folder. The error is an *Error.
func Load(files []File, l Limits) (*Chart, error) {
	return guarded(func() (*Chart, error) { return load(files, l, true) })
}

// LoadPackage is Load for the files of a packed chart, to which .helmignore does not apply.
func LoadPackage(files []File, l Limits) (*Chart, error) {
	return guarded(func() (*Chart, error) { return load(files, l, false) })
}

func guarded[T any](do func() (T, error)) (result T, err error) {
	defer func() {
		if recover() != nil {
			err = &Error{Cause: CauseInvalid, Message: "Helm's code crashes on this chart"}
		}
	}()
	return do()
}

func load(files []File, l Limits, folder bool) (*Chart, error) {
	l = l.withDefaults()
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int {
		return slices.Compare(strings.Split(a.Name, "/"), strings.Split(b.Name, "/"))
	})
	if err := (&budget{Limits: l}).take(files, 0); err != nil {
		return nil, err
	}
	if folder {
		var err error
		if files, err = unignored(files); err != nil {
			return nil, err
		}
	}
	c := newChart(nil, l, map[string][]byte{}, map[*byte]origin{})
	buffered := make([]*archive.BufferedFile, 0, len(files))
	for _, f := range files {
		// The address of the bytes identifies the file later. So files that share their bytes get copies.
		data := bytes.Clone(bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf")))
		if err := vet(f.Name, data); err != nil {
			return nil, err
		}
		c.files[f.Name] = data
		if len(data) > 0 {
			c.sources[&data[0]] = origin{c, f.Name}
		}
		buffered = append(buffered, &archive.BufferedFile{Name: f.Name, Data: data, ModTime: time.Time{}})
	}
	var err error
	if c.chart, err = loader.LoadFiles(buffered); err != nil {
		return nil, c.refused(err)
	}
	sortCharts(c.chart)
	return c, nil
}

// vet refuses YAML that expands without limit. Helm reports other errors.
func vet(name string, data []byte) error {
	if !vetted(name) {
		return nil
	}
	err := doc.Vet(name, data, doc.Limits{})
	if e, ok := err.(*doc.Error); ok && !e.Syntax {
		return &Error{Cause: CauseLimit, File: name, Line: e.Line, Message: e.Message}
	}
	return nil
}

// parsedFiles are the files that Helm's loader parses as YAML.
var parsedFiles = []string{"Chart.yaml", "values.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"}

func vetted(name string) bool { return slices.Contains(parsedFiles, path.Base(name)) }

// refused returns why Helm does not load a chart. Helm's own message may quote the file, so it is not used.
func (c *Chart) refused(err error) error {
	e := &Error{Cause: CauseInvalid, Message: "is not a chart that Helm loads"}
	if _, ok := c.files["Chart.yaml"]; !ok {
		e.Message = "has no Chart.yaml"
		return e
	}
	for _, name := range parsedFiles {
		if data, ok := c.files[name]; ok {
			if _, bad := doc.Parse(name, data, doc.Limits{}); bad != nil {
				if s, ok := bad.(*doc.Error); ok {
					e.File, e.Line, e.Message = name, s.Line, s.Message
					return e
				}
			}
		}
	}
	var invalid chart.ValidationError
	if errors.As(err, &invalid) {
		return c.invalid(invalid)
	}
	e.Message = sentence(withoutValues(err.Error()))
	return e
}

// invalid returns why Helm rejects a Chart.yaml, with the line. It is the chart's, or that of a chart in charts/.
func (c *Chart) invalid(said chart.ValidationError) error {
	words := strings.TrimPrefix(said.Error(), "validation: ")
	e := &Error{Cause: CauseInvalid, Message: strings.TrimPrefix(words, "chart.metadata.")}
	field := metadataField.FindStringSubmatch(words)
	if field != nil && field[2] != "" {
		e.Message = "has no " + field[1] + ", which Helm requires"
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.files)), func(name string) bool {
		return path.Base(name) != "Chart.yaml"
	})
	for _, name := range names {
		var m chart.Metadata
		if sigsyaml.Unmarshal(c.files[name], &m) != nil || !errors.Is(m.Validate(), said) {
			continue
		}
		if e.File, e.Line = name, 1; field != nil {
			e.Line = c.lineOf(name, field[1])
		}
		break
	}
	return e
}

// lineOf returns the line of a key in a file of the chart, 1 if it is not there.
func (c *Chart) lineOf(name, key string) int {
	documents, err := doc.Parse(name, c.files[name], doc.Limits{})
	if err == nil && len(documents) > 0 {
		if k, _ := doc.Field(documents[0], key); k != nil {
			return k.Line
		}
	}
	return 1
}

// wrong is the error for a key of Chart.yaml.
func (c *Chart) wrong(cause Cause, key, message string) *Error {
	return &Error{Cause: cause, File: "Chart.yaml", Line: c.lineOf("Chart.yaml", key), Message: message}
}

var metadataField = regexp.MustCompile(`^chart\.metadata\.(\w+)( is required$)?`)

// sortCharts sorts subcharts by name, because Helm has undeclared ones in random order.
func sortCharts(c *chart.Chart) {
	charts := slices.Clone(c.Dependencies())
	slices.SortStableFunc(charts, func(a, b *chart.Chart) int {
		return strings.Compare(a.Name()+"\x00"+a.Metadata.Version, b.Name()+"\x00"+b.Metadata.Version)
	})
	for _, d := range charts {
		sortCharts(d)
	}
	c.SetDependencies(charts...)
}

// unignored returns the files without those that .helmignore names, and without hidden files in templates/, as in Helm.
func unignored(files []File) ([]File, error) {
	rules := ignore.Empty()
	for _, f := range files {
		if f.Name == ignore.HelmIgnore {
			r, err := ignore.Parse(bytes.NewReader(f.Data))
			if err != nil {
				return nil, &Error{Cause: CauseInvalid, File: f.Name, Message: sentence(err.Error())}
			}
			rules = r
		}
	}
	rules.AddDefaults()
	entry := func(name string, kind byte) fs.FileInfo { return (&tar.Header{Name: name, Typeflag: kind}).FileInfo() }
	folders := map[string]bool{}
	var ignored func(folder string) bool
	ignored = func(folder string) bool {
		if folder == "." {
			return false
		}
		is, known := folders[folder]
		if !known {
			is = ignored(path.Dir(folder)) || rules.Ignore(folder, entry(folder, tar.TypeDir))
			folders[folder] = is
		}
		return is
	}
	return slices.DeleteFunc(files, func(f File) bool {
		return ignored(path.Dir(f.Name)) || rules.Ignore(f.Name, entry(f.Name, tar.TypeReg))
	}), nil
}

func tooMuch(format string, args ...any) error {
	return &Error{Cause: CauseLimit, Message: fmt.Sprintf(format, args...)}
}

// budget tracks what remains of a chart's limits. It checks packed subcharts before Helm's loader unpacks them.
type budget struct{ Limits }

// take subtracts the files of a chart that is nested in depth other charts.
func (b *budget) take(files []File, depth int) error {
	for _, f := range files {
		if err := b.one(f.Name, int64(len(f.Data)), depth); err != nil {
			return err
		}
		if packed(f.Name) {
			if err := b.unpack(f, depth+1+strings.Count("/"+f.Name, "/charts/")-1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *budget) one(name string, size int64, depth int) error {
	if !local(name) {
		return &Error{Cause: CauseInvalid, Message: "has a file with a name that is not a path inside the chart"}
	}
	if depth+strings.Count("/"+name, "/charts/") > b.Depth {
		return tooMuch("has subcharts nested deeper than %d levels", b.Depth)
	}
	if b.Files--; b.Files < 0 {
		return tooMuch("has too many files")
	}
	if b.Bytes -= size; b.Bytes < 0 {
		return tooMuch("is too large")
	}
	return nil
}

// packed reports whether Helm's loader unpacks a file.
func packed(name string) bool {
	folder, file := path.Split(name)
	return path.Ext(file) == ".tgz" && strings.IndexAny(file, "_.") != 0 &&
		(folder == "charts/" || strings.HasSuffix(folder, "/charts/"))
}

// local reports whether a name is a clean slash path inside the chart.
func local(name string) bool {
	return name != "" && path.Clean(name) == name && !path.IsAbs(name) && name != "." && name != ".." &&
		!strings.HasPrefix(name, "../") && !strings.ContainsAny(name, "\\\x00")
}

// unpack reads a packed subchart completely. It keeps only the packed charts in it.
func (b *budget) unpack(f File, depth int) error {
	broken := &Error{Cause: CauseInvalid, File: f.Name, Message: "is not a packed chart"}
	unzipped, err := gzip.NewReader(bytes.NewReader(f.Data))
	if err != nil {
		return broken
	}
	defer unzipped.Close()
	// Headers and padding between the files are limited, too.
	bounded := &io.LimitedReader{R: unzipped, N: 2*b.Bytes + 1<<20}
	for archive := tar.NewReader(bounded); ; {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case bounded.N <= 0:
			return tooMuch("is too large")
		case err != nil:
			return broken
		}
		switch header.Typeflag {
		case tar.TypeSymlink, tar.TypeLink:
			return &Error{Cause: CauseLimit, File: f.Name, Message: "has a link in it"}
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		} // Helm treats every other entry as a file.
		_, name, _ := strings.Cut(strings.ReplaceAll(header.Name, "\\", "/"), "/")
		name = path.Clean(name)
		if err := b.one(name, header.Size, depth); err != nil {
			return err
		}
		if !packed(name) && !vetted(name) {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return broken
		}
		if err := vet(name, data); err != nil {
			return tooMuch("has YAML in %s that is too large or too deep", f.Name)
		}
		if packed(name) {
			inner := depth + strings.Count("/"+name, "/charts/")
			if err := b.unpack(File{Name: f.Name, Data: data}, inner); err != nil {
				return err
			}
		}
	}
}
