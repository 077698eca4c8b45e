package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/remote"
)

// ChartLimits limit the size of a packed chart.
type ChartLimits struct {
	Packed, Unpacked int64 // bytes
	Files            int
}

const (
	maxName  = 1024
	maxDepth = 64
)

var (
	errNotPacked = broken("it is not a packed chart")
	drivePattern = regexp.MustCompile(`^[a-zA-Z]:/`)
)

// unpack returns the files of a packed chart, without the top folder of the archive, and the version in its Chart.yaml.
// The files are named as Helm's loader names them. Failures are *remote.Failure.
func unpack(packed []byte, l ChartLimits) (files []remote.TreeFile, version string, err error) {
	if int64(len(packed)) > l.Packed {
		return nil, "", undecided("the packed chart is larger than %d MiB", l.Packed>>20)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, "", errNotPacked
	}
	u := unpacker{limits: l, left: l.Unpacked, at: map[string]int{}, folders: map[string]bool{}}
	// The headers of the archive count as well, which can have any size.
	bounded := &io.LimitedReader{R: unzipped, N: l.Unpacked + int64(l.Files+1)*4096}
	archive := tar.NewReader(bounded)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) && bounded.N > 0 {
			return u.end()
		}
		if err == nil {
			err = u.entry(h, archive)
		}
		switch {
		case failureOf(err) != nil:
			return nil, "", err
		case err != nil && bounded.N <= 0:
			return nil, "", errUnpacked
		case err != nil:
			return nil, "", errNotPacked
		}
	}
}

var errUnpacked = undecided("the chart is too large when it is unpacked")

type unpacker struct {
	limits  ChartLimits
	left    int64
	count   int
	files   []remote.TreeFile
	at      map[string]int // the index in files, by name
	folders map[string]bool
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if u.count++; u.count > u.limits.Files {
		return undecided("the chart has more than %d files", u.limits.Files)
	}
	switch h.Typeflag {
	case tar.TypeReg:
	case tar.TypeDir, tar.TypeXGlobalHeader, tar.TypeXHeader:
		return nil
	case tar.TypeSymlink, tar.TypeLink:
		return undecided("the chart holds a link (%s), which is not followed", quote(h.Name))
	default:
		return broken("the chart holds %s, which is no file", quote(h.Name))
	}
	name, err := innerName(h.Name)
	if err != nil {
		return err
	}
	if h.Size > u.left {
		return errUnpacked
	}
	data := make([]byte, h.Size)
	if _, err := io.ReadFull(content, data); err != nil {
		return err
	}
	u.left -= h.Size
	return u.keep(name, data)
}

func (u *unpacker) keep(name string, data []byte) error {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return nil // git accepts no such name, and no real chart has one
		}
	}
	if u.folders[name] {
		return broken("the chart has %s as a file and as a folder", quote(name))
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := u.at[dir]; ok {
			return broken("the chart has %s as a file and as a folder", quote(dir))
		}
		u.folders[dir] = true
	}
	if n, ok := u.at[name]; ok {
		u.files[n].Data = data
		return nil
	}
	u.at[name] = len(u.files)
	u.files = append(u.files, remote.TreeFile{Name: name, Data: data})
	return nil
}

// innerName returns a name without its first folder. It makes the checks that Helm's loader makes.
func innerName(name string) (string, error) {
	illegal := broken("the chart holds a file whose path is outside the chart (%s)", quote(name))
	slashed := name
	if strings.Contains(name, `\`) {
		slashed = strings.ReplaceAll(name, `\`, "/")
	}
	first, rest, ok := strings.Cut(slashed, "/")
	if first == "Chart.yaml" {
		return "", broken("the files of the packed chart are not in a folder")
	}
	clean := path.Clean(rest)
	if !ok || path.IsAbs(rest) || clean == "." || strings.HasPrefix(clean, "..") || drivePattern.MatchString(clean) ||
		strings.ContainsRune(clean, 0) || len(clean) > maxName || strings.Count(clean, "/") > maxDepth {
		return "", illegal
	}
	return clean, nil
}

// end checks the files as a whole and returns them.
func (u *unpacker) end() ([]remote.TreeFile, string, error) {
	n, ok := u.at["Chart.yaml"]
	if !ok {
		return nil, "", broken("it is not a chart: it has no Chart.yaml")
	}
	return u.files, versionIn(u.files[n].Data), nil
}

// versionIn returns the version in a Chart.yaml. Other mistakes in the file are left for Helm to report.
func versionIn(data []byte) string {
	if len(data) > maxEntry {
		return ""
	}
	var n yaml.Node
	if err := yaml.Unmarshal(data, &n); err != nil || n.Kind != yaml.DocumentNode {
		return ""
	}
	if v := yamlField(n.Content[0], "version"); v != nil && parses(v.Value) {
		return v.Value
	}
	return ""
}
