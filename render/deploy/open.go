package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
)

// Of some ApplicationSets, only the cluster knows which Applications they make. What these would deploy may still be
// known, as where a list overrides the values of single clusters. Such a change is compared like any other.

// Compares reports whether all that a change can do to the Applications of an ApplicationSet is rendered on both sides,
// although the problems of the object, old in the tree before, say that only the cluster knows which of them exist. It
// is false if a cluster may newly get what was deployed to others before.
func (s *Set) Compares(ctx context.Context, before *Set, now, old gitops.Problem) bool {
	open, was := now.Open, old.Open
	if open == nil || was == nil || open.Unknown || was.Unknown || open.Choice != was.Choice {
		return false
	}
	for _, one := range s.deploymentsOf(now.Object) {
		same := func(other *Deployment) bool { return other.Object == now.Object }
		if at := before.found().at(one.Path); len(at) > 0 && !slices.ContainsFunc(at, same) {
			return false
		}
	}
	for _, folder := range open.Default {
		if !slices.Contains(was.Default, folder) && len(before.found().at(folder)) > 0 {
			return false
		}
	}
	for _, own := range open.Own {
		switch previous, had := was.Override(own.Key); {
		case had && previous == own:
		case own.Folder == "", had && previous.Folder == "":
			return false
		case !own.Exists && !s.generates(own.Name): // else the cluster is one of those that get the other Application
			return false
		case own.Exists && len(before.found().at(own.Folder)) > 0:
			return false
		case own.Exists && !had && !s.replaces(ctx, now.Object, own.Folder, before, was.Default):
			return false
		}
	}
	return !slices.ContainsFunc(was.Own, func(previous gitops.Override) bool {
		_, has := open.Override(previous.Key)
		return !has && (previous.Folder == "" || previous.Exists && !s.replaces(ctx, now.Object, "", s, open.Default))
	})
}

// deploymentsOf lists the deployments of an object.
func (s *Set) deploymentsOf(object gitops.Reference) (list []*Deployment) {
	for _, one := range s.found().known() {
		if one.Object == object {
			list = append(list, one)
		}
	}
	return list
}

// generates reports whether an ApplicationSet makes an Application with a name that deploys a folder. One that deploys
// none elsewhere may be for another cluster.
func (s *Set) generates(name string) bool {
	for _, one := range s.found().known() {
		if name != "" && one.Object.Kind == "ApplicationSet" && one.Name == name {
			return true
		}
	}
	return false
}

// selects reports whether the object of a deployment of an earlier tree still deploys to the same clusters.
func (s *Set) selects(one *Deployment) bool {
	return slices.ContainsFunc(s.deploymentsOf(one.Object), func(other *Deployment) bool { return other.To == one.To })
}

// replaces reports whether each resource that an object deploys from folders of a tree is one that it deploys from a
// folder of s, too; without a folder, whether there is none.
func (s *Set) replaces(ctx context.Context, object gitops.Reference, folder string, of *Set, others []string) bool {
	have, ok := s.deployed(ctx, object, folder)
	for _, other := range others {
		list, known := of.deployed(ctx, object, other)
		for identity := range list {
			ok = ok && have[identity]
		}
		ok = ok && known
	}
	return ok
}

// deployed returns the identities of the resources that an object deploys from a folder. ok is false where some are not
// known.
func (s *Set) deployed(ctx context.Context, object gitops.Reference, folder string) (identities map[string]bool, ok bool) {
	identities = map[string]bool{}
	for _, one := range s.found().at(folder) {
		root, is := s.found().root(one)
		if one.Object != object || !is {
			continue
		}
		out, problems, err := s.Render(ctx, root)
		if err != nil || len(problems) > 0 || out.Partial {
			return nil, false
		}
		for _, r := range out.Resources {
			identities[identityOf(r.Object)] = true
		}
	}
	return identities, true
}

func identityOf(object map[string]any) string {
	apiVersion, _ := object["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	metadata, _ := object["metadata"].(map[string]any)
	return fmt.Sprint(group, " ", object["kind"], " ", metadata["namespace"], " ", metadata["name"])
}
