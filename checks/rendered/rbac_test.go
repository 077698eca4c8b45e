package rendered

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

func role(rules ...map[string]any) map[string]any {
	list := make([]any, len(rules))
	for i, r := range rules {
		list[i] = r
	}
	return map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": list}
}

func allow(salt string, n int) map[string]any {
	many := func(kind string) (list []any) {
		for i := range n {
			list = append(list, fmt.Sprint(kind, salt, i))
		}
		return list
	}
	return map[string]any{"apiGroups": many("g"), "resources": many("r"), "verbs": many("v")}
}

var roleNamed = report.Resource{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "r"}

// A rule that is not split completely is reported as possibly allowing more.
func TestGrantsLeftOut(t *testing.T) {
	was := role(allow("", 30))
	now := role(allow("", 30))
	rule := now["rules"].([]any)[0].(map[string]any)
	rule["verbs"] = append(rule["verbs"].([]any), "escalate") // beyond the limit of split rights
	g := granted(roleNamed, was, now, new(maxWork))
	if g == nil || !slices.Equal(g.Rules, []string{"1 rule that is too large to be compared"}) {
		t.Errorf("nothing is said of what was not looked at: %+v", g)
	}
}

// The time to compare roles of any size is bounded.
func TestGrantsAreBounded(t *testing.T) {
	var olds, news []map[string]any
	for i := range 400 {
		olds, news = append(olds, allow(fmt.Sprint("x", i), 27)), append(news, allow(fmt.Sprint("y", i), 27))
	}
	start := time.Now()
	g := granted(roleNamed, role(olds...), role(news...), new(maxWork))
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
	if g == nil || !strings.Contains(strings.Join(g.Rules, "\n"), "too large to be compared") {
		t.Errorf("nothing is left out: %+v", g)
	}
}
