package helm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/lintel-bot/lintel/render/doc"
)

// manifests sorts the output of the templates like Helm: crds/, then manifests and hooks by kind.
func (in *Input) manifests(files map[string]string, o Options) ([]Manifest, error) {
	var list []Manifest
	if !o.SkipCRDs {
		for _, crd := range in.Chart.CRDObjects() {
			m := Manifest{Template: crd.Filename, Text: string(crd.File.Data), Offset: -1, CRD: true}
			if len(crd.File.Data) > 0 {
				m.File = in.crds[&crd.File.Data[0]].file
			}
			list = append(list, m)
		}
	}
	printed := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		printed[name] = files[name]
		if err := in.sound(name, files[name]); err != nil {
			return nil, err
		}
	}
	type document struct {
		offset int
		text   string
	}
	var documents []document
	sorted := func(part func(document string) string) ([]*release.Hook, []releaseutil.Manifest, error) {
		documents = nil
		heads := map[string]string{}
		for name, text := range printed {
			var out strings.Builder
			split(text, func(offset int, text string) {
				fmt.Fprintf(&out, "---\n%s%d\n%s\n", indexMark, len(documents), part(text))
				documents = append(documents, document{offset, text})
			})
			heads[name] = out.String()
		}
		return releaseutil.SortManifests(heads, nil, releaseutil.InstallOrder)
	}
	hooks, manifests, err := sorted(head)
	if err != nil { // the error may only be in the head
		hooks, manifests, err = sorted(func(document string) string { return document })
	}
	if err != nil {
		return nil, in.unreadable(printed)
	}
	add := func(name, head string, hook bool) {
		number, _, _ := strings.Cut(strings.TrimPrefix(head, indexMark), "\n")
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(documents) {
			return // not reached: Helm does not change the documents
		}
		m := Manifest{Template: name, Text: documents[i].text, Hook: hook, Offset: documents[i].offset}
		_, m.File = in.Source(name)
		list = append(list, m)
	}
	for _, m := range manifests {
		add(m.Name, m.Content, false)
	}
	for _, h := range hooks {
		var events []string
		for _, e := range h.Events {
			events = append(events, e.String())
		}
		if o.Hooks == nil && !slices.Contains(events, Test) || o.Hooks != nil && o.Hooks(h.Name, events) {
			add(h.Path, h.Manifest, true)
		}
	}
	return list, nil
}

// Documents parses a manifest as it is in the release. Helm ends each manifest with a line break, without which a block
// scalar at the end would differ.
func (m Manifest) Documents(l doc.Limits) ([]*yaml.Node, error) {
	documents, err := doc.Parse(m.Template, []byte(m.Text+"\n"), l)
	for _, d := range documents {
		if e := doc.Sound(d); e != nil {
			e.Path = m.Template
			return nil, e
		}
	}
	return documents, err
}

// Objects returns the objects in a manifest, none where it cannot be parsed.
func (m Manifest) Objects(l doc.Limits) []*yaml.Node {
	documents, _ := m.Documents(l)
	return slices.Collect(doc.Objects(documents))
}

// indexMark begins the comment that numbers a document.
const indexMark = "# "

// sound refuses output that expands without limit.
func (in *Input) sound(name, text string) error {
	if !multiplies(text) {
		return nil
	}
	err := doc.Vet(name, []byte(text), doc.Limits{})
	if e, ok := err.(*doc.Error); ok && !e.Syntax && !e.Unknown {
		return in.at(&Error{Cause: CauseLimit, Message: "prints YAML that " + e.Message}, name, 0)
	}
	return nil
}

// multiplies reports whether a text may have both an anchor and an alias.
func multiplies(text string) bool { return marked(text, '&') && marked(text, '*') }

// marked reports whether a mark is where a value may start, followed by a name.
func marked(text string, mark byte) bool {
	for at := strings.IndexByte(text, mark); at >= 0; {
		if at+1 < len(text) && text[at+1] > ' ' && (at == 0 || strings.IndexByte(" \t\n[{,:", text[at-1]) >= 0) {
			return true
		}
		next := strings.IndexByte(text[at+1:], mark)
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

// unreadable returns the error for the first template whose output is not YAML.
func (in *Input) unreadable(files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		one := map[string]string{name: files[name]}
		if _, _, err := releaseutil.SortManifests(one, nil, releaseutil.InstallOrder); err != nil {
			return in.at(&Error{Cause: CauseOutput, Message: "prints what is not YAML: " + why(err)}, name, 0)
		}
	}
	return &Error{Cause: CauseOutput, Message: "prints what is not YAML"}
}

// why returns the message of the YAML parser without quoted texts.
func why(err error) string {
	message := err.Error()
	if at := strings.Index(message, "error converting YAML to JSON: "); at >= 0 {
		message = message[at+len("error converting YAML to JSON: "):]
	}
	return sentence(withoutValues(strings.TrimPrefix(message, "yaml: ")))
}

// split calls yield for the documents that Helm splits a text into, at lines that start with "---". Leading space is
// removed.
func split(text string, yield func(offset int, document string)) {
	after := func(mark int) int {
		rest := text[mark+len("---"):]
		return len(text) - len(strings.TrimLeft(rest, " \t"))
	}
	at := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	if strings.HasPrefix(text[at:], "---") {
		at = after(at)
	}
	for at >= 0 {
		end, next := len(text), -1
		if i := strings.Index(text[at:], "\n---"); i >= 0 {
			end = at + i + 1
			next = after(end)
		}
		if document := strings.TrimLeftFunc(text[at:end], unicode.IsSpace); document != "" {
			yield(end-len(document), document)
		}
		at = next
	}
}

func compareLookups(a, b Lookup) int {
	return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Helm parses each printed document to find its kind, which costs more than everything else in a chart with large
// objects. Its order only depends on the kind. So Helm gets only the head of a document, where the head certainly has
// the kind.

// head returns the lines of a document with its kind and metadata. It returns the whole document if that has an unusual
// style or may be a hook.
func head(document string) string {
	if strings.Contains(document, "helm.sh/hook") || strings.ContainsAny(document, "\t\r") || marked(document, '*') {
		return document
	}
	var out strings.Builder
	keep := false
	for line := range strings.Lines(document) {
		switch line[0] {
		case ' ':
		case '\n', '#':
			continue
		case '-': // a list may have the same indentation as its key
			if !strings.HasPrefix(line, "- ") {
				return document
			}
		default:
			key, rest, ok := strings.Cut(line, ":")
			if !ok || !isWord(key) || rest != "" && rest[0] != ' ' && rest[0] != '\n' {
				return document
			}
			keep = key == "apiVersion" || key == "kind" || key == "metadata"
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String()
}

func isWord(text string) bool {
	isOther := func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') }
	return text != "" && !strings.ContainsFunc(text, isOther)
}
