package graph

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/render/kustomization"
)

// The keys of naming that are not names.
const (
	anything    = "\x00anything"    // the file may give objects names that it does not contain
	substituted = "\x00substituted" // only if Flux substitutes variables
	around      = "\x00around"      // followed by a prefix or suffix that the file adds to names
	edits       = "\x00edits"       // values in the file may become values of objects in other files
	renames     = "\x00renames"     // names in the file may become names of objects in other files
	moves       = "\x00moves"       // followed by a namespace that a kustomization may move objects to
)

// Naming lists the files that may give an object of a kind (empty: any) a name. A name that starts with "*" stands for all that
// end with its rest. The files may contain the name as a name or namespace, add a prefix or suffix that it has, or have an
// anchor, a patch or a replacement, or with substitutes a variable of Flux. A file that contains the name is left out if it does
// not mention the kind and does not change objects of other files. Symlinks with the name of a manifest are listed. known is
// false for names with characters other than a-z, 0-9, ".", ":" and "-", which are not indexed.
func (g *Graph) Naming(kind, name string, substitutes bool) (files []string, known bool) {
	names, rest := []string{name}, strings.TrimPrefix(name, "*")
	if rest != name {
		names = slices.DeleteFunc(g.keys(naming, ""), func(key string) bool { return !strings.HasSuffix(key, rest) })
	}
	if !isName([]byte(strings.TrimPrefix(rest, "."))) {
		return nil, false
	}
	written := slices.DeleteFunc(g.sorted(naming, names...), func(p string) bool {
		return kind != "" && !g.mayHold(p, kind, renames) && !(kind == "Namespace" && g.has(naming, moves+name, p))
	})
	keys := []string{anything}
	if substitutes {
		keys = append(keys, substituted)
	}
	for _, key := range g.keys(naming, around) {
		if strings.Contains(name, strings.TrimPrefix(key, around)) {
			keys = append(keys, key)
		}
	}
	files = slices.Concat(written, g.sorted(naming, keys...), g.values(mentions, link))
	slices.Sort(files)
	return slices.Compact(files), true
}

// Stating lists the files that may give an object of a kind a word as a value: those of [Graph.Mentions] that mention the kind,
// too, or that change objects of other files.
func (g *Graph) Stating(kind, word string) []string {
	return slices.DeleteFunc(g.Mentions(word), func(p string) bool { return !g.mayHold(p, kind, edits) && !g.has(mentions, link, p) })
}

// mayHold reports whether what a file contains may become a part of an object of a kind, also by its edits or renames. What a
// kustomization has without the name of the kind selects objects of other files, or generates some of another kind.
func (g *Graph) mayHold(p, kind, by string) bool {
	return g.has(naming, by, p) || g.has(naming, anything, p) || g.MentionsIn(p, kind)
}

// keys lists the keys of a relation that start with a prefix, in no order. Some may have no values.
func (g *Graph) keys(r relation, prefix string) []string {
	list := slices.Collect(g.base.keys(r, prefix))
	for key := range g.added[r] {
		if strings.HasPrefix(key, prefix) {
			list = append(list, key)
		}
	}
	return list
}

// Unsettled lists the folders whose kustomization may have objects with names that no file contains: it has a plugin, a
// symlink, or cannot be read. Remote sources do not count (see External). The list is sorted.
func (g *Graph) Unsettled() []string { return g.sorted(folders, broken, plugin, linked) }

// Names are the names that a text may give to objects: keys of naming.
type Names map[string]bool

// NamesIn returns the names that a kustomization may give to objects.
func NamesIn(text []byte) Names {
	names := Names{}
	called(kustomization.FileNames()[0], text, func(key string) { names[key] = true })
	return names
}

// May reports whether a text may give an object a name.
func (n Names) May(name string) bool {
	if n[name] || n[anything] || n[substituted] {
		return true
	}
	for key := range n {
		if affix, is := strings.CutPrefix(key, around); is && strings.Contains(name, affix) {
			return true
		}
	}
	return false
}

// called calls visit for each name in the text of a file: values of "name" or "namespace", in YAML, in JSON, and in
// JSON in a scalar of YAML. It also calls it with other keys of naming.
func called(p string, text []byte, visit func(key string)) {
	if composes(text, kustomization.IsFileName(p)) || obscures(text) {
		visit(anything)
	}
	name := func(_, value string, whole bool) {
		if whole && isName([]byte(value)) || !whole && value != "" {
			visit(value)
		}
	}
	built := kustomization.IsFileName(p)
	fields(text, "name", []string{"namespace", "namePrefix", "nameSuffix"}, func(field, value string, whole bool) {
		if built && field == "namespace" && whole { // kustomize also gives it to Namespaces, as their name
			visit(moves + value)
		}
		switch affix := field == "namePrefix" || field == "nameSuffix"; {
		case affix && whole:
			visit(around + value)
		case affix:
			visit(anything)
		default:
			name(field, value, whole)
		}
	})
	patches := false // in JSON
	fields(text, "op", nil, func(string, string, bool) { patches = true })
	if patches {
		visit(edits)
	}
	if patches && (after(text, "/metadata", "/labels", "/annotations", "/namespace") || wholePath().Match(text)) {
		visit(renames)
	}
	if after(text, "/metadata/name", "space") {
		if bytes.Contains(text, []byte("from")) {
			visit(anything)
		}
		fields(text, "value", nil, name)
	}
}

// wholePath matches the path of a JSON patch that replaces an object as a whole, or one on another line.
var wholePath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`path[\\"']*[ \t]*:[ \t]*[\\"']*/?[\\"']*[ \t]*(?:[,}#\r\n]|$)`)
})

// blank are what may be between a field and its value.
const blank = " \t\r\n\"'\\"

// fields calls visit for each field of a text that is name, or that starts with name and is one of others. value is
// what nameAt returns.
func fields(text []byte, name string, others []string, visit func(field, value string, whole bool)) {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return
		}
		start, field := at+i, name
		for _, other := range others {
			if bytes.HasPrefix(text[start:], []byte(other)) {
				field = other
			}
		}
		at = start + len(field)
		if start > 0 && (isNameByte(text[start-1]) || isWordByte(text[start-1])) {
			continue
		}
		if bytes.HasSuffix(bytes.TrimRight(text[:start], blank), []byte("?")) {
			visit(field, anything, false) // the value of such a key is on the next line
		} else if value, is := bytes.CutPrefix(bytes.TrimLeft(text[at:], blank), []byte(":")); is {
			value, whole := nameAt(value)
			visit(field, value, whole)
		}
	}
}

// composes reports whether a text may compose names or change kinds: by the kinds of plugins, vars of a kustomization,
// targets of a replacement, or patches that may change either.
func composes(text []byte, kustomization bool) bool {
	holds := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	return holds("Transformer") || kustomization && holds("vars") ||
		holds("allowNameChange") || holds("allowKindChange") || holds("op") && after(text, "/kind", "s", "/") ||
		holds("fieldPaths") && (after(text, "metadata", ".labels", ".annotations", ".namespace", ":") ||
			after(text, "kind", ":", `":`, `':`, "s"))
}

// obscures reports whether a text may contain letters of names in another form: in escapes, also those of JSON in a
// scalar of YAML, in base64, or in an encoding other than UTF-8.
func obscures(text []byte) bool {
	return encodes(text) || slices.ContainsFunc([]string{`\x`, `\u`, `\U`}, func(escape string) bool {
		return bytes.Contains(text, []byte(escape))
	})
}

// after reports whether a word in a text is followed by something that is not in others.
func after(text []byte, word string, others ...string) bool {
	for {
		_, next, found := bytes.Cut(text, []byte(word))
		if !found {
			return false
		}
		if text = next; !slices.ContainsFunc(others, func(s string) bool { return bytes.HasPrefix(text, []byte(s)) }) {
			return true
		}
	}
}

// nameAt returns the value after a colon. whole is true for a text in the characters of names. Otherwise the value is
// the key of naming for what it may become, or empty if it cannot become a name.
func nameAt(text []byte) (given string, whole bool) {
	text = bytes.TrimLeft(text, blank)
	for len(text) > 0 && text[0] == '#' {
		_, text, _ = bytes.Cut(text, []byte("\n"))
		text = bytes.TrimLeft(text, blank)
	}
	end := 0
	for end < len(text) && isNameByte(text[end]) {
		end++
	}
	if end == len(text) || bytes.IndexByte([]byte(blank+",}]#"), text[end]) >= 0 {
		if rest := text[end:]; bytes.HasPrefix(rest, []byte("\\\n")) || bytes.HasPrefix(rest, []byte("\\\r")) {
			return anything, false // the text continues on the next line
		}
		return string(text[:end]), true
	}
	word := text
	if i := bytes.IndexAny(word, blank); i >= 0 {
		word = word[:i]
	}
	switch {
	case bytes.IndexByte([]byte("&*!|>"), text[0]) >= 0, slices.ContainsFunc(word, func(c byte) bool { return c >= utf8.RuneSelf }):
		return anything, false // a character that is not ASCII may be a line break
	case bytes.Contains(word, []byte("${")):
		return substituted, false
	}
	return "", false
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == ':' || c == '-'
}

func isWordByte(c byte) bool { return c >= 'A' && c <= 'Z' || c == '_' || c == '/' }

// isName reports whether a text has only characters of usual names, and is not the key of a field.
func isName(text []byte) bool {
	for _, c := range text {
		if !isNameByte(c) {
			return false
		}
	}
	ends := func(c byte) bool { return c != '.' && c != ':' && c != '-' }
	return len(text) > 0 && ends(text[0]) && ends(text[len(text)-1])
}
