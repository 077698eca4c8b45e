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

// fixedFile is a file of the work tree that edits are made in.
type fixedFile struct {
	why     string // why it is left alone; empty: it is not
	gitMode string
	mode    fs.FileMode
	data    []byte // as it was read
	rows    rows   // with the edits that helped
	shown   map[int]bool
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

// with returns the lines with an edit made, or why it cannot be. Line breaks are those of the line above.
func (r rows) with(e *report.SourceEdit, f *fixedFile) (now rows, why string) {
	from, to := e.Diff.Line-1, e.Diff.Line-1+len(e.Diff.Removed)
	same := from >= 0 && to <= len(r)
	for i := 0; same && i < len(e.Diff.Removed); i++ {
		same = strings.TrimRight(r[from+i].text, "\r\n") == e.Diff.Removed[i]
	}
	if !same {
		return nil, "its lines are not those that were checked"
	}
	for i := max(0, from-e.Before); i < min(len(r), to+e.After); i++ {
		f.shown[r[i].line] = f.shown[r[i].line] || i < from || i >= to
	}
	lineBreak := "\n"
	if around := r[max(0, min(from, len(r))-1)].text; strings.HasSuffix(around, "\r\n") {
		lineBreak = "\r\n"
	}
	now = slices.Clone(r[:from])
	for _, text := range e.Diff.Added {
		now = append(now, row{text: text + lineBreak})
	}
	now = append(now, r[to:]...)
	for i := range now {
		if last := i == len(now)-1; !last && !strings.HasSuffix(now[i].text, "\n") {
			now[i].text += lineBreak
		} else if last && !strings.HasSuffix(r[len(r)-1].text, "\n") {
			now[i].text = strings.TrimRight(now[i].text, "\r\n")
		}
	}
	return now, ""
}

// file reads a file of the work tree that is as it was checked. It returns why it is to be left alone, or "".
func (x *fixing) file(ctx context.Context, path string) (*fixedFile, string) {
	f := x.files[path]
	if f == nil {
		f = &fixedFile{shown: map[int]bool{}}
		x.files[path] = f
		f.why = x.read(ctx, path, f)
	}
	return f, f.why
}

func (x *fixing) read(ctx context.Context, path string, f *fixedFile) string {
	for i := range path {
		if path[i] != '/' {
			continue
		}
		if info, err := x.top.Lstat(path[:i]); err != nil || !info.IsDir() {
			return "a folder of the file is a link, or is not there"
		}
	}
	info, err := x.top.Lstat(path)
	switch {
	case err != nil:
		return plainCause(err).Error()
	case !info.Mode().IsRegular():
		return "the file is a link, or no file"
	}
	if f.data, err = x.top.ReadFile(path); err != nil {
		return plainCause(err).Error()
	}
	f.mode = info.Mode().Perm()
	blob, err := x.blob(ctx, path, string(f.data))
	entry, err2 := x.repo.run(ctx, x.env, "-C", x.top.Name(), "ls-files", "--stage", "-z", "--", ":(literal)"+path)
	mode, rest, _ := strings.Cut(entry, " ")
	if checked, _, _ := strings.Cut(rest, " "); err != nil || err2 != nil || checked != blob {
		return "the file is not what was checked"
	}
	f.gitMode = mode
	f.read()
	return ""
}

// read takes the lines of the file.
func (f *fixedFile) read() {
	f.rows = nil
	for text := range strings.Lines(string(f.data)) {
		f.rows = append(f.rows, row{text, len(f.rows) + 1})
	}
}

// write writes the files that are edited, their difference to out and what else is to be said to log. It returns false
// where one could not be written, so that the work tree is not what was checked last.
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
	switch count {
	case 0:
		fmt.Fprintln(log, "lintel: no file was edited")
	case 1:
		fmt.Fprintln(log, "lintel: 1 file was edited")
	default:
		fmt.Fprintf(log, "lintel: %d files were edited\n", count)
	}
	return whole
}

var errChanged = errors.New("the file was changed meanwhile")

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

// difference writes what was edited as a unified difference. Around it are lines in which nothing is secret.
func (f *fixedFile) difference(out io.Writer, path string) {
	fmt.Fprintf(out, "--- a/%s\n+++ b/%s\n", output.LogLine(path), output.LogLine(path))
	was := slices.Collect(strings.Lines(string(f.data)))
	type change struct {
		sign string
		row
	}
	var all []change
	line := 1
	for i := 0; i <= len(f.rows); {
		var added []change
		for ; i < len(f.rows) && f.rows[i].line == 0; i++ {
			added = append(added, change{"+", f.rows[i]})
		}
		next := len(was) + 1
		if i < len(f.rows) {
			next = f.rows[i].line
		}
		for ; line < next; line++ {
			all = append(all, change{"-", row{was[line-1], line}})
		}
		all = append(all, added...)
		if i < len(f.rows) {
			all = append(all, change{" ", f.rows[i]})
		}
		line, i = next+1, i+1
	}
	included := make([]bool, len(all))
	for i, c := range all {
		for _, step := range []int{-1, 1} {
			at := i
			for n := 0; c.sign != " " && n <= report.ShownAround && at >= 0 && at < len(all); n++ {
				if all[at].sign == " " && !f.shown[all[at].line] {
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

// hunkRange is the lines of a hunk behind so many others, as a unified difference names them.
func hunkRange(above, lines int) string {
	if lines == 0 {
		return fmt.Sprintf("%d,0", above)
	}
	if lines == 1 {
		return fmt.Sprint(above + 1)
	}
	return fmt.Sprintf("%d,%d", above+1, lines)
}
