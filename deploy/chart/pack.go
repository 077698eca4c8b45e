package chart

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"
)

// Pack writes a chart as "helm push" takes it. The same files and time give the same bytes.
func Pack(w io.Writer, files map[string][]byte, modified time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(Name, name), Mode: 0o644, Size: int64(len(files[name])),
			ModTime: modified.UTC(), Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("packing the chart: %w", err)
		}
		if _, err := archive.Write(files[name]); err != nil {
			return fmt.Errorf("packing the chart: %w", err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("packing the chart: %w", err)
	}
	return nil
}
