package cel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Exception is a compiled PolicyException of policies.kyverno.io: immutable and safe for concurrent use.
type Exception struct {
	name       string // as namespace/name where it is in a namespace
	refs       []policy.CELPolicyRef
	conditions []*expression
	images     []string
	values     allowance
	asPass     bool
	expires    time.Time
}

// CompileException compiles an exception. It returns nil if one of the problems is an error.
func CompileException(doc policy.Document, e policy.CELException) (*Exception, []policy.Problem) {
	return compileDocument(doc, func(c *compiler) *Exception {
		out := &Exception{name: doc.Name, refs: e.Spec.PolicyRefs, images: e.Spec.Images}
		if doc.Namespace != "" {
			out.name = doc.Namespace + "/" + doc.Name
		}
		if len(e.Spec.PolicyRefs) == 0 {
			c.problem("/spec/policyRefs", "the exception names no policy")
		}
		out.conditions = c.conditions("/spec/matchConditions/", e.Spec.MatchConditions)
		if err := out.values.read(e.Spec.AllowedValues); err != nil {
			c.problem("/spec/allowedValues", "%v", err)
		}
		out.asPass = e.Spec.ReportResult == "pass"
		if s := e.Spec.ExpiresAt; s != "" {
			var err error
			if out.expires, err = time.Parse(time.RFC3339, s); err != nil {
				c.problem("/spec/expiresAt", "expiresAt is a date-time like 2026-01-31T00:00:00Z")
			}
		}
		return out
	})
}

// read parses a list of strings, or a map of lists of strings.
func (a *allowance) read(v any) error {
	texts := func(v any) ([]string, error) {
		list, ok := v.([]any)
		if !ok {
			return nil, errors.New("allowed values are a list of strings, or a map of such lists")
		}
		out := make([]string, 0, len(list))
		for _, item := range list {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("an allowed value is a string: quote %v", item)
			}
			out = append(out, s)
		}
		return out, nil
	}
	m, ok := v.(map[string]any)
	if v == nil {
		return nil
	}
	if !ok {
		list, err := texts(v)
		a.values = list
		return err
	}
	a.named = make(map[string][]string, len(m))
	for k, v := range m {
		list, err := texts(v)
		if err != nil {
			return err
		}
		a.named[k] = list
	}
	return nil
}

// Expires returns when the exception ends, the zero time if it does not.
func (e *Exception) Expires() time.Time { return e.expires }

// result returns the result of a policy that the exception skips as a whole.
func (e *Exception) result(enforce bool) Result {
	out := Result{Exceptions: []*Exception{e}, Decision: Decision{Rule: "exception", Outcome: admission.Skip, Enforce: enforce,
		Message: "rule is skipped due to policy exception: " + e.name}}
	if e.asPass {
		out.Outcome, out.Message = admission.Pass, "rule is passed due to policy exception: "+e.name
	}
	return out
}

// Whole reports whether the exception allows everything in the requests that it matches, and not only some images or
// values.
func (e *Exception) Whole() bool {
	return len(e.images) == 0 && len(e.values.values) == 0 && len(e.values.named) == 0
}

// excepts reports whether the exception names the policy, has not expired, and all of its conditions hold for the request. A
// condition that is false decides, even if others have errors. An error is a *admission.NeedsClusterError if it depends on
// the cluster.
func (e *Exception) excepts(ctx context.Context, p *Policy, r *admission.Request, env Env) (bool, error) {
	named := slices.ContainsFunc(e.refs, func(r policy.CELPolicyRef) bool { return r.Kind == p.kind && r.Name == p.name })
	if !named || !e.expires.IsZero() && !env.Now.Before(e.expires) {
		return false, nil
	}
	ok, err := hold(&activation{ctx: ctx, state: &evaluation{
		request: r, env: env, object: seen(r, r.Object), oldObject: seen(r, r.OldObject), empty: true,
	}}, e.conditions)
	needs := (*admission.NeedsClusterError)(nil)
	if errors.As(err, &needs) && *needs == *admission.NeedsNamespace(r.Identity()) {
		ok, err = false, nil // an exception has to be one for an object: else whoever leaves its namespace out is excepted
	}
	env.logException(e, ok, err)
	return ok, err
}

// aggregate is what several exceptions allow together.
func aggregate(exceptions []*Exception) (images []string, values *allowance) {
	values = &allowance{named: map[string][]string{}}
	for _, e := range exceptions {
		images = append(images, e.images...)
		values.values = append(values.values, e.values.values...)
		for k, list := range e.values.named {
			values.named[k] = append(values.named[k], list...)
		}
	}
	return images, values
}
