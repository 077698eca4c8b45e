package builtin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
)

// class is a kind of cluster-wide objects that others name.
type class struct {
	group, kind string
	lacking     string // what happens to what names one that the cluster does not have
}

var (
	priorityClass = class{"scheduling.k8s.io", "PriorityClass", "the API server refuses the Pods"}
	runtimeClass  = class{"node.k8s.io", "RuntimeClass", "the API server refuses the Pods"}
	ingressClass  = class{"networking.k8s.io", "IngressClass", "no controller serves the Ingress"}
	storageClass  = class{"storage.k8s.io", "StorageClass", "the claim gets no volume"}
)

// missingClasses returns a function that finds names of classes that the cluster does not have. Only the classes are looked up
// of which the settings say that the repository declares all; where a source that may declare one is not rendered, nothing is
// found.
func missingClasses(f Facts) func(context.Context, Deployed) []Violation {
	return func(ctx context.Context, s Deployed) (list []Violation) {
		if len(f.Complete) == 0 || f.Cluster == nil || s.Fragment() {
			return nil
		}
		look := func(c class, pointer string) {
			name := textAt(s.Object, pointer)
			if name == "" || schema.FilledIn(name) || !slices.Contains(f.Complete, c.kind) || c == priorityClass && strings.HasPrefix(name, "system-") {
				return
			}
			ctx, lookups := declared.For(declared.Unrecorded(ctx), s.Root)
			all := f.Cluster.List(ctx, c.group, c.kind, "")
			there := slices.ContainsFunc(all, func(o admission.Object) bool { return textAt(o, "/metadata/name") == name })
			if !there && !lookups.Unknown() {
				list = append(list, Violation{pointer, fmt.Sprintf("the cluster has no %s %q: %s", c.kind, name, c.lacking)})
			}
		}
		id := admission.IdentityOf(s.Object)
		if at, makes := templates[[2]string{id.Group, id.Kind}]; makes {
			look(priorityClass, at+"/spec/priorityClassName")
			look(runtimeClass, at+"/spec/runtimeClassName")
		}
		switch {
		case id.Group == "networking.k8s.io" && id.Kind == "Ingress":
			look(ingressClass, "/spec/ingressClassName")
		case id.Group == "" && id.Kind == "PersistentVolumeClaim":
			look(storageClass, "/spec/storageClassName")
		case id.Group == "apps" && id.Kind == "StatefulSet":
			for i := range listAt(s.Object, "/spec/volumeClaimTemplates") {
				look(storageClass, "/spec/volumeClaimTemplates/"+strconv.Itoa(i)+"/spec/storageClassName")
			}
		}
		return list
	}
}
