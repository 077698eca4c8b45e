package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"
)

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
