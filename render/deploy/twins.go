package deploy

import (
	"cmp"
	"slices"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
)

// Twins returns a problem for each Application that one object has or makes although another one brings the same Application
// to the same cluster: only one of the two exists there. They certainly meet if one Application deploys both objects, perhaps
// from several sources.
func (s *Set) Twins() (problems []gitops.Problem) {
	type object struct {
		gitops.Reference
		name, from string
		at         gitops.Position // of an Application; zero for all that an ApplicationSet makes
	}
	known, named := map[object]bool{}, map[string][]*Deployment{}
	for _, one := range s.found().sorted() {
		key := object{one.Object, one.Name, one.From, one.Where}
		if one.Object.Kind == "ApplicationSet" {
			key.at = gitops.Position{}
		}
		if !known[key] && (one.Object.Kind == "Application" || one.Object.Kind == "ApplicationSet" && one.Certain) {
			named[one.Name] = append(named[one.Name], one)
		}
		known[key] = true
	}
	for _, list := range named {
		if len(list) == 1 {
			continue
		}
		slices.SortFunc(list, func(a, b *Deployment) int {
			return cmp.Or(cmp.Compare(a.Where.Path, b.Where.Path), cmp.Compare(a.Where.Line, b.Where.Line))
		})
		first := map[string]*Deployment{} // by the Application that deploys the object, and the namespace
		for _, one := range list {
			for _, by := range s.Holders(one) {
				if !s.found().isLive(by) {
					continue
				}
				key := by.application() + "/" + cmp.Or(one.Object.Namespace, by.Namespace)
				if other := first[key]; other == nil {
					first[key] = one
				} else if other != one {
					problems = append(problems, gitops.Problem{Cause: gitops.ClusterOnly, Object: one.Object, From: one.From,
						Error: doc.Error{Path: one.Where.Path, Line: one.Where.Line, Column: one.Where.Column, Message: "" +
							other.Object.String() + " in " + other.Where.Path + " has this name, too: only one of the Applications " +
							"exists in the cluster, and which one is not known before merge"}})
					break
				}
			}
		}
	}
	slices.SortFunc(problems, func(a, b gitops.Problem) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line)) })
	return problems
}
