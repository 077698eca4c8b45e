package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/trial"
)

// joint is one of several values that are set at the same time, each to a unique word. The template reads the value
// where its word appears in the output.
type joint struct {
	word    string
	objects []*yaml.Node // of the template, in the order of its output
}

// maxJoint is how often a template is rendered to try its values together. If a group fails, its halves are tried.
const maxJoint = 24

// jointly sets many empty values of a template at once and returns which of them it prints: a large chart has a
// thousand. Values below a common key are in one group, so that a value that turns off part of the template affects
// only its group.
func (c *chartPlaces) jointly(template string) map[string]joint {
	known, ok := c.joint[template]
	if ok {
		return known
	}
	known = map[string]joint{}
	if c.joint == nil {
		c.joint = map[string]map[string]joint{}
	}
	c.joint[template] = known
	paths := c.trace.Fallbacks(template)
	if len(paths) < 2 || !c.trial.Isolated(c.background(), template) {
		return known
	}
	slices.SortFunc(paths, func(a, b []string) int { return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b)) })
	queue := grouped(paths)
	for n := 0; n < maxJoint && len(queue) > 0; n++ {
		some := queue[0]
		queue = queue[1:]
		edit := trial.Edit{Template: template, AnyValues: true}
		for i, path := range some { // longer paths come last and replace shorter ones
			edit.Set = append(edit.Set, trial.Value{Path: path, Value: word(i)})
		}
		out, err := c.trial.Try(c.background(), edit)
		if errors.Is(err, trial.ErrBudget) {
			break
		}
		if err != nil {
			if len(some) > 1 {
				queue = append(queue, some[:len(some)/2], some[len(some)/2:])
			}
			continue
		}
		objects := c.trial.InOrder(out, template)
		for i, path := range some {
			known[strings.Join(path, "\x00")] = joint{word(i), objects}
		}
	}
	return known
}

// grouped groups paths by the first key that not all of them share.
func grouped(paths [][]string) (groups [][][]string) {
	common := 0
	for common < len(paths[0])-1 && !slices.ContainsFunc(paths, func(p []string) bool {
		return len(p) <= common+1 || p[common] != paths[0][common]
	}) {
		common++
	}
	index := map[string]int{}
	for _, p := range paths {
		i, ok := index[p[common]]
		if !ok {
			i = len(groups)
			index[p[common]] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

func word(i int) string { return fmt.Sprintf("lintel-%d-lintel", i) }

// prints reports whether a field of the object at an index contains the value's word.
func (j joint) prints(s spot, index int) bool {
	if index < 0 || index >= len(j.objects) || doc.Text(j.objects[index], "kind") != doc.Text(s.object, "kind") {
		return false
	}
	again := spot{value: j.objects[index]}
	again.follow(s.pointer, nil)
	return again.missing == "" && strings.Contains(again.value.Value, j.word)
}

// ordinal returns the index of an object in the output of its template.
func (c *chartPlaces) ordinal(s spot) int {
	template := s.manifest.Template
	names, ok := c.order[template]
	if !ok {
		for _, object := range c.trial.InOrder(c.output, template) {
			names = append(names, trial.Name(object))
		}
		if c.order == nil {
			c.order = map[string][]string{}
		}
		c.order[template] = names
	}
	return slices.Index(names, trial.Name(s.object))
}
