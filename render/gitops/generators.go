package gitops

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// list returns the sets of a list generator
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-List/).
func (e *expander) list(g *field, needs *need) ([]set, error) {
	var sets []set
	for _, element := range g.elements("elements") {
		values, ok := element.settled().object()
		if !ok && element.present() {
			return nil, located(element, errors.New("an element of a list generator is a map"))
		}
		if !e.templates.goTemplate {
			flat := map[string]any{}
			for k, v := range values {
				inner, nested := v.(map[string]any)
				text, isText := v.(string)
				switch {
				case k == "values" && nested:
					for name, value := range inner {
						flat["values."+name] = fmt.Sprint(value)
					}
				case isText:
					flat[k] = text
				default:
					return nil, located(element, fmt.Errorf("the value of %.60q is not a string: put it in quotes, or set goTemplate: true", k))
				}
			}
			values = flat
		}
		sets = append(sets, set{values: values, at: element.written("")})
		if hasUnknown(element) {
			sets[len(sets)-1].needs = needs
		}
	}
	if text := g.get("elementsYaml"); text.text() != "" {
		if text.Unknown {
			return append(sets, set{values: map[string]any{}, needs: needs}), nil
		}
		documents, err := doc.Parse("", []byte(text.text()), e.Limits.Source)
		if err != nil || len(documents) == 0 {
			return nil, located(text, errors.New("elementsYaml is not valid YAML once it is filled in"))
		}
		list := fieldOfNode("", documents[0])
		if list.present() && !list.List {
			return nil, located(text, errors.New("elementsYaml is not a list once it is filled in"))
		}
		for i, element := range list.Items {
			values, ok := element.object()
			if !ok {
				return nil, located(text, errors.New("elementsYaml is not a list of maps once it is filled in"))
			}
			sets = append(sets, set{values: values, at: placesIn(text.Below, strconv.Itoa(i))})
		}
	}
	return sets, nil
}

// object returns a map with every number as float64, like a JSON decoder, because templates print numbers in that form.
// It returns false for a value that is not a map.
func (f *field) object() (m map[string]any, ok bool) {
	data, err := json.Marshal(f.plain())
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err == nil && m != nil
}

// git returns a set for each folder or file that the patterns match
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Git/).
func (e *expander) git(g *field, needs *need) ([]set, error) {
	for _, item := range slices.Concat(g.elements("directories"), g.elements("files")) {
		if strings.Contains(item.text("path"), "{{") || strings.Contains(item.text("path"), "<no value>") {
			return nil, located(item, unknown("the path has a template expression that no generator fills in"))
		}
	}
	if repository := g.text("repoURL"); len(e.Repo.URLs) > 0 && repository != "" && !e.Repo.Match(repository) {
		needs := &need{g.position("repoURL"), "the git generator reads another repository"}
		return []set{{values: map[string]any{}, needs: needs}}, nil
	}
	if revision := g.text("revision"); !e.Repo.Current(revision) {
		needs := &need{g.position("revision"), "the git generator reads another revision of this repository"}
		return []set{{values: map[string]any{}, needs: needs}}, nil
	}
	e.read = true
	switch {
	case len(g.elements("directories")) > 0:
		return e.directories(g, needs)
	case len(g.elements("files")) > 0:
		return e.files(g, needs)
	}
	return nil, errors.New("a git generator names directories or files")
}

func hasUnknown(f *field) bool {
	if f == nil {
		return false
	}
	return f.Unknown || slices.ContainsFunc(f.Items, hasUnknown) ||
		slices.ContainsFunc(slices.Collect(maps.Values(f.Fields)), hasUnknown)
}

func (e *expander) directories(g *field, needs *need) ([]set, error) {
	found := map[string]bool{}
	var excludes []string
	for _, item := range g.elements("directories") {
		if pattern := item.text("path"); item.truth("exclude") {
			excludes = append(excludes, pattern)
		} else if err := e.folders(".", strings.Split(pattern, "/"), found); err != nil {
			return nil, located(item, err)
		}
	}
	var sets []set
	for _, dir := range slices.SortedFunc(maps.Keys(found), comparePaths) {
		if slices.ContainsFunc(excludes, func(p string) bool { ok, _ := path.Match(p, dir); return ok }) {
			continue
		}
		s, err := e.pathSet(g, set{values: map[string]any{}, needs: needs}, dir, "")
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}

func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// folders adds the folders below dir that match a path.Match pattern, element by element. Argo CD skips hidden folders
// and does not follow symlinks.
func (e *expander) folders(dir string, pattern []string, found map[string]bool) error {
	list, err := e.readDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range list {
		if ok, err := path.Match(pattern[0], entry.Name); err != nil {
			return errPattern
		} else if !ok || entry.Kind != tree.Dir || strings.HasPrefix(entry.Name, ".") {
			continue
		}
		below := path.Join(dir, entry.Name)
		if len(pattern) == 1 {
			found[below] = true
		} else if err := e.folders(below, pattern[1:], found); err != nil {
			return err
		}
	}
	return nil
}

// readDir lists a folder, and counts its entries. A folder that does not exist has none.
func (e *expander) readDir(dir string) ([]tree.Entry, error) {
	list, err := e.Tree.ReadDir(dir)
	if errors.Is(err, tree.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New("a folder of the repository cannot be read")
	}
	if e.entries += len(list); e.entries > e.Limits.Files {
		return nil, unknown("it looks at more than the limit of %d files and folders", e.Limits.Files)
	}
	return list, nil
}

// files reads the files that match git pathspecs. Each contains one set or a list of sets.
func (e *expander) files(g *field, needs *need) ([]set, error) {
	matched := map[string]bool{}
	for _, exclude := range []bool{false, true} {
		for _, item := range g.elements("files") {
			if item.truth("exclude") != exclude {
				continue
			}
			hits, err := e.pathspec(item.text("path"))
			if err != nil {
				return nil, located(item, err)
			}
			for _, hit := range hits {
				matched[hit] = !exclude
			}
		}
	}
	var sets []set
	for _, file := range slices.Sorted(maps.Keys(matched)) {
		if !matched[file] {
			continue
		}
		documents, problem := e.readFile(file)
		if problem != nil {
			return nil, &problem.Error
		}
		objects := []*field{{Fields: map[string]*field{}}} // an empty file gives one empty set
		if len(documents) > 0 {
			if objects = documents[:1]; documents[0].List {
				objects = documents[0].Items
			}
		}
		for _, o := range objects {
			values, ok := o.object()
			if !ok {
				return nil, brokenAt(Position{Path: file, Line: 1}, "a file of parameters is a map or a list of maps")
			}
			if !e.templates.goTemplate {
				values = flatten(values)
			}
			s, err := e.pathSet(g, set{values: values, needs: needs, at: o.written("")}, path.Dir(file), path.Base(file))
			if err != nil {
				return nil, err
			}
			if sets = append(sets, s); len(sets) > e.Limits.Sets {
				return nil, unknown("it makes more than the limit of %d parameter sets", e.Limits.Sets)
			}
		}
	}
	return sets, nil
}

// pathspec lists the files that "git ls-files -- <pathspec>" lists.
func (e *expander) pathspec(spec string) (hits []string, err error) {
	folder := fixed(spec)
	clean, ok := tree.Clean(folder)
	if !ok {
		return nil, errors.New("the path points outside the repository")
	}
	matches := func(string) bool { return true }
	if folder != spec { // it has wildcards
		re, err := pathspecGlob.compile(strings.TrimPrefix(spec, "./"))
		if err != nil {
			return nil, err
		}
		matches = re.MatchString
	} else if _, entry, err := e.Tree.Lookup(clean); err != nil {
		return nil, nil
	} else if entry.Kind != tree.Dir {
		return []string{clean}, nil
	}
	w := &folderWalk{tree: e.Tree, list: e.readDir, enter: func(string) bool { return true }}
	err = w.walk(clean, 0, func(p string) error {
		if matches(p) {
			hits = append(hits, p)
		}
		return nil
	})
	return hits, err
}

// pathSet adds the values that describe a folder or file, and the generator's own values as far as they are known.
func (e *expander) pathSet(g *field, s set, dir, file string) (set, error) {
	values, prefix, segments := s.values, g.text("pathParamPrefix"), strings.Split(dir, "/")
	about := map[string]any{"basename": path.Base(dir), "basenameNormalized": normalize(path.Base(dir))}
	if file != "" {
		about["filename"], about["filenameNormalized"] = file, normalize(file)
	}
	if e.templates.goTemplate {
		about["path"], about["segments"] = dir, anyList(segments)
		if prefix != "" {
			values[prefix] = map[string]any{"path": about}
		} else {
			values["path"] = about
		}
	} else {
		name := strings.TrimPrefix(prefix+".path", ".")
		values[name] = dir
		for k, v := range about {
			values[name+"."+k] = v
		}
		for i, s := range segments {
			values[name+"["+strconv.Itoa(i)+"]"] = s
		}
	}
	return e.withValues(g, s)
}

// withValues adds the values of a generator to one of its sets, as far as they are known.
func (e *expander) withValues(g *field, s set) (set, error) {
	own := g.get("values")
	if own == nil {
		return s, nil
	}
	s.at = overridden(s.at, own.written("values."))
	added := map[string]any{}
	for _, k := range own.Keys {
		v, err := e.templates.render(own.Fields[k], s)
		switch {
		case err != nil:
			return set{}, err
		case v.Unknown:
		case e.templates.goTemplate:
			added[k] = v.text()
		default:
			s.values["values."+k] = v.text()
		}
	}
	if e.templates.goTemplate {
		s.values["values"] = added
	}
	return s, nil
}

// clusters returns a set for each cluster that a Secret of this repository declares and the generator selects, and one for
// the clusters that only Argo CD knows
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Cluster/).
func (e *expander) clusters(g *field, needs *need) ([]set, error) {
	rest := set{values: e.ownValues(g), at: g.get("values").written("values."),
		needs: cmp.Or(needs, &need{g.position(), "the clusters generator needs the cluster"})}
	e.several = true
	var all []set
	known, unread := e.clusterSecrets()
	if g.truth("flatList") || hasUnknown(g) {
		known, unread = nil, append(unread, known...)
	}
	for i, secret := range append(known, unread...) {
		labels, _ := labelsOf(secret).object()
		selected, err := selectSets(g.get("selector"), []set{{values: labels}}, nil)
		switch may := hasUnknown(g) || unfilled(fmt.Sprint(labels)) || len(selected) > 0; {
		case i >= len(known) && may:
			e.unread = append(e.unread, identity(secret))
			continue
		case err != nil:
			return nil, located(g.get("selector"), err)
		case len(selected) == 0:
			continue
		}
		values, metadata, at := map[string]any{}, map[string]any{}, map[string]Position{}
		for _, key := range []string{"name", "server", "project"} {
			values[key], at[key] = secretText(secret, key)
		}
		values["nameNormalized"], at["nameNormalized"] = normalize(values["name"].(string)), at["name"]
		for _, key := range []string{"labels", "annotations"} {
			own := secret.get("metadata", key)
			if m, ok := own.object(); ok {
				metadata[key], at = m, overridden(at, own.written("metadata."+key+"."))
				for k, v := range m {
					if !e.templates.goTemplate {
						values["metadata."+key+"."+k] = v
					}
				}
			}
		}
		if e.templates.goTemplate {
			values["metadata"] = metadata
		}
		s, err := e.withValues(g, set{values: values, needs: needs, at: at})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	rest.others = len(all) > 0
	return append(all, rest), nil
}

// flatten joins the keys of nested values with dots.
func flatten(values map[string]any) map[string]any {
	out := map[string]any{}
	var add func(prefix string, v any)
	add = func(prefix string, v any) {
		switch v.(type) {
		case map[string]any, []any:
			for k, inner := range doc.Sorted(v) {
				add(prefix+"."+k, inner)
			}
		default:
			out[prefix[1:]] = fmt.Sprint(v)
		}
	}
	for k, v := range values {
		add("."+k, v)
	}
	return out
}

// selectSets keeps the sets whose flattened values match a label selector
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Post-Selector/).
func selectSets(selector *field, sets []set, needs *need) ([]set, error) {
	if !selector.present() {
		return sets, nil
	}
	var kept []set
	for _, s := range sets {
		if hasUnknown(selector) {
			s.needs, s.guess = cmp.Or(s.needs, needs), true
		}
		values := flatten(s.values)
		matched := true
		if labels := selector.get("matchLabels"); labels != nil {
			for _, k := range labels.Keys {
				matched = matched && has(values, k) && values[k] == labels.text(k)
			}
		}
		for _, x := range selector.elements("matchExpressions") {
			value, known := values[x.text("key")]
			is := known && slices.Contains(plainTexts(x.get("values")), fmt.Sprint(value))
			switch x.text("operator") {
			case "In":
			case "NotIn":
				is = !is
			case "Exists":
				is = known
			case "DoesNotExist":
				is = !known
			default:
				return nil, errors.New("the selector has an unknown operator")
			}
			matched = matched && is
		}
		if matched || s.needs != nil {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

func has(m map[string]any, key string) bool { _, ok := m[key]; return ok }
