package builtin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/pattern"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/roots"
)

// unpermitted finds what the declared project of an Application does not permit: a source, or the destination
// (https://argo-cd.readthedocs.io/en/stable/user-guide/projects/; IsSourcePermitted and IsDestinationPermitted of Argo CD). Argo CD
// then synchronizes nothing. Where the project is not declared, or describes clusters in another way than the Application, that
// is not known, as where others fill in a value. Of a project that the change edits, it finds what existing Applications lose.
func unpermitted(ctx context.Context, f *apiFacts, s Deployed) (list []schema.Violation) {
	if f.cluster == nil || s.Fragment() {
		return nil
	}
	switch id := admission.IdentityOf(s.Object); {
	case id.Group == argo && id.Kind == "Application" && id.Namespace != "":
		if project := f.projectOf(declared.Cautious(declared.Unrecorded(ctx), s.Root), s.Object, "/spec/project"); project != nil {
			return forbidden(project, s.Object)
		}
		return nil
	case id.Group == argo && id.Kind == "AppProject":
		list = f.abandons(ctx, s)
	}
	return append(list, f.unpermittedKind(ctx, s)...)
}

const argo = "argoproj.io"

// notSynchronized is the effect of all that a project does not permit.
const notSynchronized = ": Argo CD synchronizes nothing"

// projectOf returns the declared project of an Application or ApplicationSet, nil if it is not known. at is the field that names it.
func (f *apiFacts) projectOf(ctx context.Context, app map[string]any, at string) admission.Object {
	namespace, name := admission.IdentityOf(app).Namespace, cmp.Or(textAt(app, at), "default")
	project, ok := f.cluster.Get(ctx, argo, "AppProject", namespace, name)
	if !ok {
		return nil
	}
	settings, _ := f.cluster.Get(declared.Quiet(kinds.AskFor(ctx, "")), "", "ConfigMap", namespace, "argocd-cm")
	if textAt(settings, "/data/globalProjects") != "" {
		return nil // these may permit more
	}
	return project
}

// atHand returns a context for look-ups about an object of a root that search no releases, so that no source is fetched for them,
// and that report nothing that they cannot see.
func atHand(ctx context.Context, root roots.Root) context.Context {
	return declared.Quiet(kinds.AskFor(declared.Cautious(declared.Unrecorded(ctx), root), ""))
}

// forbidden returns the sources and the destination of an Application that its project does not permit.
func forbidden(project, app map[string]any) (list []schema.Violation) {
	name := admission.IdentityOf(project).Name
	var patterns []string
	repos, _ := jsonpointer.At(project, "/spec/sourceRepos").([]any)
	for _, p := range repos {
		patterns = append(patterns, fmt.Sprint(p))
	}
	at := []string{"/spec/source/repoURL"}
	if several := listAt(app, "/spec/sources"); len(several) > 0 {
		at = nil
		for i := range several {
			at = append(at, fmt.Sprintf("/spec/sources/%d/repoURL", i))
		}
	}
	for _, at := range at {
		if url := textAt(app, at); url != "" && !schema.FilledIn(url) && !permits(patterns, url) {
			list = append(list, schema.Violation{Pointer: at, Message: "the project " + name + " does not permit this source" + notSynchronized})
		}
	}
	const to = "/spec/destination"
	if !schema.FilledIn(jsonpointer.At(app, to)) && !permitsDestination(listAt(project, "/spec/destinations"), app) {
		list = append(list, schema.Violation{Pointer: to, Message: "the project " + name + " does not permit this destination" + notSynchronized})
	}
	return list
}

// abandons finds what a project permits no longer, though Applications that the change leaves alone need it.
func (f *apiFacts) abandons(ctx context.Context, s Deployed) (list []schema.Violation) {
	if !s.Updated || s.Old == nil || f.projectOf(atHand(ctx, s.Root), s.Object, "/metadata/name") == nil {
		return nil // new, or several roots declare it in different ways
	}
	for _, app := range f.staying(ctx, s, admission.IdentityOf(s.Object)) {
		before := forbidden(s.Old.Object, app)
		for _, v := range forbidden(s.Object, app) {
			known := func(w schema.Violation) bool { return w.Pointer == v.Pointer }
			of := "/spec/sourceRepos"
			if v.Pointer == "/spec/destination" {
				of = "/spec/destinations"
			}
			there := slices.ContainsFunc(list, func(w schema.Violation) bool { return w.Pointer == of })
			if !there && !slices.ContainsFunc(before, known) {
				list = append(list, schema.Violation{Pointer: of, Message: fmt.Sprintf("the project no longer permits %s of the Application %s%s",
					strings.TrimPrefix(v.Pointer, "/spec/"), admission.IdentityOf(app).Name, notSynchronized)})
			}
		}
	}
	return list
}

// projectGoes finds that a project goes while Applications of it stay.
func (f *apiFacts) projectGoes(ctx context.Context, s Deployed) []Violation {
	id := admission.IdentityOf(s.Old.Object)
	if f == nil || f.cluster == nil || id.Group != argo || id.Kind != "AppProject" {
		return nil
	}
	now, lookups := declared.For(declared.Unrecorded(ctx), s.Root)
	now = declared.Quiet(kinds.AskFor(now, ""))
	if _, declares := f.cluster.Get(now, id.Group, id.Kind, id.Namespace, id.Name); declares || lookups.Unknown() {
		return nil // another root declares it, or a source that is not rendered may
	}
	for _, app := range f.staying(ctx, s, id) {
		return []Violation{{"/metadata/name", fmt.Sprintf("the Application %s is still of this project%s", admission.IdentityOf(app).Name, notSynchronized)}}
	}
	return nil
}

// staying lists the Applications of a project that the change leaves as they are.
func (f *apiFacts) staying(ctx context.Context, s Deployed, project admission.Identity) (list []admission.Object) {
	_, lookups := declared.For(declared.Unrecorded(ctx), s.Root)
	before := declared.Quiet(kinds.AskFor(lookups.Before(ctx), ""))
	for _, app := range f.cluster.List(atHand(ctx, s.Root), argo, "Application", project.Namespace) {
		if cmp.Or(textAt(app, "/spec/project"), "default") != project.Name {
			continue
		}
		was, had := f.cluster.Get(before, argo, "Application", project.Namespace, admission.IdentityOf(app).Name)
		if had && reflect.DeepEqual(was["spec"], app["spec"]) {
			list = append(list, app)
		}
	}
	return list
}

// unpermittedKind finds that the project of what deploys an object does not permit its kind, or its namespace beside that of
// the destination (IsGroupKindPermitted of Argo CD).
func (f *apiFacts) unpermittedKind(ctx context.Context, s Deployed) []schema.Violation {
	by, known := f.cluster.(interface {
		Deployers(roots.Root) []*deploy.Deployment
	})
	if !known {
		return nil
	}
	id, look := admission.IdentityOf(s.Object), atHand(ctx, s.Root)
	for _, one := range by.Deployers(s.Root) {
		at := map[string]string{"Application": "/spec", "ApplicationSet": "/spec/template/spec"}[one.Object.Kind]
		if at == "" || one.Object.Namespace == "" || len(f.cluster.List(look, argo, "AppProject", one.Object.Namespace)) == 0 {
			continue
		}
		app, ok := f.cluster.Get(look, argo, one.Object.Kind, one.Object.Namespace, one.Object.Name)
		if !ok || schema.FilledIn(textAt(app, at+"/project")) || strings.Contains(textAt(app, at+"/project"), "{{") ||
			textAt(app, "/spec/templatePatch") != "" || holdsKey(jsonpointer.At(app, "/spec/generators"), "template") {
			continue // or the project of some that are generated is another
		}
		project := f.projectOf(look, app, at+"/project")
		if project == nil {
			continue
		}
		name := admission.IdentityOf(project).Name
		namespaced, known := kinds.Namespaced(id.Group, id.Kind)
		if !known && kinds.DefinedClusterScoped(look, f.cluster, id.Group, id.Kind) {
			namespaced, known = false, true
		}
		if !permitsKind(project, id, namespaced) && (known || !permitsKind(project, id, !namespaced)) {
			return []schema.Violation{{Pointer: "/kind", Message: fmt.Sprintf("the project %s does not permit %s of %s%s",
				name, id.Kind, cmp.Or(id.Group, "the core group"), notSynchronized)}}
		}
		if to := textAt(app, "/spec/destination/namespace"); at != "/spec" || !namespaced || id.Namespace == "" || id.Namespace == to || mapAt(app, "/spec/destination") == nil ||
			schema.FilledIn(jsonpointer.At(app, "/spec/destination")) || schema.FilledIn(id.Namespace) {
			continue
		}
		spec := maps.Clone(mapAt(app, "/spec"))
		spec["destination"] = maps.Clone(mapAt(app, "/spec/destination"))
		mapAt(spec, "/destination")["namespace"] = id.Namespace
		if !permitsDestination(listAt(project, "/spec/destinations"), map[string]any{"spec": spec}) {
			return []schema.Violation{{Pointer: "/metadata/namespace", Message: fmt.Sprintf("the project %s does not permit the namespace %s%s",
				name, id.Namespace, notSynchronized)}}
		}
	}
	return nil
}

// holdsKey reports whether any map in a value has a key.
func holdsKey(v any, key string) bool {
	switch v := v.(type) {
	case map[string]any:
		_, has := v[key]
		return has || slices.ContainsFunc(slices.Collect(maps.Values(v)), func(below any) bool { return holdsKey(below, key) })
	case []any:
		return slices.ContainsFunc(v, func(below any) bool { return holdsKey(below, key) })
	}
	return false
}

// permitsKind reports whether the lists of a project permit a kind. A project without a list of permitted kinds permits all that
// have a namespace, and none of the whole cluster.
func permitsKind(project map[string]any, id admission.Identity, namespaced bool) bool {
	of := "/spec/clusterResource"
	if namespaced {
		of = "/spec/namespaceResource"
	}
	has := func(list string, unsure bool) bool { // unsure is the answer where a pattern is not known
		return slices.ContainsFunc(listAt(project, of+list), func(entry map[string]any) bool {
			group, kind, name := textAt(entry, "/group"), textAt(entry, "/kind"), cmp.Or(textAt(entry, "/name"), "*")
			if strings.ContainsAny(group+kind+name, special) {
				return unsure
			}
			return matches(group, id.Group) && matches(kind, id.Kind) && matches(name, id.Name)
		})
	}
	_, listed := jsonpointer.At(project, of+"Whitelist").([]any)
	return (namespaced && !listed || has("Whitelist", true)) && !has("Blacklist", false)
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
