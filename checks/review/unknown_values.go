package review

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
)

// unsettled makes results unknown that depend on values which only the cluster has. These are failures at such a field,
// below it or above it. They are also passes, and rules that do not apply, that would fail with another value in its
// place.
func (v *Reviewer) unsettled(ctx context.Context, rules *engine.Evaluator, res *render.Resource, r *admission.Request,
	results []engine.Result) []engine.Result {
	for i, one := range results {
		if name := onlyLive(r, one); name != "" && Violated(one) {
			results[i].Outcome, results[i].Message = engine.Unknown, one.Message+": "+admission.NeedsLive(name).Error()
		}
	}
	if res == nil || r.Object == nil {
		return results
	}
	issues := unknownOf(res)
	if len(issues) == 0 {
		return results
	}
	for i, one := range results {
		if !Violated(one) || one.Old {
			continue
		}
		for _, issue := range issues {
			if slices.ContainsFunc(one.Fields, func(p string) bool { return builtin.Related(p, issue.Pointer) }) {
				results[i].Outcome, results[i].Message = engine.Unknown, one.Message+": "+issue.Message
				break
			}
		}
	}
	for _, text := range trials {
		request := *r
		request.Object, _ = tried(map[string]any(r.Object), "", issues, text).(map[string]any)
		for _, other := range v.Evaluate(ctx, rules, &request) {
			if other.Outcome != engine.Fail || other.Old { // an error may only mean that the trial value has the wrong type
				continue
			}
			at := slices.IndexFunc(results, func(one engine.Result) bool { return sameRule(one, other) })
			switch {
			case at < 0:
				other.Outcome, other.Message = engine.Unknown, other.Message+": "+issues[0].Message
				results = append(results, other)
			case !Violated(results[at]) && !Undecided(results[at]):
				results[at].Outcome, results[at].Fields = engine.Unknown, other.Fields
				results[at].Message, results[at].Line = other.Message+": "+issues[0].Message, other.Line
			}
		}
	}
	return results
}

// onlyLive returns the name of a field that only the cluster has, if a result is about such fields alone; "" if it is not.
func onlyLive(r *admission.Request, one engine.Result) (name string) {
	o := r.Object
	if one.Old {
		o = r.OldObject
	}
	if !r.Exists(o) {
		return ""
	}
	for _, field := range one.Fields {
		name = ""
		for parent, live := range admission.OnlyLive(o, r.OldObject) {
			if _, below := jsonpointer.Below(field, strings.TrimSuffix("/"+parent, "/")+"/"+live); below {
				name = live
			}
		}
		if name == "" {
			return ""
		}
	}
	return name
}

// unknownOf returns the issues of values that are not known: those of the rendering, and of encrypted values, of which nobody needs
// to be told.
func unknownOf(r *render.Resource) []render.Issue {
	return append(report.Kept(r.Issues, func(i render.Issue) bool { return i.Value }), declared.EncryptedValues(r.Object)...)
}

// fluxVariable matches a variable that Flux replaces when it deploys
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
var fluxVariable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*[}:=-]`)

// unfilled makes failures unknown that a variable causes which the object newly has, where no known object deploys it. These
// are failures at its value, and errors that another value ends. What passes as it is written passes.
func (v *Reviewer) unfilled(ctx context.Context, rules *engine.Evaluator, p *diff.Pair, r *admission.Request, results []engine.Result) {
	if p.New == nil || p.IsDeployed() || !slices.ContainsFunc(results, Violated) {
		return
	}
	texts := func(of *render.Resource, found func(pointer, text string)) {
		jsonpointer.Walk(map[string]any(of.Object), "", func(pointer string, value any) {
			if text, ok := value.(string); ok && fluxVariable.MatchString(text) {
				found(pointer, text)
			}
		})
	}
	had, issues := map[string]bool{}, []render.Issue(nil)
	if old := p.Earlier(); old != nil {
		texts(old, func(_, text string) { had[text] = true })
	}
	texts(p.New, func(pointer, text string) {
		if !had[text] {
			issues = append(issues, render.Issue{Pointer: pointer})
		}
	})
	if len(issues) == 0 {
		return
	}
	for i, one := range results {
		at := func(issue render.Issue) bool { return slices.Contains(one.Fields, issue.Pointer) }
		if Violated(one) && (slices.ContainsFunc(issues, at) || one.Outcome == engine.Error && v.ends(ctx, rules, r, issues, one)) {
			results[i].Outcome = engine.Unknown
			results[i].Message = "the value has a variable, and nothing here says what deploys it; as it is written: " + one.Message
		}
	}
}

// ends reports whether a rule can be evaluated with one of the trial values.
func (v *Reviewer) ends(ctx context.Context, rules *engine.Evaluator, r *admission.Request, issues []render.Issue, failed engine.Result) bool {
	return slices.ContainsFunc(trials, func(text string) bool {
		request := *r
		request.Object, _ = tried(map[string]any(r.Object), "", issues, text).(map[string]any)
		return !slices.ContainsFunc(v.Evaluate(ctx, rules, &request), func(other engine.Result) bool {
			return sameRule(failed, other) && other.Outcome == engine.Error
		})
	})
}

func sameRule(a, b engine.Result) bool {
	return a.Policy == b.Policy && a.Rule == b.Rule && a.Mutation == b.Mutation
}

// trials replace unknown values: the values that policies most often test for.
var trials = []string{"true", "false", "0", "1000000", "", "latest", "root", "*"}

var placeholders = regexp.MustCompile(`lintel-unknown-[a-z0-9-]*|\$\{[^}]*\}`)

// tried returns a value in which a text replaces the unknown values.
func tried(v any, pointer string, issues []render.Issue, text string) any {
	is := slices.ContainsFunc(issues, func(i render.Issue) bool { return i.Pointer == pointer })
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, value := range v {
			out[k] = tried(value, pointer+"/"+jsonpointer.Escape(k), issues, text)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = tried(value, pointer+"/"+strconv.Itoa(i), issues, text)
		}
		return out
	case string:
		switch rest := placeholders.ReplaceAllLiteralString(v, text); {
		case !is:
			return v
		case doc.IsEncrypted(v) && strings.HasSuffix(v, ",type:str]"):
			return text
		case rest != v && strings.TrimSpace(rest) != text:
			return rest // the unknown value is a part of the text
		}
	}
	if !is {
		return v
	}
	switch text {
	case "true", "false":
		return text == "true"
	case "0", "1000000":
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	}
	return text
}
