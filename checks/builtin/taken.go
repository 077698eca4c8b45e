package builtin

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/roots"
)

// claim is what only one object of a cluster can have.
type claim struct {
	pointer string
	what    string   // in words
	words   []string // the files of the same claim contain one of them as a value; "" selects all
}

// claims lists the claims of an object: node ports, an address, and to be the default class
// (https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport,
// https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/#priorityclass).
func claims(o map[string]any) (list []claim) {
	id, of := admission.IdentityOf(o), textAt(o, "/spec/type")
	switch {
	case id.Group == "scheduling.k8s.io" && id.Kind == "PriorityClass" && o["globalDefault"] == true:
		list = append(list, claim{"/globalDefault", "is the default", []string{""}})
	case id.Group == "" && id.Kind == "Service":
		if ip := textAt(o, "/spec/clusterIP"); of != "ExternalName" && isAddress(ip) && !apiserver.IsExample(ip) {
			list = append(list, claim{"/spec/clusterIP", "has the address " + ip, []string{""}})
		}
		for i, p := range listAt(o, "/spec/ports") {
			port := fmt.Sprint(p["nodePort"])
			if n, err := strconv.Atoi(port); err == nil && n > 0 && !apiserver.IsExample(port) && (of == "NodePort" || of == "LoadBalancer") {
				list = append(list, claim{fmt.Sprintf("/spec/ports/%d/nodePort", i), "has the node port " + port, []string{"NodePort", "LoadBalancer"}})
			}
		}
	}
	return list
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// taken finds what an object newly claims and another one of its cluster has after the change. Both are certainly in one cluster:
// one root has both, and is more than a folder that nothing deploys, or what deploys them is in one place and names the same
// cluster.
func (f *apiFacts) taken(ctx context.Context, s Deployed) (list []schema.Violation) {
	by, known := f.cluster.(interface {
		Deployers(roots.Root) []*deploy.Deployment
		IsDeployed(roots.Root) bool
	})
	own := claims(s.Object)
	if !known || len(own) == 0 || s.Fragment() || shared(s.Object) {
		return nil
	}
	here, deployed := by.Deployers(s.Root), by.IsDeployed(s.Root)
	if !deployed && s.Root.Kind == roots.Folder {
		return nil
	}
	id, was := admission.IdentityOf(s.Object), claims(s.replaced())
	look := declared.Among(ctx, s.Root, func(root roots.Root) bool {
		return deployed && by.IsDeployed(root) && slices.ContainsFunc(by.Deployers(root), func(other *deploy.Deployment) bool {
			there, ok := clusterOf(other.Deployment)
			return ok && slices.ContainsFunc(here, func(one *deploy.Deployment) bool {
				c, ok := clusterOf(one.Deployment)
				return ok && c == there
			})
		})
	})
	for _, c := range own {
		same := func(d claim) bool { return d.what == c.what }
		if slices.ContainsFunc(was, same) {
			continue
		}
		var all []admission.Object
		for _, word := range c.words {
			all = append(all, f.cluster.List(kinds.AskFor(look, word), id.Group, id.Kind, "")...)
		}
		for _, o := range all {
			other := admission.IdentityOf(o)
			itself := other.Name == id.Name && (other.Namespace == id.Namespace || other.Namespace == "" || id.Namespace == "")
			if !itself && !shared(o) && slices.ContainsFunc(claims(o), same) {
				list = append(list, schema.Violation{Pointer: c.pointer, Message: fmt.Sprintf("%s %s already %s: %s", other.Kind,
					report.Name(other.Namespace, other.Name), c.what, apiserver.Refused)})
				break
			}
		}
	}
	return list
}
