// Package trial renders a release of a chart again with an edit, to find out what the edit changes: which value decides a
// field, which nobody reads, what another cluster gets.
package trial

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
)

// Edit is what a rendering has that the release has not. The zero value changes nothing.
type Edit struct {
	Set       []Value        // in the values, one after the other
	Without   []string       // the path of a value that is left out
	Values    map[string]any // in place of all values; nil: the release's
	Template  string         // the only one that is executed, without crds/; empty: all are
	AnyValues bool           // the schema is not asked
	Upgrade   bool           // it is upgraded, not installed
	Cluster   *Cluster       // in place of the one that the release is rendered for; nil: that
}

// Cluster is what a chart sees of one.
type Cluster struct {
	Kubernetes  string
	APIVersions []string
}

// Value is one to set at a path. What stands in its way goes.
type Value struct {
	Path  []string
	Value any
}

// Release is a release of a chart to try edits on. It keeps its rendering and what each edit changes, and gives up where
// the renderings take more than its budget. It is safe for concurrent use.
type Release struct {
	chart   *helm.Chart
	options helm.Options
	limits  doc.Limits

	mu       sync.Mutex
	left     int          // steps of templates that renderings may still take
	weight   int          // steps that one rendering takes; 0: not known, and not counted
	apart    bool         // every template prints by itself what it prints among the others
	whole    *helm.Output // without an edit
	changes  map[string]*Changes
	isolated map[string]bool
	asked    map[string]int // of how many templates the changes by an edit were asked for
}

// Steps is a budget of renderings for one release: see New.
const Steps = 20_000_000

// A template by itself counts as a part of all.
const isolatedShare = 8

// ErrBudget means that an edit was not tried, because others took too much.
var ErrBudget = errors.New("the trial renderings take too long")

// New returns a release to try edits on. The renderings that follow Weigh may take a number of steps.
func New(chart *helm.Chart, options helm.Options, limits doc.Limits, steps int) *Release {
	return &Release{chart: chart, options: options, limits: limits, left: steps, changes: map[string]*Changes{},
		isolated: map[string]bool{}, asked: map[string]int{}}
}

// Weigh sets how many steps a rendering takes, and whether its templates are known to have nothing to do with each
// other. The budget has no clock, so that an answer is the same on any machine.
func (r *Release) Weigh(steps int, apart bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.weight, r.apart = steps, apart
}

func (e Edit) key() string {
	key, _ := json.Marshal(e) // of strings and plain values, which have a form
	return string(key)
}

// Render renders the release as it is. The error is an *helm.Error.
func (r *Release) Render(ctx context.Context) (*helm.Output, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unedited(ctx)
}

func (r *Release) unedited(ctx context.Context) (_ *helm.Output, err error) {
	if r.whole == nil {
		r.whole, err = r.chart.Render(ctx, r.options)
	}
	return r.whole, err
}

// Try renders the release with an edit. The error is an *helm.Error or ErrBudget.
func (r *Release) Try(ctx context.Context, e Edit) (*helm.Output, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left <= 0 {
		return nil, ErrBudget
	}
	return r.try(ctx, e)
}

func (r *Release) try(ctx context.Context, e Edit) (*helm.Output, error) {
	o := r.options
	if e.Values != nil {
		o.Values = e.Values
	}
	values := any(o.Values)
	for _, one := range e.Set {
		values = with(values, one.Path, one.Value)
	}
	if o.Values, _ = values.(map[string]any); e.Without != nil {
		o.Values = without(o.Values, e.Without)
	}
	if e.Cluster != nil {
		o.Kubernetes, o.APIVersions = e.Cluster.Kubernetes, e.Cluster.APIVersions
	}
	o.Upgrade, o.SkipSchema = o.Upgrade || e.Upgrade, o.SkipSchema || e.AnyValues
	steps := r.weight
	if o.Only = e.Template; o.Only != "" {
		o.SkipCRDs = true
		steps /= isolatedShare
	}
	r.left -= steps
	return r.chart.Render(ctx, o)
}
