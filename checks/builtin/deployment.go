package builtin

import (
	"cmp"
	"context"
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

// Deployments sorts the problems of objects of Argo CD and Flux that a change affects. Objects that are unchanged, with
// everything they read, are left out. A problem that the change introduces is a pair with the object. A problem that
// depends on cluster data or that the base has is in not. Advice is returned separately.
func Deployments(ctx context.Context, s *diff.Sides) (pairs []*diff.Pair, not []report.NotChecked, advice []report.Problem) {
	of := func(set *deploy.Set) []gitops.Problem { return append(set.Problems(), set.Twins()...) }
	now := of(s.Trees.Head.Roots)
	earlier := of(s.Trees.Base.Roots)
	before := knownProblems(earlier, now)
	// An ApplicationSet that is new where it is; another overlay may have one of the same name. It must name clusters in a list:
	// otherwise, only the cluster knows whether it deploys anything.
	isNew := func(p gitops.Problem) bool {
		here := func(from, path string) bool { return from == p.From && (from != "" || path == p.Path) }
		return !s.All && p.Open != nil && slices.ContainsFunc(p.Open.Own, func(own gitops.Override) bool { return !own.Rest }) &&
			!slices.ContainsFunc(earlier, func(old gitops.Problem) bool { return old.Object == p.Object && here(old.From, old.Path) }) &&
			!slices.ContainsFunc(s.Trees.Base.Roots.ByObject(p.Object), func(one *deploy.Deployment) bool { return here(one.From, one.Where.Path) })
	}
	for _, p := range now {
		old, known := before(p)
		known = known && !s.All
		reason := strings.TrimSuffix(p.Message, " ("+p.Object.String()+")") // the report names the object already
		var missing gitops.Override
		compares := func() (ok bool) {
			ok, missing = s.Trees.Head.Roots.Compares(ctx, s.Trees.Base.Roots, p, old)
			return ok
		}
		switch {
		case known && old.State == p.State && old.Path == p.Path:
		case (known || isNew(p)) && compares():
		case p.Cause == gitops.Suspicious:
			advice = append(advice, report.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message})
		case !known && s.Takes(p.Error, p.Lacks && s.Trees.Base.Roots.IsDeployer(p.Object)):
			p.Message += diff.Taken
			pairs = append(pairs, pairOf(p))
		case p.Cause == gitops.Broken && !known:
			pairs = append(pairs, pairOf(p))
		case missing.Folder != "":
			not = append(not, report.NotChecked{Root: p.Object.Root(), Path: missing.Where.Path, Line: missing.Where.Line,
				Reason: missing.Folder + " does not exist, so the Application that deploys it fails if there is such a cluster", Changed: true})
		default:
			not = append(not, report.NotChecked{Root: p.Object.Root(), Path: p.Path, Line: p.Line, Reason: reason,
				Changed: known && old.State != p.State})
		}
	}
	for _, old := range earlier {
		list := s.Trees.Head.Roots.ByObject(old.Object)
		if s.All || old.Cause != gitops.ClusterOnly || len(list) == 0 || len(s.Trees.Base.Roots.ByObject(old.Object)) > 0 {
			continue
		}
		// Without the folder, a source that nothing here names may be another repository; with it, it is this one.
		if _, _, err := s.Trees.Base.Roots.Tree().Lookup(list[0].Path); err == nil {
			not = append(not, report.NotChecked{Root: old.Object.Root(), Path: list[0].Where.Path, Line: list[0].Where.Line,
				Reason: "what it deployed before the change is not known, so what the change removes is not checked"})
		}
	}
	return pairs, not, advice
}

// knownProblems returns a function that finds the earlier problem that a problem of now equals. It searches the same
// object in the same file, then that file, then files that no longer contain the object, since it may have moved.
// Several overlays may deploy one file, each with its own namespace.
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

// Unrendered lists changed objects that deploy something which Lintel does not render, or that changed their source
// from this repository to another, and removed ones if what they deployed is not known: it goes with them, unless they leave
// it in the cluster. It uses the rendered objects, since overlays and substitutions change them. rendered are the roots
// that the change affects.
func Unrendered(s *diff.Sides, rendered []*diff.Root, pairs []*diff.Pair, known []report.NotChecked) (not []report.NotChecked) {
	for _, p := range pairs {
		r, set, side := p.Resource(), s.Trees.Head.Roots, report.Head
		if p.New == nil {
			set, side = s.Trees.Base.Roots, report.Base
		}
		words, field := unrendered(r.Object)
		spec, _ := r.Object["spec"].(map[string]any)
		if p.Old != nil && p.New != nil && reflect.DeepEqual(p.Old.Object["spec"], any(spec)) {
			continue
		}
		if p.Old != nil && p.New != nil && words == "" {
			words, field = turned(set.RepoNames(), p.Old.Object, p.New.Object)
		}
		id := admission.IdentityOf(r.Object)
		object := gitops.Reference{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
		gone := p.New == nil && undeployed(set, rendered, object)
		if words == "" && !gone {
			continue // before its place is searched, which may render the root again
		}
		at := r.Origin(cmp.Or(field, "/metadata/name"))
		if words != "" && set.Released(object, at.Path) {
			words = "" // it is a root itself
		}
		if p.New == nil && (words != "" || gone) && !gitops.Orphans(r.Object) {
			words = "the change removes this " + id.Kind + ". What it deployed goes with it, and is not known: it is not checked"
		}
		if words == "" || spec["suspend"] == true {
			continue
		}
		n := report.NotChecked{Root: object.Root(), Path: at.Path, Line: at.StartLine, Side: side, Reason: words}
		if !slices.ContainsFunc(slices.Concat(known, not), func(m report.NotChecked) bool {
			return m.Path == n.Path && m.Line == n.Line && m.Side == n.Side
		}) {
			not = append(not, n)
		}
	}
	return not
}

// undeployed reports whether an object deployed something at the base, and it is not known what.
func undeployed(base *deploy.Set, rendered []*diff.Root, object gitops.Reference) bool {
	return slices.ContainsFunc(rendered, func(r *diff.Root) bool {
		return len(r.Base) > 0 && slices.ContainsFunc(base.Deployers(r.Root), func(d *deploy.Deployment) bool { return d.Object.Is(object) })
	}) || slices.ContainsFunc(base.Problems(), func(p gitops.Problem) bool {
		return p.Object.Is(object) && p.Cause == gitops.ClusterOnly && !base.IsDeployer(p.Object)
	})
}

// unrendered returns why Lintel does not render what an object deploys, and the field that says so; both are empty for
// other objects.
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
		"fluxcd.controlplane.io/ResourceSetInputProvider", "fluxcd.controlplane.io/FluxInstance":
		return "Lintel does not render what a " + id.Kind + " deploys: it is not checked", "/spec"
	}
	return "", ""
}

// pairOf returns the object that a problem is about, with the fields that the problem names.
func pairOf(p gitops.Problem) *diff.Pair {
	object := admission.Object{
		"apiVersion": p.Object.APIVersion(), "kind": p.Object.Kind,
		"metadata": map[string]any{"name": p.Object.Name, "namespace": p.Object.Namespace},
	}
	issue := render.Issue{Check: deploys, Message: p.Message}
	return &diff.Pair{Root: roots.Root{Path: path.Dir(p.Path)}, Operation: admission.Create,
		New: render.NewResource(object, func(string) origin.Place { return at(p) }, issue)}
}

// at returns the place of a problem, for any field.
func at(p gitops.Problem) origin.Place {
	if p.Line == 0 { // the place is the whole file
		return origin.Place{Path: p.Path, StartLine: 1, EndLine: 1, How: origin.Enclosing}
	}
	return origin.Place{Path: p.Path, StartLine: p.Line, EndLine: p.Line, How: origin.Identity}
}

// deploys is the name of the check of objects of Argo CD and Flux.
const deploys render.Check = "deployment"
