package worker

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

var (
	descPattern     = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	selectorPattern = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{([^}]*)\})?`)
	labelPattern    = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)\s*"[^"]*"`)
	// ignored matches parts of expressions that are no metrics: lists of labels, ranges and variables.
	ignored = regexp.MustCompile(`\b(by|without|on|ignoring)\s*\([^)]*\)|\[[^\]]*\]`)
	// words are words of the query language in the files; all other names are metrics.
	words = []string{"absent", "and", "deriv", "histogram_quantile", "increase", "label_values", "max", "min", "rate", "sum",
		"unless"}
	// added are labels that Prometheus adds to all scraped metrics, and labels of histograms.
	added = []string{"namespace", "job", "instance", "pod", "le"}
)

// registered are the metrics that the server registers, with their labels.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	m := NewMetrics(func(context.Context) (store.Depth, error) { return store.Depth{}, nil },
		func() float64 { return 0 })
	m.WatchBudgets(func() map[int64]forge.Budget { return map[int64]forge.Budget{7: {}} })
	m.WatchDisk(func() map[string]int64 { return map[string]int64{"cache": 1} })
	m.SetBuild(report.Build{})
	descs := make(chan *prometheus.Desc)
	go func() { m.registry.Describe(descs); close(descs) }()
	all := map[string][]string{}
	for d := range descs {
		found := descPattern.FindStringSubmatch(d.String())
		if found == nil {
			t.Fatalf("the form of descriptions changed: %s", d)
		}
		labels := strings.Split(found[2], ",")
		names := []string{found[1]}
		if strings.HasSuffix(found[1], "_duration_seconds") { // a histogram
			names = []string{found[1] + "_bucket", found[1] + "_sum", found[1] + "_count"}
		}
		for _, name := range names {
			all[name] = labels
		}
	}
	families, err := m.registry.Gather() // what is described at a scrape only
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if _, known := all[f.GetName()]; known || strings.HasSuffix(f.GetName(), "_duration_seconds") {
			continue
		}
		all[f.GetName()] = nil
		for _, label := range f.GetMetric()[0].GetLabel() {
			all[f.GetName()] = append(all[f.GetName()], label.GetName())
		}
	}
	return all
}

// unregistered lists the metrics and labels in an expression that the server does not have.
func unregistered(expr string, metrics map[string][]string) (missing []string, used int) {
	for _, found := range selectorPattern.FindAllStringSubmatch(ignored.ReplaceAllString(expr, " "), -1) {
		name := found[1]
		if slices.Contains(words, name) {
			continue
		}
		labels, ok := metrics[name]
		if !ok {
			missing = append(missing, name)
			continue
		}
		used++
		for _, label := range labelPattern.FindAllStringSubmatch(found[2], -1) {
			if !slices.Contains(labels, label[1]) && !slices.Contains(added, label[1]) {
				missing = append(missing, name+"{"+label[1]+"}")
			}
		}
	}
	return missing, used
}

func TestUnknownMetrics(t *testing.T) {
	metrics := registered(t)
	for expr, want := range map[string]string{
		`max by (job) (lintel_queue_depth{state="waiting", job="x"}) > 5`:      "",
		`rate(lintel_jobs_total{result="failed"}[5m])`:                         "lintel_jobs_total{result}",
		`rate(lintel_jobs_totals[5m]) unless on (x) lintel_build_info{y=~"z"}`: "lintel_jobs_totals lintel_build_info{y}",
		`sum(rate(lintel_check_duration_seconds[5m]))`:                         "lintel_check_duration_seconds",
		`sum(rate(lintel_check_duration_seconds_bucket{le="5"}[5m]))`:          "",
	} {
		if got, _ := unregistered(expr, metrics); strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

type alertRule struct {
	Alert, Expr string
	Annotations map[string]string
}

// Each alert has a description and an action, and uses metrics that the server has.
func TestAlerts(t *testing.T) {
	data, err := os.ReadFile("../../deploy/components/monitoring/prometheus-rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Spec struct{ Groups []struct{ Rules []alertRule } }
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	metrics, rules := registered(t), 0
	for _, group := range file.Spec.Groups {
		for _, rule := range group.Rules {
			rules++
			missing, used := unregistered(rule.Expr, metrics)
			if len(missing) > 0 || used == 0 || rule.Alert == "" || rule.Annotations["summary"] == "" ||
				rule.Annotations["runbook"] == "" {
				t.Errorf("%s: the server has no %q; it needs a metric, a summary and a runbook", rule.Alert, missing)
			}
		}
	}
	if rules == 0 {
		t.Error("no rules were read")
	}
}

// promtool, Prometheus' own program, accepts the rules.
func TestAlertsByPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: the rules are not checked by it")
	}
	data, err := os.ReadFile("../../deploy/components/monitoring/prometheus-rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Spec json.RawMessage }
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tests, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"rules.yaml": file.Spec, "tests.yaml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "tests.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Each panel of the dashboard uses metrics that the server has.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../deploy/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Name  string
				Query any // the type of a data source, or an object
			}
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	metrics := registered(t)
	ids := map[int]bool{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] || len(panel.Targets) == 0 {
			t.Errorf("%s: an id twice, or no target", panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			if missing, used := unregistered(target.Expr, metrics); len(missing) > 0 || used == 0 {
				t.Errorf("%s: the server has no %q: %s", panel.Title, missing, target.Expr)
			}
		}
	}
	asked := 0
	for _, variable := range dashboard.Templating.List {
		query, ok := variable.Query.(map[string]any)
		if !ok {
			continue
		}
		asked++
		// label_values(METRIC, LABEL): the label is no metric.
		expr, label, _ := strings.Cut(strings.TrimSuffix(query["query"].(string), ")"), ", ")
		missing, used := unregistered(expr+"{"+label+`=""}`, metrics)
		if len(missing) > 0 || used != 1 {
			t.Errorf("the variable %s: the server has no %q", variable.Name, missing)
		}
	}
	if len(ids) == 0 || asked == 0 {
		t.Errorf("%d panels and %d variables were read", len(ids), asked)
	}
}
