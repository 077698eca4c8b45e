package review

import (
	"context"
	"strings"

	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/match"
)

// asked returns the policies that an API server asks about an object: those of Kubernetes are not asked about policies of
// Kubernetes and their bindings, and webhooks, as Kyverno's, not about these and the configurations of webhooks
// (k8s.io/apiserver/pkg/admission/plugin/policy/generic and plugin/webhook/predicates/rules).
func asked(rules *engine.Evaluator, r *admission.Request) *engine.Evaluator {
	const group = "admissionregistration.k8s.io"
	id := r.Identity()
	policies := strings.Contains(id.Kind, "AdmissionPolicy")
	if id.Group != group || !policies && !strings.HasSuffix(id.Kind, "WebhookConfiguration") {
		return rules
	}
	return rules.Asked(func(p engine.PolicyRef) bool { return !policies && strings.HasPrefix(p.APIVersion, group+"/") })
}

// unreviewed reports whether the settings of Kyverno that the repository declares before the change keep it from reviewing the object
// of a request. They are looked up only where it matters, since that may render Kyverno's chart.
func (v *Reviewer) unreviewed(ctx context.Context, r *admission.Request) bool {
	const kyverno = "kyverno" // the name and the namespace of its chart
	if v.Cluster == nil {
		return false
	}
	settings, ok := v.Cluster.Get(declared.Quiet(declared.Earlier(ctx)), "", "ConfigMap", kyverno, kyverno)
	filters, _ := jsonpointer.At(settings, "/data/resourceFilters").(string)
	return ok && match.ParseFilters(filters).Match(r.Identity())
}

// notByRepository reports whether Kyverno's settings of the repository leave a policy alone: one that the API server evaluates, or
// that is inherited.
func notByRepository(p engine.PolicyRef) bool {
	return p.Inherited || strings.HasPrefix(p.APIVersion, "admissionregistration.k8s.io/")
}
