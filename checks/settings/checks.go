package settings

import (
	"cmp"
	"reflect"
	"slices"
)

// Checks are the levels of the checks without policies that can be turned off. A level that the repository does not set
// is the one in the tag, or LevelWarn.
type Checks struct {
	Refused       Level `yaml:"api-server" default:"enforce"` // what the API server refuses
	Recreated     Level `yaml:"recreated"`                    // what is deleted and created again, since a field cannot change
	Warned        Level `yaml:"api-server-warnings"`          // what the API server warns of
	PodSecurity   Level `yaml:"pod-security"`                 // Pods that a declared Namespace does not admit
	Limits        Level `yaml:"namespace-limits"`             // Pods that LimitRanges and ResourceQuotas do not admit
	PodPolicies   Level `yaml:"pod-policies"`                 // Pods that policies deny
	MissingClass  Level `yaml:"missing-class"`                // names of classes that a cluster does not have
	Schema        Level `yaml:"schema"`                       // objects against the types of Kubernetes and of custom resource definitions
	Removed       Level `yaml:"removed-apis"`                 // versions of APIs that the cluster does not serve
	Deprecated    Level `yaml:"deprecated-apis"`              // versions of APIs that it will not serve
	Selector      Level `yaml:"selector"`                     // selectors that match no Pod
	PatchTarget   Level `yaml:"patch-target"`                 // patches and replacements of kustomizations that match nothing
	ImageEntry    Level `yaml:"image-entry"`                  // likewise of images
	PostRenderer  Level `yaml:"post-renderer"`                // likewise of HelmReleases
	DeployedTwice Level `yaml:"deployed-twice"`               // objects of two roots
	IdleRule      Level `yaml:"idle-rule"`                    // policies and exceptions that can match nothing
	UnusedValues  Level `yaml:"unused-values"`                // values that no template reads
	MissingKey    Level `yaml:"missing-key"`                  // keys of ConfigMaps and Secrets that are not there
}

// Level is what a check without policies does with its findings.
type Level string

// The levels.
const (
	LevelOff     Level = "off"     // the check does not run
	LevelWarn    Level = "warn"    // findings are warnings; the default of most checks
	LevelEnforce Level = "enforce" // new findings fail the check
)

// Of returns the level of a check by its name, LevelWarn for one without a level.
func (c Checks) Of(name string) Level {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == name {
			return cmp.Or(Level(v.Field(i).String()), byDefault(v.Type().Field(i)))
		}
	}
	return LevelWarn
}

// byDefault returns the default level of a check.
func byDefault(f reflect.StructField) Level { return cmp.Or(Level(f.Tag.Get("default")), LevelWarn) }

// atLeast returns the stricter of both levels for each check.
func (c Checks) atLeast(others Checks) Checks {
	out := reflect.ValueOf(&c).Elem()
	for i := range out.NumField() {
		rank := func(level string) int {
			return slices.Index([]Level{LevelOff, LevelWarn, LevelEnforce}, cmp.Or(Level(level), byDefault(out.Type().Field(i))))
		}
		asked := reflect.ValueOf(others).Field(i).String()
		if asked != "" && rank(asked) > rank(out.Field(i).String()) {
			out.Field(i).SetString(asked)
		}
	}
	return c
}

// CheckNames lists the checks that can be turned off, in a fixed order.
func CheckNames() []string { return fieldNames(reflect.TypeFor[Checks]()) }
