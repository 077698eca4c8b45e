package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/condition"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/podsecurity"
	"github.com/lintel-bot/lintel/engine/policy"
)

// ttlLabel is the label that tells Kyverno's clean-up when to remove an object: at a time or after a duration
// (https://kyverno.io/docs/policy-types/cleanup-policy/#cleanup-label).
const ttlLabel = "cleanup.kyverno.io/ttl"

// Exception is a compiled PolicyException. It is immutable. The caller of Bind decides whether it counts.
type Exception struct {
	APIVersion, Namespace, Name, Path string
	Line                              int
	Digest                            string        // of its source: several may be rendered from one file
	Expires                           time.Time     // when it ends, zero when it names no time
	TTL                               time.Duration // how long after its creation it ends, zero when it names no duration

	spec       *policy.ExceptionSpec    // of kyverno.io
	celSpec    *policy.CELExceptionSpec // of policies.kyverno.io
	match      *match.Block
	conditions *condition.Set
	namespace  bool // the conditions read the namespace of the object
	security   []policy.PodSecurityControl
	cel        *cel.Exception
}

// names reports whether an exception refers to a rule. A namespaced policy is written with its namespace.
func (x *Exception) names(name, rule string) bool {
	return x.spec != nil && slices.ContainsFunc(x.spec.Exceptions, func(r policy.ExceptionRef) bool {
		return r.PolicyName == name && len(r.RuleNames) > 0 && match.AnyWildcard(r.RuleNames, rule)
	})
}

// CompileExceptions reads and compiles all PolicyExceptions in the files, those of kyverno.io and those of
// policies.kyverno.io. It works like [CompilePolicies].
func CompileExceptions(sources []policy.Source, _ Options) ([]*Exception, []policy.Problem) {
	var out []*Exception
	var problems []policy.Problem
	for _, s := range sources {
		docs, bad := policy.Documents(s)
		problems = append(problems, bad...)
		for _, d := range docs {
			r, bad := roleOf(d)
			if bad != nil && d.Kind == "PolicyException" {
				problems = append(problems, *bad)
			}
			if r == nil || !r.exception {
				continue
			}
			x, more := compileException(d)
			problems = append(problems, more...)
			if !policy.HasErrors(more) {
				x.Digest = s.Digest
				out = append(out, x)
			}
		}
	}
	return out, sorted(problems)
}

func compileException(d policy.Document) (*Exception, []policy.Problem) {
	x := &Exception{APIVersion: d.APIVersion, Namespace: d.Namespace, Name: d.Name, Path: d.Path, Line: d.Line}
	var problems []policy.Problem
	if d.Name == "" {
		problems = append(problems, d.Problem("/metadata", "the exception has no metadata.name: add one"))
	}
	if d.Group() == "policies.kyverno.io" {
		var e policy.CELException
		problems = append(problems, policy.Decode(d, &e)...)
		if policy.HasErrors(problems) {
			return nil, problems
		}
		c, bad := cel.CompileException(d, e)
		x.cel, x.celSpec = c, &e.Spec
		problems = append(append(problems, bad...), checkCELException(d, e)...)
		if c != nil {
			x.Expires = c.Expires()
		}
		return x, problems
	}
	var e policy.PolicyException
	problems = append(problems, policy.Decode(d, &e)...)
	x.spec = &e.Spec
	problems = slices.Concat(problems, checkException(d, e), references(d, e.Spec.Exceptions), x.selects(d, e.Spec))
	if value, ok := e.Metadata.Labels[ttlLabel]; ok {
		if err := x.ends(value); err != nil {
			problems = append(problems, d.Problem("/metadata/labels/"+jsonpointer.Escape(ttlLabel), "%s", err))
		}
	}
	return x, problems
}

func references(d policy.Document, refs []policy.ExceptionRef) []policy.Problem {
	var problems []policy.Problem
	if len(refs) == 0 {
		problems = append(problems, d.Problem("/spec/exceptions", "the exception names no policy: add spec.exceptions"))
	}
	for i, r := range refs {
		at := fmt.Sprintf("/spec/exceptions/%d", i)
		if r.PolicyName == "" {
			problems = append(problems, d.Problem(at, "the entry has no policyName: add it"))
		}
		if strings.ContainsAny(r.PolicyName, "*?") {
			// Kyverno compares the name literally, so an entry with a wildcard refers to no policy. The other entries
			// still count.
			problems = append(problems, d.Warning(at+"/policyName",
				"policyName takes no wildcards, so this covers nothing: name the policy"))
		}
		if len(r.RuleNames) == 0 {
			problems = append(problems, d.Problem(at, "the entry has no ruleNames: add them, \"*\" for all"))
		}
	}
	return problems
}

// selects compiles which requests the exception covers, and which pod security controls it excludes.
func (x *Exception) selects(d policy.Document, s policy.ExceptionSpec) []policy.Problem {
	var problems []policy.Problem
	b, bad := match.Compile(s.Match)
	for _, e := range bad {
		problem := d.Problem("/spec/match/"+e.Field, "%s", e.Message)
		problem.Warning = e.Warning
		problems = append(problems, problem)
	}
	x.match = b
	switch {
	case len(s.Match.Any)+len(s.Match.All) == 0:
		problems = append(problems, d.Problem("/spec/match", "the exception covers nothing: add any or all under spec.match"))
	default:
		walkStrings(jsonpointer.At(d.Value(), "/spec/match"), "/spec/match", func(at, s string) {
			if strings.Contains(s, "{{") {
				problems = append(problems, d.Problem(at, "variables are not resolved in match: move the condition to conditions"))
			}
		})
	}
	if s.Conditions != nil {
		c, err := condition.Compile(d.Value(), "/spec/conditions")
		if err != nil {
			pointer, message := located(err)
			problems = append(problems, d.Problem(pointer, "%s", message))
		}
		x.conditions, x.namespace = c, readsNamespace(jsonpointer.At(d.Value(), "/spec/conditions"))
	}
	x.security = s.PodSecurity
	if err := podsecurity.Validate(x.security); err != nil {
		pointer, message := located(err)
		problems = append(problems, d.Problem("/spec/podSecurity"+strings.TrimPrefix(pointer, "/exclude"), "%s: %s",
			jsonpointer.Dotted(pointer), message))
	}
	return problems
}

// ends parses the time to live of the exception: a date, a date with time, or a duration.
func (x *Exception) ends(value string) error {
	for _, layout := range []string{time.RFC3339, "2006-01-02T150405Z", "2006-01-02"} {
		if t, err := time.Parse(layout, value); err == nil {
			x.Expires = t
			return nil
		}
	}
	d, ok := TimeToLive(value)
	if !ok {
		return fmt.Errorf("%q is neither a date nor a duration: write for example 2027-01-31 or 36h", value)
	}
	x.TTL = d
	return nil
}

// TimeToLive parses a duration as written in the time-to-live label. It returns false if it is none.
func TimeToLive(value string) (time.Duration, bool) {
	d, err := time.ParseDuration(value)
	if days, rest, ok := strings.Cut(value, "d"); ok {
		// Kyverno also takes days: "2d" and "1d12h".
		n, dayErr := strconv.Atoi(days)
		d, err = time.ParseDuration(cmp.Or(rest, "0"))
		d, err = d+time.Duration(n)*24*time.Hour, errors.Join(dayErr, err)
	}
	return d, err == nil && d > 0
}

// excepted finds the exceptions that cover the request. pending is set if one might cover it, depending on something
// unknown.
func (v *review) excepted(f *frame, candidates []*Exception) (covering []*Exception, pending error) {
	for _, x := range candidates {
		ok, err := x.match.Covers(v.target)
		v.logException(f, x)
		if err == nil && ok && x.conditions != nil {
			met, _, e := x.conditions.Holds(f.scope)
			// As in Kyverno, an exception whose conditions cannot be evaluated does not cover. If they need a cluster,
			// it might. If they are about a namespace that is unknown, it does not: otherwise leaving out the namespace
			// would be enough to get the exception.
			ok = e == nil && met && !(x.namespace && v.target.Unplaced)
			if e != nil && needsCluster(e) {
				err = e
			}
		}
		switch {
		case v.target.Unplaced && err != nil:
			// An object without a namespace must not get the exceptions of all namespaces.
		case err != nil:
			pending = fmt.Errorf("exception %s may cover it: %w", x.FullName(), err)
		case ok:
			covering = append(covering, x)
		}
	}
	return covering, pending
}

// Covering returns the exceptions of kyverno.io that name a rule and cover a request. It is meant for rules outside of
// the set's policies, which apply their exceptions themselves.
func (e *Evaluator) Covering(ctx context.Context, r *admission.Request, policy, rule string) []*Exception {
	var candidates []*Exception
	for _, x := range e.exceptions {
		if x.names(policy, rule) {
			candidates = append(candidates, x)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	v := e.newReview(ctx, r)
	covering, _ := v.excepted(&frame{review: v, scope: v.newScope()}, candidates) // one that only might does not
	return covering
}

// skippedBy reports whether the exceptions skip the whole rule. For pod security, those that name controls exclude only
// these.
func skippedBy(r *rule, covering []*Exception) (verdict, bool) {
	if len(covering) == 0 {
		return verdict{}, false
	}
	if r.security == nil {
		return skipped(covering, false), true
	}
	for _, x := range covering {
		if len(x.security) == 0 {
			return skipped([]*Exception{x}, false), true
		}
	}
	return verdict{}, false
}

// Spec returns the exception's spec as written: the first result for an exception of kyverno.io, the second for one of
// policies.kyverno.io; the other is nil. The caller must not change it.
func (x *Exception) Spec() (*policy.ExceptionSpec, *policy.CELExceptionSpec) {
	return x.spec, x.celSpec
}

// Policies returns the names of the policies that the exception refers to, in the form that results use.
func (x *Exception) Policies() []string {
	var out []string
	if x.spec != nil {
		for _, ref := range x.spec.Exceptions {
			out = append(out, ref.PolicyName)
		}
		return out
	}
	for _, ref := range x.celSpec.PolicyRefs {
		out = append(out, ref.Name)
	}
	return out
}

// ReadsRequest reports whether the exception depends on other parts of a request than the created object: on the user,
// the operation or the old object.
func (x *Exception) ReadsRequest() bool {
	if x.spec == nil {
		return x.cel.ReadsRequest()
	}
	for _, f := range slices.Concat(x.spec.Match.Any, x.spec.Match.All) {
		operations := f.Resources.Operations
		if f.SelectsUsers() ||
			len(operations) > 0 && !slices.Contains(operations, "CREATE") {
			return true
		}
	}
	found := false
	walkStrings(x.spec.Conditions, "", func(_, s string) {
		found = found || slices.ContainsFunc(aboutRequest, func(word string) bool { return strings.Contains(s, word) })
	})
	return found
}

// aboutRequest are the words in conditions that refer to other parts of a request than its object.
var aboutRequest = []string{"oldObject", "userInfo", "operation", "serviceAccount", "request.roles",
	"request.clusterRoles"}
