package builtin

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// Deployments sorts what is wrong with, or not known of, the objects of Argo CD and Flux that a change reaches. What it
// leaves as it was is left out: what the object asks for, and whatever that reads, is the same. What the change brings
// and that would not deploy either is one pair for each, about the object that asks. What only the cluster or the
// operator knows, and what the base lacked already, is not checked. Advice is for reading.
func Deployments(s *diff.Sides) (pairs []*diff.Pair, not []report.NotChecked, advice []report.Problem) {
	now := s.Trees.Head.Roots.Problems()
	before := knownProblems(s.Trees.Base.Roots.Problems(), now)
	for _, p := range now {
		old, known := before(p)
		known = known && !s.All
		reason := strings.TrimSuffix(p.Message, " ("+p.Object.String()+")") // the object is named beside it
		switch {
		case known && old.State == p.State && old.Path == p.Path:
		case p.Cause == gitops.Suspicious:
			advice = append(advice, report.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message})
		case p.Cause == gitops.Broken && !known:
			pairs = append(pairs, pairOf(p))
		default:
			not = append(not, report.NotChecked{Root: p.Object.Root(), Path: p.Path, Line: p.Line, Reason: reason})
		}
	}
	return pairs, not, advice
}

// knownProblems returns what finds a problem of now among those of before: of the same object in the same file, else in
// that file, or in one that does not have it any more, since it was moved. Several overlays may deploy one file, each
// with its own namespace.
func knownProblems(before, now []gitops.Problem) func(gitops.Problem) (gitops.Problem, bool) {
	type key struct {
		path, from string
		object     gitops.Reference
		message    string
	}
	same := func(p gitops.Problem) key { return key{p.Path, p.From, p.Object, p.Message} }
	here := func(p gitops.Problem) key { return key{path: p.Path, message: p.Message} }
	moved := func(p gitops.Problem) key { return key{object: p.Object, message: p.Message} }
	still := map[key]bool{}
	for _, p := range now {
		still[here(p)] = true
	}
	known := map[key]gitops.Problem{}
	for _, p := range before {
		known[same(p)], known[here(p)] = p, p
		if !still[here(p)] {
			known[moved(p)] = p
		}
	}
	return func(p gitops.Problem) (old gitops.Problem, ok bool) {
		for _, by := range []func(gitops.Problem) key{same, here, moved} {
			if old, ok = known[by(p)]; ok {
				break
			}
		}
		return old, ok
	}
}

// Unrendered lists what a change does to objects that deploy what Lintel does not render, or that take something else than
// this repository for a source now, as they are once they are rendered themselves: overlays and substitutions change them.
func Unrendered(set *deploy.Set, pairs []*diff.Pair, known []report.NotChecked) (not []report.NotChecked) {
	for _, p := range pairs {
		if p.New == nil {
			continue
		}
		words, field := unrendered(p.New.Object)
		spec, _ := p.New.Object["spec"].(map[string]any)
		if p.Old != nil && reflect.DeepEqual(p.Old.Object["spec"], any(spec)) {
			continue
		}
		if p.Old != nil && words == "" {
			words, field = turned(set.RepoNames(), p.Old.Object, p.New.Object)
		}
		if words == "" || spec["suspend"] == true {
			continue
		}
		id, at := admission.IdentityOf(p.New.Object), p.New.Origin(field)
		object := gitops.Reference{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
		if set.Released(object, at.Path) {
			continue // it is a root of its own
		}
		n := report.NotChecked{Root: object.Root(), Path: at.Path, Line: at.StartLine, Reason: words}
		if !slices.ContainsFunc(slices.Concat(known, not), func(m report.NotChecked) bool {
			return m.Path == n.Path && m.Line == n.Line
		}) {
			not = append(not, n)
		}
	}
	return not
}

// unrendered says why what an object deploys is not rendered, and which of its fields says what that is; empty for any
// other object.
func unrendered(o admission.Object) (words, field string) {
	id := admission.IdentityOf(o)
	chart := "Lintel does not render what this " + id.Kind + " deploys: it is not checked"
	switch id.Group + "/" + id.Kind {
	case "helm.toolkit.fluxcd.io/HelmRelease":
		if spec, _ := o["spec"].(map[string]any); spec["chartRef"] != nil {
			return chart, "/spec/chartRef/name"
		}
		return chart, "/spec/chart/spec/chart"
	case "helm.cattle.io/HelmChart", "fleet.cattle.io/HelmOp":
		return chart, "/spec/chart"
	case "fleet.cattle.io/GitRepo", "fleet.cattle.io/Bundle", "fluxcd.controlplane.io/ResourceSet",
		"fluxcd.controlplane.io/FluxInstance":
		return "Lintel does not render what a " + id.Kind + " deploys: it is not checked", "/spec"
	}
	return "", ""
}

// pairOf is the object that asks for a deployment, as far as a problem names it.
func pairOf(p gitops.Problem) *diff.Pair {
	object := admission.Object{
		"apiVersion": p.Object.APIVersion(), "kind": p.Object.Kind,
		"metadata": map[string]any{"name": p.Object.Name, "namespace": p.Object.Namespace},
	}
	issue := render.Issue{Check: deploys, Message: p.Message}
	return &diff.Pair{Root: roots.Root{Path: path.Dir(p.Path)}, Operation: admission.Create,
		New: render.NewResource(object, func(string) origin.Place { return at(p) }, issue)}
}

// at is the place of a problem, whatever field is asked for.
func at(p gitops.Problem) origin.Place {
	if p.Line == 0 { // the file as a whole
		return origin.Place{Path: p.Path, StartLine: 1, EndLine: 1, How: origin.Enclosing}
	}
	return origin.Place{Path: p.Path, StartLine: p.Line, EndLine: p.Line, How: origin.Identity}
}

// deploys is the check of what objects of Argo CD and Flux ask for.
const deploys render.Check = "deployment"
