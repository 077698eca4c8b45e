package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/gitops"
)

// Of some ApplicationSets, only the cluster knows which Applications they make. What these would deploy may still be
// known, as where a list overrides the values of single clusters. Such a change is compared like any other.

// Compares reports whether all that a change can do to the Applications of an ApplicationSet is rendered on both sides,
// although the problems of the object, old in the tree before, say that only the cluster knows which of them exist. It
// is false if a cluster may newly get what was deployed to others before.
func (s *Set) Compares(ctx context.Context, before *Set, now, old gitops.Problem) bool {
	open, was := now.Open, old.Open
	if open == nil || was == nil || open.Unknown || was.Unknown || open.Choice != was.Choice ||
		was.Others > open.Others {
		return false
	}
	for _, one := range s.ByObject(now.Object) {
		same := func(other *Deployment) bool { return other.Object == now.Object }
		if at := before.found().at(one.Path); len(at) > 0 && !slices.ContainsFunc(at, same) {
			return false
		}
	}
	for _, one := range before.ByObject(old.Object) {
		if !one.Certain && open.Others == was.Others && !s.selects(one) { // see IsUnseen
			return false
		}
	}
	if s.deploysFurther(ctx, now.Object, before) || before.deploysFurther(ctx, old.Object, s) {
		return false
	}
	for _, own := range open.Own {
		previous, had := was.Override(own.Key)
		if had && previous != own && was.Alike(previous) {
			return false
		}
		previous.How = own.How // this is compared
		switch {
		case had && previous == own:
		case own.Exists && len(before.found().at(own.Folder)) > 0:
			return false
		case own.Rest: // what it adds and removes is compared
		case !own.Exists && !previous.Exists && s.brings(before, now, own.Name): // the cluster is another overlay's
		case !own.Exists && !s.generates(now, own.Name):
			return false
		case !had && !(own.Exists || before.generates(old, own.Name)) && !before.replaces(ctx, old.Object, "", before, was):
			return false
		case !had && own.Exists && !s.replaces(ctx, now.Object, own.Folder, before, was):
			return false
		}
	}
	return !slices.ContainsFunc(was.Own, func(previous gitops.Override) bool {
		_, has := open.Override(previous.Key)
		gone := !has && (previous.Exists || !s.generates(now, previous.Name) && !before.brings(s, old, previous.Name))
		return !has && was.Alike(previous) || gone && !s.replaces(ctx, now.Object, "", s, open)
	})
}

// ByObject lists the deployments of an object.
func (s *Set) ByObject(object gitops.Reference) (list []*Deployment) {
	for _, one := range s.found().sorted() {
		if one.Object == object {
			list = append(list, one)
		}
	}
	return list
}

// generates reports whether an ApplicationSet beside that of a problem makes an Application with a name that deploys a
// folder. Then the cluster is one of those that the other selects.
func (s *Set) generates(p gitops.Problem, name string) bool {
	return name != "" && slices.ContainsFunc(s.found().sorted(), func(one *Deployment) bool {
		return one.Object.Kind == "ApplicationSet" && one.Name == name && one.Object.Namespace == p.Object.Namespace &&
			one.Object != p.Object && one.From == p.From && gitops.ClusterOfFolder(one.Where.Path) == gitops.ClusterOfFolder(p.Path)
	})
}

// brings reports whether another overlay than that of a problem deploys a folder for an Application that it has not in
// another tree, although both overlays deploy the ApplicationSet from one file. So it is where each environment has folders
// for its own clusters.
func (s *Set) brings(other *Set, p gitops.Problem, name string) bool {
	elsewhere := func(one *Deployment) bool {
		return one.Name == name && one.Object.Name == p.Object.Name && one.Where.Path == p.Path && one.From != p.From
	}
	return name != "" && slices.ContainsFunc(s.found().sorted(), elsewhere) && !slices.ContainsFunc(other.found().sorted(), elsewhere)
}

// deploysFurther reports whether an object deploys objects that deploy, which another tree does not deploy in the same way,
// or may do so. Who selects the cluster of what these deploy is not known.
func (s *Set) deploysFurther(ctx context.Context, object gitops.Reference, other *Set) bool {
	theirs := other.found().known()
	kinds, _ := gitops.Kinds()
	return slices.ContainsFunc(s.ByObject(object), func(one *Deployment) bool {
		if same := theirs[one.id]; same != nil && same.Digest() == one.Digest() {
			return false
		}
		list, ok := s.rendered(ctx, one)
		return !ok || slices.ContainsFunc(list, func(r *render.Resource) bool {
			kind, _ := r.Object["kind"].(string)
			return slices.Contains(kinds, kind)
		})
	})
}

// selects reports whether the object of a deployment of an earlier tree still deploys to the same clusters.
func (s *Set) selects(one *Deployment) bool {
	return slices.ContainsFunc(s.ByObject(one.Object), func(other *Deployment) bool { return other.To == one.To })
}

// replaces reports whether each resource that an object deploys from a tree for clusters without an override is one that
// it deploys from a folder of s, too; without a folder, whether there is none.
func (s *Set) replaces(ctx context.Context, object gitops.Reference, folder string, of *Set, open *gitops.Open) bool {
	have, ok := s.deployed(ctx, object, folder)
	for _, rest := range open.Own {
		if !rest.Rest {
			continue
		}
		list, known := of.deployed(ctx, object, rest.Folder)
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
		if one.Object != object {
			continue
		}
		list, ok := s.rendered(ctx, one)
		if !ok {
			return nil, false
		}
		for _, r := range list {
			identities[identityOf(r.Object)] = true
		}
	}
	return identities, true
}

// rendered returns the resources of a deployment. ok is false where some are not known.
func (s *Set) rendered(ctx context.Context, one *Deployment) (list []*render.Resource, ok bool) {
	out, problems, err := s.Render(ctx, one.root())
	if err != nil || len(problems) > 0 || out.Partial {
		return nil, false
	}
	return out.Resources, true
}

func identityOf(object map[string]any) string {
	apiVersion, _ := object["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	metadata, _ := object["metadata"].(map[string]any)
	return fmt.Sprint(group, " ", object["kind"], " ", metadata["namespace"], " ", metadata["name"])
}
