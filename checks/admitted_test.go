package checks_test

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Policies see objects as in admission review, with the API server's defaults. A finding about a defaulted field is
// placed at the nearest field that a file contains.
func TestPoliciesSeeTheDefaultsOfTheAPIServer(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(`
-- policies/p.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: type
    match: {any: [{resources: {kinds: [Service]}}]}
    validate:
      failureAction: Enforce
      message: No load balancers.
      deny:
        conditions:
          any:
          - {key: "{{ request.object.spec.type }}", operator: Equals, value: LoadBalancer}
  - name: pull
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Enforce
      message: Pull always.
      pattern: {spec: {containers: [{imagePullPolicy: Always}]}}
-- apps/service.yaml --
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: [{port: 80}]}
-- apps/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: latest
    image: nginx
  - name: pinned
    image: nginx:1
`)
	rep := check(t, r, report.Change{All: true, Rules: base, Head: base})
	want := []string{"fail CREATE apps/pod.yaml pull /spec/containers/1/imagePullPolicy"}
	if got := lines(rep); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(rep.Findings) == 1 {
		if at := rep.Findings[0].Origin; at.StartLine != 7 && at.StartLine != 8 || at.Missing != "/imagePullPolicy" {
			t.Errorf("the place is %+v", at)
		}
	}
}
