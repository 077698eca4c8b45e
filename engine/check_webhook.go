package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// webhook finds what Kyverno's own webhook refuses in a rule although the rule could be evaluated (Validate in
// pkg/validation/policy/validate.go, api/kyverno/v1/rule_types.go and pkg/policy of Kyverno).
func (c *checker) webhook(at string, r *policy.Rule, admission bool) {
	if !admission && (r.Mutate != nil || r.Generate != nil || r.VerifyImages != nil) {
		c.bad("/spec/admission", "only validate rules can do without admission: rule %s is another", r.Name)
	}
	if r.ImageExtractors != nil && r.VerifyImages == nil {
		c.bad(at+"/imageExtractors", "imageExtractors are for verifyImages rules only")
	}
	if anyKind(r.Match) || r.Exclude != nil && anyKind(*r.Exclude) {
		c.wildcard(at, r)
	}
	c.conflict(at, r)
	if r.CELPreconditions != nil && (r.Validate == nil || r.Validate.CEL == nil) {
		c.bad(at+"/celPreconditions", "celPreconditions are for validate.cel only: write preconditions")
	}
	if v := r.Validate; v != nil && v.CEL != nil {
		if len(r.Context) > 0 {
			c.bad(at+"/context", "expressions in CEL cannot use the context of a rule: write validate.cel.variables")
		}
		c.params(at+"/validate/cel", v.CEL)
	}
	if m := r.Mutate; m != nil {
		c.onePatch(at+"/mutate", m.PatchStrategicMerge, m.PatchesJSON6902, len(m.ForEach))
		c.eachPatch(at+"/mutate/foreach", m.ForEach)
	}
}

// conflict reports a block that is excluded as it is matched.
func (c *checker) conflict(at string, r *policy.Rule) {
	if r.Exclude == nil || len(r.Match.All)+len(r.Exclude.All) > 0 {
		return
	}
	for i, excluded := range r.Exclude.Any {
		if slices.ContainsFunc(r.Match.Any, func(f policy.ResourceFilter) bool { return reflect.DeepEqual(f, excluded) }) {
			c.bad(fmt.Sprintf("%s/exclude/any/%d", at, i), "the same block is in match: Kyverno refuses a rule that matches nothing by it")
		}
	}
}

func anyKind(m policy.Match) bool {
	return slices.ContainsFunc(m.Filters(), func(f policy.ResourceFilter) bool { return slices.Contains(f.Resources.Kinds, "*") })
}

// wildcard checks a rule for the kind *, which may be about the metadata of objects only.
func (c *checker) wildcard(at string, r *policy.Rule) {
	const words = "a rule for the kind * can be about metadata only"
	metadata := func(where string, pattern any) {
		fields, _ := pattern.(map[string]any)
		for k := range fields {
			if k != "metadata" {
				c.bad(where+"/"+jsonpointer.Escape(k), words)
			}
		}
	}
	if r.Generate != nil || r.VerifyImages != nil {
		c.bad(at, "a rule for the kind * can only validate or mutate")
	}
	if v := r.Validate; v != nil {
		if len(v.ForEach) > 0 {
			c.bad(at+"/validate/foreach", "a rule for the kind * has no foreach")
		}
		metadata(at+"/validate/pattern", v.Pattern)
		list, _ := v.AnyPattern.([]any)
		for i, p := range list {
			metadata(fmt.Sprintf("%s/validate/anyPattern/%d", at, i), p)
		}
	}
	if m := r.Mutate; m != nil {
		metadata(at+"/mutate/patchStrategicMerge", m.PatchStrategicMerge)
		var patches []struct{ Path string }
		if json.Unmarshal([]byte(m.PatchesJSON6902), &patches) == nil && // Kyverno does not read YAML here
			slices.ContainsFunc(patches, func(p struct{ Path string }) bool { return !strings.HasPrefix(p.Path, "/metadata") }) {
			c.bad(at+"/mutate/patchesJson6902", words)
		}
	}
}

// params checks the parameters of a validate.cel rule.
func (c *checker) params(at string, v *policy.CEL) {
	if v.ParamKind != nil && v.ParamRef == nil {
		c.bad(at+"/paramKind", "paramKind needs paramRef, which names the object")
	}
	ref := v.ParamRef
	if ref == nil {
		return
	}
	switch {
	case v.ParamKind == nil:
		c.bad(at+"/paramRef", "paramRef needs paramKind")
	case (ref.Name == "") == (ref.Selector == nil):
		c.bad(at+"/paramRef", "paramRef has either name or selector")
	case ref.ParameterNotFoundAction == "":
		c.bad(at+"/paramRef", "paramRef has no parameterNotFoundAction: write Allow or Deny")
	}
}

// onePatch checks that a mutation says once what to do.
func (c *checker) onePatch(at string, merge any, patches string, each int) {
	if given := []bool{merge != nil, patches != "", each > 0}; len(slices.DeleteFunc(given, func(is bool) bool { return !is })) > 1 {
		c.bad(at, "only one of patchStrategicMerge, patchesJson6902 and foreach is allowed")
	}
}

func (c *checker) eachPatch(at string, list []policy.ForEachMutation) {
	for i, f := range list {
		where := fmt.Sprintf("%s/%d", at, i)
		if len(f.ForEach) > 0 && (f.Context != nil || f.Preconditions != nil) {
			c.bad(where, "beside a nested foreach, context and preconditions are not allowed: write them inside")
		}
		c.onePatch(where, f.PatchStrategicMerge, f.PatchesJSON6902, len(f.ForEach))
		c.eachPatch(where+"/foreach", f.ForEach)
	}
}
