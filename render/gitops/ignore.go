package gitops

import (
	"cmp"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Exclusion is what a source of Flux leaves out of the repository.
type Exclusion struct {
	Ignore string   // patterns, which override those of .sourceignore files
	Sparse []string // only these folders are checked out; none: all are
	Copied string   // the folder that an ArtifactGenerator copies
	Except []string // patterns of what it does not copy
}

// artifact knows which files of a revision are in the artifact that Flux' source-controller makes of it
// (https://fluxcd.io/flux/components/source/gitrepositories/#excluding-files).
type artifact struct {
	tree     Tree
	sparse   []string
	own      []ignoreRule
	copied   string
	except   map[string]*regexp.Regexp      // by pattern
	files    env.Memo[string, []ignoreRule] // of .sourceignore files, by folder
	defaults []ignoreRule
	keeps    bool // a rule with "!" exists: an excluded folder may contain files that are kept
	exceeded bool // a limit was exceeded: some rules are missing
}

// ignoreRule is a line of .gitignore as go-git reads it, because Flux uses its matcher. A pattern also matches
// everything below a match. The last rule that matches decides.
type ignoreRule struct {
	pattern    []string // elements
	keep       bool
	folderOnly bool
	anywhere   bool // the pattern names an element at any depth
}

// fluxIgnored is what Flux leaves out if no other rules exist
// (https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions).
const fluxIgnored = `
.github/
.circleci/
.travis.yml
.gitlab-ci.yml
appveyor.yml
.drone.yml
cloudbuild.yaml
codeship-services.yml
codeship-steps.yml
**/.goreleaser.yml
**/.sops.yaml
**/.flux.yaml
`

func newArtifact(t Tree, e Exclusion) *artifact {
	a := &artifact{tree: t, copied: e.Copied, except: map[string]*regexp.Regexp{}}
	for _, pattern := range e.Except {
		a.except[pattern], _ = globPattern.compile(pattern) // the reader has refused malformed ones
	}
	for _, dir := range e.Sparse {
		if clean, ok := tree.Clean(strings.Trim(dir, "/")); ok && clean != "." {
			a.sparse = append(a.sparse, clean)
		}
	}
	a.own, a.defaults = a.rules(e.Ignore), a.rules(fluxIgnored)
	return a
}

// Leaves reports whether a file in or below the folder of a deployment is left out, by its source or by the object.
func (d *Deployment) Leaves(t Tree, p string) bool {
	name, below := p, d.Path == "."
	if !below {
		name, below = strings.CutPrefix(p, d.Path+"/")
	}
	switch {
	case !d.LeavesOut || !below:
		return false
	case d.Kind == ArgoDirectory:
		return (d.Directory.Recurse || path.Dir(p) == d.Path) && d.Directory.leaves()(name)
	}
	return newArtifact(t, d.Exclusion).leaves(p)
}

func (a *artifact) rules(text string) (list []ignoreRule) {
	if a.exceeded = a.exceeded || len(text) > 1<<20 || strings.Count(text, "\n") > 10_000; a.exceeded {
		return nil
	}
	for pattern := range strings.SplitSeq(text, "\n") {
		pattern = strings.TrimSuffix(pattern, "\r")
		if strings.HasPrefix(pattern, "#") || strings.TrimSpace(pattern) == "" || len(pattern) > maxPattern {
			continue
		}
		rule := ignoreRule{}
		pattern, rule.keep = strings.CutPrefix(pattern, "!")
		if !strings.HasSuffix(pattern, `\ `) {
			pattern = strings.TrimRight(pattern, " ")
		}
		pattern, rule.folderOnly = strings.CutSuffix(pattern, "/")
		rule.pattern = strings.Split(pattern, "/")
		rule.anywhere = len(rule.pattern) == 1
		a.keeps = a.keeps || rule.keep
		list = append(list, rule)
	}
	return list
}

// of returns the rules of the .sourceignore file of a folder.
func (a *artifact) of(dir string) []ignoreRule {
	return a.files.Get(dir, func() []ignoreRule {
		p := path.Join(dir, ".sourceignore")
		data, _, err := a.tree.ReadFile(p)
		if err != nil || !a.checkedOut(p, false) {
			return nil
		}
		return a.rules(string(data))
	})
}

func (a *artifact) checkedOut(p string, folder bool) bool {
	return len(a.sparse) == 0 || slices.ContainsFunc(a.sparse, func(dir string) bool {
		return strings.HasPrefix(p+"/", dir+"/") || folder && strings.HasPrefix(dir, p+"/")
	})
}

// leaves reports whether a file of the repository is not in the artifact. No symlink is, and nothing below one
// (Storage.Archive in github.com/fluxcd/pkg/artifact/storage).
func (a *artifact) leaves(p string) bool { return a.lacks(p, false) || resolved(a.tree, p) != p }

// kustomizationIn returns the path of the kustomization file that a folder has in the artifact, empty where it has none.
func (a *artifact) kustomizationIn(dir string) string {
	if p := kustomizationIn(a.tree, dir); p != "" && !a.leaves(p) {
		return p
	}
	return ""
}

// lacks reports whether a path of the repository, without symlinks, is not in the artifact.
func (a *artifact) lacks(p string, folder bool) bool {
	if !a.checkedOut(p, folder) || a.excepts(p) {
		return true
	}
	elements, any := strings.Split(p, "/"), len(a.own) > 0
	for i := len(elements); i >= 0; i-- { // the rules of the source come first, then those of the deepest folder
		rules, name := a.own, elements
		if i < len(elements) {
			rules, name = a.of(cmp.Or(strings.Join(elements[:i], "/"), ".")), elements[i:]
		}
		any = any || len(rules) > 0
		for _, rule := range slices.Backward(rules) {
			if rule.match(name, folder) {
				return !rule.keep
			}
		}
	}
	return !any && slices.ContainsFunc(a.defaults, func(rule ignoreRule) bool { return rule.match(elements, folder) })
}

// excepts reports whether an ArtifactGenerator does not copy a path, or a folder that contains it.
func (a *artifact) excepts(p string) bool {
	for ; len(a.except) > 0 && p != a.copied && p != "." && around(a.copied, p); p = path.Dir(p) {
		for pattern, re := range a.except {
			if re.MatchString(p) || re.MatchString(strings.TrimPrefix(p, a.copied+"/")) ||
				!strings.Contains(pattern, "/") && re.MatchString(path.Base(p)) {
				return true
			}
		}
	}
	return false
}

// match reports whether the rule matches a path or a folder that contains it.
func (r ignoreRule) match(elements []string, folder bool) bool {
	if r.anywhere {
		i := slices.IndexFunc(elements, func(name string) bool { return matchElement(r.pattern[0], name) })
		return i >= 0 && (folder || !r.folderOnly || i < len(elements)-1)
	}
	matched, deep := false, false
	for i, pattern := range r.pattern {
		switch {
		case pattern == "":
			deep = false
		case pattern == "**" && i < len(r.pattern)-1:
			deep = true
		case pattern == "**":
		case strings.Contains(pattern, "**"):
			return false
		default:
			n := 0
			for deep && n < len(elements) && !matchElement(pattern, elements[n]) {
				n++
			}
			if n == len(elements) && (!deep || n == 0) || n < len(elements) && !matchElement(pattern, elements[n]) {
				return false
			}
			matched, deep = n < len(elements), false
			elements = elements[min(n+1, len(elements)):]
		}
	}
	return matched && (folder || !r.folderOnly || len(elements) > 0)
}

func matchElement(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// excludes reports whether any rules besides the defaults may concern a folder: those of the source, or a .sourceignore
// file in the folder, above it or below it. Symlinks may concern any folder.
func (a *artifact) excludes(dir string, o Options) bool {
	any := o.Links || len(a.own)+len(a.sparse)+len(a.except) > 0
	for up := dir; !any; up = path.Dir(up) {
		if any = len(a.of(up)) > 0; up == "." {
			break
		}
	}
	if any {
		return true
	}
	w := &folderWalk{tree: a.tree, list: bounded(a.tree, o.Limits.Files), enter: func(string) bool { return true }}
	_ = w.walk(dir, 0, func(p string) error { // files beyond the limit are not checked
		any = any || path.Base(p) == ".sourceignore"
		return nil
	})
	return any
}

// left lists the files and symlinks below a folder that are not in the artifact, as far as rules besides the defaults
// concern it.
func (a *artifact) left(dir string, o Options) (files []string) {
	if !a.excludes(dir, o) {
		return nil
	}
	w := &folderWalk{tree: a.tree, list: bounded(a.tree, o.Limits.Files), enter: func(string) bool { return true },
		link: func(p string) { files = append(files, p) }}
	_ = w.walk(dir, 0, func(p string) error { // files beyond the limit are not checked
		if a.lacks(p, false) {
			files = append(files, p)
		}
		return nil
	})
	return files
}

// missing returns the first file of a folder's kustomization that is not in the artifact, empty where all are.
func (a *artifact) missing(dir string, limits Limits, passed map[string]bool) string {
	file := kustomizationIn(a.tree, dir)
	if file == "" || passed[dir] {
		return ""
	}
	passed[dir] = true
	if a.leaves(file) {
		return file
	}
	data, _, err := a.tree.ReadFile(file)
	if err != nil {
		return ""
	}
	f, err := kustomization.Parse(file, data, limits.Source)
	if err != nil {
		return "" // the build reports the error
	}
	for _, ref := range f.Refs {
		p, ok := tree.Clean(path.Join(dir, ref.Value))
		if kustomization.Remote(ref.Value) || !ok {
			continue
		}
		real, e, err := a.tree.Lookup(p)
		switch {
		case err != nil:
		case real != p:
			return p
		case e.Kind == tree.Dir:
			if below := a.missing(real, limits, passed); below != "" {
				return below
			}
		case a.lacks(real, false):
			return real
		}
	}
	return ""
}

// leave finds what the source of a Kustomization leaves out of its folder. Missing files of a kustomization are a
// problem.
func (r *reader) leave(d *Deployment, from fluxSource, at Position) *Problem {
	for _, include := range from.includes {
		to := strings.Trim(cmp.Or(include.text("toPath"), include.text("repository", "name")), "/")
		if d.Path == "." || strings.HasPrefix(to+"/", d.Path+"/") || strings.HasPrefix(d.Path+"/", to+"/") {
			r.problem(problemAt(include.position("repository", "name"), ClusterOnly, "the source includes files of GitRepository %q "+
				"at %.200s: what is deployed from them is not checked", include.text("repository", "name"), to))
		}
	}
	a := newArtifact(r.Tree, from.exclusion)
	if !a.excludes(d.Path, r.Options) {
		return nil
	}
	d.Exclusion = from.exclusion
	missing, built := "", []string{d.Path}
	if a.kustomizationIn(d.Path) == "" {
		v := &Virtual{}
		if _, problem := v.generate(r.Tree, d, r.Limits); problem != nil {
			return problem
		}
		if d.LeavesOut, built = v.leaves, v.Includes; v.leaves && len(v.Includes) == 0 {
			missing = d.Path
		}
	}
	for passed := map[string]bool{}; missing == "" && len(built) > 0; built = built[1:] {
		missing = a.missing(built[0], r.Limits, passed)
	}
	if missing != "" {
		if resolved(r.Tree, missing) != missing {
			missing = "the symlink " + missing
		}
		return problemAt(at, Broken, "the source of Kustomization %q excludes %s: Flux has nothing to build from "+
			"it", d.Name, missing)
	}
	return nil
}

var errPattern = errors.New("the pattern is malformed")

// dialect says how a pattern language reads special characters.
type dialect struct {
	braces   bool // {a,b} are alternatives
	segments bool // "*" and "?" stay within a path element; "**" crosses them
}

var (
	// directoryGlob is the language of Argo CD's directory.include and directory.exclude, where "*" matches slashes,
	// too (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/#includeexclude-files).
	directoryGlob = dialect{braces: true}
	// pathspecGlob is git's default pathspec, which the git file generator uses
	// (https://git-scm.com/docs/gitglossary#Documentation/gitglossary.txt-pathspec).
	pathspecGlob = dialect{}
)

const maxPattern = 4096

// compile returns a pattern as an anchored regular expression, which matches in linear time.
func (d dialect) compile(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern || !utf8.ValidString(pattern) {
		return nil, errPattern
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	one, open := ".", 0
	if d.segments {
		one = "[^/]"
	}
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case d.segments && (rest == "/**" || strings.HasPrefix(rest, "/**/")):
			if rest == "/**" {
				b.WriteString("/.+")
			} else {
				b.WriteString("(?:/.*)?")
			}
			i += 2
		case d.segments && i == 0 && strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case c == '*':
			for i+1 < len(pattern) && pattern[i+1] == '*' {
				i++
			}
			b.WriteString(one + "*")
		case c == '?':
			b.WriteString(one)
		case c == '[':
			n, class, ok := class(rest)
			if !ok {
				return nil, errPattern
			}
			b.WriteString(class)
			i += n - 1
		case c == '{' && d.braces:
			open++
			b.WriteString("(?:")
		case c == '}' && open > 0:
			open--
			b.WriteString(")")
		case c == ',' && open > 0:
			b.WriteString("|")
		case c == '\\':
			if i++; i == len(pattern) {
				return nil, errPattern
			}
			fallthrough
		default:
			_, size := utf8.DecodeRuneInString(pattern[i:])
			b.WriteString(regexp.QuoteMeta(pattern[i : i+size]))
			i += size - 1
		}
	}
	if open > 0 {
		return nil, errPattern
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, errPattern
	}
	return re, nil
}

// class translates a bracket expression and returns its length.
func class(s string) (int, string, bool) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(s); first = false {
		c, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == ']' && !first:
			b.WriteByte(']')
			return i + 1, b.String(), true
		case c == '\\' && i+1 < len(s):
			i++
			c, size = utf8.DecodeRuneInString(s[i:])
			b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(string(c)), "-", `\-`))
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
		i += size
	}
	return 0, "", false
}

// fixed returns the folder before the first wildcard of a pattern, else the pattern itself.
func fixed(pattern string) string {
	i := strings.IndexAny(pattern, `*?[\`)
	if i < 0 {
		return pattern
	}
	return cmp.Or(pattern[:max(0, strings.LastIndexByte(pattern[:i], '/'))], ".")
}
