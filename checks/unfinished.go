package checks

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// A check that wants something from outside is done again with it, from the start: what is remembered need not be done
// twice. What the objects of a tree deploy stays as it was found, unless something that was fetched since changes it.

// unfinished is what the next round of a check goes on with.
type unfinished struct {
	change  string
	objects *tree.Objects
	options roots.Options
	sets    map[*roots.Set]*render.Basis
}

// changeKey tells changes apart, whatever was fetched for them.
func changeKey(change report.Change) string {
	change.Now, change.Sources = time.Time{}, nil
	data, err := json.Marshal(change)
	if err != nil {
		return "" // a change is texts and numbers
	}
	return string(data)
}

// takeUnfinished returns what the last round left, nil where that was another check.
func (k *kept) takeUnfinished(change report.Change) *unfinished {
	u := k.unfinished
	k.unfinished = nil
	if u == nil || u.change == "" || u.change != changeKey(change) {
		return nil
	}
	return u
}

// leaveUnfinished keeps what the next round can go on with.
func (k *kept) leaveUnfinished(change report.Change, r *repository) {
	k.unfinished = &unfinished{changeKey(change), r.objects, r.options, map[*roots.Set]*render.Basis{}}
	for set, renderer := range r.renderers {
		set.BuildWith(nil)
		k.unfinished.sets[set] = renderer.Basis()
	}
}

// byTree are the roots that the last round found by some options, by the id of their tree.
func (u *unfinished) byTree(options roots.Options) map[string]*roots.Set {
	known := map[string]*roots.Set{}
	if u != nil && reflect.DeepEqual(u.options, options) {
		for set := range u.sets {
			known[set.Tree().ID()] = set
		}
	}
	return known
}

// render opens the renderers of the three trees.
func (r *repository) render(change report.Change, k *kept, config render.Config) (tip, base, head *render.Renderer, err error) {
	ofBase, ofHead := config, config
	ofBase.Sources, ofHead.Sources = r.outside.Sources()
	r.renderers = map[*roots.Set]*render.Renderer{}
	unchanged := true
	open := func(set *roots.Set, config render.Config) *render.Renderer {
		one := render.New(set, config)
		if r.renderers[set] == nil {
			r.renderers[set] = one
			if r.earlier != nil && r.earlier.sets[set] != nil {
				unchanged = unchanged && one.Continues(r.earlier.sets[set])
			}
		}
		return one
	}
	t := r.trees
	base, head = open(t.Base.Roots, ofBase), open(t.Head.Roots, ofHead)
	if tip = base; t.Rules.Tree.ID() != t.Base.Tree.ID() {
		tip = open(t.Rules.Roots, ofBase)
	}
	if unchanged {
		r.earlier = nil
		return tip, base, head, nil
	}
	r.earlier = nil
	if err := r.index(change, k); err != nil {
		return nil, nil, nil, err
	}
	return r.render(change, k, config)
}
