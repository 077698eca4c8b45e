package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

// fixedFile is a file of the work tree to edit.
type fixedFile struct {
	why   string // why it is left alone; empty: it is not
	mode  fs.FileMode
	data  []byte         // as it was read
	rows  rows           // with the edits that helped
	shown map[int]string // lines as they were read, around edits, as they may be shown
}

// rows are the lines of a file, each with its line break.
type rows []row

type row struct {
	text string
	line int // that it had in the file, from 1; 0: it is new
}

func (r rows) String() string {
	var b strings.Builder
	for _, one := range r {
		b.WriteString(one.text)
	}
	return b.String()
}

// lineBreak returns the line break of a line, or of the nearest line above it that has one.
func (r rows) lineBreak(i int) string {
	for ; i >= 0; i-- {
		if text := r[i].text; strings.HasSuffix(text, "\n") {
			return text[len(strings.TrimRight(text, "\r\n")):]
		}
	}
	return "\n"
}

// with returns the lines with an edit made, or the reason why it cannot be made. New lines have the line break of the
// line that they replace, or else of the line above.
func (r rows) with(e *report.SourceEdit, f *fixedFile) (now rows, why string) {
	from, to := e.Diff.Line-1, e.Diff.Line-1+len(e.Diff.Removed)
	same := from >= 0 && to <= len(r)
	for i := 0; same && i < len(e.Diff.Removed); i++ {
		same = strings.TrimRight(r[from+i].text, "\r\n") == e.Diff.Removed[i]
	}
	if !same {
		return nil, "its lines differ from those that were checked"
	}
	for n, text := range e.Around { // before other edits that are tried with this one
		if n <= len(f.rows) && f.rows[n-1].line > 0 {
			f.shown[f.rows[n-1].line] = text
		}
	}
	now = slices.Clone(r[:from])
	for i, text := range e.Diff.Added {
		now = append(now, row{text: text + r.lineBreak(max(0, min(from+i, to-1)))})
	}
	now = append(now, r[to:]...)
	for i := range now {
		if last := i == len(now)-1; !last && !strings.HasSuffix(now[i].text, "\n") {
			now[i].text += r.lineBreak(len(r) - 1)
		} else if last && !strings.HasSuffix(r[len(r)-1].text, "\n") {
			now[i].text = strings.TrimRight(now[i].text, "\r\n")
		}
	}
	return now, ""
}

// open reads the files of edits that are not open yet. It leaves out files that differ from the checked ones.
func (x *fixing) open(ctx context.Context, edits []report.SourceEdit) error {
	var opened []treeFile
	for _, e := range edits {
		if x.files[e.Path] != nil || e.Why != "" {
			continue
		}
		f := &fixedFile{shown: map[int]string{}}
		x.files[e.Path] = f
		if f.why = x.read(e.Path, f); f.why == "" {
			opened = append(opened, treeFile{e.Path, f.data, f.mode})
		}
	}
	if len(opened) == 0 {
		return nil
	}
	tree, err := x.tree(ctx, opened)
	if err != nil || tree == x.checked {
		return err
	}
	others, err := x.repo.beside(ctx, x.objects, "", "diff-tree", "-r", "-z", "--no-renames", "--name-only", x.checked, tree)
	for path := range strings.SplitSeq(others, "\x00") {
		if f := x.files[path]; f != nil {
			f.why = "the file differs from what was checked"
		}
	}
	return err
}

func (x *fixing) read(path string, f *fixedFile) string {
	for i := range path {
		if path[i] != '/' {
			continue
		}
		if info, err := x.top.Lstat(path[:i]); err != nil || !info.IsDir() {
			return "a folder of the file is a link, or does not exist"
		}
	}
	info, err := x.top.Lstat(path)
	switch {
	case err != nil:
		return plainCause(err).Error()
	case !info.Mode().IsRegular():
		return "the file is a link, or not a regular file"
	}
	if f.data, err = x.top.ReadFile(path); err != nil {
		return plainCause(err).Error()
	}
	f.mode = info.Mode().Perm()
	f.read()
	return ""
}

// tree writes the checked tree with other contents of some files.
func (x *fixing) tree(ctx context.Context, files []treeFile) (string, error) {
	return x.repo.treeWith(ctx, x.checked, x.objects, files, "update-index", "-z", "--stdin")
}

// edited returns the edited files, some of them with edits that are being tried.
func (x *fixing) edited(tried map[string]rows) (files []treeFile) {
	for path, f := range x.files {
		now := f.rows
		if tried[path] != nil {
			now = tried[path]
		}
		if f.why == "" {
			files = append(files, treeFile{path, []byte(now.String()), f.mode})
		}
	}
	return files
}

// read sets the lines of the file.
func (f *fixedFile) read() {
	f.rows = nil
	for text := range strings.Lines(string(f.data)) {
		f.rows = append(f.rows, row{text, len(f.rows) + 1})
	}
}

// write writes the edited files, their diff to out and messages to log. It returns false if a file could not be
// written, so that the work tree is not the one that was checked last.
func (x *fixing) write(out, log io.Writer) bool {
	defer x.top.Close()
	count, whole := 0, true
	for _, path := range slices.Sorted(maps.Keys(x.files)) {
		f := x.files[path]
		now := f.rows.String()
		if f.why != "" || now == string(f.data) {
			continue
		}
		if err := x.replace(path, f, now); err != nil {
			x.left, whole = append(x.left, path+": "+err.Error()), false
			continue
		}
		count++
		f.difference(out, path)
	}
	for _, why := range x.left {
		fmt.Fprintln(log, "lintel: not edited:", visible(why))
	}
	words := report.Count(count, "file was", "files were") + " edited"
	switch {
	case count > 0:
	case x.byHand > 0:
		words = "no file was edited: " + report.Count(x.byHand, "finding has", "findings have") + " to be fixed by hand"
	case len(x.left) == 0:
		words = "no file was edited: there is nothing to fix"
	default:
		words = "no file was edited"
	}
	fmt.Fprintln(log, "lintel:", words)
	return whole
}

var errChanged = errors.New("the file was changed during the check")

func (x *fixing) replace(path string, f *fixedFile, now string) error {
	info, err := x.top.Lstat(path)
	if err != nil {
		return plainCause(err)
	}
	if data, err := x.top.ReadFile(path); err != nil || !info.Mode().IsRegular() || !bytes.Equal(data, f.data) {
		return errChanged
	}
	if err := replaceIn(x.top, filepath.FromSlash(path), []byte(now), f.mode); err != nil {
		return plainCause(err)
	}
	return nil
}

// difference writes the edits as a unified diff. Context lines do not show secrets.
func (f *fixedFile) difference(out io.Writer, path string) {
	fmt.Fprintf(out, "--- a/%s\n+++ b/%s\n", output.LogLine(path), output.LogLine(path))
	was := slices.Collect(strings.Lines(string(f.data)))
	type change struct {
		sign string
		row
	}
	var all, added []change
	line, end := 1, row{line: len(was) + 1}
	for _, r := range append(slices.Clone(f.rows), end) {
		if r.line == 0 {
			added = append(added, change{"+", r})
			continue
		}
		for ; line < r.line; line++ {
			all = append(all, change{"-", row{was[line-1], line}})
		}
		all, added = append(all, added...), nil
		if r != end {
			all = append(all, change{" ", r})
		}
		line = r.line + 1
	}
	included := make([]bool, len(all))
	for i, c := range all {
		for _, step := range []int{-1, 1} {
			at := i
			for n := 0; c.sign != " " && n <= report.ShownAround && at >= 0 && at < len(all); n++ {
				if _, ok := f.shown[all[at].line]; all[at].sign == " " && !ok {
					break
				}
				included[at] = true
				at += step
			}
		}
	}
	before, after := 0, 0 // lines above
	for i := 0; i < len(all); {
		var hunk strings.Builder
		removed, added := 0, 0
		for ; i < len(all) && included[i]; i++ {
			c := all[i]
			text, whole := strings.CutSuffix(c.text, "\n")
			if c.sign == " " {
				text = f.shown[c.line]
			}
			hunk.WriteString(c.sign + output.LogLine(strings.TrimSuffix(text, "\r")) + "\n")
			if !whole {
				hunk.WriteString("\\ No newline at end of file\n")
			}
			if c.sign != "+" {
				removed++
			}
			if c.sign != "-" {
				added++
			}
		}
		if hunk.Len() > 0 {
			fmt.Fprintf(out, "@@ -%s +%s @@\n%s", hunkRange(before, removed), hunkRange(after, added), hunk.String())
		}
		if before, after = before+removed, after+added; i < len(all) && !included[i] {
			before, after, i = before+1, after+1, i+1
		}
	}
}

// hunkRange returns the line range in a hunk header of a unified diff, after the given number of lines.
func hunkRange(above, lines int) string {
	switch lines {
	case 0:
		return fmt.Sprintf("%d,0", above)
	case 1:
		return fmt.Sprint(above + 1)
	}
	return fmt.Sprintf("%d,%d", above+1, lines)
}
