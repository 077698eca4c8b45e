package declared

import (
	"context"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// orCreated returns a finder that also finds the Namespaces whose metadata an object of Argo CD sets. Where nothing in the
// repository declares the Namespace, it has this metadata.
func (d *Objects) orCreated(a asking, name string, find finder) finder {
	return func(v *view, after bool) (found []entry, blind []Blind, looked bool) {
		if found, blind, looked = find(v, after); len(found) > 0 {
			return found, blind, looked
		}
		add := func(of *Objects, is func(roots.Root) bool) {
			for _, root := range of.set.Into(name) {
				one := of.set.Deployment(root)
				if one != nil && one.Created != nil && one.Created.Managed && is(root) && a.hears(root) && (of.In == nil || of.In(root)) {
					found = append(found, entry{root: root}.of(of.set.CreatedNamespace(root).Object))
				}
			}
		}
		switch all := func(roots.Root) bool { return true }; {
		case d.tip == nil:
			add(d, all)
		case !after:
			add(d.tip, all)
		default:
			add(d, func(root roots.Root) bool { return d.touched[root] })
			add(d.tip, func(root roots.Root) bool { return !d.touched[root] })
		}
		if len(found) > 0 {
			blind = nil
		}
		return found, blind, looked
	}
}

// Exists reports whether a pair is of a Namespace that the deployer of its root would create, but that exists: it is declared,
// or the API server has it. Where that is not known, the pair gets a doubt. If used is set, a Namespace to create also exists
// where the base deploys something to it in a cluster of the root.
func (d *Objects) Exists(ctx context.Context, p *diff.Pair, used bool) bool {
	if !p.Resource().Created {
		return false
	}
	root, name := p.Root, diff.KeyOf(p.Resource()).Name
	ctx, l := For(ctx, root)
	ctx = context.WithValue(ctx, askingKey{}, asking{Lookups: l, declared: true})
	_, has := d.Get(ctx, "", "Namespace", "", name)
	several := slices.ContainsFunc(l.Why(name), func(c report.Cause) bool { return c.Kind == report.CauseDiffer })
	if has || several || len(l.Altered()) > 0 || slices.Contains([]string{"default", "kube-system", "kube-public", "kube-node-lease"}, name) {
		return true
	}
	if l.Unknown() {
		p.Doubt = "whether the Namespace exists already is not known; if it does not"
	}
	if d.tip == nil || !used || p.Operation != admission.Create {
		return false
	}
	own := d.set.Placement(root).Clusters
	shares := func(other roots.Root) bool {
		theirs := d.tip.set.Placement(other).Clusters
		return len(own)+len(theirs) == 0 || slices.ContainsFunc(own, func(c gitops.Cluster) bool {
			return slices.ContainsFunc(theirs, c.Is)
		})
	}
	return d.tip.inUse(ctx, name, shares)
}

// created returns a Namespace as the API server creates it where nothing gives it labels: the earlier state of one that the
// change adds. A rule that its own labels would let pass is asked about it, too.
func created(name string) admission.Object {
	return admission.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name,
		"labels": map[string]any{"kubernetes.io/metadata.name": name}}}
}

// inUse reports whether one of some roots may have an object in a namespace, which then exists: it is deployed to the
// namespace, or the change affects it and it has such an object or does not render completely.
func (d *Objects) inUse(ctx context.Context, namespace string, in func(roots.Root) bool) bool {
	if slices.ContainsFunc(d.set.Into(namespace), in) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	list := slices.DeleteFunc(slices.Collect(maps.Keys(d.touched)), func(r roots.Root) bool { return !d.set.Has(r) || !in(r) })
	d.render(ctx, list)
	return ctx.Err() != nil || slices.ContainsFunc(list, func(root roots.Root) bool {
		for id := range d.namesOf(root) {
			if id.Namespace == namespace {
				return true
			}
		}
		return len(d.unseen[root]) > 0
	})
}
