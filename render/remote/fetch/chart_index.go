package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

const (
	// maxIndex is the largest index that is read, in bytes.
	maxIndex = 50 << 20
	// maxEntry is the largest entry of one version in an index, in bytes.
	maxEntry = 1 << 20
	// maxOdd is the largest index that is read if it is not formatted as Helm formats it, in bytes. Such an index is
	// parsed as a whole, which takes many times its size in memory.
	maxOdd = 2 << 20
)

// indexEntry is one version in an index, with only the fields that are needed.
type indexEntry struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	APIVersion string   `json:"apiVersion"`
	Type       string   `json:"type"`
	Digest     string   `json:"digest"` // of the packed chart, in hex, mostly without "sha256:"
	URLs       []string `json:"urls"`   // possibly relative to the repository
}

// valid reports whether Helm accepts an entry. Helm ignores the others.
func (e indexEntry) valid() bool {
	return e.Name != "" && e.Name != "." && e.Name != ".." && e.Name == path.Base(e.Name) && parses(e.Version) &&
		(e.Type == "" || e.Type == "application" || e.Type == "library")
}

// findVersion returns the version of a chart that Helm would choose for a reference: an exact version, a range, or ""
// for the newest one. It has an address, and a digest with "sha256:" or none. Failures are *remote.Failure.
func findVersion(index []byte, name, ref string) (e indexEntry, err error) {
	entries, err := entriesOf(index, name)
	if err != nil {
		return e, err
	}
	entries = slices.DeleteFunc(entries, func(e indexEntry) bool { return !e.valid() })
	newestFirst(entries, func(e indexEntry) string { return e.Version })
	versions := make([]string, len(entries))
	for i, e := range entries {
		versions[i] = e.Version
	}
	n, err := pickVersion(versions, ref)
	if err != nil {
		return e, err
	}
	e = entries[n]
	if len(e.URLs) == 0 || e.URLs[0] == "" {
		return e, broken("the index of the chart repository has no address for version %s", quote(e.Version))
	}
	hex := strings.ToLower(strings.TrimPrefix(e.Digest, "sha256:"))
	if e.Digest = ""; len(hex) == 64 {
		e.Digest = "sha256:" + hex
	}
	return e, nil
}

var (
	errNoIndex = broken("what the chart repository has as index.yaml is not an index of charts")
	// errLayout means that an index is not formatted as Helm formats it, so the line-by-line reader cannot read it.
	errLayout = errors.New("the index has another layout")
)

func entriesOf(index []byte, name string) ([]indexEntry, error) {
	index = bytes.TrimPrefix(index, []byte("\xef\xbb\xbf"))
	if trimmed := bytes.TrimLeft(index, " \t\r\n"); len(trimmed) == 0 {
		return nil, errNoIndex
	} else if trimmed[0] == '{' {
		entries, err := jsonEntries(trimmed, name)
		if !errors.Is(err, errLayout) {
			return entries, err
		}
	} else {
		entries, err := yamlEntries(index, name)
		if !errors.Is(err, errLayout) {
			return entries, err
		}
	}
	return oddEntries(index, name)
}

func noChart(name string) error {
	return broken("the chart repository has no chart %s", quote(name))
}

// jsonEntries reads an index that is JSON token by token.
func jsonEntries(index []byte, name string) (found []indexEntry, err error) {
	d := json.NewDecoder(bytes.NewReader(index))
	has, api := false, false
	err = jsonMembers(d, func(key string) error {
		switch key {
		case "apiVersion":
			api = true
		case "entries":
			return jsonMembers(d, func(key string) error {
				if key != name {
					return skipJSON(d)
				}
				has = true
				return d.Decode(&found)
			})
		}
		return skipJSON(d)
	})
	switch {
	case err != nil:
		return nil, errLayout
	case !api:
		return nil, errNoIndex
	case !has:
		return nil, noChart(name)
	}
	return found, nil
}

// jsonMembers calls do for each key of the next object; do has to read the value.
func jsonMembers(d *json.Decoder, do func(key string) error) error {
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return errLayout
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if err := do(key); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func skipJSON(d *json.Decoder) error {
	var raw json.RawMessage
	return d.Decode(&raw)
}

// yamlEntries reads an index that is formatted as Helm formats it: in block style, one key a line. Only the entries of
// one chart are parsed, one version at a time.
func yamlEntries(index []byte, name string) ([]indexEntry, error) {
	items, err := cutIndex(index, name)
	if err != nil {
		return nil, err
	}
	var entries []indexEntry
	for _, item := range items {
		if len(item) > maxEntry {
			return nil, undecided("the index of the chart repository has an entry for %s that is too large", quote(name))
		}
		var n yaml.Node
		if err := yaml.Unmarshal(item, &n); err != nil {
			return nil, errLayout
		}
		if n.Kind != yaml.DocumentNode || n.Content[0].Kind != yaml.SequenceNode {
			return nil, errLayout
		}
		for _, e := range n.Content[0].Content {
			got, err := readEntry(e)
			if err != nil {
				return nil, err
			}
			entries = append(entries, got)
		}
	}
	return entries, nil
}

// oddEntries reads any YAML up to maxOdd bytes.
func oddEntries(index []byte, name string) ([]indexEntry, error) {
	if len(index) > maxOdd {
		return nil, undecided("the index of the chart repository has an unusual layout and is larger than %d MiB",
			maxOdd>>20)
	}
	var top yaml.Node
	if err := yaml.Unmarshal(index, &top); err != nil || top.Kind != yaml.DocumentNode {
		return nil, errNoIndex
	}
	if yamlField(top.Content[0], "apiVersion") == nil {
		return nil, errNoIndex
	}
	list := yamlField(yamlField(top.Content[0], "entries"), name)
	if list == nil {
		return nil, noChart(name)
	}
	if list.Kind == yaml.AliasNode {
		return nil, errAlias
	}
	var entries []indexEntry
	for _, n := range list.Content {
		e, err := readEntry(n)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

var errAlias = undecided("the index of the chart repository uses YAML aliases, which are not followed")

// readEntry reads one version. Aliases are not followed: a few lines of them can stand for gigabytes.
func readEntry(n *yaml.Node) (e indexEntry, err error) {
	for name, to := range map[string]*string{"name": &e.Name, "version": &e.Version, "apiVersion": &e.APIVersion,
		"type": &e.Type, "digest": &e.Digest} {
		if v := yamlField(n, name); v != nil {
			if v.Kind == yaml.AliasNode {
				return e, errAlias
			}
			*to = v.Value
		}
	}
	urls := yamlField(n, "urls")
	if n.Kind == yaml.AliasNode || (urls != nil && urls.Kind == yaml.AliasNode) {
		return e, errAlias
	}
	if urls != nil && len(urls.Content) > 0 {
		if urls.Content[0].Kind == yaml.AliasNode {
			return e, errAlias
		}
		e.URLs = []string{urls.Content[0].Value}
	}
	return e, nil
}

func yamlField(n *yaml.Node, name string) *yaml.Node {
	_, value := doc.Written(n, name)
	return value
}

// quote returns a name or a version for a sentence: shortened and printable.
func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return fmt.Sprintf("%q", s)
}

// cutIndex returns the lines of each version of a chart.
func cutIndex(index []byte, name string) (items [][]byte, err error) {
	names := []string{name, `"` + name + `"`, "'" + name + "'"}
	api, seen, found := false, false, 0 // "apiVersion:", "entries:", and how often the chart occurred
	inside, mine := false, false        // whether the current line is below "entries:", and part of the chart
	at := -1                            // the indentation of the keys below entries; -1: not known yet
	dash := -1                          // that of the chart's items; likewise
lines:
	for line := range bytes.Lines(index) {
		text := bytes.TrimLeft(line, " ")
		indent := len(line) - len(text)
		text = bytes.TrimRight(text, " \t\r\n")
		comment := len(text) == 0 || text[0] == '#'
		item := bytes.HasPrefix(text, []byte("- ")) || string(text) == "-"
		if inside && at < 0 && indent > 0 && !comment {
			at = indent
		}
		switch {
		case comment && (!mine || indent <= at || dash < 0):
		case indent == 0 && (bytes.HasPrefix(text, []byte("---")) || text[0] == '%'):
			if seen {
				break lines
			}
		case indent == 0:
			key, noValue, ok := cutKey(text)
			first := key == "entries" && !seen && noValue
			if !ok || key == "entries" && !first {
				return nil, errLayout
			}
			api, seen, inside, mine = api || key == "apiVersion", seen || first, first, false
		case !inside:
		case indent < at:
			return nil, errLayout
		case indent == at && !item:
			key, noValue, ok := cutKey(text)
			if mine = slices.Contains(names, key); !ok || key == "" || mine && !noValue {
				return nil, errLayout
			}
			if mine {
				found++
				continue
			}
		case mine && item && (dash < 0 || indent == dash):
			dash = indent
			items = append(items, nil)
		case mine && dash < 0:
			return nil, errLayout
		}
		if n := len(items); mine && n > 0 {
			items[n-1] = append(items[n-1], line...)
		}
	}
	switch {
	case !seen:
		return nil, errLayout
	case !api:
		return nil, errNoIndex
	case found == 0:
		return nil, noChart(name)
	case found > 1:
		return nil, broken("the index of the chart repository has the chart %s twice", quote(name))
	}
	return items, nil
}

// cutKey returns the key of a line, and whether nothing follows it there; ok is false for a line without one.
func cutKey(line []byte) (key string, noValue, ok bool) {
	before, after, ok := bytes.Cut(line, []byte(":"))
	after = bytes.TrimSpace(after)
	return string(before), len(after) == 0 || after[0] == '#', ok
}
