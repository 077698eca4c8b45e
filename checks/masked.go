package checks

import (
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// takeSecrets collects the values of the Secrets that a change affects, on both sides.
func (p *pairs) takeSecrets() {
	for _, r := range p.every {
		for _, res := range slices.Concat(r.Before(), r.Deployed) {
			p.secrets.Object(res.Object)
		}
	}
	for _, pair := range slices.Concat(p.list, p.asking, p.alone) {
		pair.Versions(p.secrets.Object)
	}
}

// maskedFiles reads source files and masks values of Secrets. It reads only requested files, and the kustomizations in
// the folders above them: no other kustomization can name a file, since kustomize reads no files outside of its folder.
// It is safe for concurrent use.
type maskedFiles struct {
	trees *diff.Trees

	mu    sync.Mutex
	files map[inTree]*mask.File
	roles map[inTree]map[string]mask.Role // by folder: how the folder's kustomization uses its files
}

type inTree struct {
	tree *tree.Tree
	path string
}

func newMaskedFiles(trees *diff.Trees) *maskedFiles {
	return &maskedFiles{trees: trees, files: map[inTree]*mask.File{}, roles: map[inTree]map[string]mask.Role{}}
}

// file returns a file of a tree, nil if there is none.
func (m *maskedFiles) file(t *tree.Tree, name string) *mask.File {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := inTree{t, name}
	if f, ok := m.files[key]; ok {
		return f
	}
	m.files[key] = nil
	if data, real, err := t.ReadFile(name); err == nil {
		m.files[key] = mask.Read(name, data, max(m.role(t, name), m.role(t, real)))
	}
	return m.files[key]
}

// read reads the files of all problems, since their messages may quote text of a file that does not render.
func (m *maskedFiles) read(rep *report.Report) {
	for _, p := range slices.Concat(rep.Errors, rep.Warnings) {
		m.head(p.Path)
	}
	for _, n := range rep.NotChecked {
		m.head(n.Path)
	}
}

// of returns the file of a place.
func (m *maskedFiles) of(o *report.Origin) *mask.File {
	if o.Side == report.Base {
		return m.file(m.trees.Base.Tree, o.Path)
	}
	return m.head(o.Path)
}

// cover masks the places of findings about values of Secrets in any file, for example in the values of a chart or in
// the source of a replacement.
func (m *maskedFiles) cover(findings []report.Finding) {
	for i := range findings {
		f := &findings[i]
		o := f.Origin
		if !mask.OfValue(f) || strings.Count(f.Field, "/") < 2 || f.Result == report.Skip || o == nil || o.Missing != "" {
			continue
		}
		// A place that is a whole line belongs to a rule that mutates.
		if o.How != report.Enclosing && (o.StartColumn > 0 || o.EndLine > o.StartLine) {
			m.of(o).Cover(o.StartLine, o.EndLine, o.StartColumn, o.EndColumn)
		}
	}
}

// shorten removes or moves columns that would reveal the length of a masked value. A column after the value is removed,
// and an end inside it becomes the end of the mask.
func (m *maskedFiles) shorten(rep *report.Report) {
	for i := range rep.Findings {
		f := &rep.Findings[i]
		o := f.Origin
		if o == nil || o.StartColumn == 0 {
			continue
		}
		shown, ok := rep.Excerpts[o.Path][o.StartLine]
		switch same := m.of(o).Same(o.StartLine, shown); {
		case ok && o.StartColumn > same+1:
			o.StartColumn, o.EndColumn = 0, 0
		case ok && o.EndColumn > same+1:
			o.EndColumn = mask.EndOf(shown, o.StartColumn)
		case mask.OfValue(f):
			o.EndColumn = 0
		}
	}
	for i := range rep.Errors {
		p := &rep.Errors[i]
		if shown, ok := rep.Excerpts[p.Path][p.Line]; ok && p.Column > m.head(p.Path).Same(p.Line, shown)+1 {
			p.Column = 0
		}
	}
}

// head returns a file of the head.
func (m *maskedFiles) head(name string) *mask.File { return m.file(m.trees.Head.Tree, name) }

// tell adds to v the values of Secrets in all files that were read, since files that do not render have no other source
// of values. It also tells v the paths of the repository, which are not masked.
func (m *maskedFiles) tell(v *mask.Values) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.files {
		if !kustomization.IsFileName(key.path) {
			continue
		}
		for name, role := range m.named(key.tree, path.Dir(key.path)) {
			if role >= mask.Settings {
				if data, _, err := key.tree.ReadFile(name); err == nil {
					mask.Read(name, data, role).AddTo(v)
				}
			}
		}
	}
	for _, f := range m.files {
		f.AddTo(v)
	}
	if v.Empty() {
		return nil
	}
	for _, d := range m.trees.Differences {
		v.Name(d.Path)
	}
	return m.trees.Head.Tree.Walk(func(name string, _ tree.Entry) error {
		v.Name(name)
		return nil
	})
}

// role returns how the kustomizations above a file use it.
func (m *maskedFiles) role(t *tree.Tree, name string) (role mask.Role) {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		role = max(role, m.named(t, dir)[name])
		if dir == "." || dir == "/" {
			return role
		}
	}
}

// named returns how the kustomization of a folder uses the files that it names.
func (m *maskedFiles) named(t *tree.Tree, dir string) map[string]mask.Role {
	key := inTree{t, dir}
	if known, ok := m.roles[key]; ok {
		return known
	}
	out := map[string]mask.Role{}
	m.roles[key] = out
	read := func(name string) (list []string) {
		data, _, err := t.ReadFile(name)
		if err != nil {
			return nil
		}
		named := mask.Names(name, data)
		for file, role := range named.Roles {
			file = path.Join(dir, file)
			out[file] = max(out[file], role)
			if real, _, err := t.Lookup(file); err == nil {
				out[real] = max(out[real], role)
			}
		}
		return named.Generators
	}
	for _, base := range kustomization.FileNames() {
		for _, generator := range read(path.Join(dir, base)) {
			read(path.Join(dir, generator))
		}
	}
	return out
}

// excerptLines is the number of lines shown around a place. excerptWidth limits the bytes of a line, and the bytes
// after a place's last column; excerptMost limits a line in any case.
const (
	excerptLines = 2
	excerptWidth = 300
	excerptMost  = 16 << 10 // limit for a line whose place is far to the right
	maxExcerpt   = 64 << 10 // bytes of a line that are searched for values of Secrets
)

// addExcerpts adds the source lines around the findings and errors to the report, without values of Secrets. Lines of the
// base are shown only for files that the head does not have.
//
// widths is the number of bytes to show of lines that need more than excerptWidth.
func (m *maskedFiles) addExcerpts(rep *report.Report) (widths map[string]map[int]int) {
	out, widths := map[string]map[int]string{}, map[string]map[int]int{}
	lines := func(path string, base bool) []string {
		if !base {
			return m.head(path).Lines()
		}
		if _, err := m.trees.Head.Tree.Entry(path); err == nil {
			return nil
		}
		return m.file(m.trees.Base.Tree, path).Lines()
	}
	add := func(path string, start, end, column int, base bool) {
		if path == "" || start < 1 {
			return
		}
		all := lines(path, base)
		for n := max(1, start-excerptLines); n <= min(len(all), max(start, min(end, start+excerptLines))+excerptLines); n++ {
			if out[path] == nil {
				out[path] = map[int]string{}
			}
			out[path][n] = all[n-1][:min(len(all[n-1]), maxExcerpt)]
			if n == start {
				if widths[path] == nil {
					widths[path] = map[int]int{}
				}
				widths[path][n] = max(widths[path][n], min(excerptWidth+column*utf8.UTFMax, excerptMost))
			}
		}
	}
	for _, f := range rep.Findings {
		if f.Result != report.Skip {
			add(f.Origin.Path, f.Origin.StartLine, f.Origin.EndLine, f.Origin.EndColumn, f.Origin.Side == report.Base)
		}
	}
	for _, n := range rep.NotChecked {
		add(n.Path, n.Line, n.Line, 0, n.Side == report.Base)
	}
	for _, c := range rep.Causes {
		add(c.Path, c.Line, c.Line, 0, false)
	}
	for _, p := range rep.Errors {
		add(p.Path, p.Line, p.Line, p.Column, false)
	}
	rep.Excerpts = out
	return widths
}

// cutExcerpts cuts lines to their shown width. It runs after masking, since masking needs whole lines.
func cutExcerpts(lines map[string]map[int]string, widths map[string]map[int]int) {
	for path, file := range lines {
		for n, text := range file {
			if width := max(excerptWidth, widths[path][n]); len(text) > width {
				text = strings.ToValidUTF8(text[:width], "") + "…"
			}
			file[n] = strings.ToValidUTF8(text, "\uFFFD")
		}
	}
}
