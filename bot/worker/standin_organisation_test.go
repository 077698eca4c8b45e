package worker_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What an organisation has for all of its repositories holds in each, whatever these say; its approvers decide about
// exceptions; and what it merges is looked at in the open pull requests of all.
func TestStandinOrganisation(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	t.Parallel()
	h := newSignInHall(t)
	s := h.in(t, "above-org")
	fleet, defaults := s.repo, "above-org/.lintel"
	for _, login := range []string{"alice", "bob", "carol"} {
		s.control(http.MethodPut, "/repos/"+fleet+"/collaborators/"+login, fields{"permission": "write"}, nil)
	}
	policy := func(label string) string {
		return `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owned}
spec:
  background: false
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    exclude: {any: [{subjects: [{kind: Group, name: admins}]}]}
    validate:
      failureAction: Enforce
      message: needs the label ` + label + `
      pattern: {metadata: {labels: {` + label + `: "?*"}}}
`
	}
	configMap := func(labels string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: shop" + labels + "}\ndata: {a: b}\n"
	}
	early := s.push("early", map[string]string{"extra/own.yaml": configMap("")})
	s.pull("early")
	if run := s.completed(fleet, early, 1); run.Conclusion == "failure" {
		t.Errorf("without an organisation's rules: %s %s", run.Conclusion, run.Output)
	}
	s.control(http.MethodPost, "/repos", fields{"full_name": defaults, "files": fields{
		".lintel.yaml":       "policies: [policies]\napprovers: {users: [carol]}\n",
		"policies/label.yml": policy("owner"),
	}}, nil)
	s.control(http.MethodPost, fmt.Sprintf("/installations/%d/repositories?wait=1", s.installation),
		fields{"add": []string{defaults}}, nil)
	s.control(http.MethodGet, "/wait?idle=1", nil, nil)
	// The open pull requests learn of it by themselves.
	if run := s.completed(fleet, early, 2); run.Conclusion != "failure" || !strings.Contains(string(run.Output)+string(run.Annotations), "needs the label owner") {
		t.Errorf("after the organisation has rules: %s %s", run.Conclusion, run.Output)
	}
	settings := strings.ReplaceAll(h.files[".lintel.yaml"], "octo-org/", "above-org/")

	// The repository opens whatever it can, in its base branch.
	opened := s.push("main", map[string]string{
		".lintel.yaml": settings + "\nmode: advisory\nsources: {allow: []}\n",
		"policies/mutates.yaml": `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: adds}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {owner: everybody, team: everybody}}}}
`})
	s.completed(fleet, opened, 1) // a new pull request lacks its counts for a moment, and this job would read it
	head := s.push("lacks", map[string]string{"extra/own.yaml": configMap("")})
	s.pull("lacks")
	run := s.completed(fleet, head, 1)
	if text := string(run.Output) + string(run.Annotations); run.Conclusion != "failure" || !strings.Contains(text, "needs the label owner") {
		t.Errorf("without the label: %s %s", run.Conclusion, text)
	}

	// An exception waits for the organisation's approver; the repository's do not open what is above it.
	head = s.push("excepted", map[string]string{"extra/own.yaml": configMap(""), "exceptions/own.yaml": `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: own, namespace: shop}
spec:
  exceptions: [{policyName: owned, ruleNames: [label]}]
  match: {any: [{resources: {kinds: [ConfigMap], names: [own], namespaces: [shop]}}]}
`})
	number := s.pull("excepted")
	if run = s.completed(fleet, head, 1); run.Conclusion != "action_required" || !strings.Contains(string(run.Output), "carol") {
		t.Errorf("with an exception: %s %s", run.Conclusion, run.Output)
	}
	s.review(number, "bob", "APPROVED")
	if run = s.completed(fleet, head, 2); run.Conclusion != "action_required" {
		t.Errorf("approved by bob: %s %s", run.Conclusion, run.Output)
	}
	s.review(number, "carol", "APPROVED")
	if run = s.completed(fleet, head, 3); run.Conclusion != "success" && run.Conclusion != "neutral" {
		t.Errorf("approved by carol: %s %s", run.Conclusion, run.Output)
	}

	// Another label is asked for now: who had the first is told so.
	head = s.push("has", map[string]string{"extra/own.yaml": configMap(", labels: {owner: me}")})
	s.pull("has")
	if run = s.completed(fleet, head, 1); run.Conclusion == "failure" {
		t.Errorf("with the label: %s %s", run.Conclusion, run.Output)
	}
	s.control(http.MethodPost, "/repos/"+defaults+"/commits?wait=1", fields{"branch": "main", "user": "olga",
		"message": "Another label", "files": fields{"policies/label.yml": policy("team")}}, nil)
	s.completed(fleet, head, 2)
	if run = s.completed(fleet, head, 2); run.Conclusion != "failure" || !strings.Contains(string(run.Output)+string(run.Annotations),
		"needs the label team") {
		t.Errorf("after the policy changed: %s %s", run.Conclusion, run.Output)
	}
	h.done(t)
}
