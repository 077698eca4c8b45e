package gitops

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// globPattern is doublestar's, which Argo CD reads the names of values files with.
var globPattern = dialect{braces: true, segments: true}

// isPattern reports whether the name of a values file is one of several files.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// files reads a layer that is a file, or several. What was read already is not read again.
func (l *loader) files(layer Layer) error {
	t, err := l.treeOf(layer.Want)
	if err != nil {
		return err
	}
	names := []string{layer.File}
	if layer.glob {
		if names, err = matching(t, layer.File, l.limits); err != nil {
			return brokenOr(layer, err)
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains(layer.named, layerFile{layer.Want, name})
		})
	}
	for _, name := range names {
		id := layerFile{layer.Want, name}
		if layer.kind == mergeLayer && l.seen[id] {
			continue
		}
		data, _, err := t.ReadFile(name)
		switch {
		case errors.Is(err, tree.ErrNotExist) && layer.optional:
			continue
		case err != nil:
			return brokenOr(layer, err)
		}
		l.seen[id] = true
		if err := l.spend(layer, "", string(data)); err != nil {
			return err
		}
		one := layer
		one.File, one.glob = name, false
		if layer.kind == fileLayer {
			l.add(one, part{text: string(data)})
			continue
		}
		if layer.glob || layer.Name == "" {
			one.Name = name
		}
		if err := l.text(one, string(data), func(line, column int) Position {
			return Position{Path: name, Line: max(line, 1), Column: column}
		}); err != nil {
			return err
		}
	}
	if len(names) == 0 && !layer.optional && len(layer.named) == 0 {
		return brokenAt(layer.Where, fmt.Sprintf("no file matches %.200q", layer.File))
	}
	return nil
}

func brokenOr(layer Layer, err error) error {
	if limit := (*unknowable)(nil); errors.As(err, &limit) {
		e := doc.Error{Path: layer.Where.Path, Line: layer.Where.Line, Column: layer.Where.Column, Unknown: true}
		e.Message = fmt.Sprintf("the values files %.200q: %s", layer.File, limit.reason)
		return &e
	}
	return brokenAt(layer.Where, fmt.Sprintf("the values file %.200q is not there", layer.File))
}

// matching lists the files that a pattern of values files matches, sorted.
func matching(t Tree, pattern string, limits Limits) (list []string, err error) {
	re, err := globPattern.compile(strings.TrimPrefix(pattern, "/"))
	if err != nil {
		return nil, err
	}
	dir, _ := wild(pattern)
	if i := strings.IndexByte(dir, '{'); i >= 0 {
		dir = path.Dir(dir[:i] + "x")
	}
	if !isKind(t, cmp.Or(dir, "."), tree.Dir) {
		return nil, nil
	}
	deep := strings.Contains(pattern, "**")
	levels := strings.Count(pattern, "/")
	w := &folderWalk{tree: t, list: bounded(t, limits.Files),
		enter: func(dir string) bool { return deep || strings.Count(dir, "/") < levels }}
	err = w.walk(cmp.Or(dir, "."), 0, func(p string) error {
		if re.MatchString(p) {
			list = append(list, p)
		}
		return nil
	})
	slices.Sort(list)
	return list, err
}
