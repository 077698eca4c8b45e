package builtin

import (
	"context"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// destinations finds what keeps Argo CD from synchronizing an Application, or those that an ApplicationSet makes: a cluster
// that is named twice, and one or a project that was named before and is no longer (https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/).
func destinations(_ context.Context, s Deployed) (list []Violation) {
	id := admission.IdentityOf(s.Object)
	at := map[string]string{"Application": "/spec", "ApplicationSet": "/spec/template/spec"}[id.Kind]
	if _, has := jsonpointer.Lookup(s.Object, at); id.Group != "argoproj.io" || at == "" || !has || s.Fragment() {
		return nil // without a spec it is one of which only the name is known: see pairOf
	}
	rejects := func(pointer, message string) { list = append(list, Violation{at + pointer, message}) }
	var was map[string]any // nil for a new one, which something else may complete
	if s.Old != nil {
		was = s.Old.Object
	}
	if _, has := jsonpointer.Lookup(s.Object, at+"/project"); !has && textAt(was, at+"/project") != "" {
		rejects("/project", `an Application needs a project: write "default" for the one that Argo CD has without further set-up`)
	}
	name, server := textAt(s.Object, at+"/destination/name"), textAt(s.Object, at+"/destination/server")
	_, patched := jsonpointer.Lookup(s.Object, "/spec/templatePatch")
	mayBeEmpty := strings.Contains(name, "{{") && strings.Contains(server, "{{")
	switch {
	case patched:
	case name != "" && server != "" && !mayBeEmpty:
		rejects("/destination/server", "the cluster is named by its name and by its server: Argo CD synchronizes nothing until one of them goes")
	case name == "" && server == "" && id.Kind == "Application" && textAt(was, at+"/destination/name")+textAt(was, at+"/destination/server") != "":
		rejects("/destination", "no cluster is named: Argo CD synchronizes nothing without a name or a server")
	}
	return list
}
