package settings

import (
	"reflect"
	"strings"
)

// Field is what people are told about a field of the settings.
type Field struct {
	Path    string // "clusters.*.roots": the names of the fields, * for any name, [] for an entry of a list
	Text    string // what it is for
	Default any    // as JSON; nil: Text says it

	Least, Most *int64   // of a number
	Pattern     string   // that a text, or each entry of a list, matches
	Needs       []string // fields that may not be missing
	NotEmpty    bool     // the list needs an entry
}

// Fields are all fields of the settings, in the order in which people read about them. Their types are those of
// Settings; a test fails for a field that is missing here.
func Fields() []Field {
	number := func(n int64) *int64 { return &n }
	most := most()
	limit := func(name, text string, def int64) Field {
		return Field{Path: "limits." + name, Text: text, Default: def, Least: number(1), Most: number(most[name])}
	}
	return []Field{
		{Path: "policies", Text: "Files, folders or globs with policies. What a kustomization in them has counts as it renders. " +
			"Default: every manifest that is a policy by its kind, anywhere."},
		{Path: "policies[].repository", Text: "Another repository: owner/name, or its address with https://."},
		{Path: "policies[].ref", Text: "A branch, a tag or a commit of it. Default: its default branch."},
		{Path: "policies[].path", Text: "A file, a folder or a glob in it. Default: every manifest that is a policy, anywhere."},
		{Path: "exceptions", Text: "Files, folders or globs with exceptions. When it is set, an exception anywhere else does not " +
			"count. Default: those in files that a root is made of."},
		{Path: "approvers", Text: "Whose review makes an exception of a change count."},
		{Path: "approvers.users", Text: "Accounts of GitHub."},
		{Path: "approvers.teams", Text: "Teams, as organization/team.", Pattern: "^[^/]+/.+$"},
		{Path: "approvers.codeowners", Text: "Whether the code owners of the exception's file may approve it.", Default: true},
		{Path: "approvers.count", Text: "How many of them have to approve.", Default: 1, Least: number(0)},
		{Path: "roots", Text: "Which kustomizations and folders of manifests are checked."},
		{Path: "roots.include", Text: "Globs over the folders of roots; ** crosses folders. Default: all."},
		{Path: "roots.exclude", Text: "Globs over the folders of roots that are left out."},
		{Path: "charts", Text: "How charts are deployed that no object here deploys: each entry is a root for every chart it " +
			"names, in place of the chart with its own values.", Needs: []string{"path"}},
		{Path: "charts[].path", Text: "Folder of a chart, or a glob over folders of charts."},
		{Path: "charts[].values", Text: "Files of values over the chart's own, from the chart's folder, or with a slash in " +
			"front from the top of the repository."},
		{Path: "charts[].name", Text: "Name of the release. Default: that of the folder.", Pattern: releaseName().String()},
		{Path: "charts[].namespace", Text: "Namespace that it is installed in."},
		{Path: "kustomize", Text: "What whoever deploys kustomizations tells kustomize."},
		{Path: "kustomize.loadRestrictor", Text: "Which files a kustomization may name besides those below its folder: none, or with " +
			"LoadRestrictionsNone all of the repository, as in a repository with objects of Flux, which builds so.",
			Default: LoadRestrictionsRootOnly},
		{Path: "context", Text: "Files, folders or globs with manifests that policies may look up though they are not deployed " +
			"from here. They are read from the base branch."},
		{Path: "identities", Text: "Accounts of GitHub as users of the cluster, each in system:authenticated besides."},
		{Path: "identities.users", Text: "By account."},
		{Path: "identities.teams", Text: "What a team (organization/team) adds to its members."},
		{Path: "identities.users.*.username", Text: "Name of the user. Default: that of the account."},
		{Path: "identities.users.*.groups", Text: "Groups of the user."},
		{Path: "identities.users.*.roles", Text: "Roles of the user, as namespace:name."},
		{Path: "identities.users.*.clusterRoles", Text: "Cluster roles of the user."},
		{Path: "identities.teams.*.username", Text: "Without effect: a team is not a user."},
		{Path: "identities.teams.*.groups", Text: "Groups of its members."},
		{Path: "identities.teams.*.roles", Text: "Roles of its members, as namespace:name."},
		{Path: "identities.teams.*.clusterRoles", Text: "Cluster roles of its members."},
		{Path: "block", Text: "What fails a check besides new violations of rules that are enforced. Short: new, and all for " +
			"existing."},
		{Path: "block.existing", Text: "What the base had already, too.", Default: false},
		{Path: "block.audit", Text: "Violations of rules that only audit, too.", Default: false},
		{Path: "mode", Text: "advisory: nothing blocks, violations are warnings, and the check is neutral at most: to be rolled " +
			"out.", Default: ModeEnforce},
		{Path: "checks", Text: "What the checks that need no policies do with what they find: off (they do not look), warn, or " +
			"enforce (it fails what is new)."},
		{Path: "unrendered", Text: "What comes of what cannot be checked. failure: it fails what brings or edits it; with " +
			"block.existing, whatever reaches it.", Default: UnrenderedNeutral},
		{Path: "limits", Text: "What a check may cost."},
		limit("fileBytes", "Bytes of one file.", 16<<20),
		limit("files", "Files and folders of the repository.", 2_000_000),
		limit("depth", "Levels of nesting in a file.", 100),
		limit("nodes", "Values of one file, its aliases replaced.", 500_000),
		limit("layers", "Kustomizations of one root, each counted as often as it is included.", 2_000),
		limit("bases", "Levels of bases of bases.", 32),
		limit("resources", "Objects of one root.", 20_000),
		{Path: "sources", Text: "What is fetched from outside of the repository."},
		{Path: "sources.allow", Text: "Patterns of addresses, as in https://github.com/octo-org/**. They narrow what the operator " +
			"allows; an empty list: nothing is fetched. Default: what the operator allows."},
		{Path: "annotations", Text: "What a check run shows on the lines of a change."},
		{Path: "annotations.max", Text: "How many findings a check run shows on their lines; 0 for none. The summary counts the " +
			"others.", Default: 50, Least: number(0), Most: number(MostAnnotations)},
		{Path: "clusters", Text: "The clusters of the repository, by name. Each root is judged by the rules of its cluster and " +
			"looks up only what that cluster has; without any, everything is one."},
		{Path: "clusters.*", Text: "A cluster. What is given is in place of the top level's.", Needs: []string{"roots"}},
		{Path: "clusters.*.roots", Text: "Globs over roots, and over the files of objects of Argo CD and Flux: what those deploy " +
			"belongs here, too.", NotEmpty: true},
		{Path: "clusters.*.policies", Text: "In place of the top level's."},
		{Path: "clusters.*.exceptions", Text: "In place of the top level's."},
		{Path: "clusters.*.context", Text: "In place of the top level's."},
		{Path: "clusters.*.kubernetes", Text: "The version of Kubernetes that charts are rendered for, in quotes. Default: the " +
			"one that Helm assumes.", Pattern: kubernetesVersion().String()},
		{Path: "clusters.*.apiVersions", Text: "API versions (group/version/Kind) that the cluster has besides those of Kubernetes " +
			"and of the custom resource definitions in the repository."},
	}
}

// FormOf says in a word or a few what may be written in a field of Fields; it is empty for what is no field.
func FormOf(path string) string {
	at := schemaOf(reflect.TypeFor[Settings](), "")
	for key := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ".[]"), ".") {
		if several, ok := at["anyOf"].([]SchemaNode); ok {
			at = several[0]
		}
		switch {
		case key == "*":
			at, _ = at["additionalProperties"].(SchemaNode)
		case key == "[]":
			at, _ = at["items"].(SchemaNode)
		default:
			properties, _ := at["properties"].(SchemaNode)
			at, _ = properties[key].(SchemaNode)
		}
	}
	return wordsFor(at)
}

// wordsFor says what a schema takes.
func wordsFor(s SchemaNode) string {
	if several, ok := s["anyOf"].([]SchemaNode); ok {
		var list []string
		for _, one := range several {
			list = append(list, wordsFor(one))
		}
		return strings.Join(list, ", or ")
	}
	if words, ok := s["enum"].([]string); ok {
		return strings.Join(words, ", ")
	}
	switch s["type"] {
	case "object":
		return "map"
	case "array":
		return "list"
	case "boolean":
		return "true or false"
	case "integer":
		return "number"
	case "string":
		return "text"
	}
	return ""
}
