// Package trial renders a release of a chart again with an edit, to find out what the edit changes: which value
// determines a field, which value is never read, what a chart renders for another cluster.
package trial

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
)

// Edit is a change of a release for one rendering. The zero value changes nothing.
type Edit struct {
	Set       []Value        // values to set, in this order
	Without   []string       // the path of a value to leave out
	Values    map[string]any // to use instead of all values; nil: the release's
	Template  string         // the only template to execute, without crds/; empty: all are
	AnyValues bool           // the values are not checked with the chart's schema
	Upgrade   bool           // render as an upgrade, not an installation
	Cluster   *Cluster       // the cluster to render for; nil: the release's own
}

// Cluster is what a chart can find out about a cluster.
type Cluster struct {
	Kubernetes  string
	APIVersions []string
}

// Value is a value to set at a path. A value on the way that is no map is replaced.
type Value struct {
	Path  []string
	Value any
}

// Release is a release of a chart to try edits on. It keeps its rendering and the changes by each edit, and stops
// trying when the renderings exceed its budget. It is safe for concurrent use.
type Release struct {
	chart   *helm.Chart
	options helm.Options
	limits  doc.Limits

	mu       sync.Mutex
	left     int          // steps of templates left of the budget
	weight   int          // steps of one rendering; 0: not known, and not counted
	apart    bool         // every template prints the same alone as together with the others
	whole    *helm.Output // without an edit
	changes  map[string]*Changes
	isolated map[string]bool
	asked    map[string]int // for how many templates the changes by an edit were asked
}

// Steps is a budget of renderings for one release: see New.
const Steps = 20_000_000

// Rendering one template alone costs this fraction of rendering all of them.
const isolatedShare = 8

// ErrBudget means that an edit was not tried because the budget is used up.
var ErrBudget = errors.New("the trial renderings take too long")

// New returns a release to try edits on. steps is the budget of all renderings after Weigh.
func New(chart *helm.Chart, options helm.Options, limits doc.Limits, steps int) *Release {
	return &Release{chart: chart, options: options, limits: limits, left: steps, changes: map[string]*Changes{},
		isolated: map[string]bool{}, asked: map[string]int{}}
}

// Weigh sets how many steps a rendering takes, and whether its templates are known to be independent of each other. The
// budget counts steps and not time, so that results are the same on every machine.
func (r *Release) Weigh(steps int, apart bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.weight, r.apart = steps, apart
}

func (e Edit) key() string {
	key, _ := json.Marshal(e) // strings and plain values can always be encoded
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
