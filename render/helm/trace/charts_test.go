package trace

import (
	"fmt"
	"iter"
	"math/rand"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/helm"
)

// release is a chart with values.
type release struct {
	label     string
	files     []helm.File
	deps      map[string]release // from the same folder of charts, not vendored
	values    map[string]any
	name      string
	namespace string
	chart     *helm.Chart
}

// load returns the chart of a release.
func (r *release) load() (*helm.Chart, error) {
	if r.chart != nil {
		return r.chart, nil
	}
	c, err := helm.Load(r.files, helm.Limits{})
	if err != nil {
		return nil, err
	}
	with := map[string]*helm.Chart{}
	for k, d := range r.deps {
		if with[k], err = d.load(); err != nil {
			return nil, err
		}
	}
	if len(with) > 0 {
		if c, err = c.With(with); err != nil {
			return nil, err
		}
	}
	r.chart = c
	return c, nil
}

func (r *release) options() helm.Options {
	return helm.Options{Name: r.name, Namespace: r.namespace, Values: r.values, Kubernetes: "1.33", SkipSchema: true}
}

// render renders with Helm.
func (r *release) render(t testing.TB) (map[string]string, error) {
	c, err := r.load()
	if err != nil {
		return nil, err
	}
	out, err := c.Render(t.Context(), r.options())
	if err != nil {
		return nil, err
	}
	return out.Files, nil
}

// trace runs the traced execution.
func (r *release) trace(t testing.TB, out map[string]string) (*Trace, error) {
	c, err := r.load()
	if err != nil {
		return nil, err
	}
	return Run(t.Context(), c, r.options(), &helm.Output{Files: out})
}

// deep copies values. Values become plain maps.
func deep(v any) any {
	switch v := v.(type) {
	case common.Values:
		return deep(map[string]any(v))
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = deep(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = deep(e)
		}
		return l
	}
	return v
}

// publicReleases finds the charts below the folder of LINTEL_CHARTS, each with default and ci values.
func publicReleases(t testing.TB) []release {
	root := os.Getenv("LINTEL_CHARTS")
	if root == "" {
		t.Skip("LINTEL_CHARTS is not set: a folder with charts")
	}
	dirs := map[string]string{} // by name, within one repository
	var found []string
	_ = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "Chart.yaml" {
			found = append(found, filepath.Dir(p))
			dirs[repository(root, p)+"/"+filepath.Base(filepath.Dir(p))] = filepath.Dir(p)
		}
		return nil
	})
	slices.Sort(found)
	only := os.Getenv("LINTEL_CHART")
	var out []release
	for _, dir := range found {
		if only != "" && !strings.Contains(dir, only) {
			continue
		}
		rel, _ := filepath.Rel(root, dir)
		if strings.Contains(rel, "/charts/") && strings.Count(rel, "/charts/") > 1 || strings.Contains(rel, "/test") {
			continue
		}
		base, err := readRelease(root, dir, dirs, 0)
		if err != nil {
			t.Logf("%s: %v", rel, err)
			continue
		}
		base.label, base.name, base.namespace = rel, "rel", "space"
		base.values = map[string]any{}
		out = append(out, base)
		cis, _ := filepath.Glob(filepath.Join(dir, "ci", "*.y*ml"))
		for _, f := range cis {
			data, err := os.ReadFile(f)
			vals := map[string]any{}
			if err != nil || yaml.Unmarshal(data, &vals) != nil {
				continue
			}
			ci := base
			ci.label, ci.values = rel+"/"+filepath.Base(f), vals
			out = append(out, ci)
		}
	}
	return out
}

func repository(root, p string) string {
	rel, _ := filepath.Rel(root, p)
	first, _, _ := strings.Cut(rel, "/")
	return first
}

func readRelease(root, dir string, dirs map[string]string, depth int) (release, error) {
	var r release
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		data, err := os.ReadFile(p)
		r.files = append(r.files, helm.File{Name: filepath.ToSlash(rel), Data: data})
		return err
	})
	if err != nil {
		return r, err
	}
	c, err := helm.Load(r.files, helm.Limits{})
	if err != nil {
		return r, err
	}
	r.deps = map[string]release{}
	for _, d := range c.Missing() {
		sub, ok := dirs[repository(root, dir)+"/"+d.Name]
		if !ok || depth > 4 {
			r.without(d.Name)
			continue
		}
		dep, err := readRelease(root, sub, dirs, depth+1)
		if err != nil {
			return r, err
		}
		r.deps[d.Key()] = dep
	}
	return r, nil
}

// without removes a missing dependency.
func (r *release) without(name string) {
	for i, f := range r.files {
		if f.Name != "Chart.yaml" {
			continue
		}
		var meta map[string]any
		_ = yaml.Unmarshal(f.Data, &meta)
		deps, _ := meta["dependencies"].([]any)
		meta["dependencies"] = slices.DeleteFunc(deps, func(d any) bool { return d.(map[string]any)["name"] == name })
		r.files[i].Data, _ = yaml.Marshal(meta)
	}
}

// sampled returns public releases in random order, until the minutes of LINTEL_MINUTES are over.
func sampled(t testing.TB) iter.Seq[release] {
	all := publicReleases(t)
	minutes, err := strconv.ParseFloat(os.Getenv("LINTEL_MINUTES"), 64)
	if err != nil {
		minutes = 60
	}
	until := time.Now().Add(time.Duration(minutes * float64(time.Minute)))
	return func(yield func(release) bool) {
		n := 0
		for _, i := range rand.New(rand.NewSource(seed())).Perm(len(all)) {
			if time.Now().After(until) || !yield(all[i]) {
				break
			}
			n++
		}
		t.Logf("%d of %d releases", n, len(all))
	}
}

func seed() int64 {
	n, _ := strconv.ParseInt(os.Getenv("LINTEL_SEED"), 10, 64)
	return n
}

func TestPublicChartsAreAccepted(t *testing.T) {
	var files, accepted, inputs, whole, failed int
	var helm, ours time.Duration
	for _, r := range publicReleases(t) {
		out, err := r.render(t)
		if err != nil {
			failed++
			continue
		}
		r.render(t) // warm up before measuring
		started := cpu()
		r.render(t)
		h := cpu() - started
		started = cpu()
		tr, err := r.trace(t, out)
		s := cpu() - started
		helm, ours = helm+h, ours+s
		inputs++
		if err != nil {
			t.Errorf("%s: %v", r.label, err)
			continue
		}
		good := true
		for name := range out {
			if strings.HasPrefix(path.Base(name), "_") {
				continue
			}
			files++
			if tr.Accepted(name) {
				accepted++
				if err := covered(tr.files[name]); err != nil {
					t.Errorf("%s: %s: %v", r.label, name, err)
				}
				continue
			}
			good = false
			t.Errorf("%s: %s: %v", r.label, name, tr.Why(name))
			if os.Getenv("LINTEL_DIFF") != "" {
				t.Log(firstDifference(tr.files[name].out, out[name]))
			}
		}
		if good {
			whole++
		}
		if testing.Verbose() && (h > 50*time.Millisecond || s > 50*time.Millisecond) {
			t.Logf("%s: helm %v shadow %v", r.label, h, s)
		}
	}
	t.Logf("inputs %d (%d more do not render), whole %d; files %d, accepted %d; CPU helm %v, shadow %v: %.2f",
		inputs, failed, whole, files, accepted, helm, ours, float64(ours)/float64(helm))
}

// covered reports segments whose lengths do not add up to the output.
func covered(f *traced) error {
	n := 0
	for _, g := range f.segments {
		n += int(g.n)
	}
	if n != len(f.out) {
		return fmt.Errorf("segments cover %d of %d bytes", n, len(f.out))
	}
	return nil
}

func firstDifference(a, b string) string {
	for i := 0; i < min(len(a), len(b)); i++ {
		if a[i] != b[i] {
			from := max(0, i-60)
			return fmt.Sprintf("shadow %q\nhelm   %q", a[from:min(len(a), i+60)], b[from:min(len(b), i+60)])
		}
	}
	return fmt.Sprintf("lengths %d %d", len(a), len(b))
}
