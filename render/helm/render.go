package helm

import release "helm.sh/helm/v4/pkg/release/v1"

// Test is the event of hooks that are tests.
const Test = string(release.HookTest)

// Options say how a chart is rendered. The zero values are those of `helm template NAME --include-crds --skip-tests`.
type Options struct {
	Name      string         // of the release
	Namespace string         // default "default"
	Values    map[string]any // the user's merged values, which are not changed
	// Kubernetes is the version that the chart sees ("1.33", "v1.33.2"); default DefaultKubernetes.
	Kubernetes string
	// APIVersions are added to those that Helm has (the group versions of Kubernetes): "group/version" and
	// "group/version/Kind". See KubernetesKinds for those of Kubernetes.
	APIVersions []string
	SkipCRDs    bool // leave out crds/
	SkipSchema  bool // do not check values.schema.json
	Upgrade     bool // Release.IsUpgrade instead of IsInstall
	// Hooks reports whether to include a hook; nil: include all that are no tests.
	Hooks func(name string, events []string) bool
	// Lookup answers look-ups in the cluster; an empty name requests a list. False means that the object is not known,
	// or that the list may be incomplete. nil: nothing is known.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, bool)
	// Only is the only template to execute; empty: all. Changes that other templates make to the values are missing
	// then.
	Only   string
	Limits Limits // Output and Time only
}

// Output is the output of a chart.
type Output struct {
	Manifests       []Manifest        // in the order of `helm template`
	Files           map[string]string // output of the engine, by names of templates
	Lookups         []Lookup          // look-ups that Options.Lookup did not answer completely, each once, sorted
	AnsweredLookups []Lookup          // look-ups that Options.Lookup answered, perhaps in part, each once, sorted
	Absent          []string          // versions that Capabilities.APIVersions.Has denied, each once, sorted
	Present         []string          // versions that it granted, likewise
	// Listed means that the chart may have read the API versions in other ways than by Has.
	Listed bool
	// Phased means that the chart may print something else on upgrade than on installation.
	Phased bool
	// Frozen are the called functions that are random or read the clock, each once, sorted.
	Frozen []string
	// Unvalidated are the charts (full names, as in the names of templates) whose schema was not checked, because it
	// refers to other documents.
	Unvalidated []string
}

// Manifest is one document.
type Manifest struct {
	Template string // the engine's name of the template; of a CRD the path that Helm prints, "chart/crds/x.yaml"
	File     string // path in the chart's folder; empty if the file is in a packed or fetched subchart
	Text     string // one document; for a CRD the whole file
	Offset   int    // of Text in Output.Files[Template]; -1 for crds/
	Hook     bool
	CRD      bool
}

// Lookup is a look-up of a template in the cluster. An empty Name requests a list.
type Lookup struct{ APIVersion, Kind, Namespace, Name string }
