package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// unpermitted finds what the declared project of an Application does not permit: a source, or the destination
// (https://argo-cd.readthedocs.io/en/stable/user-guide/projects/; IsSourcePermitted and IsDestinationPermitted of Argo CD). Argo CD
// then synchronizes nothing. Where the project is not declared, or describes clusters in another way than the Application, that
// is not known, as where others fill in a value.
func unpermitted(ctx context.Context, f *apiFacts, s Deployed) (list []schema.Violation) {
	id := admission.IdentityOf(s.Object)
	if f.cluster == nil || id.Group != "argoproj.io" || id.Kind != "Application" || id.Namespace == "" || s.Fragment() {
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
		if url := textAt(s.Object, at); url != "" && !schema.FilledIn(url) && !permits(patterns, url) {
			list = append(list, schema.Violation{Pointer: at, Message: "the project " + name + " does not permit this source" + effect})
		}
	}
	const to = "/spec/destination"
	if !schema.FilledIn(jsonpointer.At(s.Object, to)) && !permitsDestination(listAt(project, "/spec/destinations"), s.Object) {
		list = append(list, schema.Violation{Pointer: to, Message: "the project " + name + " does not permit this destination" + effect})
	}
	return list
}

// permits reports whether patterns for sources permit an address, or may do so. One that begins with "!" forbids what it matches.
func permits(patterns []string, url string) (any bool) {
	for _, p := range patterns {
		not, forbids := strings.CutPrefix(p, "!")
		switch matches := matches(plainURL(not), plainURL(url)); {
		case forbids && matches:
			return strings.ContainsAny(not, special)
		case forbids || matches:
			any = true
		}
	}
	return any
}

// special are the characters of patterns of Argo CD besides "*" and "?". A pattern with one counts as matching.
const special = `[]{}\\`

func matches(p, text string) bool {
	return strings.ContainsAny(p, special) || pattern.Wildcard(p, text)
}

// plainURL returns the form of the address of a repository in which Argo CD compares it.
func plainURL(url string) string {
	url = strings.TrimSuffix(strings.ToLower(strings.TrimSuffix(url, "/")), ".git")
	if rest, ssh := strings.CutPrefix(url, "ssh://"); ssh {
		return rest
	}
	if user, rest, found := strings.Cut(url, "@"); found && !strings.Contains(url, "://") {
		return user + "@" + strings.Replace(rest, ":", "/", 1)
	}
	return url
}

// permitsDestination reports whether the destinations of a project permit that of an Application, or may do so: the name of a
// cluster may stand for any address, and the other way round.
func permitsDestination(list []map[string]any, app map[string]any) bool {
	name, server := textAt(app, "/spec/destination/name"), textAt(app, "/spec/destination/server")
	return slices.ContainsFunc(list, func(d map[string]any) bool {
		in, ofName, ofServer := textAt(d, "/namespace"), textAt(d, "/name"), textAt(d, "/server")
		if strings.HasPrefix(in, "!") || strings.HasPrefix(ofName, "!") || strings.HasPrefix(ofServer, "!") {
			return true // decided by the order of all of them
		}
		there := name == "" && ofName != "" || server == "" && ofServer != "" || // not known
			name != "" && matches(ofName, name) || server != "" && matches(ofServer, server)
		return there && matches(in, textAt(app, "/spec/destination/namespace"))
	})
}
