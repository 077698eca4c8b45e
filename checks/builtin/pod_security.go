package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/podsecurity"
)

// securityLabels begin the labels of a Namespace by which the API server admits Pods
// (https://kubernetes.io/docs/concepts/security/pod-security-admission/).
const securityLabels = "pod-security.kubernetes.io/"

// insecure finds what a declared Namespace does not let Pods do, where the API server takes the object all the same: it
// makes Pods, which are refused then, or the Namespace asks for a warning.
func insecure(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
	kind := s.Object["kind"]
	found := f.admits(ctx, s, "enforce", fmt.Sprintf("the API server takes the %v with a warning and refuses its Pods, which "+
		"never start", kind))
	switch {
	case len(found) > 0 && kind == "Pod": // it is refused
		return nil
	case len(found) > 0:
		return found
	}
	return f.admits(ctx, s, "warn", "the API server warns")
}

// admits finds what the declared Namespace of an object does not let its Pods do in one mode.
func (f *apiFacts) admits(ctx context.Context, s Deployed, mode, effect string) []schema.Violation {
	id := admission.IdentityOf(s.Object)
	_, makes := templates[[2]string{id.Group, id.Kind}]
	if !makes || id.Group == "argoproj.io" || id.Namespace == "" || s.Fragment() || f.cluster == nil {
		return nil
	}
	labels := f.namespace(ctx, s, id.Namespace)
	level := labels[securityLabels+mode]
	if level == "" || level == "privileged" { // which Kyverno's own rule takes for a level that nothing fulfils
		return nil
	}
	check, err := podsecurity.Compile(level, labels[securityLabels+mode+"-version"], nil)
	if err != nil {
		return nil // the API server refuses the Namespace
	}
	out := check.Evaluate(s.Object, nil)
	if out.Allowed || len(out.Fields) == 0 {
		return nil
	}
	at := out.Fields[0]
	for _, field := range out.Fields { // one that is written is rather where somebody edits
		if _, ok := jsonpointer.Lookup(s.Object, field); ok {
			at = field
			break
		}
	}
	return []schema.Violation{{Pointer: at, Message: fmt.Sprintf("Namespace %s requires %s: %s: %s", id.Namespace,
		level, schema.ClipTo(most, strings.TrimPrefix(out.Message, "It violates ")), effect)}}
}

// most is how many bytes of what a Namespace does not let Pods do are told.
const most = 1000

// namespace returns the labels of the Namespace of a name that is declared for the cluster of an object.
func (f *apiFacts) namespace(ctx context.Context, s Deployed, name string) map[string]string {
	ctx = declared.Cautious(ctx, s.Root)
	o, _ := f.cluster.Get(ctx, "", "Namespace", "", name)
	return admission.TextsAt(o, "/metadata/labels")
}
