package output

import (
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

func deployment(namespace, name string) report.Resource {
	return report.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name}
}

// fixtures returns the reports of the golden files.
func fixtures() map[string]*report.Report {
	return map[string]*report.Report{"rich": rich(), "clean": clear(), "hostile": hostileReport(attack),
		"broken": broken()}
}

func clear() *report.Report {
	return &report.Report{Conclusion: report.Success, Title: "12 resources keep all 18 policies",
		Stats: report.Stats{Policies: 18, Rules: 24, Roots: 2, Resources: 12, Passed: 216}}
}

func broken() *report.Report {
	return &report.Report{
		Conclusion: report.Failure, Title: "2 errors",
		Errors: []report.Problem{
			{Path: "apps/web/kustomization.yaml", Line: 3, Column: 5,
				Message: "the resource ../bas does not exist; nearest is ../base", Changed: true},
			{Message: "the check ran out of its memory limit of 2 GiB"},
		},
		Excerpts: map[string]map[int]string{"apps/web/kustomization.yaml": {1: "kind: Kustomization", 2: "resources:",
			3: "  - ../bas", 4: "patches:"}},
		Stats: report.Stats{Policies: 1, Rules: 1},
	}
}

func rich() *report.Report {
	const patch, base = "apps/web/overlays/production/patch-resources.yaml", "apps/web/base/deployment.yaml"
	memory := "validation error: CPU and memory resource requests and memory limits are required for containers. " +
		"rule autogen-validate-resources failed at path /spec/template/spec/containers/0/resources/limits/memory/"
	return &report.Report{
		Conclusion: report.Failure, Title: "2 new violations of enforced policies",
		Findings: []report.Finding{
			{
				Policy: "require-requests-limits", Rule: "autogen-validate-resources", Severity: "medium",
				Resource:  deployment("shop", "web"),
				Operation: "UPDATE", Result: report.Fail, Action: report.Enforce,
				Field: "/spec/template/spec/containers/0/resources/limits/memory", Message: memory,
				Origin: &report.Origin{Path: patch, StartLine: 11, EndLine: 11, StartColumn: 11, EndColumn: 20,
					How: report.Enclosing, Changed: true, Missing: "/memory",
					Chain: []report.Place{{Path: base, StartLine: 24, EndLine: 26, Role: "base"}}},
				Roots: []string{"apps/web/overlays/production", "apps/web/overlays/production-eu"}, New: true, Blocks: true,
				PolicyPath: "policies/requests.yaml", PolicyLine: 14,
			},
			{
				Policy: "disallow-latest-tag", Rule: "validate-image-tag", Severity: "high", Resource: deployment("shop", "web"),
				Operation: "UPDATE", Result: report.Fail, Action: report.Enforce, Field: "/spec/template/spec/containers/0/image",
				Message: "Using a mutable image tag e.g. 'latest' is not allowed.", Expected: "anything but *:latest",
				Origin: &report.Origin{Path: base, StartLine: 20, EndLine: 20, StartColumn: 18, EndColumn: 52, How: "identity"},
				New:    true, Blocks: true, PolicyPath: "policies/latest.yaml", PolicyLine: 9,
				Resources: []report.Resource{deployment("shop-eu", "web")},
			},
			{
				Policy: "disallow-latest-tag", Rule: "require-image-tag", Severity: "high", Resource: deployment("shop", "web"),
				Operation: "UPDATE", Result: report.Warn, Action: report.Audit, Field: "/spec/template/spec/containers/0/image",
				Message: "An image tag is required.",
				Origin:  &report.Origin{Path: base, StartLine: 20, EndLine: 20, StartColumn: 18, EndColumn: 52, How: "identity"},
				New:     true, PolicyPath: "policies/latest.yaml", PolicyLine: 30,
			},
			{
				Policy: "shop/allowed-registries", Rule: "check", Resource: deployment("shop", "web"), Operation: "UPDATE",
				Result: report.Unknown, Action: report.Enforce,
				Message: "needs the cluster: ConfigMap kube-system/allowed-registries", New: true,
				PolicyPath: "policies/registries.yaml", PolicyLine: 3,
			},
			{
				Policy: "disallow-host-path", Rule: "host-path", Severity: "critical", Resource: report.Resource{APIVersion: "v1",
					Kind: "Pod", Namespace: "ops", Name: "node-agent"},
				Operation: "CREATE", Result: report.Fail, Action: report.Enforce, Field: "/spec/volumes/0/hostPath",
				Message: "HostPath volumes are forbidden.",
				Origin:  &report.Origin{Path: "ops/agent.yaml", StartLine: 8, EndLine: 10, How: "identity", Changed: true},
				New:     true, Blocks: true,
				Exemption:  &report.Exemption{Exception: "security/agent", Path: "exceptions/agent.yaml", State: report.Pending},
				PolicyPath: "policies/host.yaml", PolicyLine: 4,
			},
			{
				Policy: "require-labels", Rule: "team", Severity: "low", Resource: deployment("shop", "api"), Operation: "UPDATE",
				Result: report.Fail, Action: report.Enforce,
				Field: "/metadata/labels/team", Message: "The label team is required.", PolicyPath: "policies/labels.yaml",
				PolicyLine: 2,
				Origin: &report.Origin{Path: "apps/api/deployment.yaml", StartLine: 4, EndLine: 4, StartColumn: 3, EndColumn: 9,
					How: report.Enclosing, Missing: "/labels/team"},
			},
			{
				Policy: "require-probes", Rule: "liveness", Resource: deployment("shop", "legacy"), Operation: "UPDATE",
				Result: report.Skip, Action: report.Enforce, Message: "A liveness probe is required.",
				Origin: &report.Origin{Path: "apps/legacy/deployment.yaml", StartLine: 12, EndLine: 12}, New: true,
				PolicyPath: "policies/probes.yaml", PolicyLine: 2,
				Exemption: &report.Exemption{Exception: "security/legacy", Path: "exceptions/legacy.yaml", State: report.Merged,
					By: "jane"},
			},
			{
				Policy: "protect-namespaces", Rule: "no-delete", Resource: report.Resource{APIVersion: "v1", Kind: "Namespace",
					Name: "payments"}, Operation: "DELETE", Result: report.Warn, Action: report.Audit,
				Message: "Namespaces with the label protected must not be deleted.", New: true,
				PolicyPath: "policies/protect.yaml", PolicyLine: 2,
				Origin: &report.Origin{Path: "ns/payments.yaml", StartLine: 1, EndLine: 6, How: "identity", Side: report.Base,
					Changed: true},
			},
		},
		Warnings: []report.Problem{
			{Path: "policies/requests.yaml", Line: 7, Column: 3,
				Message: "spec.validationFailureAction is deprecated; lintel fix moves it to spec.rules[*].validate.failureAction"},
			{Path: "policies/sign.yaml", Line: 1,
				Message: "rule verify-signature is not evaluated before merge: verifyImages needs a registry"},
		},
		Exceptions: []report.Exception{
			{Name: "security/agent", Path: "exceptions/agent.yaml", Line: 1, Blob: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
				State: report.Pending, Lets: 1,
				Expires: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
				Broad:   []string{"every namespace", "all rules of disallow-host-path, including those added later"},
				Beyond: &report.Beyond{Failing: []report.Resource{{APIVersion: "v1", Kind: "Pod", Namespace: "ops",
					Name: "old-agent"}}, Fails: 3, Complying: 2, Resources: 40, Roots: 3, OfRoots: 12},
				Review: &report.Review{Needed: 2, Who: []string{"@octocat", "@org/security"},
					Approved: []report.Vote{{User: "jane", Commit: "0123456789abcdef"}},
					Ignored:  []report.Vote{{User: "joe", Commit: "fedcba9876543210", Why: "the file changed after the review"}}}},
			{Name: "security/refused", Path: "exceptions/refused.yaml", Line: 1, State: report.Refused,
				Review: &report.Review{Needed: 1, Who: []string{"@octocat"},
					Refused: []report.Vote{{User: "octocat", Commit: "0123456789abcdef"}}}},
			{Name: "security/batch", Path: "exceptions/batch.yaml", Line: 1, Blob: "257cc5642cb1a054f08cc83f2d943e56fd3ebe99",
				State: report.Approved, By: []string{"jane", "joe"}},
		},
		RootChanges: rootChanges(), Bumps: bumps(), MoreBumps: 7, Resolved: resolved(),
		Cleanup: []report.Cleanup{
			{Name: "security/old", Path: "exceptions/old.yaml", Line: 1, Expires: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
				Expired: true},
			{Name: "security/soon", Path: "exceptions/soon.yaml", Line: 1, Expires: time.Date(2026, 2, 1, 0, 0, 0, 0,
				time.UTC), Soon: true, Unused: true, Covers: 2},
			{Name: "security/unused", Path: "exceptions/unused.yaml", Line: 4, Unused: true},
		},
		Drafts: []report.Draft{
			{Path: "exceptions/web.yaml", Covers: []report.Covered{{Policy: "disallow-latest-tag"}},
				Resource: deployment("shop", "web"), YAML: "# Drafted.\nkind: PolicyException\n"},
			{Covers: []report.Covered{{Policy: "protect"}}, Resource: deployment("shop", "web"),
				Why: "a ValidatingAdmissionPolicy does not support exceptions: fix the value"},
		},
		Approvers: &report.Approvers{Users: []string{"octocat"}, Teams: []string{"org/security"}, CodeOwners: true, Count: 2},
		Stats: report.Stats{Policies: 18, Rules: 24, Exceptions: 3, Roots: 3, Resources: 14, Passed: 240, Failed: 3,
			Warned: 2, Skipped: 1, Unknown: 1, PreExisting: 1, Unchecked: 1},
		Excerpts: map[string]map[int]string{
			patch: {9: "      containers:", 10: "        - name: web", 11: "          resources:", 12: "            requests:",
				13: "              cpu: 100m"},
			base: {18: "      containers:", 19: "        - name: web",
				20: "          image: registry.example.com/shop/web:latest # 日本語",
				21: "          ports:", 22: "            - containerPort: 8080"},
			"ops/agent.yaml": {6: "spec:", 7: "  volumes:", 8: "    - name: root", 9: "      hostPath:",
				10: "\t    path: /", 11: "  containers: []"},
			"ns/payments.yaml": {1: "apiVersion: v1", 2: "kind: Namespace", 3: "metadata:", 4: "  name: payments",
				5: "  labels:", 6: "    protected: \"true\""},
			"policies/requests.yaml": {6: "spec:", 7: "  validationFailureAction: enforce", 8: "  rules:"},
		},
	}
}

// attack is text with special meaning in every format.
const attack = "a\x1b[31mred\x1b]8;;https://evil.example\x07x\u009b2J\u202egnp.exe\u2028\r\n" +
	"::error file=x,line=1::pwned\n" +
	"| cell | `code` | <script>alert(1)</script> <img src=x> @octocat @org/team #12 GH-7 org/repo#9 " +
	"[click](https://evil.example) ![i](https://evil.example/i.png) " +
	"https://evil.example www.evil.example jane@example.com **bold** _em_ ~~del~~ </details> <!-- --> ]]> &lt; \\| \\ " +
	"`` " +
	"100% a,b:c \xff\xfe ---\n# title\n1. item\n- item\n: x"

// hostileReport returns a report with s in every text.
func hostileReport(s string) *report.Report {
	path := strings.ReplaceAll(s, "\x00", "")
	resource := report.Resource{APIVersion: s, Kind: s, Namespace: s, Name: s}
	finding := report.Finding{Policy: s, Rule: s, Severity: s, Resource: resource,
		Resources: []report.Resource{resource}, Operation: s, Result: report.Fail, Action: report.Action(s), Field: s,
		Message: s,
		Origin: &report.Origin{Path: path, StartLine: 2, EndLine: 2, StartColumn: 3, EndColumn: 9, How: s, Missing: s,
			Chain: []report.Place{{Path: path, StartLine: 1, EndLine: 1, Role: s}}},
		Roots: []string{s}, New: true, Blocks: true, PolicyPath: path, PolicyLine: 1, Expected: s}
	waits, old, skipped := finding, finding, finding
	waits.Exemption = &report.Exemption{Exception: s, Path: path, State: report.Pending, By: s}
	old.New, old.Blocks = false, false
	skipped.Result, skipped.Blocks = report.Skip, false
	skipped.Exemption = &report.Exemption{Exception: s, Path: path, State: report.Merged, By: s}
	problem := []report.Problem{{Path: path, Line: 2, Column: 1, Message: s}}
	return &report.Report{Conclusion: report.Failure, Title: s, Findings: []report.Finding{finding, waits, old, skipped},
		Errors: problem, Warnings: problem,
		Exceptions: []report.Exception{{Name: s, Path: path, Line: 1, State: report.Pending, By: []string{s}},
			{Name: s, Path: path, State: report.Pending, Broad: []string{s},
				Beyond: &report.Beyond{Failing: []report.Resource{resource}, Fails: 2},
				Review: &report.Review{Needed: 9, Who: []string{s}, Approved: []report.Vote{{User: s, Commit: s}},
					Refused: []report.Vote{{User: s}}, Ignored: []report.Vote{{User: s, Why: s}}}}},
		RootChanges: []report.RootChange{{Root: s, Clusters: []string{s}, Added: 1,
			Images: []report.ImageChange{{From: s, To: s + "1"}}}},
		Bumps:      hostileBumps(s, path),
		Undeclared: []string{s}, RuleSources: []report.RuleSource{{Name: s, Ref: s}},
		Resolved: []report.Resolved{{Name: s, Ref: s, Revision: s, Path: path, Line: 1}},
		Cleanup:  []report.Cleanup{{Name: s, Path: path, Line: 1, Unused: true}},
		Drafts: []report.Draft{{Path: path, Covers: []report.Covered{{Policy: s}}, Resource: resource, YAML: s},
			{Path: path, Covers: []report.Covered{{Policy: s}}, Resource: resource, Why: s}},
		Approvers: &report.Approvers{Users: []string{s}, Teams: []string{s}},
		Preview:   hostilePreview(s),
		Excerpts:  map[string]map[int]string{path: {1: s, 2: s, 3: s}}}
}

// rootChanges returns the same changes in two clusters, and others in a third.
func rootChanges() []report.RootChange {
	moved := []report.ImageChange{{Resource: deployment("shop", "web"), Container: "web", From: "ghcr.io/acme/web:6.5.0",
		To: "ghcr.io/acme/web:6.6.2"}}
	return []report.RootChange{
		{Root: "Application/argocd/web-eu", Clusters: []string{"eu"}, Changed: 2, Images: moved},
		{Root: "Application/argocd/web-us", Clusters: []string{"us"}, Changed: 2, Images: moved},
		{Root: "ops", Clusters: []string{"ops"}, Added: 1, Removed: 3},
	}
}
