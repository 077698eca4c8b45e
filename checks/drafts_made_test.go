package checks_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// A draft for a controller also covers the Pods that it creates, and no Pods of other controllers.
func TestDraftsCoverThePodsOfAController(t *testing.T) {
	pod := "{containers: [{name: c, image: \"r/a:latest\", securityContext: {privileged: true}}], hostNetwork: true, " +
		"restartPolicy: Never, automountServiceAccountToken: false}"
	template := "{metadata: {labels: {team: x}, annotations: {owner: x}}, spec: " + pod + "}"
	for kind, spec := range map[string]string{
		"apps/v1 Deployment":  "{selector: {matchLabels: {team: x}}, template: " + template + "}",
		"apps/v1 StatefulSet": "{selector: {matchLabels: {team: x}}, serviceName: x, template: " + template + "}",
		"apps/v1 DaemonSet":   "{selector: {matchLabels: {team: x}}, template: " + template + "}",
		"batch/v1 Job":        "{template: " + template + "}",
		"batch/v1 CronJob":    "{schedule: '* * * * *', jobTemplate: {spec: {template: " + template + "}}}",
	} {
		for _, other := range []string{"", "web-api"} {
			t.Run(kind+" "+other, func(t *testing.T) {
				if testing.Short() && kind != "apps/v1 Deployment" && kind != "batch/v1 CronJob" {
					t.Skip("long: make test-all")
				}
				apiVersion, kind, _ := strings.Cut(kind, " ")
				manifest := func(name string) string {
					return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: b, labels: {team: x}, "+
						"annotations: {owner: x}}\nspec: %s\n", apiVersion, kind, name, spec)
				}
				r := treetest.New(t)
				base := r.Commit(draftPolicies)
				if other != "" {
					r.Write("apps/other.yaml", manifest(other))
					base = r.Commit("")
				}
				r.Write("apps/new.yaml", manifest("web"))
				before := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot(), Drafts: true})
				if len(before.Drafts) == 0 {
					t.Fatal("nothing was drafted")
				}
				var approve []string
				for _, d := range before.Drafts {
					if d.YAML == "" {
						t.Fatalf("no draft: %+v", d)
					}
					r.Write(d.Path, d.YAML)
					approve = append(approve, d.Path)
				}
				write := func(name string) {
					var object map[string]any
					if err := yaml.Unmarshal([]byte(manifest(name)), &object); err != nil {
						t.Fatal(err)
					}
					for i, m := range exceptions.MadeOf(object) {
						text, err := yaml.Marshal(m.Object)
						if err != nil {
							t.Fatal(err)
						}
						r.Write(fmt.Sprintf("apps/%s-%d.yaml", name, i), string(text))
					}
				}
				write("web")
				if other != "" {
					write(other)
				}
				after := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot(), Approve: approve})
				blocked := false
				for _, f := range after.Findings {
					if !f.Blocks || f.Exemption != nil {
						continue
					}
					if other == "" || !strings.HasPrefix(f.Resource.Name, other) {
						t.Errorf("%s blocks: %s", about(f), f.Message)
					}
					blocked = blocked || strings.HasPrefix(f.Resource.Name, other)
				}
				if other != "" && !blocked {
					t.Error("the pods of another are let through, too")
				}
				for _, e := range after.Exceptions {
					if other == "" && len(e.Broad) > 0 {
						t.Errorf("%s leaves open %q", e.Name, e.Broad)
					}
				}
			})
		}
	}
}
