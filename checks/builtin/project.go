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
	"github.com/lintel-bot/lintel/render/gitops"
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
			return append(forbidden(project, s.Object), f.outgrown(ctx, s, project)...)
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
	add := func(of, lost string, app admission.Object) {
		if !slices.ContainsFunc(list, func(v schema.Violation) bool { return v.Pointer == of }) {
			list = append(list, schema.Violation{Pointer: of, Message: fmt.Sprintf("the project no longer permits %s of the Application %s%s",
				lost, admission.IdentityOf(app).Name, notSynchronized)})
		}
	}
	for _, app := range f.staying(ctx, s, admission.IdentityOf(s.Object)) {
		before := forbidden(s.Old.Object, app)
		for _, v := range forbidden(s.Object, app) {
			of := "/spec/sourceRepos"
			if v.Pointer == "/spec/destination" {
				of = "/spec/destinations"
			}
			if !slices.ContainsFunc(before, func(w schema.Violation) bool { return w.Pointer == v.Pointer }) {
				add(of, strings.TrimPrefix(v.Pointer, "/spec/"), app)
			}
		}
		if id, of := f.loses(ctx, s, app, s.Old.Object, s.Object); of != "" {
			add(of, id.Kind, app)
		}
	}
	return list
}

// outgrown finds that an Application moves to a project which does not permit an object that it deploys and the change leaves alone.
func (f *apiFacts) outgrown(ctx context.Context, s Deployed, project admission.Object) []schema.Violation {
	const at = "/spec/project"
	if !s.Updated || s.Old == nil || cmp.Or(textAt(s.Old.Object, at), "default") == cmp.Or(textAt(s.Object, at), "default") {
		return nil
	}
	_, lookups := declared.For(declared.Unrecorded(ctx), s.Root)
	if id, of := f.loses(ctx, s, s.Object, f.projectOf(lookups.Before(atHand(ctx, s.Root)), s.Old.Object, at), project); of != "" {
		return []schema.Violation{{Pointer: at, Message: notPermitted(project, id) + ", which this Application deploys" + notSynchronized}}
	}
	return nil
}

// loses returns an object that an Application deploys and the change leaves alone, and the list by which a project forbids it now,
// "" if there is none. Before, the old project permitted it, or is not known.
func (f *apiFacts) loses(ctx context.Context, s Deployed, app, old, now admission.Object) (id admission.Identity, of string) {
	by, known := f.cluster.(interface {
		Kept(ctx context.Context, by gitops.Reference) []admission.Object
	})
	if !known || reflect.DeepEqual(kindLists(old), kindLists(now)) {
		return id, ""
	}
	owner := admission.IdentityOf(app)
	for _, o := range by.Kept(ctx, gitops.Reference{Kind: owner.Kind, Namespace: owner.Namespace, Name: owner.Name}) {
		id = admission.IdentityOf(o)
		if of = f.forbids(ctx, s.Root, now, id); of != "" && (old == nil || f.forbids(ctx, s.Root, old, id) == "") {
			return id, of
		}
	}
	return id, ""
}

// kindLists are the lists of a project that decide about kinds.
func kindLists(project admission.Object) (list []any) {
	for _, name := range []string{"clusterResourceWhitelist", "clusterResourceBlacklist", "namespaceResourceWhitelist", "namespaceResourceBlacklist"} {
		list = append(list, jsonpointer.At(project, "/spec/"+name))
	}
	return list
}

// notPermitted says that a project does not permit the kind of an object.
func notPermitted(project admission.Object, id admission.Identity) string {
	return fmt.Sprintf("the project %s does not permit %s of %s", admission.IdentityOf(project).Name, id.Kind, cmp.Or(id.Group, "the core group"))
}

// projectGoes finds that a project goes while Applications of it stay.
func (f *apiFacts) projectGoes(ctx context.Context, s Deployed) []Violation {
	id := admission.IdentityOf(s.Old.Object)
	if id.Group != argo || id.Kind != "AppProject" || !f.lacks(ctx, s.Root, plain(id)) {
		return nil
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

// ruled is an Application or ApplicationSet that deploys a root, and its project.
type ruled struct {
	app, project admission.Object
	at           string // the specification of the Application
}

// projects returns the known projects of what deploys a root, once for all of its objects.
func (f *apiFacts) projects(ctx context.Context, root roots.Root) []ruled {
	by, known := f.cluster.(interface {
		Deployers(roots.Root) []*deploy.Deployment
	})
	if !known {
		return nil
	}
	return f.ruled.Get(root, func() (list []ruled) {
		look := atHand(ctx, root)
		for _, one := range by.Deployers(root) {
			at := map[string]string{"Application": "/spec", "ApplicationSet": "/spec/template/spec"}[one.Object.Kind]
			if at == "" || one.Object.Namespace == "" || len(f.cluster.List(look, argo, "AppProject", one.Object.Namespace)) == 0 {
				continue
			}
			app, ok := f.cluster.Get(look, argo, one.Object.Kind, one.Object.Namespace, one.Object.Name)
			if !ok || schema.FilledIn(textAt(app, at+"/project")) || strings.Contains(textAt(app, at+"/project"), "{{") ||
				textAt(app, "/spec/templatePatch") != "" || holdsKey(jsonpointer.At(app, "/spec/generators"), "template") {
				continue // or the project of some that are generated is another
			}
			if project := f.projectOf(look, app, at+"/project"); project != nil {
				list = append(list, ruled{app, project, at})
			}
		}
		return list
	})
}

// unpermittedKind finds that the project of what deploys an object does not permit its kind, or its namespace beside that of
// the destination (IsGroupKindPermitted of Argo CD).
func (f *apiFacts) unpermittedKind(ctx context.Context, s Deployed) []schema.Violation {
	id := admission.IdentityOf(s.Object)
	for _, one := range f.asOf(ctx).projects(ctx, s.Root) {
		app, project := one.app, one.project
		if f.forbids(ctx, s.Root, project, id) != "" {
			return []schema.Violation{{Pointer: "/kind", Message: notPermitted(project, id) + notSynchronized}}
		}
		namespaced, _ := kinds.Namespaced(id.Group, id.Kind)
		if to := textAt(app, "/spec/destination/namespace"); one.at != "/spec" || !namespaced || id.Namespace == "" || id.Namespace == to ||
			mapAt(app, "/spec/destination") == nil || schema.FilledIn(jsonpointer.At(app, "/spec/destination")) || schema.FilledIn(id.Namespace) {
			continue
		}
		spec := maps.Clone(mapAt(app, "/spec"))
		spec["destination"] = maps.Clone(mapAt(app, "/spec/destination"))
		mapAt(spec, "/destination")["namespace"] = id.Namespace
		if !permitsDestination(listAt(project, "/spec/destinations"), map[string]any{"spec": spec}) {
			return []schema.Violation{{Pointer: "/metadata/namespace", Message: fmt.Sprintf("the project %s does not permit the namespace %s%s",
				admission.IdentityOf(project).Name, id.Namespace, notSynchronized)}}
		}
	}
	return nil
}

// forbids returns the list by which a project forbids the kind of an object of a root, "" if it permits it. Where it is not known
// whether the kind has namespaces, both lists must forbid it.
func (f *apiFacts) forbids(ctx context.Context, root roots.Root, project admission.Object, id admission.Identity) string {
	namespaced, known := kinds.Namespaced(id.Group, id.Kind)
	unknown := !known && !kinds.DefinedClusterScoped(atHand(ctx, root), f.cluster, id.Group, id.Kind)
	of := forbiddenBy(project, id, namespaced || unknown)
	if unknown && of != "" && forbiddenBy(project, id, false) == "" {
		return ""
	}
	return of
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

// forbiddenBy returns the list by which a project forbids a kind. A project without a list of permitted kinds permits all that
// have a namespace, and none of the whole cluster.
func forbiddenBy(project map[string]any, id admission.Identity, namespaced bool) string {
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
	switch {
	case (listed || !namespaced) && !has("Whitelist", true):
		return of + "Whitelist"
	case has("Blacklist", false):
		return of + "Blacklist"
	}
	return ""
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
