package helm

// Options say what is rendered. The zero values are those of `helm template NAME --include-crds --skip-tests`.
type Options struct {
	Name      string         // of the release
	Namespace string         // default "default"
	Values    map[string]any // the user's, merged; they are not changed
	// Kubernetes is the version that the chart sees ("1.33", "v1.33.2"); default DefaultKubernetes.
	Kubernetes string
	// APIVersions are added to those that Helm knows (the group versions of Kubernetes): "group/version" and
	// "group/version/Kind". KubernetesKinds has the latter for Kubernetes.
	APIVersions []string
	SkipCRDs    bool // leaves out what is in crds/
	SkipHooks   bool // leaves out hooks
	Tests       bool // has hooks of tests in it, too
	// OtherTests has those hooks of tests in it that run at another time, too: who runs no tests runs these.
	OtherTests bool
	SkipSchema bool // does not ask values.schema.json
	Upgrade    bool // Release.IsUpgrade instead of IsInstall
	// Lookup answers what the chart asks the cluster for; a name of "" asks for a list. False: not known, or not all of
	// a list is. Nil: nothing is known.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, bool)
	// Only is the one template that is executed; empty: all are. What the others would have changed in the values it does
	// not see.
	Only   string
	Limits Limits // Output and Time
}

// Output is what a chart prints.
type Output struct {
	Manifests       []Manifest        // in the order of `helm template`
	Files           map[string]string // what the engine printed, by the names of templates
	Lookups         []Lookup          // what lookup was asked for and Options.Lookup did not know, each once, sorted
	AnsweredLookups []Lookup          // what Options.Lookup knew, or had a part of, each once, sorted
	Absent          []string          // what Capabilities.APIVersions.Has was asked for and denied, each once, sorted
	Present         []string          // what it was asked for and granted, likewise
	// Listed means that the chart may have looked at the API versions in another way than by Has.
	Listed bool
	// Phased means that the chart may print something else for an upgrade than for an installation.
	Phased bool
	// Frozen has the functions that are random or read the clock and were called, each once, sorted.
	Frozen []string
	// Unvalidated has the charts (full names, as in the names of templates) whose schema refers to other places and
	// was not asked, because nothing is fetched.
	Unvalidated []string
}

// Manifest is one document.
type Manifest struct {
	Template string // the engine's name of the template; of a CRD the path that Helm prints, "chart/crds/x.yaml"
	File     string // the file in the chart's folder; empty if it is in a packed or fetched subchart
	Text     string // one document, of a CRD the file as it is
	Offset   int    // of Text in Output.Files[Template]; -1 for what is in crds/
	Hook     bool
	CRD      bool
}

// Lookup is what a template asked the cluster for. Name "" is a list.
type Lookup struct{ APIVersion, Kind, Namespace, Name string }
