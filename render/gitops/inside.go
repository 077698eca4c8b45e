package gitops

import (
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
)

// blockMark ends a line below which the text of a block scalar stands, line by line.
var blockMark = regexp.MustCompile(`(?:^|[\s:-])(?:[!&]\S+\s+)*([|>])[-+0-9]{0,2}\s*(?:#.*)?$`)

// inside returns where the lines of a text stand whose field is at a place: below the mark of a block scalar, or in the
// file that a kustomization makes the field of. Where that cannot be told the place is that of the field.
func (l *loader) inside(at Position, text string) func(line, column int) Position {
	texts := strings.Split(text, "\n")
	return func(line, column int) Position {
		if line < 1 || line > len(texts) || at.Line < 1 {
			return at
		}
		lines := l.linesOf(at.Path)
		if at.Line > len(lines) {
			return at
		}
		mark := blockMark.FindStringSubmatch(lines[at.Line-1])
		number := at.Line + line
		if mark == nil {
			if number--; at.EndLine <= at.Line && len(texts) > 1 && texts[1] != "" {
				return at // the field is one line, and the text is not
			}
		}
		if number > len(lines) {
			return at
		}
		written := strings.TrimRight(lines[number-1], "\r")
		found := Position{Path: at.Path, Line: number}
		switch wanted := strings.TrimRight(texts[line-1], "\r"); {
		case strings.HasSuffix(written, wanted) && strings.TrimSpace(written) == strings.TrimSpace(wanted):
			if column > 0 {
				found.Column = column + len(written) - len(wanted)
			}
		case mark == nil || mark[1] == ">":
			return at
		}
		return found
	}
}

// linesOf returns the lines of a file of this repository, none where there is no such file.
func (l *loader) linesOf(p string) []string {
	lines, ok := l.lines[p]
	if !ok {
		if data, _, err := l.tree.ReadFile(p); err == nil {
			lines = strings.Split(string(data), "\n")
		}
		l.lines[p] = lines
	}
	return lines
}

// treeOf returns what a file is in: this repository, or what a want came to.
func (l *loader) treeOf(w remote.Want) (Tree, error) {
	if w.Kind == "" {
		return l.tree, nil
	}
	found, err := l.sources.Get(w)
	if err != nil {
		return nil, err
	}
	return found.Tree, nil
}
