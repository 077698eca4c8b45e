package helm

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"text/template"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	release "helm.sh/helm/v4/pkg/release/v1"
)

// Test is the event of hooks that are tests.
const Test = string(release.HookTest)

// Options say how a chart is rendered. The zero values are those of `helm template NAME --include-crds --skip-tests`.
type Options struct {
	Name      string         // of the release
	Namespace string         // default "default"
	Values    map[string]any // the user's merged values, which are not changed
	// Kubernetes is the version that the chart sees ("1.33", "v1.33.2"); default DefaultKubernetes.
	Kubernetes string
	// APIVersions are added to those that Helm has (the group versions of Kubernetes): "group/version" and
	// "group/version/Kind". See KubernetesKinds for those of Kubernetes.
	APIVersions []string
	SkipCRDs    bool // leave out crds/
	SkipSchema  bool // do not check values.schema.json
	Upgrade     bool // Release.IsUpgrade instead of IsInstall
	// Hooks reports whether to include a hook; nil: include all that are no tests.
	Hooks func(name string, events []string) bool
	// Lookup answers look-ups in the cluster; an empty name requests a list. False means that the object is not known,
	// or that the list may be incomplete. nil: nothing is known.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, bool)
	// Only is the only template to execute; empty: all. Changes that other templates make to the values are missing
	// then.
	Only   string
	Limits Limits // Output and Time only
}

// Output is the output of a chart.
type Output struct {
	Manifests       []Manifest        // in the order of `helm template`
	Files           map[string]string // output of the engine, by names of templates
	Lookups         []Lookup          // look-ups that Options.Lookup did not answer completely, each once, sorted
	AnsweredLookups []Lookup          // look-ups that Options.Lookup answered, perhaps in part, each once, sorted
	Absent          []string          // versions that Capabilities.APIVersions.Has denied, each once, sorted
	Present         []string          // versions that it granted, likewise
	// Listed means that the chart may have read the API versions in other ways than by Has.
	Listed bool
	// Phased means that the chart may print something else on upgrade than on installation.
	Phased bool
	// Frozen are the called functions that are random or read the clock, each once, sorted.
	Frozen []string
	// Unvalidated are the charts (full names, as in the names of templates) whose schema was not checked, because it
	// refers to other documents.
	Unvalidated []string
}

// Manifest is one document.
type Manifest struct {
	Template string // the engine's name of the template; of a CRD the path that Helm prints, "chart/crds/x.yaml"
	File     string // path in the chart's folder; empty if the file is in a packed or fetched subchart
	Text     string // one document; for a CRD the whole file
	Offset   int    // of Text in Output.Files[Template]; -1 for crds/
	Hook     bool
	CRD      bool
}

// Lookup is a look-up of a template in the cluster. An empty Name requests a list.
type Lookup struct{ APIVersion, Kind, Namespace, Name string }

// run is the state of one render.
type run struct {
	options  Options
	limits   Limits
	template string // the template that is executed
	calls    map[string]int
	frozen   map[string]bool
	lookups  map[Lookup]bool // not answered completely
	answered map[Lookup]bool // answered, perhaps in part
	versions apiVersions
	asks     asks
	depth    int
	printed  int
	stopped  atomic.Bool // the caller no longer waits
}

func newRun(o Options) *run {
	return &run{options: o, limits: o.Limits.withDefaults(), calls: map[string]int{}, frozen: map[string]bool{},
		lookups: map[Lookup]bool{}, answered: map[Lookup]bool{}}
}

// Render renders a chart. The error is an *Error, also if ctx ends.
func (c *Chart) Render(ctx context.Context, o Options) (*Output, error) {
	type result struct {
		out *Output
		err error
	}
	r := newRun(o)
	done := make(chan result, 1)
	go func() {
		out, err := guarded(func() (*Output, error) { return c.render(o, r) })
		if e, ok := errors.AsType[*Error](err); ok && len(r.lookups)+len(r.answered) > 0 {
			with := *e
			with.Lookups = slices.SortedFunc(maps.Keys(r.lookups), compareLookups)
			with.AnsweredLookups = slices.SortedFunc(maps.Keys(r.answered), compareLookups)
			err = &with
		}
		done <- result{out, err}
	}()
	timer := time.NewTimer(r.limits.Time)
	defer timer.Stop()
	select {
	case result := <-done:
		return result.out, result.err
	case <-ctx.Done():
	case <-timer.C:
	}
	r.stopped.Store(true)
	return nil, tooMuch("takes too long to render")
}

func (c *Chart) render(o Options, r *run) (*Output, error) {
	in, err := c.input(o, r)
	if err != nil {
		return nil, err
	}
	set, err := c.sets.parsed(in)
	if err != nil {
		return nil, err
	}
	out := &Output{Files: map[string]string{}, Unvalidated: in.skipped}
	root, err := set.Clone()
	if err != nil {
		return nil, &Error{Cause: CauseTemplate, Message: "has templates that cannot be copied"}
	}
	root.Option("missingkey=zero").Funcs(in.Funcs).Funcs(r.nesting(root, map[string]int{}))
	for _, t := range in.Templates {
		if t.Partial || o.Only != "" && t.Name != o.Only {
			continue
		}
		in.Begin(t.Name)
		t.Dot["Template"] = common.Values{"Name": t.Name, "BasePath": t.Base}
		printed := &printer{run: r}
		if err := root.ExecuteTemplate(printed, t.Name, t.Dot); err != nil {
			return nil, in.failed(t.Name, err)
		}
		out.Files[t.Name] = strings.ReplaceAll(printed.String(), "<no value>", "")
	}
	out.Absent, out.Present, out.Listed = r.versions.absent(), r.versions.present(), r.asks.versions || r.versions.full()
	out.Phased = r.asks.phase
	out.Frozen = slices.Sorted(maps.Keys(r.frozen))
	out.Lookups = slices.SortedFunc(maps.Keys(r.lookups), compareLookups)
	out.AnsweredLookups = slices.SortedFunc(maps.Keys(r.answered), compareLookups)
	if out.Manifests, err = in.manifests(out.Files, o); err != nil {
		return nil, err
	}
	return out, nil
}

// printer collects the output of a template, up to the limit of a run.
type printer struct {
	strings.Builder
	run *run
}

// Write implements io.Writer.
func (p *printer) Write(data []byte) (int, error) {
	if err := p.run.print(len(data)); err != nil {
		return 0, err
	}
	return p.Builder.Write(data)
}

// halt is an error that stops a run, whatever the template does.
type halt struct{ error *Error }

func (h *halt) Error() string { return h.error.Message }

func halted(message string) error { return &halt{&Error{Cause: CauseLimit, Message: message}} }

func (r *run) alive() error {
	if r.stopped.Load() {
		return halted("takes too long to render")
	}
	return nil
}

// print counts printed or built bytes. Text that is included several times counts each time.
func (r *run) print(size int) error {
	if r.printed += size; r.printed > r.limits.Output*8 || size > r.limits.Output {
		return halted("prints too much")
	}
	return r.alive()
}

// Limits for nested calls of include, tpl and template: in total and per name. The limit per name is Helm's.
const (
	deepest       = 1500
	deepestOfName = 1000
)

// nesting returns the functions that execute templates. A template that tpl parses sees all templates around it; what
// it defines is only visible inside.
func (r *run) nesting(t *template.Template, names map[string]int) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, dot any) (string, error) {
			if t.Lookup(name) == nil {
				return "", &refusal{CauseTemplate, "there is no template with the name " + name}
			}
			if names[name] > deepestOfName {
				return "", &refusal{CauseTemplate, "has a template that includes itself more often than Helm allows"}
			}
			names[name]++
			defer func() { names[name]-- }()
			return r.nested(func(to *printer) error { return t.ExecuteTemplate(to, name, dot) })
		},
		"tpl": func(text string, dot any) (string, error) {
			if !strings.Contains(text, "{{") {
				return strings.ReplaceAll(text, "<no value>", ""), r.print(len(text))
			}
			own, err := t.Clone()
			if err != nil {
				return "", err
			}
			own.Option("missingkey=zero").Funcs(r.nesting(own, names))
			own, asked, err := parseInto(own.New(t.Name()), text)
			if err != nil {
				return "", unparsedText(err)
			}
			r.asks.add(asked)
			printed, err := r.nested(func(to *printer) error { return own.Execute(to, dot) })
			return strings.ReplaceAll(printed, "<no value>", ""), err
		},
	}
}

func (r *run) nested(do func(to *printer) error) (string, error) {
	if r.depth++; r.depth > deepest {
		return "", halted("has templates that include each other without end")
	}
	defer func() { r.depth-- }()
	printed := &printer{run: r}
	if err := do(printed); err != nil {
		return "", err
	}
	return printed.String(), nil
}
