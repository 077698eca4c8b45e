package builtin

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// unpermitted finds what the declared project of an Application does not permit: a source, or the destination
// (https://argo-cd.readthedocs.io/en/stable/user-guide/projects/; IsSourcePermitted and IsDestinationPermitted of Argo CD). Argo CD
// then synchronizes nothing. Where the project is not declared, or describes clusters in another way than the Application, that
// is not known.
func (f *apiFacts) unpermitted(ctx context.Context, s Deployed) (list []Violation) {
	id := admission.IdentityOf(s.Object)
	if f == nil || f.cluster == nil || id.Group != "argoproj.io" || id.Kind != "Application" || id.Namespace == "" || s.Fragment() {
		return nil
	}
	ctx = declared.Cautious(declared.Unrecorded(ctx), s.Root)
	name := cmp.Or(textAt(s.Object, "/spec/project"), "default")
	project, ok := f.cluster.Get(ctx, id.Group, "AppProject", id.Namespace, name)
	if !ok {
		return nil
	}
	const effect = ": Argo CD synchronizes nothing"
	var patterns []string
	repos, _ := jsonpointer.At(project, "/spec/sourceRepos").([]any)
	for _, p := range repos {
		patterns = append(patterns, fmt.Sprint(p))
	}
	at := []string{"/spec/source/repoURL"}
	if several := listAt(s.Object, "/spec/sources"); len(several) > 0 {
		at = nil
		for i := range several {
			at = append(at, fmt.Sprintf("/spec/sources/%d/repoURL", i))
		}
	}
	for _, at := range at {
		if url := textAt(s.Object, at); url != "" && !permits(patterns, url) {
			list = append(list, Violation{at, "the project " + name + " does not permit this source" + effect})
		}
	}
	if !permitsDestination(listAt(project, "/spec/destinations"), s.Object) {
		list = append(list, Violation{"/spec/destination", "the project " + name + " does not permit this destination" + effect})
	}
	return list
}

// permits reports whether patterns for sources permit an address. One that begins with "!" forbids what it matches.
func permits(patterns []string, url string) (any bool) {
	plain := func(url string) string {
		return strings.TrimSuffix(strings.ToLower(strings.TrimSuffix(url, "/")), ".git")
	}
	for _, p := range patterns {
		not, forbids := strings.CutPrefix(p, "!")
		switch matches := pattern.Wildcard(plain(not), plain(url)); {
		case forbids && matches:
			return false
		case forbids || matches:
			any = true
		}
	}
	return any
}

// permitsDestination reports whether the destinations of a project permit that of an Application, or may do so.
func permitsDestination(list []map[string]any, app map[string]any) (any bool) {
	name, server := textAt(app, "/spec/destination/name"), textAt(app, "/spec/destination/server")
	for _, d := range list {
		in, forbids := strings.CutPrefix(textAt(d, "/namespace"), "!")
		if forbids || strings.HasPrefix(textAt(d, "/server")+textAt(d, "/name"), "!") {
			return true // decided by the order of all of them
		}
		known := name != "" && textAt(d, "/name") != "" || server != "" && textAt(d, "/server") != ""
		there := name != "" && pattern.Wildcard(textAt(d, "/name"), name) || server != "" && pattern.Wildcard(textAt(d, "/server"), server)
		any = any || (there || !known) && pattern.Wildcard(in, textAt(app, "/spec/destination/namespace"))
	}
	return any
}
